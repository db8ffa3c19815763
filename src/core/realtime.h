/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guard for real-time code: calls of malloc and its relatives by threads in
 * real-time mode are counted with their stacks, and reported by a probe, or end
 * the process. The calls are passed on.
 *
 * With KONFISCATOR_REALTIME_ALLOW calls are allowed, and only those are
 * reported that took what real-time code must not take: see struct
 * kf_realtime_watch.
 *
 * A thread is in this mode between konf_realtime_enter() and the matching
 * konf_realtime_leave(), or while KONFISCATOR_REALTIME selects its name, which
 * is read at its first call and on its slow paths.
 */
#ifndef KF_CORE_REALTIME_H
#define KF_CORE_REALTIME_H

#include "core/core.h"
#include "heap/front.h"
#include "sys/call.h"

/* Of the calling thread. */
struct kf_realtime_self {
	uint32_t level; /* konf_realtime_enter() less _leave() */
	bool named;	/* the option selects its name */
};

extern __thread struct kf_realtime_self kf_realtime_self
	__attribute__((tls_model("initial-exec")));

/* Whether the calling thread is in real-time mode. */
static inline bool kf_realtime_is_on(void)
{
	return unlikely(kf_realtime_self.level || kf_realtime_self.named);
}

/**
 * kf_realtime_enter() - enter or leave real-time mode
 * @on:		true: one level more, false: one less
 *
 * Context: any thread.
 */
void kf_realtime_enter(bool on);

/**
 * kf_realtime_look() - read the thread's name, if the option is set
 *
 * Context: any thread, after the start; chooses no front.
 * Return: whether the mode of the thread changed.
 */
bool kf_realtime_look(void);

/* Look at the name: on slow paths. */
static inline void kf_realtime_poll(void)
{
	if (unlikely(kf_realtime_look()))
		kf_front_choose();
}

/* A call that is allowed, while it lasts. */
struct kf_realtime_watch {
	struct kf_toll
		outer;	 /* of the call that a signal handler interrupted */
	uint64_t faults; /* of the thread, before the call */
	bool on;
	bool sees_faults;
};

/**
 * kf_realtime_note() - count a call, which begins now, unless it is allowed
 * @call:	the function
 * @size:	bytes asked; 0 for free
 *
 * Fires realtime_violation. With KONFISCATOR_REALTIME_ABORT the process ends.
 *
 * Context: a thread in real-time mode. Keeps errno; walks the stack.
 */
void kf_realtime_note(enum kf_call call, size_t size);

/**
 * kf_realtime_watch() - watch a call if it is allowed
 * @watch:	out: for kf_realtime_watched()
 *
 * Context: as kf_realtime_note(); a system call.
 */
void kf_realtime_watch(struct kf_realtime_watch *watch);

/**
 * kf_realtime_watched() - count a call that ends, as kf_realtime_note(), if it
 *			   waited for a lock of the library, made a system call
 *			   or had a page fault
 * @watch:	of kf_realtime_watch()
 * @call:	the function
 * @size:	bytes asked; 0 for free
 *
 * Context: as kf_realtime_note().
 */
void kf_realtime_watched(const struct kf_realtime_watch *watch,
			 enum kf_call call, size_t size);

#endif
