/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A page as text: the classic format 0.0.4 and OpenMetrics 1.0, and the
 * choice between them.
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

/**
 * kf_format_choose() - the format for an Accept header
 * @accept:	the header's value, or NULL where it is missing
 *
 * Quality values and wildcards count as HTTP has it; the classic format is
 * taken where both are equally welcome without being named, and where nothing
 * we have is welcome: a scrape is never refused for its Accept.
 *
 * Context: any thread.
 * Return: a format, never NULL.
 */
const struct kf_format *kf_format_choose(const char *accept);

#endif
