/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the files of this directory share; no other directory
 * includes this header.
 *
 *	image.c		the file's bytes: filled, grown, handed to a child
 *	identity.c	which process writes the file
 *	backing.c	directories and files, and the mapping of one
 *	slots.c		slots taken and labelled, the image grown
 *	moments.c	the heap's history: moments of the process' life
 *	reports.c	the first reports of guarded blocks (report.h)
 *	box.c		the last events of slow paths, in the place of slots
 *	area.c		the tables of tags, stacks, modules and samples and the
 *			heap's map behind the image's slots, and the slots that
 *			the image has no room for
 *	guard.c		SIGBUS after a truncation of the file
 *	ledger.c	the counters of ended processes, added up
 *	fold.c		the counters that are added to a ledger
 *	sweep.c		the user's files in a directory: limits, ended processes
 *	fork.c		a child leaves its parent's file
 *	stats.c		start and publication
 *
 * The image stays at one address for the life of the process and grows into
 * the addresses behind it, as long as they are free. Private memory or a file
 * is mapped there. Other processes may write to the file, so the library
 * decides nothing by what it reads there: all state is in struct
 * kf_stats_state.
 */
#ifndef KF_STATS_INTERNAL_H
#define KF_STATS_INTERNAL_H

#include "stats/ledger.h"
#include "stats/stats.h"
#include "sys/process.h"
#include "sys/vm.h"

#include <limits.h>

/*
 * Offsets of the sections. Each begins on a cache line of its own, and the
 * counters begin on a page: the descriptions before them are only in the file.
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
	KF_AT_MOMENTS = KF_ALIGN_UP(
		KF_AT_CONTROL + sizeof(struct kf_stats_control), KF_CACHE_LINE),
	KF_AT_REPORTS = KF_ALIGN_UP(
		KF_AT_MOMENTS +
			KF_STATS_MOMENTS * sizeof(struct kf_stats_moment),
		KF_CACHE_LINE),
	KF_AT_SLOTS = KF_ALIGN_UP(
		KF_AT_REPORTS +
			KF_STATS_REPORTS * sizeof(struct kf_stats_report),
		sizeof(struct kf_slot)),
};

/* Slots that a program without threads uses. */
#define KF_FEW_SLOTS 3

/* Offsets of the areas, behind the largest image; the file has holes between.
 */
enum {
	KF_AT_TAGS = 16 * KF_MIB,
	KF_AT_MODULES = 32 * KF_MIB,
	KF_AT_STACKS = 33 * KF_MIB,
	KF_AT_FRAMES = 73 * KF_MIB,
	KF_AT_CALLS = 126 * KF_MIB,
	KF_AT_LIFETIMES = 128 * KF_MIB,
	KF_AT_MAP = 147 * KF_MIB,
	KF_AT_MAPPINGS = KF_AT_MAP + KF_MIB / 2,
	KF_AT_SAMPLES = 148 * KF_MIB,
	KF_AT_MORE = KF_STATS_MAX_REST,
};

_Static_assert(KF_AT_SLOTS + KF_STATS_MAX_SLOTS * sizeof(struct kf_slot) <=
		       KF_AT_TAGS,
	       "slots end before the tags begin");
_Static_assert((KF_AT_FRAMES - KF_AT_STACKS) / sizeof(struct kf_stats_stack) <=
		       (KF_AT_MAP - KF_AT_LIFETIMES) /
			       sizeof(struct kf_stats_lifetimes),
	       "each stack has its lifetimes");
_Static_assert(KF_STATS_CELLS * sizeof(struct kf_stats_cell) <=
		       KF_AT_MAPPINGS - KF_AT_MAP,
	       "the map ends before the mappings begin");
_Static_assert(KF_STATS_MAPPINGS * sizeof(struct kf_stats_mapping) <=
		       KF_AT_SAMPLES - KF_AT_MAPPINGS,
	       "the mappings end before the samples begin");

/*
 * An area: a table in addresses of its own. Invariant: shown <= bytes <= room;
 * all are multiples of 64 KiB. The first @bytes have memory, the first @shown
 * of these are in the file and its header. "growth": written by the thread that
 * has the right of kf_growth_enter(), read atomically by all.
 */
struct kf_area {
	char *base;   /* NULL until first use, then constant */
	size_t room;  /* bytes of addresses; constant after first use */
	size_t bytes; /* growth */
	size_t shown; /* growth */
};

/*
 * Invariant: nr_taken <= nr_slots <= max_slots, nr_shown <= nr_slots, and
 * kf_image_size(nr_slots) is a multiple of the page, except in_bss. "init":
 * constant after kf_stats_init(). "growth": as in struct kf_area.
 */
struct kf_stats_state {
	char *base;	  /* init */
	size_t page;	  /* init */
	size_t max_slots; /* init */
	bool in_bss;	  /* init: one slot in static memory, mmap failed */
	size_t nr_slots;  /* slots that have memory; growth */
	size_t nr_shown;  /* slots that the file has; growth */
	size_t nr_taken;  /* atomic */
	uint32_t nr_more; /* slots taken in KF_AREA_SLOTS; atomic */
	struct kf_area area[KF_NR_AREAS];
	uint64_t file_size;   /* as this process left it; growth */
	bool on_file;	      /* growth; the SIGBUS handler clears it */
	bool disabled;	      /* no file is wanted; growth */
	bool counts_lost;     /* with a truncated file, or in a fork; atomic */
	bool on_parents_file; /* a child's failed to leave it; growth */
	bool was_filtered;    /* by seccomp, at the start; growth */
	uint64_t dev;	      /* of the file; growth */
	uint64_t ino;	      /* of the file; growth */
	uint32_t owner;	      /* uid that made the file; growth */
	uint32_t note;	      /* in the ledger, from 1; 0: none; growth */
	const uint64_t *class_bytes; /* NULL before publication; growth */
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
 * @image:	the image, or the bytes of a file
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
 * kf_image_descs() - the descriptions of counters, at KF_AT_DESCS of a file
 * @bytes:	out: their size
 *
 * Only readers use the descriptions, so the image in memory has none.
 *
 * Context: any.
 * Return: the descriptions; constant.
 */
const struct kf_stats_desc *kf_image_descs(size_t *bytes);

/**
 * kf_image_fill() - write the header of an image, not ready yet
 *
 * Context: kf_stats_init(); the image is zeroes.
 */
void kf_image_fill(void);

/**
 * kf_image_show() - write the numbers of slots and of areas to the header
 *
 * The header shows KF_FEW_SLOTS slots until more are taken, as readers read all
 * slots that it shows.
 *
 * Context: growth; readers may read the header meanwhile.
 */
void kf_image_show(void);

/**
 * kf_image_inherit() - turn the copy of a parent's image into its child's
 * @forker:	tid of the thread that forked, in the parent; 0: unknown
 *
 * Counters become 0 and gauges stay; live blocks and large bytes become
 * inherited; slots become idle, except the one of the thread that forked.
 *
 * Context: the child's only thread; the image is private.
 */
void kf_image_inherit(int32_t forker);

/**
 * kf_moments_note() - kf_moments_tick() at a time
 * @now:	CLOCK_MONOTONIC, ns
 *
 * Context: as kf_moments_tick().
 */
void kf_moments_note(uint64_t now);

/**
 * kf_moments_restart() - forget the history
 *
 * Context: one thread, while no other thread counts: a forked child's only one.
 */
void kf_moments_restart(void);

/**
 * kf_image_sum() - sum up all slots
 * @m:		out: live, allocated and blocks; the rest is not touched
 *
 * Context: any thread; exact while no other thread counts.
 */
void kf_image_sum(struct kf_stats_moment *m);

/**
 * kf_backing_make() - make a file in the first usable directory and map it
 * @conf:	the directories
 *
 * On success the file is mapped at the image's addresses. A failure changes
 * nothing, in memory or on disk.
 *
 * Context: growth.
 * Return: 0, or the negative errno of the last directory.
 */
int kf_backing_make(const struct kf_stats_conf *conf);

/**
 * kf_backing_grow() - extend the file and map the new part
 * @addr:	where to map
 * @from:	offset of the part's first byte
 * @to:		offset behind its last byte
 *
 * Context: growth.
 * Return: 0, or a negative errno: -ESTALE when the file at the path is another
 *	   one, or another process changed its length.
 */
int kf_backing_grow(char *addr, uint64_t from, uint64_t to);

/**
 * kf_area_section() - the header's section of an area
 * @area:	the area
 *
 * Context: growth.
 * Return: the section; it has no entries while the area is not in the file.
 */
struct kf_stats_section kf_area_section(enum kf_stats_area area);

/**
 * kf_area_write() - write the areas to a new file
 * @fd:		the file
 *
 * Space is allocated before it is written. Ages are left out where the limit of
 * the size of files forbids them.
 *
 * Context: growth.
 * Return: 0, or a negative errno.
 */
int kf_area_write(int fd);

/**
 * kf_area_map() - map the file at the areas' addresses
 * @fd:		the file, after kf_area_write()
 *
 * An area that cannot be mapped stays in private memory and is not shown.
 *
 * Context: growth.
 */
void kf_area_map(int fd);

/**
 * kf_area_copy() - private copies of the areas, for a child
 * @copy:	out: KF_NR_AREAS copies; base is NULL where a copy failed
 *
 * Context: the forking thread, or the child's only one.
 */
void kf_area_copy(struct kf_area *copy);

/**
 * kf_area_drop() - unmap copies
 * @copy:	made by kf_area_copy()
 *
 * Context: any.
 */
void kf_area_drop(struct kf_area *copy);

/**
 * kf_area_leave() - map copies in place of the parent's file
 * @copy:	the copies; dropped afterwards
 * @lost:	out: set where zeroes were mapped, for want of a copy
 *
 * Context: a forked child's only thread.
 * Return: false where the kernel has no memory and the file is still mapped.
 */
bool kf_area_leave(struct kf_area *copy, bool *lost);

/**
 * kf_area_inherit() - turn tables of a parent into its child's
 *
 * A node or stack begins with its live bytes and blocks, and the samples stay;
 * all else is 0.
 *
 * Context: a forked child's only thread; nothing is shown yet.
 */
void kf_area_inherit(void);

/**
 * kf_area_restart() - let all counts of tags and stacks begin at 0
 *
 * Context: one thread, while no thread counts; nothing is shown yet.
 */
void kf_area_restart(void);

/**
 * kf_image_restart() - let all counts of the image begin at 0
 *
 * Levels of the library's own memory stay.
 *
 * Context: as kf_area_restart(), which comes first.
 */
void kf_image_restart(void);

/**
 * kf_area_clear() - map zeroes in place of a truncated file
 *
 * Context: any, signal handlers too.
 * Return: false where the kernel has no memory.
 */
bool kf_area_clear(void);

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
 * @pid:	the process, by the number that /proc has
 *
 * Context: any.
 * Return: start_ticks of struct kf_stats_identity; 0: unknown.
 */
uint64_t kf_identity_start(int32_t pid);

/* Room for the name of a stats file: comm, a pid and 64 random bits, dots. */
#define KF_BACKING_NAME (KF_COMM_SIZE + 1 + 10 + 1 + 20)

/**
 * kf_backing_name() - the name of a stats file
 * @name:	out: the name, of KF_BACKING_NAME
 * @comm:	the command name, made safe for a path
 * @pid:	the process
 * @random:	a random number
 *
 * Context: any.
 */
void kf_backing_name(char *name, const char *comm, int32_t pid,
		     uint64_t random);

/**
 * kf_stats_self() - the identity of this process
 *
 * Context: after kf_stats_init(); kf_stats_publish() fills it in.
 * Return: the identity; the address is constant.
 */
const struct kf_stats_identity *kf_stats_self(void);

/**
 * kf_fold_described() - the counters and classes of this library's ledgers
 *
 * Context: growth, after publication.
 * Return: the counters and classes; constant.
 */
const struct kf_ledger_described *kf_fold_described(void);

/**
 * kf_fold_memory() - the counters of this process
 *
 * Context: growth.
 * Return: its key and sums; valid until the next call of this function or of
 *	   kf_fold_file().
 */
const struct kf_ledger_row *kf_fold_memory(void);

/**
 * kf_fold_file() - the counters of an ended process, from its stats file
 * @fd:		the file
 * @size:	bytes of the file
 *
 * Context: growth.
 * Return: as kf_fold_memory(); NULL where the file is damaged, or a library
 *	   with other counters wrote it.
 */
const struct kf_ledger_row *kf_fold_file(int fd, uint64_t size);

/* A directory in which a file is about to be made. */
struct kf_watch {
	struct kf_ledger_writer w; /* fd is -1 where there is no ledger */
	uint32_t unused;	   /* an unused note, or KF_LEDGER_FILES */
};

/**
 * kf_watch_begin() - lock the ledger of a directory and sweep its files
 * @watch:	out; kf_watch_leave() is due whatever the result
 * @dirfd:	the directory
 *
 * Folds files of ended processes and removes files beyond the limits.
 *
 * Context: growth; the identity of this process is filled in.
 * Return: 0: one more file is allowed; -EDQUOT: the user's files are at a
 *	   limit; -ENOSPC: the file system has too little space.
 */
int kf_watch_begin(struct kf_watch *watch, int dirfd) __must_check;

/**
 * kf_watch_note() - add a note of this process' new file to the ledger
 * @watch:	the directory
 * @comm:	the command in the file's name, KF_COMM_SIZE bytes
 * @random:	the random number in the file's name
 *
 * Context: between kf_watch_begin() and kf_watch_leave().
 */
void kf_watch_note(struct kf_watch *watch, const char *comm, uint64_t random);

/**
 * kf_watch_leave() - unlock the ledger of a directory
 * @watch:	the directory
 *
 * Context: after kf_watch_begin().
 */
void kf_watch_leave(struct kf_watch *watch);

/**
 * kf_watch_end() - update the note of this process' file, which was folded
 * @w:		the ledger of its directory
 * @keep:	true: the file is still there
 *
 * Context: growth.
 */
void kf_watch_end(struct kf_ledger_writer *w, bool keep);

/**
 * kf_sweep_all() - fold and remove files of which the ledger has no note
 * @w:		the ledger of the directory
 *
 * Of many files a random part is read.
 *
 * Context: growth.
 */
void kf_sweep_all(struct kf_ledger_writer *w);

/**
 * kf_stats_chunk_take() - a chunk for the black box, in the place of a slot
 *
 * Chunks take at most half of the slots.
 *
 * Context: any thread.
 * Return: a zeroed chunk; NULL where the file cannot grow, or in a signal
 *	   handler that interrupted its growth.
 */
struct kf_stats_chunk *kf_stats_chunk_take(void);

/**
 * kf_growth_enter() - take the right to change the mappings of image and areas
 *
 * The right is not held over a fork: a child rebuilds all that it guards.
 *
 * Context: any thread; sleeps while another thread has the right.
 * Return: false when the calling thread has the right already: the caller is a
 *	   signal handler that interrupted growth.
 */
bool kf_growth_enter(void) __must_check;

/**
 * kf_growth_leave() - give the right back
 *
 * Context: the thread that has the right.
 */
void kf_growth_leave(void);

/**
 * kf_growth_reset() - free the right, whichever thread had it
 *
 * Mappings of an unfinished growth lie behind the last slot; the next growth
 * maps over them.
 *
 * Context: a forked child's only thread.
 */
void kf_growth_reset(void);

/**
 * kf_guard_install() - survive a truncation of the file from now on
 *
 * Does nothing where the program handles or ignores SIGBUS itself.
 *
 * Context: growth.
 */
void kf_guard_install(void);

/**
 * kf_guard_remove() - leave SIGBUS to the program again
 *
 * Context: any thread; a handler of the program stays.
 */
void kf_guard_remove(void);

#endif
