/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The counters as the library writes them.
 *
 * From the first call on there is always memory to count in; whether a file
 * stands behind it is decided by kf_stats_publish() and may change at a fork.
 * Addresses of slots and words never change, so nobody holds a stale pointer.
 * Nothing here can fail in a way that its caller must handle.
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

/* What decides whether and where a file is made; strings outlive the call. */
struct kf_stats_conf {
	bool enabled;
	bool trusted;		 /* false: set-id, the environment is ignored */
	bool guard;		 /* survive a file cut short, by a handler */
	const char *dir;	 /* KONFISCATOR_DIR, or NULL */
	const char *runtime_dir; /* XDG_RUNTIME_DIR, or NULL */
	const char *name;	 /* KONFISCATOR_NAME, or NULL */
	const char *engine;
	const uint64_t *class_bytes; /* KF_STATS_NR_CLASSES sizes, [0] is 0 */
};

/* The process' words; constant after kf_stats_init(). */
extern struct kf_stats_words *kf_stats_words;

/* The size classes, KF_STATS_NR_CLASSES; likewise. */
extern struct kf_stats_class *kf_stats_classes;

/**
 * kf_stats_init() - give the counters their memory, anonymous at first
 *
 * Context: once, before any other call of this module; before main() too.
 *	    Falls back to static memory for one slot where mmap fails.
 */
void kf_stats_init(void);

/**
 * kf_stats_publish() - put a file behind the counters
 * @conf:	where, and what it says of the process
 * @forked:	whether the process began with fork
 *
 * What was counted before is carried over. When no file can be made the
 * counters stay in anonymous memory; kf_stats_path() tells.
 *
 * Context: one thread at a time; not from a signal handler. errno kept.
 */
void kf_stats_publish(const struct kf_stats_conf *conf, bool forked);

/**
 * kf_stats_finish() - add the counters to the ledger, and remove the file
 * @keep:	the file stays; it does too where samples were taken
 *
 * What is counted afterwards is lost. A process that has no file adds what it
 * counted in memory. Does nothing where the ledger cannot be had soon: the next
 * process of the user does it then.
 *
 * Context: once, when the program ends; not under a filter of system calls.
 */
void kf_stats_finish(bool keep);

/**
 * kf_stats_name_engine() - say which engine serves from now on
 * @name:	its name
 *
 * Context: one thread at a time.
 */
void kf_stats_name_engine(const char *name);

/**
 * kf_stats_path() - the name of the file behind the counters
 *
 * Context: any thread.
 * Return: the path, or NULL when there is no file.
 */
const char *kf_stats_path(void);

/**
 * kf_stats_tried() - where the last attempt was to make a file
 *
 * Context: right after kf_stats_publish(), where kf_stats_error() is not 0.
 * Return: the last directory tried, with a slash behind it; "" where none was.
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
 * Context: any thread; serialised by a lock of its own.
 * Return: a zeroed slot, never NULL: where the file cannot grow, one that no
 *	   reader sees (counted in the word lost_slots).
 */
struct kf_slot *kf_stats_slot_take(void);

/**
 * kf_stats_slot_label() - say which thread counts in a slot
 * @slot:	the slot
 * @state:	in use or idle
 *
 * The thread is the caller. errno kept.
 *
 * Context: the slot's thread; three system calls.
 */
void kf_stats_slot_label(struct kf_slot *slot, enum kf_slot_state state);

/*
 * The tables that grow on their own; struct kf_stats_tag, kf_stats_stack,
 * kf_stats_module, kf_slot.
 */
enum kf_stats_area {
	KF_AREA_TAGS,
	KF_AREA_STACKS,
	KF_AREA_MODULES,
	KF_AREA_SLOTS, /* more of them than the image has addresses for */
	KF_NR_AREAS
};

/**
 * kf_stats_area_grow() - the table of an area, with room
 * @area:	which
 * @nr:		entries wanted
 *
 * At first use it takes addresses, and memory by steps of 64 KiB or more.
 * Entries are zeroes until somebody writes them, and never move.
 *
 * Context: any thread; not from a signal handler. Cheap when there is room.
 * Return: entry 0, or NULL where there cannot be so many.
 */
void *kf_stats_area_grow(enum kf_stats_area area, uint32_t nr);

/**
 * kf_stats_area() - the table of an area as it is
 * @area:	which
 * @nr:		out: entries that have memory
 *
 * Context: any thread, signal handlers too.
 * Return: entry 0; NULL, and 0 entries, where it was never used.
 */
void *kf_stats_area(enum kf_stats_area area, uint32_t *nr);

/**
 * kf_stats_fork_child() - leave the parent's file at once
 *
 * The mapping becomes anonymous at the same address; counters start at 0,
 * gauges stay, what is live becomes inherited, slots of other threads than the
 * one that forked become idle. A later kf_stats_publish() makes the child's
 * own file.
 *
 * Context: the child's only thread. Without kf_stats_prepare_fork() before
 *	    the fork it starts from what the parent has counted by now.
 */
void kf_stats_fork_child(void);

/**
 * kf_stats_prepare_fork() - copy for a child what it is to start from
 * kf_stats_parent_fork() - give the copy back in the parent
 *
 * The parent goes on counting in the shared mapping before the child has left
 * it. No lock is held over the fork.
 *
 * Context: the forking thread.
 */
void kf_stats_prepare_fork(void);
void kf_stats_parent_fork(void);

/**
 * kf_stats_control() - where orders to the process come in
 *
 * Anybody who may write to the file may write there: what is read from it has
 * to be checked.
 *
 * Context: any thread, after kf_stats_init().
 * Return: the place; it stays.
 */
struct kf_stats_control *kf_stats_control(void);

/**
 * kf_stats_live() - what all slots together say is live
 * @blocks:	out: a number
 * @bytes:	out: usable bytes of these
 *
 * Context: any thread; exact when the others stand still.
 */
void kf_stats_live(uint64_t *blocks, uint64_t *bytes);

/**
 * kf_identity_fill() - say who writes a file
 * @id:		out: the identity; what cannot be found out is 0 or ""
 * @conf:	name and engine
 * @forked:	whether the process began with fork
 *
 * Context: any thread. Works without /proc.
 */
void kf_identity_fill(struct kf_stats_identity *id,
		      const struct kf_stats_conf *conf, bool forked);

/**
 * kf_ending_fill() - say to what the process' counters will be added
 * @e:		out: not folded, its command line and cgroup; what cannot be
 *		found out is ""
 *
 * Context: any thread. Works without /proc.
 */
void kf_ending_fill(struct kf_stats_ending *e);

/**
 * kf_backing_is_barred() - whether opening a file may kill the program
 *
 * A program that filtered its system calls since it began may be killed by
 * ours, and so may its child. Where it began with a filter, as in a container,
 * that filter was not made for the program alone.
 *
 * Context: any thread.
 * Return: true if no file is to be opened.
 */
bool kf_backing_is_barred(void);

/**
 * kf_backing_is_trusted() - whether what others wrote there may be obeyed
 *
 * A process may have made its file while its effective user was another one
 * than before and after, and be able to do more than that user. So the file's
 * owner counts, when the file was made, and what the process is now.
 *
 * Context: any thread; makes two system calls.
 * Return: true if the file is root's, or a user's who is the process' real,
 *	   effective and saved one; false where there is no file.
 */
bool kf_backing_is_trusted(void);

/**
 * kf_guard_also() - survive the truncation of another file too
 * @mend:	called with an address that faulted, in the signal handler; puts
 *		memory there and returns true, where it is of that file
 *
 * Does nothing where the program handles or ignores SIGBUS itself. Later calls
 * have to name the same function.
 *
 * Context: one thread at a time.
 */
void kf_guard_also(bool (*mend)(const char *addr));

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

/* Add to what slabs of a class there are, in blocks and slabs; any thread. */
static inline void kf_class_add(unsigned int class, int64_t carved,
				int64_t slabs)
{
	struct kf_stats_class *c = &kf_stats_classes[class];

	kf_fetch_add(&c->carved, carved);
	if (slabs)
		kf_fetch_add(&c->slabs, slabs);
}

/* Add to a slot's scalar; the caller is the slot's thread. */
static inline void kf_slot_add(struct kf_slot *slot, enum kf_slot_stat s,
			       uint64_t n)
{
	slot->scalar[s] += n;
}

#endif
