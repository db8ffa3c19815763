/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fork. The handlers hold all locks, in the order of their ranks, so that the
 * child finds the heap whole; meanwhile other threads go around the locks
 * (sys/lock.h). The child leaves the parent's stats file at once and makes
 * its own on its first slow path.
 */
#include "core/core.h"

#include "engine/engine.h"
#include "stats/stats.h"
#include "sys/thread.h"

#include "probes/konfiscator-probes.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

static bool publish_due; /* the child has no file of its own yet */

static void prepare(void)
{
	kf_engine->fork_prepare();
	kf_stats_prepare_fork();
}

static void parent(void)
{
	kf_stats_parent_fork();
	kf_engine->fork_done(false);
}

static void child(void)
{
	int saved = errno;

	kf_engine->fork_done(true);
	kf_stats_fork_child();
	kf_process_know();
	publish_due = true;
	kf_probe_fork_child((uint64_t)getppid());
	errno = saved;
}

void kf_fork_register(void)
{
	/* Without memory for it the wiped page still tells of forks. */
	if (pthread_atfork(prepare, parent, child) != 0)
		return;
}

bool kf_fork_is_due(void)
{
	return publish_due || !kf_process_is_known();
}

void kf_fork_settle(void)
{
	if (!kf_process_is_known())
		child();
	if (__atomic_exchange_n(&publish_due, false, __ATOMIC_ACQ_REL))
		kf_start_publish(true);
}
