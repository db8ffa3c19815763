/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The contents of a scrape: families of metrics, and their series.
 *
 * Collectors fill a page, and a writer turns it into text. A page never has the
 * same series twice, nor two families whose sample names clash in any of the
 * formats.
 */
#ifndef KF_EXPORTER_COLLECT_MODEL_H
#define KF_EXPORTER_COLLECT_MODEL_H

#include "base/compiler.h"
#include "exporter/buf.h"

enum kf_metric_type {
	KF_METRIC_COUNTER,
	KF_METRIC_GAUGE,
	KF_METRIC_HISTOGRAM,
};

/*
 * A native histogram: counts of the buckets @first, @first + 1, ... of a
 * schema. Bucket i has the values above b^(i-1) and up to b^i, with b =
 * 2^(2^-schema).
 */
struct kf_native {
	unsigned int nr; /* 0: the histogram has no native form */
	int schema;
	int first;
	const uint64_t *count;
};

/* Buckets of a native histogram side by side, none of them empty. */
struct kf_native_run {
	int offset; /* index of the first, or empty buckets since the last span
		     */
	unsigned int first; /* in @count of the histogram */
	unsigned int length;
};

/*
 * An observation in a bucket. @labels is rendered, with at most 128 characters
 * of names and values in all; NULL: there is no exemplar.
 */
struct kf_exemplar {
	const char *labels;
	double value;
	uint64_t ns; /* CLOCK_REALTIME */
};

/* Constant bounds and counts of a histogram; @nr bounds, @nr + 1 counts. */
struct kf_histogram {
	unsigned int nr;
	const double *le;      /* upper bounds, rising, without +Inf */
	const uint64_t *count; /* not cumulative; the last: above all */
	double sum;
	struct kf_native native;	    /* the same observations */
	const struct kf_exemplar *exemplar; /* of each bucket, or NULL */
};

enum kf_value_kind { KF_VALUE_INT, KF_VALUE_DOUBLE, KF_VALUE_HISTOGRAM };

/* A series; @labels is rendered, without braces, "" for none. */
struct kf_series {
	struct kf_series *next;
	const char *labels;
	enum kf_value_kind kind;
	uint64_t integer;
	double number;
	struct kf_histogram histogram;
	uint64_t created_ns; /* see kf_series_created(); 0: not known */
};

/* A family; a counter's @name ends in _total, @unit is "" or its suffix. */
struct kf_family {
	struct kf_family *next;
	const char *name;
	const char *help;
	const char *unit;
	enum kf_metric_type type;
	struct kf_series *first;
	struct kf_series *last;
};

struct kf_label {
	const char *name;
	const char *value;
};

struct kf_chunk;
struct kf_entry;

/* A page owns all of its memory. */
struct kf_page {
	struct kf_family *first;
	struct kf_family *last;
	unsigned int refused; /* families and series that would clash */
	bool failed;	      /* out of memory: the page must not be served */
	bool created; /* OpenMetrics: serve created times, as more series */
	struct kf_chunk *chunks;
	struct kf_entry **table;
	size_t nr_buckets;
	size_t nr_entries;
};

/**
 * kf_page_family() - find or begin a family
 * @page:	the page
 * @name:	the full name; a counter's ends in _total
 * @type:	its type
 * @unit:	"bytes", "seconds" or ""; ignored if @name lacks the suffix
 * @help:	one sentence, any bytes
 *
 * Context: one thread at a time for one page.
 * Return: the family; NULL if the name clashes with another family, a counter
 *	   lacks its suffix, or memory is short. Adding a series to NULL has no
 *	   effect.
 */
struct kf_family *kf_page_family(struct kf_page *page, const char *name,
				 enum kf_metric_type type, const char *unit,
				 const char *help);

/**
 * kf_page_alloc() - allocate memory that lasts as long as a page
 * @page:	the page
 * @size:	bytes
 *
 * Context: as kf_page_family().
 * Return: zeroed memory, aligned for any type; NULL when out of memory, which
 *	   @page->failed tells too.
 */
void *kf_page_alloc(struct kf_page *page, size_t size);

/**
 * kf_page_labels() - render labels
 * @page:	the page, which keeps the result
 * @label:	names and values; values valid UTF-8
 * @nr:		their number
 *
 * Context: as kf_page_family().
 * Return: the labels as text without braces; "" when out of memory.
 */
const char *kf_page_labels(struct kf_page *page, const struct kf_label *label,
			   unsigned int nr);

/**
 * kf_page_join() - join two rendered label lists
 * @page:	the page, which keeps the result
 * @a:		rendered labels, or ""
 * @b:		rendered labels, or ""
 *
 * Context: as kf_page_family().
 * Return: the labels as text; "" when out of memory.
 */
const char *kf_page_join(struct kf_page *page, const char *a, const char *b);

/**
 * kf_labels_next() - take the first of rendered labels
 * @page:	a page, which keeps the result
 * @text:	in and out: rendered labels, moved behind the one that was taken
 * @label:	out: its name and its value
 *
 * Context: as kf_page_family().
 * Return: false at the end, or when out of memory.
 */
bool kf_labels_next(struct kf_page *page, const char **text,
		    struct kf_label *label);

/**
 * kf_family_int() - add a series with a whole number
 * kf_family_double() - add a series with a real number
 * kf_family_histogram() - add a histogram
 * @page:	the page
 * @family:	the family, or NULL
 * @labels:	rendered labels that live as long as the page
 * @value:	the value; a histogram's bounds must outlive the page, its
 *		counts are copied, its exemplars are not
 *
 * A duplicate series is refused and counted in @page->refused.
 *
 * Context: as kf_page_family().
 * Return: the series, or NULL.
 */
struct kf_series *kf_family_int(struct kf_page *page, struct kf_family *family,
				const char *labels, uint64_t value);
struct kf_series *kf_family_double(struct kf_page *page,
				   struct kf_family *family, const char *labels,
				   double value);
struct kf_series *kf_family_histogram(struct kf_page *page,
				      struct kf_family *family,
				      const char *labels,
				      const struct kf_histogram *value);

/**
 * kf_native_next() - find the next span of buckets
 * @native:	the histogram
 * @span:	in and out: the span before, with zeroes at first
 *
 * Return: false if there are no further ones.
 */
bool kf_native_next(const struct kf_native *native, struct kf_native_run *span);

/**
 * kf_series_created() - set when a counter or a histogram was 0
 * @series:	the series, or NULL; one of a gauge has no such time
 * @ns:		CLOCK_REALTIME; constant while the series exists, and later than
 *		any sample of an earlier series of that name; 0: not known
 *
 * Context: as kf_page_family().
 */
void kf_series_created(struct kf_series *series, uint64_t ns);

/**
 * kf_page_release() - free all that a page holds
 * @page:	the page; empty and usable afterwards
 *
 * Context: as kf_page_family().
 */
void kf_page_release(struct kf_page *page);

#endif
