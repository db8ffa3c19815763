/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fronts and modes: what every call of a thread comes to first.
 *
 * A thread points at a front, which has bins of blocks that are ready and a
 * mode, which does whatever the fast paths (heap/fast.h) cannot: an empty bin
 * and an owner that is not the front's make one tail call into it. Only the
 * front inside of a thread's heap ever has blocks. All others are constant and
 * empty, so every call reaches their mode and the fast paths have no test for
 * any of them: a thread that has no heap yet or shares one, another engine, a
 * tag, a recording, a child that has just been forked.
 *
 * A front is chosen (kf_front_renew()) by the state of the process; see
 * kf_process_is_current().
 */
#ifndef KF_HEAP_FRONT_H
#define KF_HEAP_FRONT_H

#include "heap/class.h"
#include "stats/stats.h"

struct kf_counters;
struct kf_front;
struct kf_slab;

/*
 * What a mode does with a call. Every function is given the front that the call
 * came to, fires the probes of the call and counts it; sizes and pointers are
 * those of the program. free's @slab is what the address map has for the
 * pointer, a slab only where its run's kind says so.
 */
struct kf_mode {
	void *(*alloc)(size_t size, struct kf_front *front);
	void *(*zeroed)(size_t size, struct kf_front *front);
	void *(*resize)(void *p, size_t size, struct kf_front *front);
	/* @align: a power of two */
	void *(*aligned)(size_t align, size_t size, struct kf_front *front);
	void (*free)(void *p, struct kf_slab *slab, struct kf_front *front);
};

/* 16 bytes, as a pair of counters: one offset finds both. */
struct kf_bin {
	void *coded;	  /* the first block: kf_link_code() */
	uintptr_t source; /* slab, tagged when the blocks read as zeroes */
};

_Static_assert(sizeof(struct kf_bin) == sizeof(struct kf_stats_pair),
	       "one offset for bins and counters");

struct kf_front {
	struct kf_bin bin[KF_NR_CLASSES]; /* the thread */
	struct kf_slot *slot;		  /* of its counters; constant */
	const struct kf_mode *mode;	  /* constant */
};

extern __thread struct kf_front *kf_front_self
	__attribute__((tls_model("initial-exec")));

/* A thread's part; only the thread and its signal handlers touch it. */
struct kf_self {
	struct kf_counters *counters; /* what it counts in; never NULL */
	struct kf_front *inner;	      /* of its heap or engine; never NULL */
	uint16_t depth; /* inside of so many calls that are observed */
	bool forked;	/* of a child that has no file yet */
	bool recorded;	/* it has a heap, and nothing but a recording observes
			   its calls */
};

#define KF_SELF_NEW                                                    \
	{                                                              \
		.counters = &kf_counters_new, .inner = &kf_front_guest \
	}

extern __thread struct kf_self kf_self
	__attribute__((tls_model("initial-exec")));

/* Of threads without a call yet, and of threads without a heap. */
extern struct kf_counters kf_counters_new;
extern struct kf_counters kf_counters_guest;

/* The front of threads without a heap, and the mode of heaps' fronts. */
extern struct kf_front kf_front_guest;
extern const struct kf_mode kf_mode_plain;

/**
 * kf_front_renew() - choose the calling thread's front by what holds now
 *
 * Starts the library and settles a fork, if that is due.
 *
 * Context: any thread, on slow paths where kf_process_is_current() says no.
 * Return: the front that the call belongs to; the inner one in a call that is
 *	   observed already.
 */
struct kf_front *kf_front_renew(void);

/**
 * kf_front_choose() - the same, where nothing is due
 *
 * Context: any thread, after a change that concerns it alone.
 */
void kf_front_choose(void);

/**
 * kf_front_step_out() - let a call be observed that is made inside another
 * kf_front_step_in() - and go on with that other
 * @depth:	what kf_front_step_out() returned
 *
 * Context: any thread.
 * Return: how deep the thread was.
 */
uint16_t kf_front_step_out(void) __must_check;
void kf_front_step_in(uint16_t depth);

#endif
