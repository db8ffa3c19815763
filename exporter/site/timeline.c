/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The recent history of memory: a ring of moments, each with the values of all
 * lines at that time, by their ids. The oldest moments make room.
 */
#include "config.h"

#include "exporter/site/timeline.h"
#include "exporter/site/assets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The clock's scans take at most 1 % of a processor, and keep scrapes waiting
 * at most 10 % of the time.
 */
#define PROCESSOR_SHARE 100
#define WAITING_SHARE 10

/* Nothing is known of a time without moments: one may be late. */
#define GAP_LEAST_MS UINT64_C(30000)
#define GAP_INTERVALS 3

struct line {
	uint64_t id;
	uint64_t mallocs;
	uint64_t frees;
	float part[KF_NR_PARTS];
};

struct kf_moment {
	uint64_t ms; /* CLOCK_REALTIME */
	size_t nr;
	struct line line[]; /* by id */
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

static size_t timeline_size(size_t nr)
{
	return sizeof(struct kf_moment) + nr * sizeof(struct line);
}

static struct kf_moment **timeline_at(struct kf_timelines *t, unsigned int i)
{
	return &t->moment[(t->first + i) % KF_NR_MOMENTS];
}

static void timeline_drop_oldest(struct kf_timelines *t)
{
	struct kf_moment **oldest = timeline_at(t, 0);

	t->bytes -= timeline_size((*oldest)->nr);
	free(*oldest);
	*oldest = NULL;
	t->first++;
	t->nr--;
}

static int timeline_by_id(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static void timeline_put(struct kf_moment *m, uint64_t id,
			 const uint64_t *figure)
{
	struct line *line = &m->line[m->nr++];
	uint64_t part[KF_NR_PARTS];

	kf_parts_of(figure, part);
	line->id = id;
	line->mallocs = figure[KF_FIG_MALLOCS];
	line->frees = figure[KF_FIG_FREES];
	for (unsigned int i = 0; i < KF_NR_PARTS; i++)
		line->part[i] = (float)part[i];
}

/* How many lines there are at most. */
static size_t timeline_count(const struct kf_groups *g)
{
	const struct kf_group *group;
	const struct kf_member *m;
	size_t nr = 1;

	for (group = g->groups; group; group = group->next)
		nr++;
	for (unsigned int i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m; m = m->next)
			nr++;
	}
	return nr;
}

static void timeline_put_groups(struct kf_moment *moment,
				const struct kf_groups *g)
{
	uint64_t sum[KF_NR_DERIVED] = {0};
	const struct kf_group *group;

	for (group = g->groups; group; group = group->next) {
		for (unsigned int i = 0; i < KF_NR_DERIVED; i++)
			sum[i] += group->now[i];
		if (group->processes)
			timeline_put(moment, kf_group_id(group), group->now);
	}
	timeline_put(moment, KF_TIMELINE_ALL, sum);
}

static void timeline_put_members(struct kf_moment *moment,
				 const struct kf_groups *g)
{
	const struct kf_member *m;

	for (unsigned int i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m; m = m->next) {
			if (kf_member_shown(m))
				timeline_put(moment, kf_member_id(m), m->seen);
		}
	}
}

static struct kf_moment *timeline_make(const struct kf_groups *g, uint64_t ms)
{
	struct kf_moment *moment = malloc(timeline_size(timeline_count(g)));
	struct kf_moment *shorter;

	if (!moment)
		return NULL;
	*moment = (struct kf_moment){.ms = ms};
	timeline_put_groups(moment, g);
	timeline_put_members(moment, g);
	qsort(moment->line, moment->nr, sizeof(moment->line[0]),
	      timeline_by_id);
	shorter = realloc(moment, timeline_size(moment->nr));
	return shorter ? shorter : moment;
}

void kf_timelines_note(struct kf_timelines *t, const struct kf_groups *g,
		       uint64_t ms)
{
	struct kf_moment *moment = timeline_make(g, ms);

	if (!moment)
		return;
	pthread_mutex_lock(&t->lock);
	if (t->nr)
		moment->ms = KF_MAX(ms, (*timeline_at(t, t->nr - 1))->ms + 1);
	t->bytes += timeline_size(moment->nr);
	while (t->nr == KF_NR_MOMENTS || (t->nr && t->bytes > KF_MOMENTS_BYTES))
		timeline_drop_oldest(t);
	*timeline_at(t, t->nr++) = moment;
	pthread_mutex_unlock(&t->lock);
}

/* Returns whether the line was known then. */
static const struct line *timeline_find(const struct kf_moment *m, uint64_t id)
{
	const struct line key = {.id = id};

	return bsearch(&key, m->line, m->nr, sizeof(key), timeline_by_id);
}

static bool timeline_take(const struct kf_moment *m, uint64_t id,
			  struct kf_past *past)
{
	const struct line *line = timeline_find(m, id);
	unsigned int at = past->nr++, i;

	past->ms[at] = m->ms;
	past->held[at] = 0;
	for (i = 0; i < KF_NR_PARTS; i++) {
		past->part[i][at] = line ? line->part[i] : NAN;
		past->held[at] += past->part[i][at];
	}
	return line;
}

void kf_timelines_get(struct kf_timelines *t, uint64_t id, struct kf_past *past)
{
	bool known = false;

	past->nr = 0;
	pthread_mutex_lock(&t->lock);
	for (unsigned int i = 0; i < t->nr; i++)
		known |= timeline_take(*timeline_at(t, i), id, past);
	pthread_mutex_unlock(&t->lock);
	if (!known)
		past->nr = 0;
}

/* Counters that went back are of another process, or of a damaged file. */
static double timeline_rate(uint64_t before, uint64_t now, uint64_t ms)
{
	return now >= before ? (double)(now - before) * 1000 / (double)ms : NAN;
}

struct kf_rates kf_timelines_rates(struct kf_timelines *t, uint64_t id)
{
	struct kf_rates rates = {NAN, NAN};

	pthread_mutex_lock(&t->lock);
	if (t->nr > 1) {
		const struct kf_moment *now = *timeline_at(t, t->nr - 1);
		const struct kf_moment *then = *timeline_at(t, t->nr - 2);
		const struct line *a = timeline_find(then, id);
		const struct line *b = timeline_find(now, id);
		uint64_t ms = now->ms - then->ms;

		if (a && b)
			rates = (struct kf_rates){
				timeline_rate(a->mallocs, b->mallocs, ms),
				timeline_rate(a->frees, b->frees, ms)};
	}
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

static uint64_t timeline_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct timespec timeline_ts(uint64_t ms)
{
	return (struct timespec){.tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000) * 1000000};
}

/* Scan and note; return when the next time is, CLOCK_MONOTONIC in ms. */
static uint64_t timeline_tick(struct kf_timelines *t)
{
	struct kf_groups *g = t->groups;
	struct timespec now;
	uint64_t begun, used, pause = (uint64_t)t->every_s * 1000;

	pthread_mutex_lock(&g->lock);
	clock_gettime(CLOCK_MONOTONIC, &now);
	begun = timeline_ms(CLOCK_MONOTONIC);
	/* of all threads, as several read */
	used = timeline_ms(CLOCK_PROCESS_CPUTIME_ID);
	if (kf_groups_scan(g, &now, NULL) == 0)
		kf_timelines_note(t, g, timeline_ms(CLOCK_REALTIME));
	pthread_mutex_unlock(&g->lock);
	used = timeline_ms(CLOCK_PROCESS_CPUTIME_ID) - used;
	pause = KF_MAX(pause, used * PROCESSOR_SHARE);
	pause = KF_MAX(pause,
		       (timeline_ms(CLOCK_MONOTONIC) - begun) * WAITING_SHARE);
	return begun + pause;
}

static void *timeline_clock(void *arg)
{
	struct kf_timelines *t = arg;
	struct timespec next;

	pthread_mutex_lock(&t->lock);
	while (!t->ended) {
		pthread_mutex_unlock(&t->lock);
		next = timeline_ts(timeline_tick(t));
		pthread_mutex_lock(&t->lock);
		while (!t->ended &&
		       !pthread_cond_timedwait(&t->ends, &t->lock, &next))
			continue;
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void kf_timelines_init(struct kf_timelines *t, struct kf_groups *g,
		       unsigned int every_s)
{
	pthread_condattr_t attributes;

	*t = (struct kf_timelines){.groups = g, .every_s = every_s};
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&t->ends, &attributes);
	pthread_condattr_destroy(&attributes);
}

int kf_timelines_start(struct kf_timelines *t)
{
	int error = pthread_create(&t->clock, NULL, timeline_clock, t);

	t->runs = !error;
	return error;
}

void kf_timelines_stop(struct kf_timelines *t)
{
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_cond_signal(&t->ends);
	pthread_mutex_unlock(&t->lock);
	if (t->runs)
		pthread_join(t->clock, NULL);
	while (t->nr)
		timeline_drop_oldest(t);
	pthread_cond_destroy(&t->ends);
	pthread_mutex_destroy(&t->lock);
}
