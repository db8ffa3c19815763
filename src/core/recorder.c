/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When the heap's history is recorded: see recorder.h.
 */
#include "core/recorder.h"

#include "base/text.h"
#include "core/conf.h"
#include "core/control.h"
#include "core/core.h"
#include "core/tagging.h"
#include "heap/remote.h"
#include "record/cursor.h"
#include "stats/stats.h"
#include "sys/clock.h"
#include "sys/out.h"
#include "sys/thread.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* The file's name, for children too; absolute. One thread at a time. */
static char pattern[PATH_MAX];
static bool parent_recorded; /* and this child does not yet; atomic */

bool kf_recorder_on; /* atomic */

/* Whether the quick way of record/cursor.h may be taken; atomic. */
static bool quick;

static void set_on(bool on, bool strict)
{
	__atomic_store_n(&kf_recorder_on, on, __ATOMIC_RELAXED);
	__atomic_store_n(&kf_cache_barred, on && strict, __ATOMIC_RELAXED);
	kf_word_set(KF_WORD_recording, on);
	kf_process_change();
}

static void set_quick(bool on)
{
	__atomic_store_n(&quick, on, __ATOMIC_RELAXED);
	kf_process_change();
}

static int recorder_begin(bool from_start, bool forked)
{
	struct kf_stats_conf stats;
	struct kf_record_conf conf = {
		.file = pattern,
		.max_size = kf_conf.record_max,
		.ring = kf_conf.record_ring,
		.guard = kf_conf.guard,
		.from_start = from_start,
		.forked = forked,
		.stats = &stats,
	};
	int r;

	kf_start_stats_conf(&stats);
	set_quick(false);
	/* All calls are observed before anything is written down. */
	set_on(true, !from_start);
	r = kf_record_begin(&conf);
	if (r)
		set_on(false, false);
	/* Blocks of a tag that is there from the start get marks. */
	else if (!kf_tags.base && kf_clock_is_cheap())
		set_quick(true);
	return r;
}

int kf_recorder_begin(const char *file)
{
	int r = kf_record_pattern(pattern, file);

	return r ? r : recorder_begin(false, false);
}

bool kf_recorder_stop(void)
{
	bool was_on = kf_record_is_on();

	set_quick(false);
	kf_record_stop();
	set_on(false, false);
	return was_on;
}

static void recorder_warn(int error)
{
	char buf[PATH_MAX + 256];
	struct kf_text text;

	kf_conf_begin_line(&text, buf, sizeof(buf), "KONFISCATOR_RECORD",
			   kf_conf.record);
	kf_text_str(&text, "cannot be recorded into: ");
	if (error == ENOTSUP) {
		kf_text_str(&text, "it exists and is not a regular file");
	} else {
		kf_text_str(&text, "errno ");
		kf_text_i64(&text, error);
	}
	kf_text_char(&text, '\n');
	kf_out(&text);
}

void kf_recorder_publish(bool forked)
{
	int r;

	if (forked) {
		if (!parent_recorded || recorder_begin(false, true))
			set_on(false, false);
		__atomic_store_n(&parent_recorded, false, __ATOMIC_RELAXED);
		return;
	}
	if (!kf_conf.record)
		return;
	r = kf_record_pattern(pattern, kf_conf.record);
	if (!r)
		r = recorder_begin(true, false);
	if (r)
		recorder_warn(-r);
}

/*
 * A thread with a heap is registered already. If this fails, the thread's
 * writer is lost when the thread ends.
 */
static void recorder_register_exit(void)
{
	uint16_t depth = kf_front_step_out();

	kf_thread_on_exit();
	kf_front_step_in(depth);
}

static __cold void recorder_complete(void)
{
	bool to_record = __atomic_load_n(&parent_recorded, __ATOMIC_RELAXED);

	if (kf_start_is_due())
		kf_start();
	if (kf_self.forked)
		kf_fork_enter(to_record);
	else if (kf_fork_is_due())
		kf_fork_complete();
}

static uint32_t cursor_state(void)
{
	return kf_record_is_in() && __atomic_load_n(&quick, __ATOMIC_RELAXED)
		       ? kf_process_seen
		       : KF_CURSOR_CLOSED;
}

void kf_recorder_enter(void)
{
	/* The library has started; in a child the recording begins last. */
	if (unlikely(!kf_record_is_on() || !kf_process_is_known() ||
		     kf_self.forked))
		recorder_complete();
	kf_control_poll();
	kf_self.depth++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (unlikely(!kf_process_is_current()))
		kf_front_renew();
	if (unlikely(!kf_record_is_in()) && kf_record_enter())
		recorder_register_exit();
	kf_record_open(cursor_state());
}

/* A signal handler is to find the thread inside until the call has ended. */
void kf_recorder_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	kf_self.depth--;
	if (unlikely(kf_self.forked))
		kf_fork_leave();
}

void kf_recorder_thread_exit(void)
{
	bool gone;

	kf_self.depth++;
	kf_heap_detach();
	gone = kf_self.counters == &kf_counters_guest;
	kf_self.depth--;
	if (gone)
		kf_tagging_thread_exit();
	if (gone && kf_record_is_on())
		kf_record_thread_end();
}

void kf_recorder_fork_child(void)
{
	if (kf_record_fork_child())
		parent_recorded = true;
}
