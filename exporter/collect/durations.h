/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Durations, counted as they are observed: eight buckets for each doubling, so
 * that the native histogram has them exactly; the text formats show every 16th.
 */
#ifndef KF_EXPORTER_COLLECT_DURATIONS_H
#define KF_EXPORTER_COLLECT_DURATIONS_H

#include "exporter/collect/model.h"

#include <stdatomic.h>

/*
 * From 2^-18 to 2^6 seconds, which are 4 µs and a minute; others are in the
 * first or in the last bucket.
 */
#define KF_DURATIONS_SCHEMA 3
#define KF_DURATIONS_LOW (-18)
#define KF_DURATIONS_HIGH 6
#define KF_NR_DURATIONS \
	((KF_DURATIONS_HIGH - KF_DURATIONS_LOW) << KF_DURATIONS_SCHEMA)

/* Initialize with zeroes. */
struct kf_durations {
	atomic_ullong count[KF_NR_DURATIONS];
	atomic_ullong sum_ns;
};

/**
 * kf_durations_note() - observe a duration
 * @d:		the durations
 * @ns:		nanoseconds
 */
void kf_durations_note(struct kf_durations *d, uint64_t ns);

/**
 * kf_durations_show() - add the histogram of durations to a page
 * @d:		the durations
 * @page:	the page
 * @family:	its family, or NULL
 *
 * Observations of other threads in the meantime may be in the sum already.
 *
 * Context: as kf_page_family().
 * Return: the series, or NULL.
 */
struct kf_series *kf_durations_show(struct kf_durations *d,
				    struct kf_page *page,
				    struct kf_family *family);

#endif
