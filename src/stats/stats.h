/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The counters as the library writes them.
 *
 * From the first call on there is memory to count in; kf_stats_publish() maps a
 * file there, and a forked child leaves it. Slots and words never move. No
 * failure of this module needs handling by its caller.
 */
#ifndef KF_STATS_STATS_H
#define KF_STATS_STATS_H

#include "base/compiler.h"
#include "stats/layout.h"

enum kf_slot_stat {
#define KF_STAT_SLOT(id, type, unit, metric, labels, help) KF_SLOT_##id,
#include "stats/stats.def"
#undef KF_STAT_SLOT
	KF_NR_SLOT_STATS
};

enum kf_word_stat {
#define KF_STAT_WORD(id, type, unit, metric, labels, help) KF_WORD_##id,
#include "stats/stats.def"
#undef KF_STAT_WORD
	KF_NR_WORD_STATS
};

_Static_assert(KF_NR_SLOT_STATS <= KF_STATS_SLOT_SCALARS, "slot is full");
_Static_assert(sizeof(struct kf_slot) == 2048, "the slot's size is ABI");
_Static_assert(sizeof(struct kf_stats_chunk) == sizeof(struct kf_slot),
	       "a chunk takes the place of a slot");

/* Whether and where a file is made; the strings outlive the call. */
struct kf_stats_conf {
	bool enabled;
	bool trusted;		 /* false: set-id, the environment is ignored */
	bool guard;		 /* install a handler against truncation */
	bool attached;		 /* to a process that ran before */
	const char *dir;	 /* KONFISCATOR_DIR, or NULL */
	const char *runtime_dir; /* XDG_RUNTIME_DIR, or NULL */
	const char *name;	 /* KONFISCATOR_NAME, or NULL */
	const char *engine;
	uint32_t family;	     /* KONFISCATOR_FAMILY */
	const uint64_t *class_bytes; /* KF_STATS_NR_CLASSES sizes, [0] is 0 */
};

/* The process' words; constant after kf_stats_init(). */
extern struct kf_stats_words *kf_stats_words;

/* KF_STATS_NR_CLASSES size classes; constant after kf_stats_init(). */
extern struct kf_stats_class *kf_stats_classes;

/**
 * kf_stats_init() - map memory for the counters, anonymous at first
 *
 * Context: once, before any other call of this module; before main() too.
 *	    Falls back to static memory for one slot where mmap fails.
 */
void kf_stats_init(void);

/**
 * kf_stats_publish() - make the stats file and map it at the counters
 * @conf:	where, and how the process is called
 * @forked:	whether the process began with fork
 *
 * The file begins with the counts so far. Where no file can be made, the
 * counters stay in anonymous memory, and kf_stats_path() is NULL.
 *
 * Context: one thread at a time; not from a signal handler. errno kept.
 */
void kf_stats_publish(const struct kf_stats_conf *conf, bool forked);

/**
 * kf_stats_set_family() - set the number that a family of processes shares
 * @family:	the number; 0: none
 *
 * Children that are forked from now on have it too.
 *
 * Context: any; after kf_stats_init().
 */
void kf_stats_set_family(uint32_t family);

/**
 * kf_stats_exit() - note in the file that the process called exit()
 * @status:	of that call
 *
 * A file without this note is one of a process that lives, or that a signal or
 * _exit() ended.
 *
 * Context: once, when the program ends; makes no system calls.
 */
void kf_stats_exit(int status);

/**
 * kf_stats_finish() - add the counters to the ledger, and remove the file
 * @keep:	the file stays
 * @keep_samples: it stays if it has samples
 *
 * Later counts are lost. A process without a file adds its counters in memory.
 * Where another process has the ledger for long, nothing is done, and the
 * user's next process adds the counters of the file.
 *
 * Context: once, when the program ends; not under a seccomp filter.
 */
void kf_stats_finish(bool keep, bool keep_samples);

/**
 * kf_stats_leave() - kf_stats_finish() in a process that goes on uncounted
 *
 * The file is removed in any case, and a handler of SIGBUS that is ours too.
 *
 * Context: one thread, when no thread counts any more.
 */
void kf_stats_leave(void);

/**
 * kf_stats_restart() - begin to count anew, after kf_stats_leave()
 *
 * Tags and stacks stay, without counts.
 *
 * Context: one thread, before threads count; kf_stats_publish() comes next.
 */
void kf_stats_restart(void);

/**
 * kf_stats_name_engine() - write the name of the engine that serves now
 * @name:	the engine's name
 *
 * Context: one thread at a time.
 */
void kf_stats_name_engine(const char *name);

/**
 * kf_stats_path() - the path of the stats file
 *
 * Context: any thread.
 * Return: the path, or NULL when there is no file.
 */
const char *kf_stats_path(void);

/**
 * kf_stats_tried() - the last directory in which making a file failed
 *
 * Context: right after kf_stats_publish(), where kf_stats_error() is not 0.
 * Return: the directory, with a slash at its end; "" where none was tried.
 */
const char *kf_stats_tried(void);

/**
 * kf_stats_error() - why there is no file
 *
 * Context: any thread.
 * Return: the errno of the last attempt in the last directory tried, or 0.
 */
int kf_stats_error(void);

/**
 * kf_stats_slot_take() - a slot for a new arena
 *
 * Context: any thread; may wait for another thread that makes room.
 * Return: a zeroed slot, never NULL. Where the file cannot grow, no reader sees
 *	   the slot, and the word lost_slots counts it.
 */
struct kf_slot *kf_stats_slot_take(void);

/**
 * kf_stats_slot_label() - write the calling thread's name and tid to a slot
 * @slot:	the slot
 * @state:	in use or idle
 *
 * Keeps errno.
 *
 * Context: the slot's thread; three system calls.
 */
void kf_stats_slot_label(struct kf_slot *slot, enum kf_slot_state state);

/*
 * Tables that grow on their own, each of a struct of layout.h.
 */
enum kf_stats_area {
	KF_AREA_TAGS,
	KF_AREA_STACKS,
	KF_AREA_FRAMES,
	KF_AREA_CALLS,
	KF_AREA_LIFETIMES, /* entry i is of stack i */
	KF_AREA_SAMPLES,
	KF_AREA_MAP,
	KF_AREA_MAPPINGS,
	KF_AREA_MODULES,
	KF_AREA_SLOTS, /* slots beyond those of the image */
	KF_NR_AREAS
};

/**
 * kf_stats_area_grow() - the table of an area, with room for entries
 * @area:	the area
 * @nr:		entries wanted
 *
 * Reserves addresses at first use, and maps memory in steps of 64 KiB or more.
 * New entries are zeroes; entries never move.
 *
 * Context: any thread; not from a signal handler. Cheap when there is room.
 * Return: entry 0, or NULL where there is no room for @nr entries.
 */
void *kf_stats_area_grow(enum kf_stats_area area, uint32_t nr);

/**
 * kf_stats_area() - the table of an area as it is
 * @area:	the area
 * @nr:		out: entries that have memory
 *
 * Context: any thread, signal handlers too.
 * Return: entry 0; NULL, and 0 entries, where the area was never used.
 */
void *kf_stats_area(enum kf_stats_area area, uint32_t *nr);

/**
 * kf_stats_area_shown() - entries of an area that the stats file has
 * @area:	the area
 *
 * Context: any thread.
 * Return: their number; 0 where there is no file.
 */
uint32_t kf_stats_area_shown(enum kf_stats_area area);

/**
 * kf_stats_fork_child() - leave the parent's file at once
 *
 * Private memory takes the mapping's place. Counters start at 0, gauges stay,
 * live blocks become inherited, and slots become idle except the one of the
 * thread that forked. A later kf_stats_publish() makes the child's own file.
 *
 * Context: the child's only thread. Without kf_stats_prepare_fork() before
 *	    the fork the child starts from the parent's counts at this moment.
 */
void kf_stats_fork_child(void);

/**
 * kf_stats_prepare_fork() - copy the image and the areas for a child
 * kf_stats_parent_fork() - unmap the copy in the parent
 *
 * The child needs a copy, as the parent goes on counting in the shared mapping.
 * No lock is held over the fork.
 *
 * Context: the forking thread.
 */
void kf_stats_prepare_fork(void);
void kf_stats_parent_fork(void);

/**
 * kf_stats_control() - where orders to the process arrive
 *
 * Every process that may write to the file may write there, so the caller
 * checks all that it reads from it.
 *
 * Context: any thread, after kf_stats_init().
 * Return: the place; constant.
 */
struct kf_stats_control *kf_stats_control(void);

/**
 * kf_stats_live() - live blocks, summed up over all slots
 * @blocks:	out: live blocks
 * @bytes:	out: their usable bytes
 *
 * Context: any thread; exact when no other thread allocates meanwhile.
 */
void kf_stats_live(uint64_t *blocks, uint64_t *bytes);

/**
 * kf_moments_tick() - note the heap's figures in its history, if that is due
 *
 * Due is a moment after an eighth of the life so far, and a second at most (and
 * a millisecond more for each slot, as all are summed up). Makes no system
 * call, and does nothing while the process has no stats file.
 *
 * Context: any thread, on a slow path.
 */
void kf_moments_tick(void);

/**
 * kf_identity_fill() - the identity of the calling process
 * @id:		out: the identity; an unknown field is 0 or ""
 * @conf:	name and engine
 * @forked:	whether the process began with fork
 *
 * Context: any thread. Works without /proc.
 */
void kf_identity_fill(struct kf_stats_identity *id,
		      const struct kf_stats_conf *conf, bool forked);

/**
 * kf_ending_fill() - the part of the process' ledger key that is not identity
 * @e:		out: not folded, command line and cgroup; an unknown one is ""
 *
 * Context: any thread. Works without /proc.
 */
void kf_ending_fill(struct kf_stats_ending *e);

/**
 * kf_backing_is_trusted() - whether orders in the stats file may be obeyed
 *
 * A process may make its file while its effective user is another one, and may
 * have more rights than that user. So the owner at that time and the rights of
 * the process now decide.
 *
 * Context: any thread; makes two system calls.
 * Return: true if the file's owner is root, or the process' real, effective and
 *	   saved user; false where there is no file.
 */
bool kf_backing_is_trusted(void);

/**
 * kf_guard_also() - survive the truncation of another file too
 * @repair:	called in the signal handler with the address that faulted;
 *		where the address is of that file, maps memory there and returns
 *		true
 *
 * Does nothing where the program handles or ignores SIGBUS itself. All calls
 * name the same function.
 *
 * Context: one thread at a time.
 */
void kf_guard_also(bool (*repair)(const char *addr));

/* Begin and end a change of several words: the caller holds the pages lock. */
static inline void kf_stats_begin(void)
{
	uint64_t *seq = &kf_stats_words->seq;

	kf_store(seq, *seq + 1);
	/* pairs with the acquire fence of kf_snapshot_read() */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void kf_stats_end(void)
{
	uint64_t *seq = &kf_stats_words->seq;

	kf_store_release(seq, *seq + 1);
}

/* Add to a word; the caller holds the pages lock. */
static inline void kf_word_add(enum kf_word_stat w, uint64_t n)
{
	uint64_t *p = &kf_stats_words->word[w];

	kf_store(p, *p + n);
}

static inline void kf_word_sub(enum kf_word_stat w, uint64_t n)
{
	kf_word_add(w, -n);
}

static inline void kf_word_set(enum kf_word_stat w, uint64_t n)
{
	kf_store(&kf_stats_words->word[w], n);
}

static inline uint64_t kf_word_get(enum kf_word_stat w)
{
	return kf_load(&kf_stats_words->word[w]);
}

/* Bytes held from the kernel. */
static inline uint64_t kf_stats_held(void)
{
	return kf_word_get(KF_WORD_mapped) - kf_word_get(KF_WORD_purged);
}

/* Add to a word from any thread, without a lock. */
static inline void kf_word_add_atomic(enum kf_word_stat w, uint64_t n)
{
	kf_fetch_add(&kf_stats_words->word[w], n);
}

/* Add to a class' carved blocks and slabs; any thread. */
static inline void kf_class_add(unsigned int class, int64_t carved,
				int64_t slabs)
{
	struct kf_stats_class *c = &kf_stats_classes[class];

	kf_fetch_add(&c->carved, carved);
	if (slabs)
		kf_fetch_add(&c->slabs, slabs);
}

#endif
