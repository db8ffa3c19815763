/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The limit of held memory: see limit.h.
 */
#include "core/limit.h"

#include "base/text.h"
#include "core/conf.h"
#include "core/snapshot.h"
#include "engines/engine.h"
#include "engines/host.h"
#include "pages/limit.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/out.h"
#include "sys/process.h"

#include "probes/konfiscator-probes.h"

bool kf_limit_is_set;

/* Memory is short when tasks waited for it for this part of the time. */
#define STALLED_PERCENT 10

/* @read_ms and @told are atomic; the thread that sets @busy owns what follows.
 */
static struct {
	bool told; /* the snapshot of this crossing was written */
	uint32_t read_ms;
	bool busy; /* atomic */
	struct kf_cgroup cgroup;
	bool has_seen; /* the last read told something: */
	struct kf_pressure seen;
} limit;

static void limit_read_share(void)
{
	uint64_t percent = kf_conf.limit & ~KF_LIMIT_SHARE;

	if (kf_conf.limit & KF_LIMIT_SHARE)
		kf_limit_set(kf_limit_part(
			kf_cgroup_memory_limit(&limit.cgroup, ""), percent));
}

/* Totals start anew in another cgroup, and are others in other files. */
static bool limit_goes_on(const struct kf_pressure *last,
			  const struct kf_pressure *now)
{
	return last->of_cgroup == now->of_cgroup &&
	       last->has_high == now->has_high &&
	       last->stalled_us <= now->stalled_us && last->high <= now->high;
}

/* Whether memory was short in the last @ms. */
static bool limit_is_pressed(uint32_t ms)
{
	struct kf_pressure now, last = limit.seen;
	bool had = limit.has_seen;
	uint64_t stalled, high;

	limit.has_seen = kf_cgroup_pressure(&limit.cgroup, "", &now);
	limit.seen = now;
	if (!had || !limit.has_seen || !limit_goes_on(&last, &now))
		return false;
	stalled = now.stalled_us - last.stalled_us;
	high = now.high - last.high;
	if (!high && stalled / 10 < (uint64_t)ms * STALLED_PERCENT)
		return false;
	kf_word_add_atomic(KF_WORD_memory_pressure, 1);
	kf_probe_memory_pressure(kf_stats_held(), stalled, high);
	return true;
}

/* A process that may no longer open files is not under pressure. */
static void limit_read(uint32_t ms)
{
	bool pressed = false;

	if (__atomic_exchange_n(&limit.busy, true, __ATOMIC_ACQUIRE))
		return;
	if (!kf_process_is_barred()) {
		limit_read_share();
		pressed = limit_is_pressed(ms);
	}
	kf_limit_press(pressed);
	__atomic_store_n(&limit.busy, false, __ATOMIC_RELEASE);
	if (pressed)
		kf_host_trim(0);
}

void kf_limit_start(void)
{
	kf_limit_is_set = kf_conf.limit != 0;
	kf_limit.hard = kf_conf.limit_hard;
	limit.read_ms = kf_now_ms();
	if (!kf_limit_is_set)
		return;
	if (!(kf_conf.limit & KF_LIMIT_SHARE))
		kf_limit_set(kf_conf.limit);
	limit_read_share();
	limit.has_seen = kf_cgroup_pressure(&limit.cgroup, "", &limit.seen);
}

void kf_limit_settle(void)
{
	char buf[128];
	struct kf_text text;

	if (!kf_limit_is_set ||
	    !(kf_engine->base.flags & KONF_ENGINE_ELSEWHERE))
		return;
	kf_limit_is_set = false;
	kf_limit_set(0);
	kf_text_init(&text, buf, sizeof(buf));
	kf_text_str(&text, "konfiscator: KONFISCATOR_LIMIT: the engine ");
	kf_text_str(&text, kf_engine->base.name);
	kf_text_str(&text, " takes no memory itself; there is no limit\n");
	kf_out(&text);
}

static void limit_read_due(void)
{
	uint32_t last = kf_load(&limit.read_ms);
	uint32_t now = kf_now_ms();

	if (now - last < KF_LIMIT_READ_MS ||
	    !__atomic_compare_exchange_n(&limit.read_ms, &last, now, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	limit_read(now - last);
}

void kf_limit_look(void)
{
	bool crossed = kf_load(&kf_limit.crossed);

	limit_read_due();
	if (likely(crossed == kf_load(&limit.told)) ||
	    __atomic_exchange_n(&limit.told, crossed, __ATOMIC_RELAXED) ==
		    crossed)
		return;
	/* No prefix: no snapshot. The stats file has the profile. */
	if (crossed)
		kf_snapshot_next(NULL, false);
}

void kf_limit_fork_child(void)
{
	limit.busy = false;
}
