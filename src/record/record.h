/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes a recording: every call with its time, thread and block.
 *
 * A thread writes into a chunk of the file that is mapped for it alone: no
 * lock is taken, nobody waits for anybody. What finds no room, as the file is
 * as large as it may be or the disk is full, is dropped and counted. Who calls
 * when, and which thread's calls come here at all, is left to abi and core.
 * The layout is in layout.h.
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
	bool guard;	   /* survive the truncation of the file */
	bool from_start;   /* no block was given yet */
	bool forked; /* the process began with fork: the name has its pid */
	const struct kf_stats_conf *stats; /* who we are */
};

/* 0: nothing is recorded now; else the number of the recording. Atomic. */
extern uint32_t kf_record_epoch __kf_hidden;

static inline bool kf_record_is_on(void)
{
	return unlikely(kf_load(&kf_record_epoch));
}

/**
 * kf_record_begin() - make a file and record into it from now on
 * @conf:	where
 *
 * A file that exists is never written to: then another name is taken. What is
 * named and is no file, a device, directory or link, is refused: nothing is
 * made beside it. Where one is recorded already it is stopped. The recording is
 * on when this returns, for who calls kf_record_gave() and its kin.
 *
 * Context: one thread at a time; keeps errno.
 * Return: 0, or a negative errno: then nothing is recorded. -ENOTSUP: what is
 *	   named is no file.
 */
int kf_record_begin(const struct kf_record_conf *conf) __must_check;

/**
 * kf_record_stop() - record no longer
 *
 * Context: one thread at a time.
 */
void kf_record_stop(void);

/**
 * kf_record_path() - the file of the recording that is on or was last
 *
 * Context: as kf_record_begin().
 * Return: its absolute path; "" before the first.
 */
const char *kf_record_path(void);

/* The recording that the thread has a place in; 0 none. */
extern __thread uint32_t kf_record_thread_epoch __kf_hidden
	__attribute__((tls_model("initial-exec")));

/* Whether the thread has a place to write to, or needs none. */
static inline bool kf_record_is_in(void)
{
	return kf_record_thread_epoch == kf_load(&kf_record_epoch);
}

/**
 * kf_record_enter() - have a place to write to
 *
 * The first time it writes down which thread this is.
 *
 * Context: any thread, where kf_record_is_in() says no.
 * Return: whether this was the first time.
 */
bool kf_record_enter(void);

/**
 * kf_record_gave() - a call that gives a block has ended
 * @kind:	KF_RECORD_MALLOC and so on
 * @begin:	kf_clock_ticks() when it began; 0: it is not timed, as the block
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
 * kf_record_takes() - a call that takes a block has begun
 * @kind:	KF_RECORD_FREE or KF_RECORD_REALLOC_OLD
 * @p:		the block, still the caller's
 *
 * It is in the file when this returns.
 *
 * Context: any thread; keeps errno.
 * Return: the time it was given.
 */
uint64_t kf_record_takes(enum kf_record_kind kind, const void *p);

/**
 * kf_record_took() - the free that was written last has ended
 * @begin:	what kf_record_takes() returned; 0: it is not timed
 *
 * Context: its thread.
 */
void kf_record_took(uint64_t begin);

/**
 * kf_record_held() - so many bytes are held from the kernel now
 * @bytes:	how many
 *
 * Context: any thread, in the order of the figures: the pages lock is held.
 */
void kf_record_held(uint64_t bytes);

/**
 * kf_record_thread_end() - the calling thread will hardly call again
 *
 * Context: late in the life of a thread.
 */
void kf_record_thread_end(void);

/**
 * kf_record_fork_child() - leave the parent's file at once
 *
 * Context: a forked child's only thread.
 * Return: whether the parent was recording.
 */
bool kf_record_fork_child(void);

/**
 * kf_record_pattern() - make a pattern of a file's name absolute
 * @out:	out: the pattern
 * @file:	the name; a percent sign of the directory stands for itself
 *
 * A program may change its directory later.
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
 * Return: whether the id is in it.
 */
bool kf_record_expand(struct kf_text *text, const char *pattern);

#endif
