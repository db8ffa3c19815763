/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the rooms of this layer share; nobody outside includes it.
 *
 *	name.c		what a file is called
 *	file.c		the file: made, grown by chunks, cut short
 *	writer.c	who writes where, and the events
 */
#ifndef KF_RECORD_INTERNAL_H
#define KF_RECORD_INTERNAL_H

#include "record/cursor.h"
#include "record/record.h"

#include <limits.h>

/*
 * Writers, for as many threads as record at once: the first block is always
 * there, each further one doubles their number, and the last comes to as many
 * as Linux can have threads. The first writer is for the bytes held.
 */
#define KF_FIRST_WRITERS 1024u
#define KF_MORE_WRITERS 12

/*
 * Chunks that a writer takes at once, at most. It fills the spare ones, which
 * are the last, only while another writer has the file, or where the file has
 * no room for the others.
 */
#define KF_WINDOW_CHUNKS 16
#define KF_SPARE_CHUNKS 4

/* A writer takes one more at once whenever it has filled so many. */
#define KF_STEP_CHUNKS 5

#define KF_WINDOW_SIZE (KF_WINDOW_CHUNKS * (size_t)KF_RECORD_CHUNK_SIZE)

/*
 * Who writes a stream. Only its owner touches it, but for @owner, and for the
 * window, which the guard looks at.
 */
struct kf_writer {
	struct kf_write_cursor cursor; /* comes first */
	uint32_t epoch;	 /* of the recording that the chunk belongs to */
	bool begun;	 /* there is a chunk */
	bool busy;	 /* in the middle of an event that goes the long way */
	uintptr_t owner; /* atomic: kf_thread_self(), 0 none */
	char *window;	 /* KF_WINDOW_SIZE addresses; constant once not NULL */
	char *chunk;	 /* the one in use, in the window; NULL: none yet */
	uint32_t left;	 /* chunks behind it that are in the window too */
	uint32_t mapped; /* chunks in the window, of this recording */
	uint64_t sequence; /* of the next chunk */
	uint32_t stream;   /* number of the writer */
	uint8_t *took; /* where the duration of the last free goes, or NULL */
	int32_t tid;   /* of the owner */
	char comm[16];
} __kf_aligned(KF_CACHE_LINE);

extern struct kf_writer kf_writers[KF_FIRST_WRITERS];

/**
 * kf_writer_at() - a writer by its number
 * @i:		the number, from 0
 *
 * Context: any, signal handlers too.
 * Return: the writer, or NULL: there are no more.
 */
struct kf_writer *kf_writer_at(uint32_t i);

/* The header of the file that is written, or of memory in its place. */
extern struct kf_record_header *kf_record_header;

/* Whether some thread copies its window to the file: a hint. Atomic. */
extern uint32_t kf_record_copying;

/**
 * kf_record_name() - what a recording's file is called
 * @path:	out: an absolute path
 * @conf:	the pattern
 * @try:	0 at first; with each further one another name comes out
 *
 * Context: any.
 * Return: 0, or a negative errno.
 */
int kf_record_name(char path[PATH_MAX], const struct kf_record_conf *conf,
		   unsigned int try);

/* As many names are tried. */
#define KF_RECORD_NAME_TRIES 100

/**
 * kf_record_make_way() - give a recording of before exec another name
 * @path:	a name that is taken
 * @conf:	the pattern
 * @try:	of which kf_record_name() made @path
 *
 * Context: as kf_record_begin().
 * Return: whether the name is free now; else the file is not of an earlier
 *	   program of this process, or cannot be renamed.
 */
bool kf_record_make_way(const char *path, const struct kf_record_conf *conf,
			unsigned int try);

/**
 * kf_chunk_take() - have a fresh chunk in a writer's window
 * @w:		the writer; its stream goes on in the chunk
 * @now:	ticks
 *
 * Context: its owner.
 * Return: false when the file has no more; its header says why.
 */
bool kf_chunk_take(struct kf_writer *w, uint64_t now) __must_check;

/**
 * kf_writers_reset() - forget all writers and unmap their chunks
 *
 * Context: a forked child's only thread.
 */
void kf_writers_reset(void);

/**
 * kf_record_moment() - note in the header what both clocks say
 * kf_record_moment_again() - the same, unless some thread did so lately
 * @now:	ticks
 *
 * Context: any thread.
 */
void kf_record_moment(void);
void kf_record_moment_again(uint64_t now);

#endif
