/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collector "latency": durations of calls that leave the fast path, from tracer
 * "latency". Stats files have no durations, since reading the clock costs as
 * much as a call. Empty without --trace=latency.
 */
#include "config.h"

#include "exporter/collect/collector.h"
#include "exporter/trace/trace.h"

static bool latency_collect(struct kf_scrape *scrape)
{
	if (scrape->sources->tracers)
		kf_tracers_show(scrape->sources->tracers, &scrape->page, true);
	return true;
}

const struct kf_collector kf_collect_latency = {
	.name = "latency",
	.help = "durations of calls that leave the fast path, with --trace=latency",
	.collect = latency_collect,
};
