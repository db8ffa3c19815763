/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations between the parts of the reader: from a file on disk to figures
 * (totals.c), and the look-up of a file's process (life.c). Nothing outside
 * src/reader includes this header.
 */
#ifndef KF_READER_INTERNAL_H
#define KF_READER_INTERNAL_H

#include "reader/reader.h"

#include <pthread.h>

/*
 * A file being read: its descriptor, its current size, the part that was read
 * ahead, its checked header.
 */
struct kf_source {
	int fd;
	uint64_t until_ns; /* deadline, of kf_clock_ns(); 0: none */
	bool *torn;	   /* out, see struct kf_read_how; or NULL */
	uint64_t size;
	const char *piece;
	uint64_t begin; /* offset of the part in the file */
	size_t nr_piece;
	struct kf_stats_header h;
};

#define KF_PIECE_SIZE (32 * KF_KIB) /* larger than most files */

/**
 * kf_clock_ns() - the current time
 *
 * Return: nanoseconds of CLOCK_MONOTONIC.
 */
uint64_t kf_clock_ns(void);

/**
 * kf_late() - whether a deadline has passed
 * @until_ns:	the deadline, of kf_clock_ns(); 0: none
 *
 * Return: whether; errno is ETIME then.
 */
bool kf_late(uint64_t until_ns);

/**
 * kf_source_get() - a part of a file, if it was read ahead
 * @src:	the file
 * @offset:	where it begins
 * @len:	its bytes
 *
 * Return: the part, or NULL.
 */
const char *kf_source_get(const struct kf_source *src, uint64_t offset,
			  uint64_t len);

/**
 * kf_totals_derive() - compute a snapshot's totals from its counters
 * @s:		the snapshot; counters, classes and large bytes are filled in
 */
void kf_totals_derive(struct kf_snapshot *s);

/**
 * kf_read_at() - read a part of a file completely
 * @fd:		the file
 * @buf:	out: the piece
 * @len:	its bytes
 * @offset:	where it is
 *
 * Return: whether all bytes were read.
 */
bool kf_read_at(int fd, void *buf, size_t len, uint64_t offset);

/**
 * kf_tables_read() - read the tables of tags and stacks
 * @src:	the file, its header checked
 * @tables:	which
 * @s:		out: the tables
 *
 * Return: false with errno where it cannot be read.
 */
bool kf_tables_read(const struct kf_source *src, unsigned int tables,
		    struct kf_snapshot *s);

/**
 * kf_events_read() - read the black box
 * @src:	the file, its header checked
 * @s:		out: the events
 *
 * Return: false with errno where it cannot be read.
 */
bool kf_events_read(const struct kf_source *src, struct kf_snapshot *s);

/* Memory that is reused for one file after the other. Initially empty. */
struct kf_room {
	bool lend; /* lent to snapshots, one at a time */
	char *piece;
	uint64_t *words; /* twice @nr_words, with the sequence numbers */
	size_t nr_words;
	struct kf_slot *slot;
	size_t slot_size;
	struct kf_counter *counters;
	struct kf_class_count *classes;
	uint32_t nr_classes;
	struct kf_thread_count *threads;
	uint32_t nr_threads;
};

/* The numbers of descriptions; shared by caches. */
struct kf_desc_ids {
	pthread_mutex_t lock; /* of all below */
	unsigned int next;
	struct {
		uint64_t id;
		size_t entry_size;
		size_t bytes;
		char *raw;
	} known[8];
};

/*
 * Cached from one file to the next: memory, and the counters that the last file
 * described, as most files have the same descriptions. Initially empty.
 */
struct kf_desc_cache {
	struct kf_room room;
	struct kf_desc_ids *ids; /* NULL: not shared */
	uint64_t id;		 /* number of this description */
	char *raw;		 /* the section, @bytes of it */
	size_t bytes;
	size_t entry_size;
	size_t nr_words;
	unsigned int nr_counters;
	struct kf_counter *counters;
	uint32_t *index;			  /* of each counter's word */
	const struct kf_counter *large_allocated; /* as in kf_described */
	const struct kf_counter *large_freed;
};

/* The counter of each slot scalar, and the words. */
struct kf_described {
	uint64_t *words;
	size_t nr_words;
	/* by index in the slot; NULL: undescribed */
	struct kf_counter *scalar[KF_STATS_SLOT_SCALARS];
	/* of the slots' counters, those of large blocks; NULL: undescribed */
	const struct kf_counter *large_allocated;
	const struct kf_counter *large_freed;
};

/**
 * kf_descs_take() - the counters that a file describes, with the values of its
 *			words
 * @table:	the section of descriptions, whole
 * @sec:	its size, checked
 * @s:		the snapshot, which has no counters yet
 * @t:		@words is filled in; out: the slots' counters
 * @cache:	what the last file described, or NULL
 *
 * Context: one thread a cache; allocates.
 * Return: whether the table is valid; errno is ENOMEM when out of memory.
 */
bool kf_descs_take(const char *table, const struct kf_stats_section *sec,
		   struct kf_snapshot *s, struct kf_described *t,
		   struct kf_desc_cache *cache);

/**
 * kf_descs_recall() - the counters of a cached description
 * @id:		the description, from @s->described of another file
 * @s:		as for kf_descs_take()
 * @t:		likewise
 * @cache:	likewise, or NULL
 *
 * Context: as kf_descs_take().
 * Return: false if the cache has another one, or when out of memory.
 */
bool kf_descs_recall(uint64_t id, struct kf_snapshot *s, struct kf_described *t,
		     struct kf_desc_cache *cache);

/**
 * kf_desc_ids_release() - forget the numbers of descriptions
 * @ids:	the numbers
 *
 * Context: when no cache uses them any more.
 */
void kf_desc_ids_release(struct kf_desc_ids *ids);

/**
 * kf_counts_read() - read the counters of a file
 * @src:	the file, its header checked
 * @described:	its description, if known, or 0
 * @cache:	memory, and the description of the last file
 * @s:		out: counters, classes and threads
 *
 * Context: one thread a cache; allocates.
 * Return: false with errno where it cannot be read.
 */
bool kf_counts_read(struct kf_source *src, uint64_t described,
		    struct kf_desc_cache *cache, struct kf_snapshot *s);

/* Options for reading a file. */
struct kf_read_how {
	unsigned int tables; /* enum kf_tables, or-ed */
	bool regular; /* from the directory entry: it is a regular file */
	struct kf_desc_cache *cache;   /* NULL: a single file is read */
	struct kf_cached_file *cached; /* its cache entry, or NULL */
	uint64_t until_ns;	       /* deadline, of kf_clock_ns(); 0: none */
	/*
	 * Words that belong together may change while they are read. NULL:
	 * retry until they are consistent, at most as long as a writer may be
	 * preempted. Else do not wait; out: whether they were consistent.
	 */
	bool *torn;
};

/**
 * kf_snapshot_read_as() - read one of many stats files
 * @dirfd:	as for kf_snapshot_read()
 * @name:	likewise
 * @how:	the options
 * @s:		as for kf_snapshot_read()
 *
 * Context: one thread a cache; allocates.
 * Return: the same as @s->result.
 */
enum kf_read_result kf_snapshot_read_as(int dirfd, const char *name,
					const struct kf_read_how *how,
					struct kf_snapshot *s);

/**
 * kf_desc_cache_release() - free what a cache holds
 * @cache:	the cache
 *
 * Context: as kf_snapshot_read_as().
 */
void kf_desc_cache_release(struct kf_desc_cache *cache);

/**
 * kf_identity_end() - terminate the strings of an identity
 * @id:		as read: a string on disk may fill its array
 *
 * A full one loses its last character.
 */
void kf_identity_end(struct kf_stats_identity *id);

/* A process in procfs, with its pid in its innermost namespace. */
struct kf_proc {
	int32_t pid;
	int32_t inner_pid;
	uint64_t start_ticks;
};

/*
 * A view of procfs. @procs is filled in for the first file from another pid
 * namespace: most readers never need it.
 */
struct kf_life_view {
	int procfd;	 /* -1: no procfs; all processes are unknown */
	uint64_t pid_ns; /* pid namespace of this procfs; 0: unreadable */
	bool sees_all;	 /* of the outermost namespace, by root */
	char boot_id[40];
	char comm[16]; /* name of the last process, unescaped; "": none */
	bool listed;   /* whether @procs is filled in */
	bool brief;    /* do not fill it in; out: */
	bool unsure;   /* ... but the last look-up needed it */
	unsigned int nr_procs;
	struct kf_proc *procs;
};

/**
 * kf_life_open() - open a view for looking up processes
 * @view:	out: the view
 * @procfs:	where procfs is mounted
 */
void kf_life_open(struct kf_life_view *view, const char *procfs);

/**
 * kf_life_close() - close a view
 * @view:	the view
 */
void kf_life_close(struct kf_life_view *view);

/**
 * kf_life_start() - the start time of a process
 * @view:	the view; sets its comm to the process' name, "" if it has ended
 * @pid:	its pid in procfs
 *
 * Context: one thread a view.
 * Return: clock ticks since boot, or 0.
 */
uint64_t kf_life_start(struct kf_life_view *view, int32_t pid);

/**
 * kf_life_inner_pid() - the pid of a process in its innermost namespace
 * @procfd:	procfs' mount point
 * @pid:	its pid there
 *
 * Return: the pid; 0 if it is in the namespace of @procfd, or unreadable.
 */
int32_t kf_life_inner_pid(int procfd, int32_t pid);

/**
 * kf_life_execed() - whether a process runs another program than the file's
 * @view:	the view
 * @pid:	its pid in procfs
 * @id:		the identity in the file
 * @dirfd:	as for kf_life_of()
 * @file:	the file's name
 *
 * Context: one thread a view; may allocate.
 * Return: true if it certainly does.
 */
bool kf_life_execed(struct kf_life_view *view, int32_t pid,
		    const struct kf_stats_identity *id, int dirfd,
		    const char *file);

/**
 * kf_life_of() - whether the process that wrote a file still exists
 * @view:	the view
 * @id:		the identity in the file
 * @dirfd:	directory of the file
 * @name:	the file's name, to find its mapping if the program's path has
 *		changed
 * @pid:	out: its pid in this procfs; 0 unless it is alive
 *
 * Context: one thread a view; may allocate.
 * Return: the state by procfs, which may be unknown.
 */
enum kf_life kf_life_of(struct kf_life_view *view,
			const struct kf_stats_identity *id, int dirfd,
			const char *name, int32_t *pid);

#endif
