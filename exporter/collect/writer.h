/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The formats of a page: the classic text format 0.0.4, OpenMetrics 1.0
 * and 2.0, and Prometheus' protobuf. The last two have native histograms.
 */
#ifndef KF_EXPORTER_COLLECT_WRITER_H
#define KF_EXPORTER_COLLECT_WRITER_H

#include "exporter/collect/model.h"

/* A format: its media type and its writer. */
struct kf_format {
	const char *content_type;
	void (*write)(const struct kf_page *page, struct kf_buf *out);
};

extern const struct kf_format kf_format_classic;
extern const struct kf_format kf_format_openmetrics;
extern const struct kf_format kf_format_openmetrics2;
extern const struct kf_format kf_format_protobuf;

/* Of native histograms; no observation is that small, so the bucket is empty.
 */
#define KF_ZERO_THRESHOLD 0x1p-128

/**
 * kf_format_choose() - choose the format for an Accept header
 * @accept:	the header's value, or NULL if it is missing
 *
 * Quality values and wildcards have HTTP's meaning. The classic format is
 * chosen if all are equally acceptable without being named, and if none is
 * acceptable: no scrape is refused for its Accept.
 *
 * Return: a format, never NULL.
 */
const struct kf_format *kf_format_choose(const char *accept);

#endif
