/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the files of this directory share; no other directory
 * includes this header.
 *
 *	name.c		names of files
 *	file.c		the file: made, grown by chunks, truncated
 *	ring.c		the places of a file that keeps its end
 *	writer.c	writers of threads, and the events
 */
#ifndef KF_RECORD_INTERNAL_H
#define KF_RECORD_INTERNAL_H

#include "record/cursor.h"
#include "record/record.h"

#include <limits.h>

/*
 * Writers, one for each thread that records. The first block is static, each
 * further block doubles their number, up to the number of threads that Linux
 * can have. Writer 0 is for the bytes held.
 */
#define KF_FIRST_WRITERS 1024u
#define KF_MORE_WRITERS 12

/*
 * The most chunks that a writer has at once. It fills the spare ones, which are
 * the last, only while another writer copies to the file, or where the file has
 * no room for the others.
 */
#define KF_WINDOW_CHUNKS 16
#define KF_SPARE_CHUNKS 4

/* A writer takes one more chunk at once for each so many that it has filled. */
#define KF_STEP_CHUNKS 5

#define KF_WINDOW_SIZE (KF_WINDOW_CHUNKS * (size_t)KF_RECORD_CHUNK_SIZE)

/*
 * The writer of a stream. Only its owner uses it, except @owner, and @window,
 * which the SIGBUS handler reads.
 */
struct kf_writer {
	struct kf_write_cursor cursor; /* comes first */
	uint32_t epoch;		       /* the recording of the chunk */
	bool begun;		       /* there is a chunk */
	bool busy;	 /* in the middle of an event of the slow path */
	uintptr_t owner; /* kf_thread_self(); 0: none; atomic */
	char *window;	 /* KF_WINDOW_SIZE addresses; constant once not NULL */
	char *chunk;	 /* the chunk in use, in the window; NULL: none yet */
	uint32_t left;	 /* unused chunks behind it in the window */
	uint32_t mapped; /* chunks in the window, of this recording */
	uint32_t place[KF_WINDOW_CHUNKS]; /* in a ring: of the mapped chunks */
	uint64_t sequence;		  /* of the next chunk */
	uint32_t stream;		  /* number of the writer */
	uint8_t *took; /* place for the duration of the last free, or NULL */
	int32_t tid;   /* of the owner */
	char comm[16];
} __kf_aligned(KF_CACHE_LINE);

extern struct kf_writer kf_writers[KF_FIRST_WRITERS];

/**
 * kf_writer_at() - a writer by its number
 * @i:		the number, from 0
 *
 * Context: any, signal handlers too.
 * Return: the writer, or NULL: there are fewer writers.
 */
struct kf_writer *kf_writer_at(uint32_t i);

/* The header of the file, or static memory while there is no file. */
extern struct kf_record_header *kf_record_header;

/* Whether a thread copies its window to the file: a hint. Atomic. */
extern uint32_t kf_record_copying;

/**
 * kf_record_name() - the name of a recording's file
 * @path:	out: an absolute path
 * @conf:	the pattern
 * @try:	0 for the first name; each number gives another name
 *
 * Context: any.
 * Return: 0, or a negative errno.
 */
int kf_record_name(char path[PATH_MAX], const struct kf_record_conf *conf,
		   unsigned int try);

#define KF_RECORD_NAME_TRIES 100

/**
 * kf_record_make_way() - rename a recording that this process made before exec
 * @path:	the name, which exists
 * @conf:	the pattern
 * @try:	the number from which kf_record_name() made @path
 *
 * Context: as kf_record_begin().
 * Return: whether the name is free now; false where another process made the
 *	   file, or it cannot be renamed.
 */
bool kf_record_make_way(const char *path, const struct kf_record_conf *conf,
			unsigned int try);

/**
 * kf_chunk_take() - begin a new chunk in a writer's window
 * @w:		the writer
 * @now:	ticks
 *
 * Context: the writer's owner.
 * Return: false when the file cannot grow; its header has the errno.
 */
bool kf_chunk_take(struct kf_writer *w, uint64_t now) __must_check;

/* The place of a chunk in the file. */
static inline uint64_t kf_record_place(uint64_t number)
{
	/* The header has the room of a chunk, of which one page is written. */
	return (number + 1) * KF_RECORD_CHUNK_SIZE;
}

/**
 * kf_record_reopen() - open the file again, for a moment
 *
 * Context: any thread.
 * Return: the descriptor, or a negative errno; -ESTALE: it is another file.
 */
int kf_record_reopen(void) __must_check;

/**
 * kf_record_was_truncated() - whether the file was cut after it was opened
 * @fd:		the file, which was extended again with zeroes
 *
 * Context: any thread.
 * Return: whether; the file is useless then.
 */
bool kf_record_was_truncated(int fd) __must_check;

/**
 * kf_chunks_for() - how many chunks a writer takes at once
 * @w:		the writer
 *
 * A writer that has filled many takes more.
 *
 * Context: the writer's owner.
 * Return: the number, up to KF_WINDOW_CHUNKS.
 */
uint32_t kf_chunks_for(const struct kf_writer *w);

/**
 * kf_window_chunk() - a chunk of a writer's window
 * @w:		the writer
 * @i:		its number there
 *
 * Context: the writer's owner.
 * Return: the chunk.
 */
static inline struct kf_record_chunk *kf_window_chunk(const struct kf_writer *w,
						      uint32_t i)
{
	return (void *)(w->window + i * (size_t)KF_RECORD_CHUNK_SIZE);
}

/* The number of filled chunks, which are copied. */
static inline uint32_t kf_window_filled(const struct kf_writer *w)
{
	return w->mapped - w->left;
}

/**
 * kf_ring_begin() - begin a file that keeps its end
 * @max_size:	bytes of the file
 *
 * Context: nothing is recorded, and no thread takes a chunk.
 * Return: 0, or a negative errno.
 */
int kf_ring_begin(uint64_t max_size) __must_check;

/**
 * kf_ring_end() - the next file is none, or has a ring of its own
 *
 * Context: as kf_ring_begin().
 */
void kf_ring_end(void);

/**
 * kf_ring_is_on() - whether the file keeps its end
 *
 * Context: any thread.
 * Return: whether.
 */
bool kf_ring_is_on(void);

/**
 * kf_ring_has_window() - whether a writer copies its chunks to other places
 * @w:		the writer
 *
 * Context: the writer's owner.
 * Return: false: it moves on to other places instead.
 */
bool kf_ring_has_window(const struct kf_writer *w);

/**
 * kf_ring_next_part() - get empty chunks into a writer's window
 * @w:		the writer, whose chunks are filled but for @w->left
 *
 * Context: the writer's owner.
 * Return: 0, or a negative errno; -EFBIG: all places are in writers' windows.
 */
int kf_ring_next_part(struct kf_writer *w) __must_check;

/**
 * kf_writers_reset() - free all writers and unmap their chunks
 *
 * Context: a forked child's only thread.
 */
void kf_writers_reset(void);

/**
 * kf_record_moment() - write readings of both clocks to the header
 * kf_record_moment_again() - the same, unless a thread did so lately
 * @now:	ticks
 *
 * Context: any thread.
 */
void kf_record_moment(void);
void kf_record_moment_again(uint64_t now);

#endif
