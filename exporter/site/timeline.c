/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The recent history of memory: a common ring of times, and a ring of values
 * for each line. The sum comes first, then groups, then processes, as long as
 * there is room. A line without values for a whole round of the ring is
 * removed.
 */
#include "config.h"

#include "exporter/site/timeline.h"
#include "exporter/site/assets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_MS 4000

/* Nothing is known of a time without scans: a scrape may be late by one. */
#define GAP_LEAST_MS UINT64_C(90000)
#define GAP_INTERVALS 3

struct kf_timeline {
	struct kf_timeline *next;
	uint64_t id;
	uint64_t last; /* number of the time of its newest value */
	float part[KF_NR_PARTS][KF_NR_MOMENTS];
	uint64_t mallocs; /* at that time */
	uint64_t frees;
	struct kf_rates rates; /* until then */
};

uint64_t kf_group_id(const struct kf_group *group)
{
	uint64_t h = kf_hash(0, "g", 1);

	h = kf_hash(h, group->name, strlen(group->name) + 1);
	h = kf_hash(h, group->container, strlen(group->container));
	return h ? h : 1;
}

uint64_t kf_member_id(const struct kf_member *m)
{
	uint64_t h = kf_hash(0, m->path, strlen(m->path) + 1);

	h = kf_hash(h, &m->created_ns, sizeof(m->created_ns));
	return h ? h : 1;
}

static struct kf_timeline **timeline_bucket(struct kf_timelines *t, uint64_t id)
{
	return &t->bucket[id % KF_TIMELINE_BUCKETS];
}

static struct kf_timeline *timeline_find(struct kf_timelines *t, uint64_t id)
{
	struct kf_timeline *line;

	for (line = *timeline_bucket(t, id); line; line = line->next) {
		if (line->id == id)
			return line;
	}
	return NULL;
}

static struct kf_timeline *timeline_make(struct kf_timelines *t, uint64_t id)
{
	struct kf_timeline *line;
	unsigned int i;

	if (t->nr == KF_MAX_TIMELINES)
		return NULL;
	line = malloc(sizeof(*line));
	if (!line)
		return NULL;
	for (i = 0; i < KF_NR_PARTS * KF_NR_MOMENTS; i++)
		line->part[i / KF_NR_MOMENTS][i % KF_NR_MOMENTS] = NAN;
	line->id = id;
	line->last = t->nr_moments;
	line->next = *timeline_bucket(t, id);
	*timeline_bucket(t, id) = line;
	t->nr++;
	return line;
}

/* Counters that went back are of another process, or of a damaged file. */
static double timeline_rate(uint64_t before, uint64_t now, uint64_t ms)
{
	return ms && now >= before ? (double)(now - before) * 1000 / (double)ms
				   : NAN;
}

static void timeline_put(struct kf_timelines *t, uint64_t id,
			 const uint64_t *figure)
{
	struct kf_timeline *line = timeline_find(t, id);
	unsigned int at = t->nr_moments % KF_NR_MOMENTS, i;
	uint64_t part[KF_NR_PARTS], ms;

	if (!line)
		line = timeline_make(t, id);
	if (!line)
		return;
	/* without a value of the scan before there is no rate */
	ms = line->last + 1 == t->nr_moments ? t->interval_ms : 0;
	line->rates = (struct kf_rates){
		timeline_rate(line->mallocs, figure[KF_FIG_MALLOCS], ms),
		timeline_rate(line->frees, figure[KF_FIG_FREES], ms)};
	line->mallocs = figure[KF_FIG_MALLOCS];
	line->frees = figure[KF_FIG_FREES];
	line->last = t->nr_moments;
	kf_parts_of(figure, part);
	for (i = 0; i < KF_NR_PARTS; i++)
		line->part[i][at] = (float)part[i];
}

/* Make room for a new time: drop values that are a round old. */
static void timeline_clear_moment(struct kf_timelines *t,
				  struct kf_timeline **link)
{
	unsigned int at = t->nr_moments % KF_NR_MOMENTS, i;
	struct kf_timeline *line;

	while ((line = *link)) {
		if (t->nr_moments - line->last >= KF_NR_MOMENTS) {
			*link = line->next;
			free(line);
			t->nr--;
			continue;
		}
		for (i = 0; i < KF_NR_PARTS; i++)
			line->part[i][at] = NAN;
		link = &line->next;
	}
}

static void timeline_put_member(struct kf_timelines *t,
				const struct kf_member *m)
{
	if (kf_member_shown(m))
		timeline_put(t, kf_member_id(m), m->seen);
}

static void timeline_put_all(struct kf_timelines *t, struct kf_groups *g)
{
	uint64_t sum[KF_NR_DERIVED] = {0};
	const struct kf_group *group;
	const struct kf_member *m;
	unsigned int i;

	for (group = g->groups; group; group = group->next) {
		for (i = 0; i < KF_NR_DERIVED; i++)
			sum[i] += group->now[i];
	}
	timeline_put(t, KF_TIMELINE_ALL, sum);
	for (group = g->groups; group; group = group->next) {
		if (group->processes)
			timeline_put(t, kf_group_id(group), group->now);
	}
	for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m; m = m->next)
			timeline_put_member(t, m);
	}
}

static int64_t timeline_ms_of(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000 + ts->tv_nsec / 1000000;
}

void kf_timelines_note(struct kf_timelines *t, struct kf_groups *g)
{
	struct timespec now, mono;
	uint64_t ms, last;
	unsigned int i;

	pthread_mutex_lock(&t->lock);
	last = t->ms[(t->nr_moments + KF_NR_MOMENTS - 1) % KF_NR_MOMENTS];
	if (g->scanned && g->scan_result == 0 &&
	    (!t->nr_moments ||
	     timeline_ms_of(&g->scan_began) - timeline_ms_of(&t->scan) >=
		     INTERVAL_MS)) {
		clock_gettime(CLOCK_REALTIME, &now);
		clock_gettime(CLOCK_MONOTONIC, &mono);
		for (i = 0; i < KF_TIMELINE_BUCKETS; i++)
			timeline_clear_moment(t, &t->bucket[i]);
		ms = (uint64_t)(timeline_ms_of(&now) - timeline_ms_of(&mono) +
				timeline_ms_of(&g->scan_began));
		/* times ascend even if the clock was set back */
		if (t->nr_moments)
			ms = KF_MAX(ms, last + 1);
		t->ms[t->nr_moments % KF_NR_MOMENTS] = ms;
		t->interval_ms = (uint64_t)(timeline_ms_of(&g->scan_began) -
					    timeline_ms_of(&t->scan));
		timeline_put_all(t, g);
		t->scan = g->scan_began;
		t->nr_moments++;
	}
	pthread_mutex_unlock(&t->lock);
}

void kf_timelines_get(struct kf_timelines *t, uint64_t id, struct kf_past *past)
{
	const struct kf_timeline *line;
	uint64_t n, from;
	unsigned int at, i;

	past->nr = 0;
	pthread_mutex_lock(&t->lock);
	line = timeline_find(t, id);
	from = t->nr_moments > KF_NR_MOMENTS ? t->nr_moments - KF_NR_MOMENTS
					     : 0;
	for (n = from; line && n < t->nr_moments; n++) {
		at = n % KF_NR_MOMENTS;
		past->ms[past->nr] = t->ms[at];
		past->held[past->nr] = 0;
		for (i = 0; i < KF_NR_PARTS; i++) {
			past->part[i][past->nr] = line->part[i][at];
			past->held[past->nr] += line->part[i][at];
		}
		past->nr++;
	}
	pthread_mutex_unlock(&t->lock);
}

struct kf_rates kf_timelines_rates(struct kf_timelines *t, uint64_t id)
{
	struct kf_rates rates = {NAN, NAN};
	const struct kf_timeline *line;

	pthread_mutex_lock(&t->lock);
	line = timeline_find(t, id);
	if (line && line->last + 1 == t->nr_moments)
		rates = line->rates;
	pthread_mutex_unlock(&t->lock);
	return rates;
}

static int timeline_by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t kf_past_gap_ms(const struct kf_past *past)
{
	uint64_t length[KF_NR_MOMENTS];
	unsigned int nr = past->nr > 0 ? past->nr - 1 : 0, i;

	for (i = 0; i < nr; i++)
		length[i] = past->ms[i + 1] - past->ms[i];
	if (!nr)
		return GAP_LEAST_MS;
	qsort(length, nr, sizeof(length[0]), timeline_by_length);
	return KF_MAX(GAP_LEAST_MS, GAP_INTERVALS * length[nr / 2]);
}

float kf_past_top(const struct kf_past *past)
{
	float top = 0;
	unsigned int i;

	for (i = 0; i < past->nr; i++)
		top = past->held[i] > top ? past->held[i] : top;
	return top;
}

void kf_timelines_free(struct kf_timelines *t)
{
	struct kf_timeline *line;
	unsigned int i;

	for (i = 0; i < KF_TIMELINE_BUCKETS; i++) {
		while ((line = t->bucket[i])) {
			t->bucket[i] = line->next;
			free(line);
		}
	}
	pthread_mutex_destroy(&t->lock);
}
