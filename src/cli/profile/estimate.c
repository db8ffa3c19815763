/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Estimates with their errors, the names of metrics, and the options that
 * select from a profile.
 */
#include "config.h"

#include "cli/profile/profile.h"
#include "cli/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const estimate_metrics[KF_NR_METRICS] = {
	[KF_METRIC_LIVE] = "live",   [KF_METRIC_PEAK] = "peak",
	[KF_METRIC_PEAKS] = "peaks", [KF_METRIC_ALLOC] = "alloc",
	[KF_METRIC_COUNT] = "count", [KF_METRIC_BLOCKS] = "blocks",
};

static const char *const estimate_groupings[KF_NR_GROUPINGS] = {
	[KF_GROUP_FUNCTION] = "function", [KF_GROUP_LINE] = "line",
	[KF_GROUP_LIB] = "lib",		  [KF_GROUP_TAG] = "tag",
	[KF_GROUP_THREAD] = "thread",	  [KF_GROUP_PROCESS] = "process",
};

struct kf_estimate kf_metric_of(const struct kf_profile_count *c,
				enum kf_metric metric)
{
	static const enum kf_estimate_kind kinds[KF_NR_METRICS] = {
		[KF_METRIC_LIVE] = KF_ESTIMATE_LIVE,
		[KF_METRIC_PEAK] = KF_ESTIMATE_LIVE,
		[KF_METRIC_PEAKS] = KF_ESTIMATE_PEAK,
		[KF_METRIC_ALLOC] = KF_ESTIMATE_ALLOCATED,
		[KF_METRIC_COUNT] = KF_ESTIMATE_ALLOCATED_BLOCKS,
		[KF_METRIC_BLOCKS] = KF_ESTIMATE_LIVE_BLOCKS,
	};
	struct kf_stats_stack stack = {
		.allocated = c->allocated,
		.freed = c->freed,
		.allocated_blocks = c->allocated_blocks,
		.freed_blocks = c->freed_blocks,
		.peak = c->peak,
		.peak_blocks = c->peak_blocks,
		.variance = c->variance,
		.freed_variance = c->freed_variance,
	};

	return kf_estimate_stack(&stack, kinds[metric]);
}

struct kf_estimate kf_site_value(const struct kf_site *site,
				 enum kf_metric metric)
{
	return kf_metric_of(metric == KF_METRIC_PEAK ? &site->peak : &site->now,
			    metric);
}

bool kf_metric_is_blocks(enum kf_metric metric)
{
	return metric == KF_METRIC_COUNT || metric == KF_METRIC_BLOCKS;
}

bool kf_metric_known(const struct kf_prof *prof, enum kf_metric metric)
{
	return metric != KF_METRIC_PEAK || prof->peak;
}

void kf_metric_add(struct kf_estimate *sum, const struct kf_estimate *e)
{
	*sum = kf_estimate_sum(*sum, *e);
}

const char *kf_metric_name(enum kf_metric metric)
{
	return estimate_metrics[metric];
}

const char *kf_metric_title(enum kf_metric metric)
{
	switch (metric) {
	case KF_METRIC_PEAK:
		return "live at the peak";
	case KF_METRIC_PEAKS:
		return "sum of the stacks' own peaks, an upper bound";
	case KF_METRIC_BLOCKS:
		return "live blocks";
	default:
		return kf_metric_name(metric);
	}
}

uint64_t kf_prof_shown_ns(const struct kf_prof *prof)
{
	return prof->pick.metric == KF_METRIC_PEAK ? prof->peak->time_ns
						   : prof->time_ns;
}

char *kf_metric_text(char *buf, size_t size, enum kf_metric metric,
		     double value)
{
	if (kf_metric_is_blocks(metric))
		return kf_human_count(buf, size, value);
	return kf_human_bytes(buf, size, value > 0 ? (uint64_t)value : 0);
}

static int estimate_take_name(const char *command, const char *option,
			      const char *arg, const char *const *names, int nr,
			      int *index)
{
	char *all, *longer;

	for (*index = 0; *index < nr; ++*index) {
		if (!strcmp(names[*index], arg))
			return 0;
	}
	all = kf_format("%s", names[0]);
	for (int i = 1; i < nr; i++) {
		longer = kf_format("%s, %s", all, names[i]);
		free(all);
		all = longer;
	}
	kf_error("%s: --%s: '%s' is not one of %s", command, option, arg, all);
	free(all);
	return KF_EXIT_USAGE;
}

static int take_at(const char *command, const char *arg, double *at)
{
	char *end;

	errno = 0;
	*at = strtod(arg, &end);
	if (!errno && end != arg && !*end && *at >= 0 && *at < 1e9)
		return 0;
	kf_error("%s: --at: '%s' is not a number of seconds, 0 or more",
		 command, arg);
	return KF_EXIT_USAGE;
}

int kf_profile_pick_option(struct kf_profile_pick *pick, const char *command,
			   int key, const char *arg)
{
	int n = 0, status;

	switch (key) {
	case KF_PROFILE_METRIC:
		status =
			estimate_take_name(command, "metric", arg,
					   estimate_metrics, KF_NR_METRICS, &n);
		pick->metric = (enum kf_metric)n;
		pick->usual = false;
		return status;
	case KF_PROFILE_GROUP:
		status = estimate_take_name(command, "group", arg,
					    estimate_groupings, KF_NR_GROUPINGS,
					    &n);
		pick->group = (enum kf_grouping)n;
		return status;
	case KF_PROFILE_FILTER:
		pick->filter = arg;
		return 0;
	case KF_PROFILE_PROCESS_KEY:
		pick->process = arg;
		return 0;
	default:
		return take_at(command, arg, &pick->at);
	}
}
