/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public interface of konfiscator for C and C++: tags, which attribute
 * memory to parts of a program.
 *
 *	#include <konfiscator.h>
 *
 *	void load(void)
 *	{
 *		KONF_TAG_SCOPE("load");
 *		...	allocations here count for the tag thread.load
 *	}
 *
 * A program that uses this header needs no library at build time or at run
 * time: without konfiscator each call costs one predictable branch. Under
 * `konfiscator run` or LD_PRELOAD the tags are counted, and `konfiscator tags
 * -p PID` shows them while the program runs.
 *
 * Tags nest: a tag is identified by its name and the tags that the same thread
 * entered before; the outermost tag is the thread. Names are compared in full,
 * and shown up to 63 bytes. A block belongs to the tag that was current when it
 * was allocated, until any thread frees it; realloc moves the block to the
 * current tag. A signal handler may use tags if it leaves all tags that it
 * enters.
 */
#ifndef KONFISCATOR_H
#define KONFISCATOR_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define KONF_VERSION_MAJOR 0
#define KONF_VERSION_MINOR 1
#define KONF_VERSION_PATCH 0

/* A version as one comparable number; each part is below 1000. */
#define KONF_VERSION_OF(major, minor, patch) \
	((major)*1000000 + (minor)*1000 + (patch))

#define KONF_VERSION_NUMBER                                     \
	KONF_VERSION_OF(KONF_VERSION_MAJOR, KONF_VERSION_MINOR, \
			KONF_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* The current tags of a thread, to be entered in another thread. */
struct konf_tags {
	uint32_t id;
	uint32_t generation;
};

/* The limits that konf_tag_limit() returns. */
enum konf_tag_limit {
	KONF_TAG_LEVELS, /* depth of nested tags, including the thread's */
	KONF_TAG_NODES,	 /* number of different tags of a thread */
	KONF_TAG_NAME,	 /* bytes of a name that are shown */
};

/* Output formats of konf_tag_write(). */
enum konf_tag_format { KONF_TAG_JSON, KONF_TAG_DOT };

/*
 * Functions of the library; NULL if the library is not loaded. Do not call
 * them: use the functions below, which test for NULL. In code built without PIC
 * and PIE the linker would resolve these addresses at link time without noplt.
 * clang has no noplt: a program built by clang without PIC and PIE does not
 * find the library.
 */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define KONF_WEAK __attribute__((weak, visibility("default"), noplt))
#endif
#endif
#ifndef KONF_WEAK
#define KONF_WEAK __attribute__((weak, visibility("default")))
#endif

extern void konf_lib_tag_push(const char *name) KONF_WEAK;
extern void konf_lib_tag_pop(unsigned int nr) KONF_WEAK;
extern void konf_lib_tag_capture(struct konf_tags *tags) KONF_WEAK;
extern unsigned int konf_lib_tag_adopt(const struct konf_tags *tags) KONF_WEAK;
extern void konf_lib_tag_pause(int on) KONF_WEAK;
extern uint64_t konf_lib_tag_limit(enum konf_tag_limit which) KONF_WEAK;
extern int konf_lib_tag_query(void (*fn)(void *arg, const char *key,
					 uint64_t value),
			      void *arg) KONF_WEAK;
extern int konf_lib_tag_write(const char *path,
			      enum konf_tag_format format) KONF_WEAK;
extern int konf_lib_tag_snapshot(const char *prefix) KONF_WEAK;
extern void konf_lib_tag_reset_peaks(void) KONF_WEAK;
extern void konf_lib_realtime(int on) KONF_WEAK;

/* Enter a tag; @name need not outlive the call. */
static inline void konf_tag_push(const char *name)
{
	if (__builtin_expect(konf_lib_tag_push != NULL, 0))
		konf_lib_tag_push(name);
}

/* Leave the tag that was entered last. */
static inline void konf_tag_pop(void)
{
	if (__builtin_expect(konf_lib_tag_pop != NULL, 0))
		konf_lib_tag_pop(1);
}

/* Leave the @nr tags that were entered last. */
static inline void konf_tag_pop_all(unsigned int nr)
{
	if (__builtin_expect(konf_lib_tag_pop != NULL, 0))
		konf_lib_tag_pop(nr);
}

/* Enter @nr tags, each within the one before; konf_tag_pop_all() leaves them.
 */
static inline void konf_tag_push_all(const char *const *names, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		konf_tag_push(names[i]);
}

/* Return the calling thread's tags, for konf_tag_adopt() in another thread. */
static inline struct konf_tags konf_tag_capture(void)
{
	struct konf_tags tags = {0, 0};

	if (__builtin_expect(konf_lib_tag_capture != NULL, 0))
		konf_lib_tag_capture(&tags);
	return tags;
}

/*
 * Enter the tags of another thread below the current tag. Returns the number of
 * tags entered, for konf_tag_pop_all(); 0 if the other thread's tags no longer
 * exist.
 */
static inline unsigned int konf_tag_adopt(struct konf_tags tags)
{
	return __builtin_expect(konf_lib_tag_adopt != NULL, 0)
		       ? konf_lib_tag_adopt(&tags)
		       : 0;
}

/* Count this thread's allocations for no tag until konf_tag_resume(). */
static inline void konf_tag_pause(void)
{
	if (__builtin_expect(konf_lib_tag_pause != NULL, 0))
		konf_lib_tag_pause(1);
}

static inline void konf_tag_resume(void)
{
	if (__builtin_expect(konf_lib_tag_pause != NULL, 0))
		konf_lib_tag_pause(0);
}

/* Return a limit, set by an option; 0 if the library is not loaded. */
static inline uint64_t konf_tag_limit(enum konf_tag_limit which)
{
	return __builtin_expect(konf_lib_tag_limit != NULL, 0)
		       ? konf_lib_tag_limit(which)
		       : 0;
}

/*
 * Call @fn for each value of each tag of all threads. The key is
 * tidTID:THREAD.TAG.TAG.VALUE, as in tid4711:main.load.nBytesSelfAllocated; it
 * is valid during the call. @fn may allocate. Returns 0 or ENOSYS.
 */
static inline int konf_tag_query(void (*fn)(void *arg, const char *key,
					    uint64_t value),
				 void *arg)
{
	return __builtin_expect(konf_lib_tag_query != NULL, 0)
		       ? konf_lib_tag_query(fn, arg)
		       : ENOSYS;
}

/* Write all tags to a file. Returns 0 or an errno; ENOSYS: no library. */
static inline int konf_tag_write(const char *path, enum konf_tag_format format)
{
	return __builtin_expect(konf_lib_tag_write != NULL, 0)
		       ? konf_lib_tag_write(path, format)
		       : ENOSYS;
}

/*
 * Write PREFIX.NNNN.json and .dot with the next number. If @prefix is NULL,
 * KONFISCATOR_SNAPSHOT_PREFIX is used. Returns 0 or an errno; ENOSYS: no
 * library.
 */
static inline int konf_tag_snapshot(const char *prefix)
{
	return __builtin_expect(konf_lib_tag_snapshot != NULL, 0)
		       ? konf_lib_tag_snapshot(prefix)
		       : ENOSYS;
}

/* Reset the peak of every tag to its live bytes. */
static inline void konf_tag_reset_peaks(void)
{
	if (__builtin_expect(konf_lib_tag_reset_peaks != NULL, 0))
		konf_lib_tag_reset_peaks();
}

/* The end of a KONF_TAG_SCOPE(). */
static inline void konf_tag_scope_end(const char *const *name)
{
	(void)name;
	konf_tag_pop();
}

static inline const char *konf_tag_scope_begin(const char *name)
{
	konf_tag_push(name);
	return name;
}

#define KONF_JOIN_(a, b) a##b
#define KONF_JOIN(a, b) KONF_JOIN_(a, b)

/*
 * Real-time code begins in this thread, and ends: calls of malloc and its
 * relatives in between are counted, with their stacks, and `konfiscator
 * realtime -p PID` shows them. They are carried out as usual, unless
 * KONFISCATOR_REALTIME_ABORT=1 is set. With KONFISCATOR_REALTIME_ALLOW=1 only
 * those are counted that wait for a lock of the library, make a system call or
 * have a page fault. May be nested.
 */
static inline void konf_realtime_enter(void)
{
	if (__builtin_expect(konf_lib_realtime != NULL, 0))
		konf_lib_realtime(1);
}

static inline void konf_realtime_leave(void)
{
	if (__builtin_expect(konf_lib_realtime != NULL, 0))
		konf_lib_realtime(0);
}

/* Enter a tag until the end of the enclosing block. */
#define KONF_TAG_SCOPE(name)                                           \
	const char *const KONF_JOIN(konf_scope_, __LINE__)             \
		__attribute__((cleanup(konf_tag_scope_end), unused)) = \
			konf_tag_scope_begin(name)

#ifdef __cplusplus
}

namespace konf
{

/*
 * A tag, or several nested tags, until the end of the scope or release(),
 * whichever comes first. Release scopes in reverse order.
 */
class tag_scope
{
      public:
	explicit tag_scope(const char *name) : nr_(1)
	{
		konf_tag_push(name);
	}

	/* For example "Class", "function". */
	tag_scope(const char *outer, const char *inner) : nr_(2)
	{
		konf_tag_push(outer);
		konf_tag_push(inner);
	}

	/* The tags of another thread. */
	explicit tag_scope(struct konf_tags tags) : nr_(konf_tag_adopt(tags))
	{
	}

	~tag_scope()
	{
		release();
	}

	void release()
	{
		konf_tag_pop_all(nr_);
		nr_ = 0;
	}

	tag_scope(const tag_scope &) = delete;
	tag_scope &operator=(const tag_scope &) = delete;

      private:
	unsigned int nr_;
};

} // namespace konf
#endif

#endif
