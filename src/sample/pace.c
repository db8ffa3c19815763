/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rate of samples: see pace.h.
 *
 * A thread that finds another one here does not wait: its sample is not
 * counted.
 */
#include "sample/pace.h"

#include "sample/distance.h"

/* The mean falls when there are fewer samples than one in so many allowed. */
#define FEW 4

/* Samples since a time. */
struct window {
	uint64_t since;
	uint64_t nr;
};

/* All but @least and @busy is of the thread that has set @busy. */
static struct {
	uint64_t least; /* mean to begin with; 0: it is not changed; atomic */
	uint64_t mean;
	struct window drawn; /* samples that were drawn */
	struct window kept;  /* stacks of those that realloc kept */
	bool busy;	     /* atomic */
} pace;

static bool pace_enter(void)
{
	return !__atomic_exchange_n(&pace.busy, true, __ATOMIC_ACQUIRE);
}

static void pace_leave(void)
{
	__atomic_store_n(&pace.busy, false, __ATOMIC_RELEASE);
}

void kf_pace_begin(uint64_t mean)
{
	pace.mean = mean;
	pace.drawn = pace.kept = (struct window){0};
	kf_store_release(&pace.least, mean);
}

void kf_pace_end(void)
{
	kf_store(&pace.least, 0);
}

bool kf_pace_is_on(void)
{
	return kf_load(&pace.least);
}

static uint64_t slower(uint64_t mean)
{
	return KF_MIN(2 * mean, (uint64_t)KF_SAMPLE_MEAN_MAX);
}

/* As many samples as would have been taken at the mean before are @nr. */
static uint64_t faster(uint64_t mean, uint64_t nr, uint64_t allowed)
{
	uint64_t least = kf_load_acquire(&pace.least);

	while (least && mean / 2 >= least && FEW * nr < allowed) {
		mean /= 2;
		nr *= 2;
	}
	return mean;
}

static uint64_t pace_next(struct window *w, uint64_t now)
{
	uint64_t past = now - w->since;
	uint64_t nr = ++w->nr;

	if (past >= KF_PACE_NS) {
		*w = (struct window){.since = now};
		return faster(pace.mean, nr,
			      past / (KF_PACE_NS / KF_PACE_SAMPLES));
	}
	if (nr < KF_PACE_SAMPLES)
		return pace.mean;
	*w = (struct window){.since = now};
	return slower(pace.mean);
}

uint64_t kf_pace_note(uint64_t now)
{
	uint64_t mean, before;

	if (!kf_pace_is_on() || !pace_enter())
		return 0;
	before = pace.mean;
	pace.mean = mean = pace_next(&pace.drawn, now);
	pace_leave();
	return mean == before ? 0 : mean;
}

bool kf_pace_spares(uint64_t now)
{
	struct window *w = &pace.kept;
	bool spares;

	if (!kf_pace_is_on())
		return true;
	if (!pace_enter())
		return false;
	if (now - w->since >= KF_PACE_NS)
		*w = (struct window){.since = now};
	spares = ++w->nr <= KF_PACE_SAMPLES;
	pace_leave();
	return spares;
}

void kf_pace_fork_child(void)
{
	pace_leave();
}
