/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reports of guarded blocks: as the stats file keeps the first ones, and the
 * line that tells one, for the library and for readers.
 */
#ifndef KF_STATS_REPORT_H
#define KF_STATS_REPORT_H

#include "base/compiler.h"
#include "stats/layout.h"

struct kf_text;

enum kf_guarded_fault {
#define KF_FAULT(id, number, words, counter) KF_GUARDED_##id = (number),
#include "stats/faults.def"
#undef KF_FAULT
	KF_GUARDED_NR_FAULTS
};

/**
 * kf_report_words() - the name of a kind
 * @kind:	enum kf_guarded_fault
 *
 * Context: any.
 * Return: its words, a constant; NULL: there is no such kind.
 */
const char *kf_report_words(uint32_t kind);

/**
 * kf_report_headline() - what happened, in a line without its end
 * @text:	out: the line, appended
 * @report:	the report; its kind is known
 *
 * Context: any, signal handlers too.
 */
void kf_report_headline(struct kf_text *text,
			const struct kf_stats_report *report);

/**
 * kf_reports_put() - keep a report in the stats file, if it is an early one
 * @report:	the report; its time and count are filled in
 *
 * Context: one thread at a time, signal handlers too.
 */
void kf_reports_put(const struct kf_stats_report *report);

/**
 * kf_reports_restart() - forget all reports
 *
 * Context: no other thread puts one.
 */
void kf_reports_restart(void);

#endif
