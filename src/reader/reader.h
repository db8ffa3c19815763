/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds and reads stats files, for the command line and the exporter.
 *
 * Promises: pread only, never mmap; every length is checked against the
 * file's real size before it is used; a file is never written. The reader
 * prints what the file describes, so a file of an older or newer library is
 * read as well. It leaves to its callers how figures are shown.
 */
#ifndef KF_READER_READER_H
#define KF_READER_READER_H

#include "base/compiler.h"
#include "reader/place.h"
#include "stats/layout.h"

#include <sys/types.h>

enum kf_read_result {
	KF_READ_OK,
	KF_READ_NOT_READY,    /* being made: try again later */
	KF_READ_FOREIGN,      /* not a stats file at all */
	KF_READ_INCOMPATIBLE, /* a stats file of another major version */
	KF_READ_DAMAGED,      /* a length in it does not hold */
	KF_READ_ERROR,	      /* errno tells */
	KF_READ_LATE,	      /* there was no time for it */
	/* good files that are not believed */
	KF_READ_CONFLICT,   /* its owner is no user of the process it names */
	KF_READ_IMPOSSIBLE, /* counts what no process can: see figures.h */
	KF_NR_READ_RESULTS
};

/* Whether the process that wrote a file is still that process. */
enum kf_life {
	KF_LIFE_ALIVE,
	KF_LIFE_DEAD,	 /* gone, or its pid is another process now */
	KF_LIFE_EXECED,	 /* the process runs another program now */
	KF_LIFE_UNKNOWN, /* of another pid namespace or host */
};

/* One described counter with its value, summed over the slots. */
struct kf_counter {
	char name[33];
	char metric[41]; /* less "konfiscator_"; "" feeds a derived one */
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
	uint64_t carved; /* blocks of its slabs, with those that are free */
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
 * What follows from the counters. live + rounding + cached + free + metadata
 * = held; mallocs - frees + inherited = live_blocks.
 */
struct kf_totals {
	uint64_t mallocs;
	uint64_t frees;
	uint64_t inherited_blocks;
	uint64_t live_blocks;
	uint64_t allocated; /* usable bytes, ever */
	uint64_t freed;
	uint64_t live;	   /* bytes the program asked for and has */
	uint64_t rounding; /* what its blocks have beyond that */
	uint64_t cached;   /* free blocks inside slabs */
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

/* An event of the black box; see src/stats/box.def. */
struct kf_event {
	uint64_t time_ns; /* of CLOCK_MONOTONIC */
	uint32_t kind;	  /* enum kf_box_kind, or of a later version */
	int32_t tid;	  /* whose; 0: not known */
	char thread[17];  /* its name, or "" */
	uint64_t address;
	uint64_t bytes;
};

struct kf_snapshot {
	enum kf_read_result result;
	int error; /* errno where result is KF_READ_ERROR */
	uint64_t file_size;
	uint64_t dev; /* of the file that was read */
	uint64_t ino;
	uint32_t owner; /* user id */
	uint32_t major;
	uint32_t minor;
	struct kf_stats_identity id;   /* strings always end in NUL here */
	struct kf_stats_ending ending; /* likewise; all 0 in old files */
	unsigned int nr_counters;
	struct kf_counter *counters;
	bool lent; /* @counters, @classes and @threads are the reader's */
	uint64_t described; /* equal: the same counters; 0: not known */
	unsigned int nr_classes;
	struct kf_class_count *classes;
	bool knows_slabs; /* of each class; files of minor versions 0, 1 no */
	unsigned int nr_threads; /* slots in use or idle */
	struct kf_thread_count *threads;
	struct kf_totals totals;
	/* Only where asked for; an entry that is not whole reads as free. */
	uint32_t nr_tags; /* entry 0 is none */
	struct kf_stats_tag *tags;
	uint32_t nr_stacks;
	struct kf_stats_stack *stacks;
	uint32_t nr_modules;
	struct kf_stats_module *modules;
	uint32_t nr_events; /* by time */
	struct kf_event *events;
};

/* Tables that few readers want, or-ed. */
enum kf_tables {
	KF_TABLE_TAGS = 1,
	KF_TABLE_STACKS = 2, /* and modules */
	KF_TABLE_EVENTS = 4,
};

/**
 * kf_class_blocks() - the blocks of a class that live
 * @c:		the class
 *
 * Return: how many; 0 where frees were seen before their mallocs.
 */
uint64_t kf_class_blocks(const struct kf_class_count *c);

/**
 * kf_tag_bound() - keep a tag's figures where sums of them do not go round
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
 * Of a tag, name ends in NUL, parent and root are entries of the table, and
 * a parent has less depth; of a stack, nr_frames fits; of a module, its build
 * id fits and its path ends in NUL. Figures of a process that runs are of
 * slightly different moments.
 *
 * Return: the same as @s->result.
 */
enum kf_read_result kf_snapshot_read_with(int dirfd, const char *name,
					  unsigned int tables,
					  struct kf_snapshot *s);

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
 * kf_snapshot_stat() - a counter of stats.def, quickly
 * @s:		the snapshot
 * @stat:	which
 *
 * Return: its value, or 0 where the file has no such counter.
 */
uint64_t kf_snapshot_stat(const struct kf_snapshot *s, enum kf_stat stat);

/**
 * kf_read_result_name() - a result in one word, for labels and messages
 * @result:	the result
 *
 * Return: a constant string: "ok", "not_ready", "foreign", "incompatible",
 *	   "damaged", "error", "late", "conflict", "impossible".
 */
const char *kf_read_result_name(enum kf_read_result result);

/* One stats file found in a directory. */
struct kf_file {
	char *dir;
	char *name;   /* within @dir */
	int dirfd;    /* of @dir, as long as it is open */
	bool outside; /* of another mount namespace: @dir is no path here */
	bool regular; /* as the directory says; false: not known */
	bool again;   /* left to the search's next turn */
	enum kf_life life;
	bool firm;	   /* alive, and its owner may be believed about it */
	int32_t pid;	   /* as procfs shows it; 0: not alive or unknown */
	char comm[16];	   /* what it is called now, raw; "": not looked */
	uint64_t resident; /* bytes in memory, where asked for */
	uint64_t shared;   /* ... of these, of files or shared */
	struct kf_kept_file *kept; /* of the search */
	struct kf_snapshot snap;
};

struct kf_files {
	unsigned int nr;
	struct kf_file *file;
	struct kf_places places; /* their directories, open */
};

struct kf_kept;
struct kf_kept_file;

/* How long a search may take that is told no end, seconds. */
#define KF_SEARCH_S 10

/* Where to look, and where /proc is. NULL members take the defaults. */
struct kf_find {
	const char *const
		*dirs;	    /* NULL-terminated; NULL: the library's order */
	const char *procfs; /* NULL: "/proc" */
	const char *part; /* not NULL: only files that have it in their name */
	/* not NULL: look into other mount namespaces, too (see outside.h) */
	unsigned int *hidden; /* out: processes that are not to be seen */
	/* look also where these processes have their files, wherever that is */
	const int32_t *pids;
	unsigned int nr_pids;
	unsigned int tables;  /* enum kf_tables, or-ed: read these, too */
	bool memory;	      /* ask the kernel what it has in memory, too */
	struct kf_kept *kept; /* NULL: nothing; else for one search at a time */
	uint64_t until_ns;    /* of CLOCK_MONOTONIC; 0: KF_SEARCH_S from now */
	/*
	 * for kf_files_visit(), not NULL: called as its visit is, before a file
	 * is read; true: it is not read, and not visited
	 */
	bool (*skip)(void *ctx, const struct kf_file *file);
	/*
	 * for kf_files_visit(), not NULL: out: the directories stay open until
	 * kf_places_close(), also where the search fails
	 */
	struct kf_places *places;
};

/**
 * kf_files_find() - read every stats file of the directories
 * @find:	where to look, or NULL for the defaults
 * @out:	out: the files, those that could not be read included; sorted
 *		by directory, then name
 *
 * A directory that is not there is no error. Files that there was no time for
 * are KF_READ_LATE: anybody may have made any number of them. Of several files
 * of one process (it called exec), all but the newest are KF_LIFE_EXECED. The
 * result of a file that names the process of another user than its owner is
 * KF_READ_CONFLICT, and it says nothing of any process.
 *
 * Return: 0, or -1 with errno when out of memory.
 */
int kf_files_find(const struct kf_find *find, struct kf_files *out);

/**
 * kf_kept_new() - begin to keep files open from one search to the next
 *
 * For who searches again and again: a stats file, and its process' directory
 * in procfs, stay open, so that only what changes is read. Descriptors are
 * above 1023; where there are no more, files are opened each time.
 *
 * Return: for struct kf_find; NULL when out of memory.
 */
struct kf_kept *kf_kept_new(void);

/**
 * kf_kept_free() - close all that is kept
 * @kept:	what kf_kept_new() gave, or NULL
 *
 * Context: while nobody searches with it.
 */
void kf_kept_free(struct kf_kept *kept);

/* What is done with a file; not 0 ends the search. */
typedef int kf_file_visit(void *ctx, const struct kf_file *file);

/**
 * kf_files_visit() - read the stats files one after the other
 * @find:	where to look, or NULL for the defaults
 * @visit:	called for each file, in no order and perhaps by another
 *		thread, one call at a time; the file is its own only for the
 *		call
 * @ctx:	handed on
 *
 * As kf_files_find(), but few snapshots at a time are in memory, and threads
 * read many files at once. A file that
 * turns out to be older than another of its process is visited twice: the
 * second time it is KF_LIFE_EXECED, or its result is KF_READ_CONFLICT, and that
 * holds.
 *
 * Return: 0, or -1 when out of memory, or what @visit ended the search with.
 */
int kf_files_visit(const struct kf_find *find, kf_file_visit *visit, void *ctx);

/**
 * kf_files_release() - free what kf_files_find() gave
 * @files:	the files; harmless twice
 */
void kf_files_release(struct kf_files *files);

/**
 * kf_default_dirs() - the library's directories, in its order
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
 * kf_escape() - make a name harmless for a terminal or a log
 * @dst:	out: the name, control bytes and invalid UTF-8 as \xNN
 * @size:	room in @dst, more than 0
 * @src:	the name
 *
 * Return: @dst.
 */
char *kf_escape(char *dst, size_t size, const char *src);

#endif
