/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fork. The handlers hold all locks, in the order of their ranks, so that the
 * child finds the heap whole; meanwhile other threads go around the locks
 * (sys/lock.h). The child leaves the parent's stats file at once and makes
 * its own on its first slow path.
 */
#include "core/core.h"

#include "core/control.h"
#include "core/recorder.h"
#include "core/sampling.h"
#include "core/limit.h"
#include "core/snapshot.h"
#include "heap/heap.h"
#include "engines/host.h"
#include "stats/box.h"
#include "stats/stats.h"
#include "sys/process.h"
#include "sys/thread.h"
#include "tags/tags.h"

#include "probes/konfiscator-probes.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

/* Whether the child has a file of its own. */
enum { PUBLISHED, DUE, PUBLISHING };

static uint32_t publication;
static uintptr_t publisher; /* while PUBLISHING; it may come again */
static uint32_t inside;	    /* calls of the thread that forked; atomic */

static void fork_prepare(void)
{
	if (kf_load(&kf_resting))
		return;
	kf_host_fork_prepare();
	kf_stats_prepare_fork();
}

static void parent(void)
{
	if (kf_load(&kf_resting))
		return;
	kf_stats_parent_fork();
	kf_host_fork_done(false);
	kf_box_put(KF_BOX_fork, 0, 0);
}

static void fork_child(void)
{
	int saved = errno;

	kf_host_fork_done(true);
	kf_stats_fork_child();
	kf_heap_fork_count();
	kf_tags_fork_child();
	kf_recorder_fork_child();
	kf_sampling_fork_child();
	kf_snapshot_fork_child();
	kf_limit_fork_child();
	kf_control_start();
	kf_process_know();
	kf_process_note_first();
	publisher = 0;
	publication = DUE;
	kf_probe_fork_child(kf_process_is_barred() ? 0 : (uint64_t)getppid());
	errno = saved;
}

/* Each call of the thread that forked is looked at until the child has a file.
 */
static void child_of_fork(void)
{
	if (kf_load(&kf_resting))
		return;
	fork_child();
	inside = kf_self.depth ? 1 : 0;
	kf_self.forked = true;
	kf_front_renew();
}

static void end_fork(void)
{
	kf_self.forked = false;
	kf_front_choose();
}

bool kf_fork_settle(void)
{
	if (kf_process_is_known())
		return false;
	fork_child();
	publication = PUBLISHED;
	return true;
}

void kf_fork_register(void)
{
	/* Without memory for it the wiped page still tells of forks. */
	pthread_atfork(fork_prepare, parent, child_of_fork);
}

bool kf_fork_is_due(void)
{
	return __atomic_load_n(&publication, __ATOMIC_RELAXED) != PUBLISHED ||
	       !kf_process_is_known();
}

/*
 * The one that forked waits here outside of its call, or each would wait for
 * the other.
 */
static void wait_for_publisher(void)
{
	uint32_t calls = 0;

	if (kf_self.forked)
		calls = __atomic_exchange_n(&inside, 0, __ATOMIC_RELEASE);
	while (__atomic_load_n(&publication, __ATOMIC_ACQUIRE) == PUBLISHING &&
	       __atomic_load_n(&publisher, __ATOMIC_RELAXED) !=
		       kf_thread_self())
		kf_thread_yield();
	if (calls)
		__atomic_store_n(&inside, calls, __ATOMIC_RELAXED);
}

static void wait_for_forker(void)
{
	/* pairs with kf_fork_enter(): one of the two sees the other */
	while (!kf_self.forked && __atomic_load_n(&inside, __ATOMIC_SEQ_CST))
		kf_thread_yield();
}

/*
 * Counts made in memory while the memory becomes a file are lost. So every new
 * thread of the child calls this before it counts, and waits for the thread
 * that publishes. The publisher waits for a running call of the thread that
 * forked, which counts in memory until it gets here itself.
 */
void kf_fork_complete(void)
{
	uint32_t due = DUE;

	if (!kf_process_is_known())
		fork_child();
	if (__atomic_compare_exchange_n(&publication, &due, PUBLISHING, false,
					__ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&publisher, kf_thread_self(),
				 __ATOMIC_RELAXED);
		wait_for_forker();
		kf_start_publish(true);
		__atomic_store_n(&publisher, 0, __ATOMIC_RELAXED);
		/* pairs with the acquire load of wait_for_publisher() */
		__atomic_store_n(&publication, PUBLISHED, __ATOMIC_RELEASE);
		return;
	}
	wait_for_publisher();
}

void kf_fork_enter(bool at_once)
{
	/* pairs with wait_for_forker() */
	__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
	if (!at_once && __atomic_load_n(&publication, __ATOMIC_SEQ_CST) == DUE)
		return;
	__atomic_store_n(&inside, 0, __ATOMIC_RELEASE);
	kf_fork_complete();
	end_fork();
}

void kf_fork_leave(void)
{
	__atomic_fetch_sub(&inside, 1, __ATOMIC_RELEASE);
	if (__atomic_load_n(&publication, __ATOMIC_RELAXED) == PUBLISHED)
		end_fork();
}
