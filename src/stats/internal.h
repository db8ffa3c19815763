/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the rooms of this layer share; nobody outside includes it.
 *
 *	image.c		the file's bytes: filled, grown, handed to a child
 *	identity.c	who writes the file
 *	backing.c	directories and files, and the mapping of one
 *	slots.c		slots taken and labelled, the image grown
 *	box.c		what slow paths did last, in the place of slots
 *	area.c		the tables of tags, stacks and code, behind the image's
 *			slots, and the slots that the image has no room for
 *	guard.c		SIGBUS of a file that was cut short
 *	ledger.c	the counters of processes that have ended, added up
 *	fold.c		what is added to them
 *	sweep.c		the user's files in a directory, and those of the dead
 *	fork.c		a child leaves its parent's file
 *	stats.c		start and publication
 *
 * The image lives at one address for the life of the process and takes the
 * addresses behind it as it grows, for as long as nobody else has them; what
 * stands behind it is private memory or a file. The
 * library decides nothing by what it reads from there: the file is open to
 * others, so all that steers is in struct kf_stats_state.
 */
#ifndef KF_STATS_INTERNAL_H
#define KF_STATS_INTERNAL_H

#include "stats/ledger.h"
#include "stats/stats.h"
#include "sys/process.h"
#include "sys/vm.h"

#include <limits.h>

/*
 * Where the sections are; each begins on a cache line of its own, and what is
 * counted on a page: the texts before it are not mapped, see backing.c.
 */
enum kf_image_at {
	KF_AT_IDENTITY =
		KF_ALIGN_UP(sizeof(struct kf_stats_header), KF_CACHE_LINE),
	KF_AT_ENDING =
		KF_ALIGN_UP(KF_AT_IDENTITY + sizeof(struct kf_stats_identity),
			    KF_CACHE_LINE),
	KF_AT_DESCS = KF_ALIGN_UP(KF_AT_ENDING + sizeof(struct kf_stats_ending),
				  KF_CACHE_LINE),
	KF_AT_CLASSES = KF_ALIGN_UP(
		KF_AT_DESCS + (KF_NR_SLOT_STATS + KF_NR_WORD_STATS) *
				      sizeof(struct kf_stats_desc),
		KF_PAGE),
	KF_AT_WORDS = KF_ALIGN_UP(KF_AT_CLASSES +
					  KF_STATS_NR_CLASSES *
						  sizeof(struct kf_stats_class),
				  KF_CACHE_LINE),
	KF_AT_CONTROL =
		KF_ALIGN_UP(KF_AT_WORDS + sizeof(struct kf_stats_words) +
				    KF_NR_WORD_STATS * sizeof(uint64_t),
			    KF_CACHE_LINE),
	KF_AT_SLOTS =
		KF_ALIGN_UP(KF_AT_CONTROL + sizeof(struct kf_stats_control),
			    sizeof(struct kf_slot)),
};

/* What a program without threads has taken after a while. */
#define KF_FEW_SLOTS 3

/* Behind the room that all slots can ever take; a file has holes between. */
enum {
	KF_AT_TAGS = 16 * KF_MIB,
	KF_AT_MODULES = 32 * KF_MIB,
	KF_AT_STACKS = 33 * KF_MIB,
	KF_AT_MORE = KF_STATS_MAX_REST,
};

_Static_assert(KF_AT_SLOTS + KF_STATS_MAX_SLOTS * sizeof(struct kf_slot) <=
		       KF_AT_TAGS,
	       "slots end before the tags begin");

/*
 * An area: a table in addresses of its own. @bytes, a multiple of 64 KiB, have
 * memory behind them; of these @shown are in the file and its header.
 */
struct kf_area {
	char *base;   /* NULL until first use, then constant */
	size_t room;  /* bytes of addresses; constant likewise */
	size_t bytes; /* growth, read by all */
	size_t shown; /* growth, read by all */
};

/*
 * Invariant: nr_taken <= nr_slots <= max_slots, nr_shown <= nr_slots, and
 * kf_image_size(nr_slots) is a multiple of the page, except in_bss. "growth"
 * below is the right that kf_growth_enter() gives.
 */
struct kf_stats_state {
	char *base;	  /* constant after kf_stats_init() */
	size_t page;	  /* likewise */
	size_t max_slots; /* likewise */
	bool in_bss;	  /* likewise: memory of last resort, one slot */
	size_t nr_slots;  /* with memory behind them; growth, read by all */
	size_t nr_shown;  /* that the header speaks of; growth */
	size_t nr_taken;  /* atomic */
	uint32_t nr_more; /* of KF_AREA_SLOTS; atomic */
	struct kf_area area[KF_NR_AREAS];
	uint64_t file_size; /* as we left it; growth */
	bool on_file;	    /* growth; cleared by the guard */
	bool unseen;	    /* no file is wanted; growth, read by all */
	bool torn;	    /* atomic: the counts were lost with a file */
	bool stranded;	    /* a child could not leave its parent's file */
	bool was_filtered;  /* by seccomp, when the program began; growth */
	uint64_t dev;	    /* of the file; growth */
	uint64_t ino;	    /* likewise */
	uint32_t owner;	    /* likewise: its user, when it was made */
	uint32_t note;	    /* of it in the ledger, from 1; 0: none; growth */
	const uint64_t *class_bytes; /* NULL until it is known; growth */
	int error;		     /* errno why there is no file; growth */
	char path[PATH_MAX];	     /* growth */
};

extern struct kf_stats_state kf_stats;

/**
 * kf_image_size() - bytes of an image
 * @nr_slots:	slots in it
 *
 * Context: any.
 * Return: bytes.
 */
static inline size_t kf_image_size(size_t nr_slots)
{
	return KF_AT_SLOTS + nr_slots * sizeof(struct kf_slot);
}

/**
 * kf_image_fit() - slots of the smallest image that ends with a page
 * @nr_slots:	slots wanted
 * @page:	bytes of a page
 *
 * Context: any.
 * Return: slots, at least @nr_slots.
 */
static inline size_t kf_image_fit(size_t nr_slots, size_t page)
{
	size_t size = KF_ALIGN_UP(kf_image_size(nr_slots), page);

	return (size - KF_AT_SLOTS) / sizeof(struct kf_slot);
}

/**
 * kf_image_slot() - a slot of an image
 * @image:	the image
 * @i:		its number
 *
 * Context: any.
 * Return: the slot.
 */
static inline struct kf_slot *kf_image_slot(char *image, size_t i)
{
	return (struct kf_slot *)(void *)(image + kf_image_size(i));
}

/**
 * kf_image_texts() - what a file has from KF_AT_DESCS on
 * @bytes:	out: how much
 *
 * Of use to readers only, so no image has it in memory.
 *
 * Context: any.
 * Return: the texts; constant.
 */
const void *kf_image_texts(size_t *bytes);

/**
 * kf_image_fill() - make zeroed memory an image, not ready yet
 * @image:	the memory, on a page boundary
 * @nr_slots:	slots that fit
 *
 * Context: one thread.
 */
void kf_image_fill(char *image, size_t nr_slots);

/**
 * kf_image_show() - have the header speak of so many slots, and of the areas
 * @image:	the image
 * @nr_slots:	slots; they exist already
 *
 * Of KF_FEW_SLOTS until more are taken: readers read what it speaks of.
 *
 * Context: growth; readers may look on.
 */
void kf_image_show(char *image, size_t nr_slots);

/**
 * kf_image_set_classes() - fill in the size classes
 * @image:	the image
 * @bytes:	KF_STATS_NR_CLASSES sizes in bytes
 *
 * Context: growth.
 */
void kf_image_set_classes(char *image, const uint64_t *bytes);

/**
 * kf_image_inherit() - turn the copy of a parent's image into its child's
 * @image:	the image, private
 * @nr_slots:	slots in it
 * @forker:	the thread that forked, as the parent knew it; 0: unknown
 *
 * Counters become 0 and gauges stay; blocks and large bytes that are live
 * become inherited; slots in use become idle, as their threads are gone, but
 * for that of the thread that forked.
 *
 * Context: the child's only thread.
 */
void kf_image_inherit(char *image, size_t nr_slots, int32_t forker);

/**
 * kf_backing_make() - make a file in the first usable directory and map it
 * @conf:	the directories
 *
 * On success the image's addresses are the file's. A failure leaves nothing
 * behind, in memory or on disk.
 *
 * Context: growth.
 * Return: 0, or the negative errno of the last directory.
 */
int kf_backing_make(const struct kf_stats_conf *conf);

/**
 * kf_backing_grow() - take a part of the file and map it
 * @addr:	where
 * @from:	offset of its first byte
 * @to:		offset behind its last
 *
 * Context: growth.
 * Return: 0, or a negative errno: -ESTALE when the file at the path is not
 *	   ours or not as long as we left it.
 */
int kf_backing_grow(char *addr, uint64_t from, uint64_t to);

/**
 * kf_area_section() - what the header says of an area
 * @area:	which
 *
 * Context: growth.
 * Return: its section; none of its entries until it is in the file.
 */
struct kf_stats_section kf_area_section(enum kf_stats_area area);

/**
 * kf_area_write() - write what the areas hold into a new file
 * @fd:		the file
 *
 * Its space is taken first.
 *
 * Context: growth.
 * Return: 0, or a negative errno.
 */
int kf_area_write(int fd);

/**
 * kf_area_map() - have the file behind the areas
 * @fd:		the file, after kf_area_write()
 *
 * One that cannot be mapped stays in memory and is not shown.
 *
 * Context: growth.
 */
void kf_area_map(int fd);

/**
 * kf_area_copy() - private copies of the areas, for a child
 * @copy:	out: KF_NR_AREAS of them; base is NULL where there is none
 *
 * Context: the forking thread, or the child's only one.
 */
void kf_area_copy(struct kf_area *copy);

/**
 * kf_area_drop() - give copies back
 * @copy:	what kf_area_copy() made
 *
 * Context: any.
 */
void kf_area_drop(struct kf_area *copy);

/**
 * kf_area_leave() - put copies in the place of the parent's file
 * @copy:	copies; dropped afterwards
 * @lost:	out: set where zeroes had to be put there
 *
 * Context: a forked child's only thread.
 * Return: false where the kernel has no memory: the file is still there.
 */
bool kf_area_leave(struct kf_area *copy, bool *lost);

/**
 * kf_area_inherit() - turn tables of a parent into its child's
 *
 * A node or stack begins with what is live in it; all else is 0.
 *
 * Context: a forked child's only thread; nothing is shown yet.
 */
void kf_area_inherit(void);

/**
 * kf_area_forget() - put zeroes in the place of a file that was cut short
 *
 * Context: any, signal handlers too.
 * Return: false where the kernel has no memory.
 */
bool kf_area_forget(void);

/**
 * kf_area_holds() - whether an address lies in an area's memory
 * @addr:	the address
 *
 * Context: any, signal handlers too.
 * Return: true if so.
 */
bool kf_area_holds(const char *addr);

/**
 * kf_identity_start() - when a process began
 * @pid:	the process, as our /proc has it
 *
 * Context: any.
 * Return: its start time as struct kf_stats_identity has it; 0: not to be
 *	   found out.
 */
uint64_t kf_identity_start(int32_t pid);

/* Room for the name of a stats file: comm, a pid and 64 random bits, dots. */
#define KF_BACKING_NAME (KF_COMM_SIZE + 1 + 10 + 1 + 20)

/**
 * kf_backing_name() - the name of a stats file
 * @name:	out: the name, of KF_BACKING_NAME
 * @comm:	the command name, as it is in the name
 * @pid:	the process
 * @random:	what tells it from others
 *
 * Context: any.
 */
void kf_backing_name(char *name, const char *comm, int32_t pid,
		     uint64_t random);

/**
 * kf_stats_self() - who we are
 *
 * Context: after kf_stats_init(); filled in when we are published.
 * Return: our identity; it stays.
 */
const struct kf_stats_identity *kf_stats_self(void);

/**
 * kf_fold_described() - what our ledgers are for
 *
 * Context: who has the right of growth, once the classes are known.
 * Return: our counters and classes; constant.
 */
const struct kf_ledger_described *kf_fold_described(void);

/**
 * kf_fold_memory() - what this process has counted
 *
 * Context: growth.
 * Return: its key and sums, until the next call of this or kf_fold_file().
 */
const struct kf_ledger_row *kf_fold_memory(void);

/**
 * kf_fold_file() - what a process counted by its stats file
 * @fd:		the file
 * @size:	its bytes
 *
 * Context: growth; the process has ended.
 * Return: as kf_fold_memory(); NULL where it is damaged, or another library's
 *	   that counts something else.
 */
const struct kf_ledger_row *kf_fold_file(int fd, uint64_t size);

/* A directory in which a file is about to be made. */
struct kf_watch {
	struct kf_ledger_writer w; /* fd is -1 where there is none */
	uint32_t unused;	   /* a note; KF_LEDGER_FILES: there is none */
};

/**
 * kf_watch_begin() - look after the user's files of a directory
 * @watch:	out: leave it whatever the result
 * @dirfd:	the directory
 *
 * Files of processes that have ended are folded, and those beyond the limits
 * removed.
 *
 * Context: growth; our identity is filled in.
 * Return: 0: one more file is allowed; -EDQUOT: the user has too much already;
 *	   -ENOSPC: the file system has not enough.
 */
int kf_watch_begin(struct kf_watch *watch, int dirfd) __must_check;

/**
 * kf_watch_note() - take a note of the file that we have made
 * @watch:	the directory
 * @comm:	in its name, KF_COMM_SIZE bytes
 * @random:	likewise
 *
 * Context: as kf_watch_begin().
 */
void kf_watch_note(struct kf_watch *watch, const char *comm, uint64_t random);

/**
 * kf_watch_leave() - let others look after the directory
 * @watch:	the directory
 *
 * Context: as kf_watch_begin().
 */
void kf_watch_leave(struct kf_watch *watch);

/**
 * kf_watch_end() - our file was folded
 * @w:		the ledger of its directory
 * @keep:	it is still there
 *
 * Context: as kf_watch_begin().
 */
void kf_watch_end(struct kf_ledger_writer *w, bool keep);

/**
 * kf_sweep_all() - look at files that the ledger has no note of
 * @w:		the ledger of the directory
 *
 * Of many files a random part is looked at.
 *
 * Context: as kf_watch_begin().
 */
void kf_sweep_all(struct kf_ledger_writer *w);

/**
 * kf_stats_chunk_take() - a chunk for the black box, in the place of a slot
 *
 * Half of all slots are left to threads.
 *
 * Context: any thread.
 * Return: a zeroed chunk; NULL where the file cannot grow, or in a signal
 *	   handler that interrupted its growth.
 */
struct kf_stats_chunk *kf_stats_chunk_take(void);

/**
 * kf_growth_enter() - take the right to change what stands behind the image
 *
 * Not held over a fork: a child rebuilds all that it guards.
 *
 * Context: any thread; sleeps while another has it.
 * Return: false when the caller has it already: a signal handler, that
 *	   interrupted itself.
 */
bool kf_growth_enter(void) __must_check;

/**
 * kf_growth_leave() - give the right back
 *
 * Context: who has it.
 */
void kf_growth_leave(void);

/**
 * kf_growth_reset() - forget who had the right
 *
 * What growth left half done lies behind the last slot, and the next growth
 * maps over it.
 *
 * Context: a forked child's only thread.
 */
void kf_growth_reset(void);

/**
 * kf_guard_install() - survive the truncation of the file from now on
 *
 * Does nothing where the program handles or ignores SIGBUS itself.
 *
 * Context: growth.
 */
void kf_guard_install(void);

#endif
