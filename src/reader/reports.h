/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reports of guarded blocks, for the command line and the exporter.
 */
#ifndef KF_READER_REPORTS_H
#define KF_READER_REPORTS_H

#include "reader/reader.h"
#include "stats/report.h"

#define KF_REPORT_LINE 256

/**
 * kf_report_line() - what happened, as the library prints it
 * @report:	of a snapshot
 * @line:	out: the line, without its end
 */
void kf_report_line(const struct kf_stats_report *report,
		    char line[KF_REPORT_LINE]);

/**
 * kf_report_by() - how a part of a report is called
 * @report:	of a snapshot
 * @who:	enum kf_report_who
 *
 * Return: "done", "found when it was freed", "allocated" or "freed"; NULL: the
 *	   report does not have this part.
 */
const char *kf_report_by(const struct kf_stats_report *report,
			 unsigned int who);

#endif
