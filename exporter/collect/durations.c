/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Durations: see durations.h.
 */
#include "config.h"

#include "exporter/collect/durations.h"

#include <math.h>

#define PER_DOUBLING (1 << KF_DURATIONS_SCHEMA)
#define FIRST (KF_DURATIONS_LOW * PER_DOUBLING + 1) /* index, see model.h */

/* The text has a bound for each fourfold of a power of two. */
#define SHOWN_LOW (-12)
#define SHOWN_STEP 2
#define NR_SHOWN ((4 - SHOWN_LOW) / SHOWN_STEP)

static const double shown[NR_SHOWN] = {0x1p-12, 0x1p-10, 0x1p-8, 0x1p-6,
				       0x1p-4,	0x1p-2,	 0x1p0,	 0x1p2};

/* The upper bounds in a doubling that ends at 1: 2^-7/8 to 2^-1/8, and 1. */
static const double bounds[PER_DOUBLING] = {
	0.54525386633262882960, 0.59460355750136053336,
	0.64841977732550483296, 0.70710678118654752440,
	0.77110541270397041180, 0.84089641525371454303,
	0.91700404320467123174, 1};

static unsigned int durations_bucket_of(uint64_t ns)
{
	int doubling, i = 0;
	double part = frexp((double)KF_MAX(ns, (uint64_t)1) * 1e-9, &doubling);

	/* it is 2^doubling * part, above half of that */
	while (part > bounds[i])
		i++;
	i += (doubling - 1 - KF_DURATIONS_LOW) * PER_DOUBLING;
	/* half of it is the end of the doubling below */
	if (part <= 0.5)
		i--;
	return (unsigned int)KF_MIN(KF_MAX(i, 0), KF_NR_DURATIONS - 1);
}

void kf_durations_note(struct kf_durations *d, uint64_t ns)
{
	atomic_fetch_add(&d->count[durations_bucket_of(ns)], 1);
	atomic_fetch_add(&d->sum_ns, ns);
}

struct kf_series *kf_durations_show(struct kf_durations *d,
				    struct kf_page *page,
				    struct kf_family *family)
{
	uint64_t native[KF_NR_DURATIONS], count[NR_SHOWN + 1] = {0};
	const struct kf_histogram h = {
		.nr = NR_SHOWN,
		.le = shown,
		.count = count,
		.sum = (double)atomic_load(&d->sum_ns) * 1e-9,
		.native = {.nr = KF_NR_DURATIONS,
			   .schema = KF_DURATIONS_SCHEMA,
			   .first = FIRST,
			   .count = native},
	};
	int i, to;

	for (i = 0; i < KF_NR_DURATIONS; i++) {
		to = i / PER_DOUBLING + 1 + KF_DURATIONS_LOW - SHOWN_LOW;
		to = KF_MIN(KF_MAX(to + SHOWN_STEP - 1, 0) / SHOWN_STEP,
			    NR_SHOWN);
		native[i] = atomic_load(&d->count[i]);
		count[to] += native[i];
	}
	return kf_family_histogram(page, family, "", &h);
}
