/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reports of guarded blocks: see reports.h.
 */
#include "reader/reports.h"

#include "base/text.h"

#include <string.h>

void kf_report_line(const struct kf_stats_report *report,
		    char line[KF_REPORT_LINE])
{
	struct kf_text text;

	memset(line, 0, KF_REPORT_LINE);
	kf_text_init(&text, line, KF_REPORT_LINE - 1);
	kf_report_headline(&text, report);
}

const char *kf_report_by(const struct kf_stats_report *report, unsigned int who)
{
	static const char *const words[] = {
		[KF_REPORT_DONE] = "done",
		[KF_REPORT_CAME] = "allocated",
		[KF_REPORT_WENT] = "freed",
	};

	if (!report->by[who].tid && !report->by[who].stack)
		return NULL;
	if (who == KF_REPORT_DONE && report->how & KF_REPORT_LATE)
		return "found when it was freed";
	return words[who];
}
