/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fronts and modes: where every call of a thread begins.
 *
 * A thread points at a front. A front has bins of free blocks and a mode. The
 * mode does what the fast paths (heap/fast.h) cannot do: if the bin is empty,
 * or the owner of a slab is not the front, one tail call reaches the mode. Only
 * the front inside a thread's heap ever has blocks. All other fronts are
 * constant and empty, so every call reaches their mode, and the fast paths have
 * no test for any of these cases: a thread without a heap, another engine, a
 * tag, a recording, a child that was just forked.
 *
 * kf_front_renew() chooses the front by the state of the process; see
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
 * A mode. Each function serves a call that the fast path of @front could not:
 * it fires the probes of the call and counts it. Sizes and pointers are as the
 * program passed them. @slab is the address map's entry for @p, which is a slab
 * only if the kind of its run is KF_RUN_SLAB.
 */
struct kf_mode {
	void *(*alloc)(size_t size, struct kf_front *front);
	void *(*zeroed)(size_t size, struct kf_front *front);
	void *(*resize)(void *p, size_t size, struct kf_front *front);
	/* @align: a power of two */
	void *(*aligned)(size_t align, size_t size, struct kf_front *front);
	void (*free)(void *p, struct kf_slab *slab, struct kf_front *front);
};

/* A bin has the size of a pair of counters, so one offset finds both. */
struct kf_bin {
	void *coded;	  /* the first block: kf_link_code() */
	uintptr_t source; /* the slab it was filled from, with KF_BIN_ tags */
};

_Static_assert(sizeof(struct kf_bin) == sizeof(struct kf_stats_pair),
	       "one offset for bins and counters");

struct kf_front {
	struct kf_bin bin[KF_NR_CLASSES]; /* owner */
	struct kf_slot *slot;		  /* of its counters; constant */
	const struct kf_mode *mode;	  /* constant */
};

extern __thread struct kf_front *kf_front_self
	__attribute__((tls_model("initial-exec")));

/* A thread's state; only the thread and its signal handlers access it. */
struct kf_self {
	struct kf_counters *counters; /* never NULL */
	struct kf_front *inner;	      /* of its heap or engine; never NULL */
	struct kf_front *watched;     /* behind the real-time mode's front */
	uint16_t depth;		      /* of observed calls in progress */
	bool forked;		      /* a child that has no stats file yet */
	/* The thread has a heap, and only a recording observes its calls. */
	bool recorded;
};

#define KF_SELF_NEW                                                    \
	{                                                              \
		.counters = &kf_counters_new, .inner = &kf_front_guest \
	}

extern __thread struct kf_self kf_self
	__attribute__((tls_model("initial-exec")));

/* The counters of threads before their first call, and of guests. */
extern struct kf_counters kf_counters_new;
extern struct kf_counters kf_counters_guest;

/* The front of guests, and the mode of the fronts of heaps. */
extern struct kf_front kf_front_guest;
extern const struct kf_mode kf_mode_plain;

/**
 * kf_front_renew() - choose the calling thread's front anew
 *
 * Before that, starts the library and handles a fork, if either is due.
 *
 * Context: any thread, on slow paths when kf_process_is_current() is false.
 * Return: the front that has to serve the call; the inner front inside a call
 *	   that is observed.
 */
struct kf_front *kf_front_renew(void);

/**
 * kf_front_choose() - choose the front, when neither a start nor a fork is due
 *
 * Context: any thread, after a change that concerns this thread alone.
 */
void kf_front_choose(void);

/**
 * kf_front_step_out() - let calls be observed inside an observed call
 * kf_front_step_in() - return to the observed call
 * @depth:	what kf_front_step_out() returned
 *
 * Context: any thread.
 * Return: the depth of observed calls, for kf_front_step_in().
 */
uint16_t kf_front_step_out(void) __must_check;
void kf_front_step_in(uint16_t depth);

#endif
