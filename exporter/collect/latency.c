/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collector "latency": the time of calls. The stats files have none, as reading
 * the clock costs what a call does; so it is what tracer "latency" counts of
 * the calls that leave the fast path. Empty unless --trace=latency runs it.
 */
#include "config.h"

#include "exporter/collect/collector.h"
#include "exporter/trace/trace.h"

static bool collect(struct kf_scrape *scrape)
{
	if (scrape->sources->tracers)
		kf_tracers_show(scrape->sources->tracers, &scrape->page, true);
	return true;
}

const struct kf_collector kf_collect_latency = {
	.name = "latency",
	.help = "the time of calls that leave the fast path, with --trace=latency",
	.collect = collect,
};
