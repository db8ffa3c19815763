/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The first reports of guarded blocks, in the stats file: see report.h.
 */
#include "stats/report.h"

#include "stats/internal.h"
#include "sys/thread.h"

#include <string.h>

/* What is in the file may be changed by others: this tells reports apart. */
static struct {
	uint32_t nr;
	struct kf_stats_report report[KF_STATS_REPORTS];
} reports;

static struct kf_stats_report *reports_at(uint32_t i)
{
	return (struct kf_stats_report *)(void *)(kf_stats.base +
						  KF_AT_REPORTS) +
	       i;
}

static bool reports_are_alike(const struct kf_stats_report *a,
			      const struct kf_stats_report *b)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(a->by); i++) {
		if (a->by[i].stack != b->by[i].stack)
			return false;
	}
	return a->kind == b->kind;
}

void kf_reports_put(const struct kf_stats_report *report)
{
	struct kf_stats_report *kept, *to;

	for (uint32_t i = 0; i < reports.nr; i++) {
		kept = &reports.report[i];
		if (reports_are_alike(kept, report)) {
			kf_store(&reports_at(i)->times, ++kept->times);
			return;
		}
	}
	if (reports.nr == KF_STATS_REPORTS)
		return;
	to = reports_at(reports.nr);
	kept = &reports.report[reports.nr++];
	*kept = *report;
	kept->time = 0;
	kept->times = 1;
	*to = *kept;
	/* readers in other processes: a report with a time is whole */
	kf_store_release(&to->time, KF_MAX(kf_now_coarse_ns(), (uint64_t)1));
}

void kf_reports_restart(void)
{
	memset(&reports, 0, sizeof(reports));
	memset(reports_at(0), 0,
	       KF_STATS_REPORTS * sizeof(struct kf_stats_report));
}
