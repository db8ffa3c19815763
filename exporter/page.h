/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The landing page.
 */
#ifndef KF_EXPORTER_PAGE_H
#define KF_EXPORTER_PAGE_H

#include "exporter/collector.h"

/**
 * kf_page_html() - write the landing page
 * @sources:	where the groups are
 * @telemetry_path: what to link to
 * @out:	the page is appended
 *
 * Context: any thread; scans the stats files.
 */
void kf_page_html(const struct kf_sources *sources, const char *telemetry_path,
		  struct kf_buf *out);

#endif
