/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes a recording: every call with its time, thread and block.
 *
 * A thread writes to a chunk of the file that is mapped for it alone, without
 * locks and without waiting for other threads. An event that finds no room, as
 * the file has its largest size or the disk is full, is dropped and counted.
 * Which calls of which threads are recorded is left to mode and core. The
 * layout is in layout.h.
 */
#ifndef KF_RECORD_RECORD_H
#define KF_RECORD_RECORD_H

#include "base/compiler.h"
#include "base/text.h"
#include "record/event.h"
#include "stats/stats.h"

#include <limits.h>

/* Where a recording goes. */
struct kf_record_conf {
	const char *file;  /* an absolute path; may hold %p */
	uint64_t max_size; /* bytes */
	bool ring;	   /* keep the end of what was recorded */
	bool guard;	   /* install a handler against truncation */
	bool from_start;   /* no block was allocated yet */
	bool forked; /* the process began with fork: the name has its pid */
	const struct kf_stats_conf *stats; /* identity of the process */
};

/* The number of the present recording; 0: none is on. Atomic. */
extern uint32_t kf_record_epoch __kf_hidden;

static inline bool kf_record_is_on(void)
{
	return unlikely(kf_load(&kf_record_epoch));
}

/**
 * kf_record_begin() - make a file and start a recording
 * @conf:	the file
 *
 * An existing file is never written: another name is taken. A name of a device,
 * directory or link is refused. A recording that is on is stopped before.
 *
 * Context: one thread at a time; keeps errno.
 * Return: 0, or a negative errno: nothing is recorded. -ENOTSUP: the name is
 *	   not that of a regular file.
 */
int kf_record_begin(const struct kf_record_conf *conf) __must_check;

/**
 * kf_record_stop() - stop the recording
 *
 * Context: one thread at a time.
 */
void kf_record_stop(void);

/**
 * kf_record_path() - the file of the present or the last recording
 *
 * Context: as kf_record_begin().
 * Return: its absolute path; "" before the first.
 */
const char *kf_record_path(void);

/* The recording for which the thread has a writer; 0: none. */
extern __thread uint32_t kf_record_thread_epoch __kf_hidden
	__attribute__((tls_model("initial-exec")));

/* Whether the thread has a writer, or nothing is recorded. */
static inline bool kf_record_is_in(void)
{
	return kf_record_thread_epoch == kf_load(&kf_record_epoch);
}

/**
 * kf_record_enter() - get a writer for the calling thread
 *
 * Writes a THREAD event.
 *
 * Context: any thread, where kf_record_is_in() is false.
 * Return: whether this was the thread's first time.
 */
bool kf_record_enter(void);

/**
 * kf_record_gave() - record the end of a call that returns a block
 * @kind:	KF_RECORD_MALLOC and so on
 * @begin:	kf_clock_ticks() when the call began; 0: not timed, as the block
 *		was the thread's before
 * @p:		the block, or NULL
 * @size:	bytes asked
 * @align:	bytes, where the kind has it
 *
 * Context: any thread; keeps errno.
 */
void kf_record_gave(enum kf_record_kind kind, uint64_t begin, const void *p,
		    size_t size, size_t align);

/**
 * kf_record_takes() - record the begin of a call that frees a block
 * @kind:	KF_RECORD_FREE or KF_RECORD_REALLOC_OLD
 * @p:		the block, still the caller's
 *
 * The event is in the file when the function returns.
 *
 * Context: any thread; keeps errno.
 * Return: the time of the event in ticks.
 */
uint64_t kf_record_takes(enum kf_record_kind kind, const void *p);

/**
 * kf_record_took() - add the duration to the thread's last free
 * @begin:	returned by kf_record_takes(); 0: not timed
 *
 * Context: any thread.
 */
void kf_record_took(uint64_t begin);

/**
 * kf_record_held() - record the bytes held from the kernel
 * @bytes:	the number
 *
 * Context: any thread; the pages lock is held, so that events are in order.
 */
void kf_record_held(uint64_t bytes);

/**
 * kf_record_thread_end() - record the end of the thread and free its writer
 *
 * Context: late in the life of a thread.
 */
void kf_record_thread_end(void);

/**
 * kf_record_fork_child() - leave the parent's file at once
 *
 * Context: a forked child's only thread.
 * Return: whether the parent recorded.
 */
bool kf_record_fork_child(void);

/**
 * kf_record_pattern() - make a pattern of a file's name absolute
 * @out:	out: the pattern
 * @file:	the pattern; the percent signs of a directory before it are
 *		doubled
 *
 * The program may change its directory later.
 *
 * Context: any thread.
 * Return: 0, or a negative errno.
 */
int kf_record_pattern(char out[PATH_MAX], const char *file) __must_check;

/**
 * kf_record_expand() - add a file's name to a text
 * @text:	the text
 * @pattern:	the name; %p becomes the process' id, %% a percent sign
 *
 * Context: any thread, signal handlers too.
 * Return: whether the name has the id.
 */
bool kf_record_expand(struct kf_text *text, const char *pattern);

#endif
