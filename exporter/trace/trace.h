/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts of tracers as metrics: of konfiscator's bpftrace scripts, which the
 * exporter runs, and of SystemTap's script prometheus, whose page it reads.
 *
 * The output of a tracer is not trusted: only maps in the table of
 * trace/values.c are accepted, keys must be plain words, numbers may not fall,
 * and lines and names are bounded. A tracer that ends is restarted after a
 * growing delay, and its counts are kept.
 */
#ifndef KF_EXPORTER_TRACE_H
#define KF_EXPORTER_TRACE_H

#include "exporter/collect/model.h"

#include <pthread.h>

#define KF_MAX_TRACES 8
#define KF_TRACE_PAGE "prometheus" /* the script whose page is read */
#define KF_TRACE_EVENT 32	   /* bytes of an event's name, with its NUL */
#define KF_TRACE_BUCKETS 24	   /* of a histogram, without +Inf */
#define KF_TRACE_VALUES 64	   /* of one script */
#define KF_TRACE_MOST ((uint64_t)INT64_MAX / 4) /* largest count */

enum kf_trace_metric_id {
	KF_TRACE_EVENTS,
	KF_TRACE_BYTES,
	KF_TRACE_SIZES,
	KF_TRACE_SLOW_CALLS,
	KF_TRACE_SEARCHES,
	KF_NR_TRACE_METRICS
};

/* The result for a line of output. */
enum kf_trace_line {
	KF_TRACE_TAKEN,
	KF_TRACE_IGNORED, /* not a known map */
	KF_TRACE_BAD,	  /* not the output of a script */
	KF_NR_TRACE_LINES
};

/* The source of a whole page. */
enum kf_trace_page {
	KF_TRACE_PAGE_SAME,    /* of the same run as before */
	KF_TRACE_PAGE_ANOTHER, /* of a later run */
	KF_TRACE_PAGE_BAD      /* incomplete, or not a page */
};

/* Counts of a run, or of all ended runs; a counter uses only [0]. */
struct kf_trace_counts {
	uint64_t count[KF_TRACE_BUCKETS + 1];
	uint64_t sum;
};

struct kf_trace_value {
	enum kf_trace_metric_id metric;
	char event[KF_TRACE_EVENT];
	struct kf_trace_counts now;
	struct kf_trace_counts before;
};

/* The counts of a script. The owner locks it. */
struct kf_trace_values {
	const char *script;
	unsigned int nr;
	struct kf_trace_value value[KF_TRACE_VALUES];
	uint64_t since_ns; /* CLOCK_REALTIME before the first run; 0: unknown */
	uint64_t dropped;  /* values beyond the limit */
	uint64_t lost;	   /* events that the tracer reported as lost */
};

/**
 * kf_trace_known() - whether there are metrics for a script
 * @script:	its name, without suffix
 *
 * Return: the name as a constant, or NULL.
 */
const char *kf_trace_known(const char *script);

/**
 * kf_trace_take() - process one line of a tracer
 * @v:		the script's values
 * @line:	the line, JSON as bpftrace prints it
 * @len:	bytes of @data
 *
 * Context: as @v is locked; allocates.
 * Return: the result for the line.
 */
enum kf_trace_line kf_trace_take(struct kf_trace_values *v, const char *line,
				 size_t len);

/**
 * kf_trace_take_page() - process a page of SystemTap's script prometheus
 * @v:		the script's values; unchanged if the page is bad
 * @text:	the page
 * @len:	bytes of @data
 * @lines:	in and out: counts of lines by result
 *
 * Context: as @v is locked; allocates.
 * Return: the source of the page.
 */
enum kf_trace_page kf_trace_take_page(struct kf_trace_values *v,
				      const char *text, size_t len,
				      uint64_t lines[KF_NR_TRACE_LINES]);

/**
 * kf_trace_value() - find or begin a value
 * @v:		the script's values
 * @metric:	the metric
 * @event:	its event, kf_trace_plain()
 *
 * Context: as @v is locked.
 * Return: the value; NULL beyond the limit, which is counted.
 */
struct kf_trace_value *kf_trace_value(struct kf_trace_values *v,
				      enum kf_trace_metric_id metric,
				      const char *event);

/**
 * kf_trace_plain() - whether a word may name an event
 * @word:	the word
 *
 * Return: true if it has only a to z, 0 to 9 and _, and is shorter than
 * KF_TRACE_EVENT.
 */
bool kf_trace_plain(const char *word);

/**
 * kf_trace_bucket() - find the bucket of a histogram
 * @metric:	the histogram
 * @top:	its largest number
 *
 * Return: index of its count.
 */
unsigned int kf_trace_bucket(enum kf_trace_metric_id metric, uint64_t top);

/**
 * kf_trace_has_fallen() - whether any count has fallen
 * @from:	earlier counts
 * @to:		later counts
 *
 * Return: true if so.
 */
bool kf_trace_has_fallen(const struct kf_trace_counts *from,
			 const struct kf_trace_counts *to);

/**
 * kf_trace_fold() - keep the counts of a tracer that has ended
 * @v:		the script's values
 *
 * Context: as @v is locked.
 */
void kf_trace_fold(struct kf_trace_values *v);

/**
 * kf_trace_show() - put a script's values on a page
 * @v:		the script's values
 * @page:	the page
 *
 * Context: as @v is locked.
 */
void kf_trace_show(const struct kf_trace_values *v, struct kf_page *page);

/* Tracers to run; the strings must stay valid. */
struct kf_trace_conf {
	const char *name[KF_MAX_TRACES]; /* results of kf_trace_known() */
	unsigned int nr;
	const char *scripts; /* directory */
	const char *library; /* absolute path */
	const char *page;    /* of KF_TRACE_PAGE */
	unsigned int every_s;
};

struct kf_tracers;

/**
 * kf_tracers_start() - run all tracers
 * @conf:	outlives them
 *
 * Context: once; starts threads, which inherit the signal mask.
 * Return: the tracers, or NULL; the reason was printed on stderr.
 */
struct kf_tracers *kf_tracers_start(const struct kf_trace_conf *conf);

/**
 * kf_tracers_stop() - end all tracers and wait for them
 * @t:		the tracers, or NULL
 *
 * Context: once, from the thread that started them.
 */
void kf_tracers_stop(struct kf_tracers *t);

/**
 * kf_tracers_show() - put counts and states of all tracers on a page
 * @t:		the tracers
 * @page:	the page
 * @latency:	true: only tracer latency; false: all others
 */
void kf_tracers_show(struct kf_tracers *t, struct kf_page *page, bool latency);

#endif
