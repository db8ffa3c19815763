/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See growth.h. The moments are of the library's own clock, and the counters of
 * the file are of the end: together they are the history.
 */
#include "config.h"

#include "reader/growth.h"
#include "reader/verdict.h"

uint64_t kf_snapshot_seen(const struct kf_snapshot *s)
{
	uint64_t ms = kf_snapshot_value(s, "seen_at"), seen = 0;

	if (ms < UINT64_MAX / 1000000)
		seen = ms * 1000000;
	if (s->nr_moments)
		seen = KF_MAX(seen, s->moments[s->nr_moments - 1].time);
	if (s->nr_events)
		seen = KF_MAX(seen, s->events[s->nr_events - 1].time_ns);
	return seen ? KF_MAX(seen, s->id.created_mono) : 0;
}

struct kf_stats_moment kf_snapshot_end(const struct kf_snapshot *s)
{
	return (struct kf_stats_moment){
		.time = kf_snapshot_seen(s),
		.live = kf_snapshot_used(s),
		.held = s->totals.held,
		.allocated = s->totals.allocated,
		.blocks = s->totals.live_blocks,
	};
}

void kf_span_widen(struct kf_span *span, uint64_t used)
{
	span->least = KF_MIN(span->least, used);
	span->most = KF_MAX(span->most, used);
}

static void growth_add(struct kf_growth *g, const struct kf_stats_moment *m,
		       uint64_t begin, uint64_t end)
{
	uint64_t part = (m->time - begin) / ((end - begin) / KF_GROWTH_PARTS);

	kf_span_widen(&g->part[KF_MIN(part, (uint64_t)KF_GROWTH_PARTS - 1)],
		      m->live);
	kf_span_widen(&g->whole, m->live);
}

bool kf_growth_of(const struct kf_snapshot *s, struct kf_growth *g)
{
	const struct kf_stats_moment end = kf_snapshot_end(s);
	uint64_t begin;
	uint32_t i = 0;

	*g = (struct kf_growth){.whole.least = UINT64_MAX, .last = end.live};
	for (unsigned int p = 0; p < KF_GROWTH_PARTS; p++)
		g->part[p].least = UINT64_MAX;
	if (!s->nr_moments)
		return false;
	begin = s->moments[0].time;
	if (end.time - begin < KF_GROWTH_PARTS)
		return false;
	if (end.time - begin > KF_GROWTH_LAST_NS)
		begin = end.time - KF_GROWTH_LAST_NS;
	for (; i + 1 < s->nr_moments && s->moments[i].time < begin; i++)
		g->held = KF_MAX(g->held, s->moments[i].held);
	begin = s->moments[i].time;
	if (end.time - begin < KF_GROWTH_PARTS)
		return false;
	g->held = KF_MAX(g->held, s->moments[i].held);
	g->first = s->moments[i].live;
	g->seconds = (double)(end.time - begin) / 1e9;
	for (; i < s->nr_moments; i++)
		growth_add(g, &s->moments[i], begin, end.time);
	growth_add(g, &end, begin, end.time);
	return true;
}
