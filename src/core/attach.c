/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attach and detach: see attach.h.
 *
 * A detached library rests: threads are in the passing mode, the handlers of
 * fork do nothing, and the tables stay for the next attach, which empties them.
 */
#include "core/attach.h"

#include "core/core.h"
#include "core/recorder.h"
#include "core/sampling.h"
#include "engines/host.h"
#include "sample/sample.h"
#include "stats/stats.h"
#include "sys/process.h"
#include "sys/thread.h"

/* A call that began to count has ended. */
#define PAUSES 4

static bool attach_on;

static void begin_again(void)
{
	bool forked = kf_fork_settle();

	kf_sampling_stop();
	kf_stats_restart();
	kf_host_know();
	kf_sample_restart();
	kf_start_publish(forked);
	kf_store(&kf_resting, false);
	kf_process_change();
}

const char *kf_attach_begin(uint64_t mean)
{
	static bool begun;
	const char *why = NULL;

	if (begun)
		begin_again();
	else
		why = kf_start_attached();
	if (!why && mean)
		kf_sampling_begin(mean);
	begun = !why;
	attach_on = !why;
	return why;
}

bool kf_attach_is_on(void)
{
	return attach_on;
}

void kf_attach_end(void)
{
	attach_on = false;
	kf_recorder_stop();
	kf_sampling_stop();
	kf_store(&kf_resting, true);
	kf_process_change();
	for (int i = 0; i < PAUSES; i++)
		kf_process_pause();
	kf_stats_leave();
}
