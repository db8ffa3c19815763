/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collector "tracing": counts of tracers that stats files do not have, such as
 * requested sizes. Empty without --trace; tracer latency has a collector of its
 * own.
 */
#include "config.h"

#include "exporter/collect/collector.h"
#include "exporter/trace/trace.h"

static bool tracing_collect(struct kf_scrape *scrape)
{
	if (scrape->sources->tracers)
		kf_tracers_show(scrape->sources->tracers, &scrape->page, false);
	return true;
}

const struct kf_collector kf_collect_tracing = {
	.name = "tracing",
	.help = "counts of the other tracers of --trace",
	.collect = tracing_collect,
};
