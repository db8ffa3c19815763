/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The heap's history in the stats file: at most KF_STATS_MOMENTS moments, of
 * the whole life and densest at its end.
 *
 * When all entries are used, a new moment replaces the one that is missed
 * least: the gap that it leaves is the smallest in relation to its age. So the
 * gaps grow with the age, and the first moment stays. There is no thread and no
 * timer: a process that does not allocate has no moments meanwhile.
 */
#include "stats/internal.h"

#include "sys/thread.h"

#include <string.h>

#define SECOND ((uint64_t)1000000000)
#define MILLISECOND ((uint64_t)1000000)
#define LIFE_PART 8

/* What is in the file may be changed by others: the times are kept here, too.
 */
static struct {
	uint32_t
		busy; /* 1: a thread notes a moment, and has all else; atomic */
	uint32_t nr;
	uint64_t due;			 /* ns; atomic */
	uint64_t begin;			 /* time of the first moment */
	uint64_t last;			 /* time of the last one */
	uint64_t time[KF_STATS_MOMENTS]; /* of each entry */
} history;

static struct kf_stats_moment *moments_at(uint32_t i)
{
	return (struct kf_stats_moment *)(void *)(kf_stats.base +
						  KF_AT_MOMENTS) +
	       i;
}

/* The latest time before that of an entry. */
static uint64_t moments_before(uint32_t entry)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < KF_STATS_MOMENTS; i++) {
		if (history.time[i] < history.time[entry])
			found = KF_MAX(found, history.time[i]);
	}
	return found;
}

/* The earliest time after that of an entry; @now: it is the last one. */
static uint64_t moments_after(uint32_t entry, uint64_t now)
{
	uint64_t found = now;

	for (uint32_t i = 0; i < KF_STATS_MOMENTS; i++) {
		if (history.time[i] > history.time[entry])
			found = KF_MIN(found, history.time[i]);
	}
	return found;
}

/* The entry that a moment at @now takes. */
static uint32_t moments_choose(uint64_t now)
{
	uint64_t least = UINT64_MAX;
	uint32_t best = 0;

	if (history.nr < KF_STATS_MOMENTS)
		return history.nr++;
	for (uint32_t i = 0; i < KF_STATS_MOMENTS; i++) {
		uint64_t before = moments_before(i);
		uint64_t gap = (moments_after(i, now) - before) / MILLISECOND;
		uint64_t part = (gap << 20) / ((now - before) / MILLISECOND);

		if (before && part < least) {
			least = part;
			best = i;
		}
	}
	return best;
}

static void moments_put(uint64_t now)
{
	uint32_t i = moments_choose(now);
	struct kf_stats_moment *to = moments_at(i), m;

	kf_image_sum(&m);
	history.time[i] = now;
	kf_store(&to->time, 0);
	/* A reader of a half-written moment finds @time 0 or changed. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	kf_store(&to->live, m.live);
	kf_store(&to->held, kf_stats_held());
	kf_store(&to->allocated, m.allocated);
	kf_store(&to->blocks, m.blocks);
	kf_store_release(&to->time, now);
}

static uint64_t moments_gap(uint64_t now)
{
	uint64_t slots =
		kf_load(&kf_stats.nr_taken) + kf_load(&kf_stats.nr_more);
	uint64_t most = SECOND + slots * MILLISECOND;

	return KF_MIN((now - history.begin) / LIFE_PART, most);
}

void kf_moments_note(uint64_t now)
{
	if (likely(now < kf_load(&history.due)) ||
	    !kf_load(&kf_stats.on_file) || !kf_claim(&history.busy, 1))
		return;
	if (!history.begin)
		history.begin = now;
	/* moments are a millisecond apart, at least */
	if (now >= history.last + MILLISECOND) {
		history.last = now;
		moments_put(now);
		kf_store(&history.due, now + moments_gap(now));
	}
	kf_store_release(&history.busy, 0);
}

void kf_moments_tick(void)
{
	kf_moments_note(kf_now_coarse_ns());
}

void kf_moments_restart(void)
{
	memset(&history, 0, sizeof(history));
	memset(moments_at(0), 0,
	       KF_STATS_MOMENTS * sizeof(struct kf_stats_moment));
}
