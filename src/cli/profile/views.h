/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The views and the formats of a profile's report. A view prints a table; a
 * format is chosen by the suffix of -o and writes a file for other programs or
 * for a browser.
 */
#ifndef KF_CLI_PROFILE_VIEWS_H
#define KF_CLI_PROFILE_VIEWS_H

#include "cli/profile/profile.h"
#include "cli/report/report.h"

/*
 * @levels: the levels of memory over time are shown, too.
 * @weighs: only one metric of each stack is shown, so that the default metric
 * may be the peak.
 */
struct kf_prof_view {
	const char *name;
	int (*show)(struct kf_report *r, struct kf_prof *prof);
	bool weighs;
};

struct kf_prof_format {
	const char *suffix;
	/* Returns 0, or -1 after a message. */
	int (*write)(const struct kf_prof *prof, FILE *out);
	bool weighs;
	bool levels;
};

#define KF_PROFILE_VIEW(id) extern const struct kf_prof_view kf_prof_view_##id;
#define KF_PROFILE_FORMAT(id) \
	extern const struct kf_prof_format kf_prof_format_##id;
#include "cli/profile/views.def"
#undef KF_PROFILE_VIEW
#undef KF_PROFILE_FORMAT

/**
 * kf_prof_view_find() - a view by its name
 * @name:	the name
 *
 * Return: the view, or NULL.
 */
const struct kf_prof_view *kf_prof_view_find(const char *name);

/**
 * kf_prof_format_suffix() - the suffix of a file that chooses its format
 * @path:	the file
 *
 * Return: the suffix without its dot, or NULL where no format has it.
 */
const char *kf_prof_format_suffix(const char *path);

/**
 * kf_prof_report() - show a profile
 * @r:		the report: its path, output and rows count
 * @pick:	what of the profile
 * @view:	a view, or NULL for the default or the format of the suffix
 *
 * Return: the exit status.
 */
int kf_prof_report(struct kf_report *r, const struct kf_profile_pick *pick,
		   const char *view);

/**
 * kf_prof_no_samples() - why a profile has no samples, and how to get some
 * @prof:	the profile, open
 *
 * Return: the text, to free(); NULL: it has samples.
 */
char *kf_prof_no_samples(const struct kf_prof *prof);

/**
 * kf_prof_tell_missing() - say which files' names or inlined calls are missing
 * @prof:	the profile, open
 */
void kf_prof_tell_missing(const struct kf_prof *prof);

/**
 * kf_flame_write() - draw a tree as an SVG picture
 * @prof:	the profile
 * @root:	its tree
 * @out:	where to
 */
void kf_flame_write(const struct kf_prof *prof, const struct kf_node *root,
		    FILE *out);

/**
 * kf_page_begin() - write the beginning of a page
 * @out:	where to
 * @title:	escaped first
 */
void kf_page_begin(FILE *out, const char *title);

/**
 * kf_page_end() - write the end of a page, and the scripts of a flame graph
 * @out:	where to
 */
void kf_page_end(FILE *out);

/**
 * kf_page_amount() - an amount of a metric for a page, as "28.6 MiB"
 * @buf:	out
 * @size:	room in @buf
 * @metric:	the metric
 * @value:	the amount
 *
 * Return: @buf.
 */
char *kf_page_amount(char *buf, size_t size, enum kf_metric metric,
		     double value);

/**
 * kf_xml_text() - write text, escaped for XML
 * @out:	where to
 * @text:	escaped first
 */
void kf_xml_text(FILE *out, const char *text);

#endif
