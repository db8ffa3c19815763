/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Detours: every call of a thread is seen by somebody, and its heap stays its
 * own.
 *
 * A thread that is on a detour points at a heap whose bins are all empty, and
 * its own is hidden: so each call fails on the fast path and comes to the tail
 * of it, where kf_detour_is_due() sends it to the one who looks on. That one
 * brings the hidden heap back, makes the call again as if nothing were, and
 * hides the heap again.
 *
 * Threads set out one by one, each at the first of its calls that leaves the
 * fast path anyway, and come back likewise, where then every call does. Those
 * that have not set out yet must not free on the fast path what others were
 * seen to allocate. They do so with blocks of their own slabs only; where
 * threads may be under way already (@strict) nobody therefore hands out a block
 * of another's.
 *
 * A thread with a tag is on a detour of its own, so that its blocks get marks:
 * then nobody else is concerned. As long as nobody wants to see its calls it
 * points at the front of its heap then: that one's bins are empty too, but it
 * leads to where its blocks are and to its tags, so that the short way of
 * abi/tagged.h asks nothing else. Like all others, such a thread learns of
 * those who look on where one of its calls leaves the short way.
 */
#ifndef KF_ENGINE_DETOUR_H
#define KF_ENGINE_DETOUR_H

#include "engine/heap.h"

/* Whether threads are to be on a detour; true until the start has decided. */
extern bool kf_detour_on __kf_hidden;	  /* atomic */
extern bool kf_detour_strict __kf_hidden; /* atomic */

extern struct kf_heap kf_heap_detour; /* for all who have no front */

/* The detour that threads are to be on, counted from 1; atomic. */
extern uint32_t kf_detour_number __kf_hidden;

/*
 * A thread's part.
 * @hidden: its heap while it points at kf_heap_detour
 * @plain: the same, where calls need only be written down; else one that has
 *	   nothing
 * @number: the detour that it set out on last
 * @depth: how deep it is in calls that are seen already
 * @tagged: on a detour of its own; while it points at a heap of its own or at a
 *	    front, that says so
 * @forked: likewise, for another reason; see kf_detour_fork_child()
 */
struct kf_detour {
	struct kf_heap *hidden;
	struct kf_heap *plain;
	uint32_t number;
	uint16_t depth;
	bool tagged;
	bool forked;
};

extern __thread struct kf_detour kf_detour __kf_hidden
	__attribute__((tls_model("initial-exec")));

/**
 * kf_detour_start() - send threads on a detour from now on
 * kf_detour_stop() - let them come back
 * @strict:	threads may be under way that have a heap
 *
 * Context: one thread at a time.
 */
void kf_detour_start(bool strict);
void kf_detour_stop(void);

/* Whether this call is to be seen, or the thread has to come back. */
static inline bool kf_detour_is_due(void)
{
	return unlikely((__atomic_load_n(&kf_detour_on, __ATOMIC_ACQUIRE) ||
			 kf_heap_self->aside) &&
			!kf_detour.depth);
}

/**
 * kf_detour_set_out() - be on a detour that began a moment ago
 *
 * Context: any thread, its own heap in place.
 */
void kf_detour_set_out(void);

/**
 * kf_detour_bring() - have the calling thread's own heap in place
 * kf_detour_hide() - point at what the next call is to find
 *
 * Context: any thread, not inside a call that is seen already.
 */
void kf_detour_bring(void);
void kf_detour_hide(void);

/**
 * kf_detour_enter() - have the calling thread's own heap in place
 * kf_detour_leave() - hide it again, if threads are still on a detour
 *
 * Context: any thread, pairwise; may be nested.
 */
static inline void kf_detour_enter(void)
{
	struct kf_detour *self = &kf_detour;
	bool first = !self->depth++;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (first)
		kf_detour_bring();
	if (unlikely(self->number !=
		     __atomic_load_n(&kf_detour_number, __ATOMIC_RELAXED)))
		kf_detour_set_out();
}

/* A signal handler is to find the thread inside until its heap is hidden. */
static inline void kf_detour_leave(void)
{
	if (kf_detour.depth == 1)
		kf_detour_hide();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	kf_detour.depth--;
}

/**
 * kf_detour_tag() - go on a detour of one's own, or come back
 * @on:		which
 * @tags:	what leads to the thread's tags, if push, pop and calls inside
 *		of tags may go the short way; or NULL
 * @tag:	the current one
 *
 * Context: any thread.
 * Return: the thread's front, or NULL where it has none.
 */
struct kf_heap *kf_detour_tag(bool on, void *tags, void *tag);

/**
 * kf_detour_fork_child() - have each call of the thread leave the fast path
 * @on:		or no longer: the child has its file
 *
 * Context: the thread of a child that forked, after the others' heaps were
 *	    adopted.
 */
static inline void kf_detour_fork_child(bool on)
{
	kf_detour.forked = on;
	/* and see to it where this call ends, or now */
	kf_detour_enter();
	kf_detour_leave();
}

/**
 * kf_detour_keep() - have threads on a detour for ever
 *
 * Context: once, before kf_detour_stop().
 */
void kf_detour_keep(void);

/**
 * kf_detour_step_out() - let a call be seen that is made inside another
 * kf_detour_step_in() - and go on with that other
 * @depth:	what kf_detour_step_out() returned
 *
 * Context: any thread.
 * Return: how deep the thread was.
 */
uint32_t kf_detour_step_out(void) __must_check;
void kf_detour_step_in(uint32_t depth);

#endif
