/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds and reads stats files, for the command line and the exporter.
 *
 * Promises: pread only, never mmap; every length is checked against the file's
 * real size before it is used; a file is never written. The reader prints what
 * the file describes, so a file of an older or newer library is read as well.
 * Callers decide how figures are shown.
 */
#ifndef KF_READER_READER_H
#define KF_READER_READER_H

#include "base/compiler.h"
#include "reader/place.h"
#include "stats/layout.h"

#include <sys/types.h>

enum kf_read_result {
	KF_READ_OK,
	KF_READ_NOT_READY,    /* the file is being made: try again later */
	KF_READ_FOREIGN,      /* not a stats file at all */
	KF_READ_INCOMPATIBLE, /* a stats file of another major version */
	KF_READ_DAMAGED,      /* a length in it is wrong */
	KF_READ_ERROR,	      /* see errno */
	KF_READ_LATE,	      /* the search ended before the file was read */
	/* valid files that are not believed */
	KF_READ_CONFLICT, /* its owner is not a user of the process it names */
	KF_READ_IMPOSSIBLE, /* its counters are impossible: see figures.h */
	KF_READ_SURPLUS,    /* not read: its owner has too many files there */
	KF_NR_READ_RESULTS
};

/* The state of the process that wrote a file. */
enum kf_life {
	KF_LIFE_ALIVE,
	KF_LIFE_DEAD,	 /* ended, or its pid belongs to another process */
	KF_LIFE_EXECED,	 /* the process runs another program now */
	KF_LIFE_UNKNOWN, /* in another pid namespace or on another host */
};

/* One described counter with its value, summed over the slots. */
struct kf_counter {
	char name[33];
	char metric[41]; /* without "konfiscator_"; "": no metric of its own */
	char labels[41];
	char help[137];
	uint8_t scope; /* enum kf_stats_scope */
	uint8_t type;  /* enum kf_stats_type */
	uint8_t unit;  /* enum kf_stats_unit */
	uint64_t value;
};

struct kf_class_count {
	uint64_t bytes; /* usable bytes of a block; 0: large blocks */
	uint64_t mallocs;
	uint64_t frees;
	int64_t inherited;
	uint64_t carved; /* blocks of its slabs, free ones included */
	uint64_t slabs;
};

struct kf_thread_count {
	int32_t tid;
	uint32_t state; /* enum kf_slot_state */
	char name[17];
	uint64_t mallocs;
	uint64_t frees;
	uint64_t allocated; /* usable bytes */
	uint64_t freed;
};

/*
 * Figures derived from the counters. live + rounding + cached + free + metadata
 * = held; mallocs - frees + inherited = live_blocks.
 */
struct kf_totals {
	uint64_t mallocs;
	uint64_t frees;
	uint64_t inherited_blocks;
	uint64_t live_blocks;
	uint64_t allocated; /* usable bytes, ever */
	uint64_t freed;
	uint64_t live;	   /* bytes the program asked for and has not freed */
	uint64_t rounding; /* bytes of its blocks beyond that */
	uint64_t cached;   /* free blocks inside slabs */
	uint64_t bins;	   /* the part of them that threads keep in bins */
	bool knows_bins;   /* false for files of older libraries */
	uint64_t free;	   /* free pages */
	uint64_t metadata;
	uint64_t held; /* mapped less purged */
};

/* The counters of stats.def, in its order. */
enum kf_stat {
#define KF_STAT_SLOT(id, type, unit, metric, labels, help) KF_STAT_##id,
#define KF_STAT_WORD KF_STAT_SLOT
#include "stats/stats.def"
#undef KF_STAT_WORD
#undef KF_STAT_SLOT
	KF_NR_STATS
};

/* An event of the rings; see src/stats/box.def. */
struct kf_event {
	uint64_t time_ns; /* of CLOCK_MONOTONIC */
	uint32_t kind;	  /* enum kf_box_kind, or of a later version */
	int32_t tid;	  /* thread; 0: unknown */
	char thread[17];  /* its name, or "" */
	uint64_t address;
	uint64_t bytes;
};

struct kf_snapshot {
	enum kf_read_result result;
	int error; /* errno if result is KF_READ_ERROR */
	uint64_t file_size;
	uint64_t dev; /* device of the file that was read */
	uint64_t ino;
	uint32_t owner; /* user id */
	uint32_t major;
	uint32_t minor;
	uint32_t family;	       /* KONFISCATOR_FAMILY; 0: none */
	struct kf_stats_identity id;   /* strings always end in NUL here */
	struct kf_stats_ending ending; /* likewise; all 0 in old files */
	bool knows_exit; /* @ending tells whether it called exit() */
	bool attached;	 /* blocks from before the attach are not counted */
	unsigned int nr_counters;
	struct kf_counter *counters;
	bool lent; /* the reader owns @counters, @classes and @threads */
	uint64_t described; /* equal for the same counters; 0: unknown / */
	unsigned int nr_classes;
	struct kf_class_count *classes;
	bool knows_slabs; /* the file has slabs of each class, which minor
			     versions 0 and 1 do not */
	unsigned int nr_threads; /* slots in use or idle */
	struct kf_thread_count *threads;
	struct kf_totals totals;
	/* Only if requested; an incomplete entry reads as free. */
	uint32_t nr_tags; /* entry 0 is unused */
	struct kf_stats_tag *tags;
	uint32_t nr_stacks;
	struct kf_stats_stack *stacks; /* see kf_snapshot_frames() */
	uint32_t nr_frames;
	struct kf_stats_frame *frames;
	uint32_t nr_calls;
	struct kf_stats_call *calls; /* see kf_snapshot_call() */
	uint32_t nr_modules;
	struct kf_stats_module *modules;
	uint32_t nr_lifetimes;
	struct kf_stats_lifetimes *lifetimes; /* entry i is of stack i */
	uint32_t nr_samples;
	struct kf_stats_sample *samples;
	uint32_t nr_events; /* by time */
	struct kf_event *events;
	uint32_t nr_moments; /* by time */
	struct kf_stats_moment *moments;
	uint32_t nr_reports; /* in their order */
	struct kf_stats_report *reports;
	uint32_t nr_cells; /* by address, of one map; 0: none was noted */
	struct kf_stats_cell *cells; /* see heap-map.h */
	uint32_t nr_mappings;	     /* by address */
	struct kf_stats_mapping *mappings;
};

/* Optional tables, or-ed. */
enum kf_tables {
	KF_TABLE_TAGS = 1,
	KF_TABLE_STACKS = 2, /* and frames, calls and modules */
	KF_TABLE_EVENTS = 4,
	KF_TABLE_AGES = 8, /* with KF_TABLE_STACKS: lifetimes and samples */
	KF_TABLE_REALTIME = 16, /* with KF_TABLE_STACKS: those of calls in
				   real-time mode, and no others */
	KF_TABLE_MOMENTS = 32,
	KF_TABLE_REPORTS = 64, /* with KF_TABLE_STACKS */
	KF_TABLE_MAP = 128,
	KF_TABLE_MAPPINGS = 256, /* with KF_TABLE_STACKS */
};

/**
 * kf_class_blocks() - the live blocks of a class
 * @c:		the class
 *
 * Return: their number; 0 if frees were read before their mallocs.
 */
uint64_t kf_class_blocks(const struct kf_class_count *c);

/**
 * kf_tag_bound() - limit a tag's figures so that their sums do not overflow
 * @t:		the tag
 */
void kf_tag_bound(struct kf_stats_tag *t);

/**
 * kf_snapshot_read() - read a stats file
 * @dirfd:	directory the name is relative to, or AT_FDCWD
 * @name:	the file; a link, FIFO or directory is KF_READ_FOREIGN
 * @s:		out: the snapshot; release it whatever the result
 *
 * Return: the same as @s->result.
 */
enum kf_read_result kf_snapshot_read(int dirfd, const char *name,
				     struct kf_snapshot *s);

/**
 * kf_snapshot_read_with() - kf_snapshot_read(), with more tables
 * @dirfd:	as there
 * @name:	as there
 * @tables:	enum kf_tables, or-ed
 * @s:		out: as there
 *
 * Checked: the name of a tag ends in NUL, its parent and root are entries of
 * the table, and the parent has less depth; nr_frames of a stack fits, and its
 * outer frames are entries of their table, or it has none; a stack is cut only
 * if frames are missing here; the build id of a module fits, and its path ends
 * in NUL; a sample has a stack, and its weight is at least its bytes, KF_MOST
 * at most; a moment is not from before the file, nor are two of the same time;
 * a report is of a known kind, and its stacks are entries of their table or 0;
 * the cells of the map are all there, have bytes, KF_MOST in all at most, and
 * do not overlap, and those of a region are next to each other; mappings have a
 * stack, are below KF_STATS_MAPPED_END and do not overlap. Figures of a running
 * process are from slightly different times.
 *
 * Return: the same as @s->result.
 */
enum kf_read_result kf_snapshot_read_with(int dirfd, const char *name,
					  unsigned int tables,
					  struct kf_snapshot *s);

/**
 * kf_snapshot_call() - the call that a word among return addresses stands for
 * @s:		the snapshot
 * @address:	the word
 *
 * Return: the call; its strings end in NUL. NULL: it is a return address, or a
 *	   call without an entry.
 */
const struct kf_stats_call *kf_snapshot_call(const struct kf_snapshot *s,
					     uint64_t address);

/**
 * kf_snapshot_frames() - the return addresses of a stack
 * @s:		the snapshot
 * @stack:	one of its stacks
 * @frame:	out: the addresses, innermost first
 *
 * Return: how many.
 */
uint32_t kf_snapshot_frames(const struct kf_snapshot *s,
			    const struct kf_stats_stack *stack,
			    uint64_t frame[KF_STATS_STACK_MAX]);

/**
 * kf_snapshot_release() - free what a snapshot holds
 * @s:		the snapshot; harmless twice
 */
void kf_snapshot_release(struct kf_snapshot *s);

/**
 * kf_snapshot_value() - a counter by its name in stats.def
 * @s:		the snapshot
 * @name:	the name
 *
 * Return: its value, or 0 where the file has no such counter.
 */
uint64_t kf_snapshot_value(const struct kf_snapshot *s, const char *name);

/**
 * kf_snapshot_stat() - a counter of stats.def, without a search by name
 * kf_snapshot_counter() - the same, with its description
 * @s:		the snapshot
 * @stat:	which
 *
 * Return: its value, or 0 where the file has no such counter;
 *	   kf_snapshot_counter(): the counter, or NULL.
 */
const struct kf_counter *kf_snapshot_counter(const struct kf_snapshot *s,
					     enum kf_stat stat);
uint64_t kf_snapshot_stat(const struct kf_snapshot *s, enum kf_stat stat);

/**
 * kf_read_result_name() - a result in one word, for labels and messages
 * @result:	the result
 *
 * Return: a constant string: "ok", "not_ready", "foreign", "incompatible",
 *	   "damaged", "error", "late", "conflict", "impossible",
 *	   "surplus".
 */
const char *kf_read_result_name(enum kf_read_result result);

/* One stats file found in a directory. */
struct kf_file {
	char *dir;
	char *name;   /* within @dir */
	int dirfd;    /* descriptor of @dir, while it is open */
	bool outside; /* @dir is not a path in our mount namespace / */
	bool regular; /* by the directory entry; false: unknown / */
	enum kf_life life;
	bool firm;	   /* alive, and the owner's claim is believed */
	int32_t pid;	   /* pid in procfs; 0: not alive or unknown */
	char comm[16];	   /* its current name, raw; "": not read */
	uint64_t resident; /* resident bytes, if requested */
	uint64_t shared;   /* ... the part in files and shared memory */
	struct kf_cached_file *cached; /* its entry in the cache, or NULL */
	struct kf_snapshot snap;
};

struct kf_files {
	unsigned int nr;
	struct kf_file *file;
	struct kf_places places; /* their directories, open */
};

struct kf_file_cache;
struct kf_cached_file;

/* Default duration of a search, seconds. */
#define KF_SEARCH_S 10

/*
 * What a search that limits users left out. Of a user's files in a directory
 * those count that the library makes at most, first those that were stats files
 * at the last search. Files are late if their user's took long, unless time is
 * left.
 */
struct kf_find_left {
	unsigned int surplus; /* files beyond those of a user */
	unsigned int nr_dirs; /* directories with too many names to list all */
};

/* Options of a search. NULL members take the defaults. */
struct kf_find {
	const char *const
		*dirs;	    /* ends with NULL; NULL: the default directories */
	const char *procfs; /* NULL: "/proc" */
	const char *part;   /* only files with this in the name; NULL: all */
	/* not NULL: search other mount namespaces too (see outside.h) */
	unsigned int *hidden; /* out: number of processes that cannot be read */
	/* also find the files of these processes, in any directory */
	const int32_t *pids;
	unsigned int nr_pids;
	unsigned int tables; /* optional tables to read, enum kf_tables */
	bool memory;	     /* read the resident memory from procfs too */
	/* or NULL; one search at a time uses it */
	struct kf_file_cache *file_cache;
	uint64_t until_ns; /* deadline of CLOCK_MONOTONIC; 0: KF_SEARCH_S from
			      now */
	/*
	 * for kf_files_visit(), not NULL: called like its visit, before a file
	 * is read; true: skip the file
	 */
	bool (*skip)(void *ctx, const struct kf_file *file);
	/*
	 * for kf_files_visit() with a cache, not NULL: limit the files of each
	 * user
	 */
	struct kf_find_left *left;
	/*
	 * for kf_files_visit(), not NULL: out: the directories, which stay open
	 * until kf_places_close(), even if the search fails
	 */
	struct kf_places *places;
};

/**
 * kf_files_find() - read every stats file of the directories
 * @find:	where to look, or NULL for the defaults
 * @out:	out: the files, unreadable ones included; sorted by directory,
 *		then name
 *
 * A missing directory is not an error. Files that were not read before the
 * deadline are KF_READ_LATE: other users may make any number of files. Of
 * several files of one process (it called exec), all but the newest are
 * KF_LIFE_EXECED. A file that names the process of a user who is not its owner
 * has the result KF_READ_CONFLICT, and counts for no process.
 *
 * Return: 0, or -1 with errno when out of memory.
 */
int kf_files_find(const struct kf_find *find, struct kf_files *out);

/**
 * kf_file_cache_new() - make a cache that keeps files open between searches
 *
 * For repeated searches: only the changing parts of a stats file are read, and
 * its process' directory in procfs stays open. Descriptors are above 1023; if
 * there are no more, processes are looked up each time.
 *
 * Return: for struct kf_find; NULL when out of memory.
 */
struct kf_file_cache *kf_file_cache_new(void);

/**
 * kf_file_cache_free() - close and free the cache
 * @cache:	the cache, or NULL
 *
 * Context: while no search uses it.
 */
void kf_file_cache_free(struct kf_file_cache *cache);

/* Called with a file; a result other than 0 ends the search. */
typedef int kf_file_visit(void *ctx, const struct kf_file *file);

/**
 * kf_files_visit() - read the stats files one after the other
 * @find:	where to look, or NULL for the defaults
 * @visit:	called for each file, in no order and perhaps by another thread,
 *		one call at a time; the file is valid during the call
 * @ctx:	passed to @visit
 *
 * As kf_files_find(), but few snapshots are in memory at the same time, and
 * threads read many files at once. A file that turns out to be older than
 * another file of its process is visited twice: the second time it is
 * KF_LIFE_EXECED, or its result is KF_READ_CONFLICT, and the second visit is
 * final.
 *
 * Return: 0, or -1 when out of memory, or the result of @visit that ended the
 *	   search.
 */
int kf_files_visit(const struct kf_find *find, kf_file_visit *visit, void *ctx);

/**
 * kf_files_release() - free what kf_files_find() gave
 * @files:	the files; harmless twice
 */
void kf_files_release(struct kf_files *files);

/**
 * kf_default_dirs() - the default directories, in the library's order
 *
 * $KONFISCATOR_DIR, /run/konfiscator, $XDG_RUNTIME_DIR/konfiscator and
 * /tmp/konfiscator-stats-UID; for root every /tmp/konfiscator-stats-* and
 * /run/user/UID/konfiscator too.
 *
 * Return: a NULL-terminated array, one allocation to free(); NULL when out
 *	   of memory.
 */
char **kf_default_dirs(void);

/**
 * kf_escape() - escape a name for a terminal or a log
 * @dst:	out: the name, control bytes and invalid UTF-8 as \xNN
 * @size:	room in @dst, more than 0
 * @src:	the name
 *
 * Return: @dst.
 */
char *kf_escape(char *dst, size_t size, const char *src);

#endif
