/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the rooms of the reader tell one another: how a file on disk becomes
 * figures (totals.c), and how a file's process is looked up (life.c). Nothing
 * outside src/reader includes it.
 */
#ifndef KF_READER_INTERNAL_H
#define KF_READER_INTERNAL_H

#include "reader/reader.h"

#include <pthread.h>

/*
 * A file being read: its descriptor, its size now, a piece of it that was read
 * at once, its checked header.
 */
struct kf_source {
	int fd;
	uint64_t until_ns; /* kf_clock_ns() when to give up; 0: never */
	bool *torn;	   /* out, see struct kf_read_how; or NULL */
	uint64_t size;
	const char *piece;
	uint64_t begin; /* of the piece in the file */
	size_t nr_piece;
	struct kf_stats_header h;
};

#define KF_PIECE_SIZE (32 * KF_KIB) /* all of most files */

/**
 * kf_clock_ns() - what time it is
 *
 * Return: nanoseconds of CLOCK_MONOTONIC.
 */
uint64_t kf_clock_ns(void);

/**
 * kf_late() - whether there is no time left
 * @until_ns:	when it ends, as of kf_clock_ns(); 0: never
 *
 * Return: whether; errno is ETIME then.
 */
bool kf_late(uint64_t until_ns);

/**
 * kf_source_get() - a part of a file, if it was read already
 * @src:	the file
 * @offset:	where it begins
 * @len:	its bytes
 *
 * Return: the part, or NULL.
 */
const char *kf_source_get(const struct kf_source *src, uint64_t offset,
			  uint64_t len);

/**
 * kf_totals_derive() - work out a snapshot's totals from its counters
 * @s:		the snapshot; counters, classes and large bytes are filled in
 */
void kf_totals_derive(struct kf_snapshot *s);

/**
 * kf_read_at() - read all of a piece of a file
 * @fd:		the file
 * @buf:	out: the piece
 * @len:	its bytes
 * @offset:	where it is
 *
 * Return: whether all of it was there and could be read.
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

/* Memory that one file after the other is read into. Empty at first. */
struct kf_room {
	bool lend; /* snapshots have it itself, one at a time */
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

/* Which descriptions have which number; shared by caches. */
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
 * What is kept from one file to the next: room, and the counters that the last
 * one described, as most files describe the same ones, in the same bytes. Empty
 * at first.
 */
struct kf_desc_cache {
	struct kf_room room;
	struct kf_desc_ids *ids; /* NULL: nobody shares them */
	uint64_t id;		 /* of this description, in this process */
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

/* Where each slot scalar goes, and where the words are. */
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
 * kf_descs_take() - the counters that a file describes, with its words' values
 * @table:	the section of descriptions, whole
 * @sec:	its size, checked
 * @s:		the snapshot, which has no counters yet
 * @t:		words filled in; the slots' counters are noted here
 * @cache:	what the last file described, or NULL
 *
 * Context: one thread a cache; allocates.
 * Return: whether the table holds, and there was memory (else errno ENOMEM).
 */
bool kf_descs_take(const char *table, const struct kf_stats_section *sec,
		   struct kf_snapshot *s, struct kf_described *t,
		   struct kf_desc_cache *cache);

/**
 * kf_descs_recall() - the counters of a description, without reading it
 * @id:		the description, as @s->described said it of another file
 * @s:		as for kf_descs_take()
 * @t:		likewise
 * @cache:	likewise, or NULL
 *
 * Context: as kf_descs_take().
 * Return: false where the cache has another one, or there was no memory.
 */
bool kf_descs_recall(uint64_t id, struct kf_snapshot *s, struct kf_described *t,
		     struct kf_desc_cache *cache);

/**
 * kf_desc_ids_release() - forget which descriptions have which number
 * @ids:	the numbers
 *
 * Context: when no cache has them any more.
 */
void kf_desc_ids_release(struct kf_desc_ids *ids);

/**
 * kf_counts_read() - read what a file counts
 * @src:	the file, its header checked
 * @described:	what it is known to describe, or 0
 * @cache:	room, and what the last file described
 * @s:		out: counters, classes and threads
 *
 * Context: one thread a cache; allocates.
 * Return: false with errno where it cannot be read.
 */
bool kf_counts_read(struct kf_source *src, uint64_t described,
		    struct kf_desc_cache *cache, struct kf_snapshot *s);

/* How a file is read. */
struct kf_read_how {
	unsigned int tables;	     /* enum kf_tables, or-ed */
	bool regular;		     /* a file, as its directory says */
	struct kf_desc_cache *cache; /* NULL: it is the only one */
	struct kf_kept_file *kept;   /* what is known of it, or NULL */
	uint64_t until_ns;	     /* of kf_clock_ns(); 0: no end */
	/*
	 * Words that belong together may change whenever they are read. NULL:
	 * wait until they stand still, as long as a writer may wait for a
	 * processor. Else do not, and say here whether they did.
	 */
	bool *torn;
};

/**
 * kf_snapshot_read_as() - read one of many stats files
 * @dirfd:	as for kf_snapshot_read()
 * @name:	likewise
 * @how:	what is known and wanted
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
 * kf_identity_end() - let the strings of an identity end
 * @id:		as it was read: on disk a string may fill its array
 *
 * A full one loses its last character.
 */
void kf_identity_end(struct kf_stats_identity *id);

/* A process that procfs shows, with its pid in its innermost namespace. */
struct kf_proc {
	int32_t pid;
	int32_t inner_pid;
	uint64_t start_ticks;
};

/*
 * One look at procfs. @procs is filled in by the first file that comes from
 * another pid namespace: most readers never need it.
 */
struct kf_life_view {
	int procfd;	 /* -1: no procfs, everything is unknown */
	uint64_t pid_ns; /* of this procfs; 0: not readable */
	bool sees_all;	 /* of the outermost namespace, by root */
	char boot_id[40];
	char comm[16]; /* of the process looked at last, raw; "": none */
	bool listed;   /* whether @procs is filled in */
	unsigned int nr_procs;
	struct kf_proc *procs;
};

/**
 * kf_life_open() - get ready to look processes up
 * @view:	out: the view
 * @procfs:	where procfs is mounted
 */
void kf_life_open(struct kf_life_view *view, const char *procfs);

/**
 * kf_life_close() - let a view go
 * @view:	the view
 */
void kf_life_close(struct kf_life_view *view);

/**
 * kf_life_start() - when a process that has not ended began
 * @view:	the view; its comm is the process' then, "" where it has ended
 * @pid:	the process as procfs shows it
 *
 * Context: one thread a view.
 * Return: clock ticks since boot, or 0.
 */
uint64_t kf_life_start(struct kf_life_view *view, int32_t pid);

/**
 * kf_life_execed() - whether a process left a file's program by exec
 * @view:	the view
 * @pid:	the process as procfs shows it
 * @id:		who the file says wrote it
 * @dirfd:	as for kf_life_of()
 * @file:	the file's name
 *
 * Context: one thread a view; may allocate.
 * Return: true where it did for certain.
 */
bool kf_life_execed(struct kf_life_view *view, int32_t pid,
		    const struct kf_stats_identity *id, int dirfd,
		    const char *file);

/**
 * kf_life_of() - whether a file's process still is the one that wrote it
 * @view:	the view
 * @id:		who the file says wrote it
 * @dirfd:	directory of the file
 * @name:	the file's name, to find its mapping where the program's
 *		path has changed
 * @pid:	out: the process as this procfs shows it; 0 unless it is alive
 *
 * Context: one thread a view; may allocate.
 * Return: what procfs says; unknown where it cannot be told.
 */
enum kf_life kf_life_of(struct kf_life_view *view,
			const struct kf_stats_identity *id, int dirfd,
			const char *name, int32_t *pid);

#endif
