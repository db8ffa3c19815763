/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The writers of text. The first two differ in the names of counter families,
 * the escapes of help, units, created times and the end mark; samples are the
 * same. OpenMetrics 2.0 has one line for a histogram, and the created time of a
 * sample behind it.
 */
#include "config.h"

#include "exporter/collect/writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const type_names[] = {
	[KF_METRIC_COUNTER] = "counter",
	[KF_METRIC_GAUGE] = "gauge",
	[KF_METRIC_HISTOGRAM] = "histogram",
};

static void write_labels(struct kf_buf *out, const char *labels)
{
	if (*labels) {
		kf_buf_str(out, "{");
		kf_buf_str(out, labels);
		kf_buf_str(out, "}");
	}
	kf_buf_str(out, " ");
}

static void write_sample_head(struct kf_buf *out, const struct kf_family *f,
			      const char *suffix, const char *labels)
{
	kf_buf_str(out, f->name);
	kf_buf_str(out, suffix);
	write_labels(out, labels);
}

/* In milliseconds: not later than it was. */
static void write_time(struct kf_buf *out, const char *before, uint64_t ns)
{
	kf_buf_fmt(out, "%s%" PRIu64 ".%03u", before, ns / 1000000000,
		   (unsigned int)(ns / 1000000 % 1000));
}

static void write_created(struct kf_buf *out, const struct kf_family *f,
			  const struct kf_series *s)
{
	size_t len = strlen(f->name);

	if (!s->created_ns)
		return;
	if (f->type == KF_METRIC_COUNTER)
		len -= 6;
	kf_buf_add(out, f->name, len);
	kf_buf_str(out, "_created");
	write_labels(out, s->labels);
	write_time(out, "", s->created_ns);
	kf_buf_str(out, "\n");
}

static void write_exemplar(struct kf_buf *out, const struct kf_exemplar *e)
{
	if (!e->labels)
		return;
	kf_buf_fmt(out, " # {%s} ", e->labels);
	kf_buf_double(out, e->value);
	write_time(out, " ", e->ns);
}

static void write_histogram(struct kf_buf *out, const struct kf_family *f,
			    const struct kf_series *s, bool openmetrics)
{
	const struct kf_histogram *h = &s->histogram;
	uint64_t total = 0;
	unsigned int i;

	for (i = 0; i <= h->nr; i++) {
		total += h->count[i];
		kf_buf_str(out, f->name);
		kf_buf_str(out, "_bucket{");
		kf_buf_str(out, s->labels);
		kf_buf_str(out, *s->labels ? ",le=\"" : "le=\"");
		kf_buf_double(out, i < h->nr ? h->le[i] : (double)INFINITY);
		kf_buf_str(out, "\"} ");
		kf_buf_u64(out, total);
		if (openmetrics && h->exemplar)
			write_exemplar(out, &h->exemplar[i]);
		kf_buf_str(out, "\n");
	}
	write_sample_head(out, f, "_sum", s->labels);
	kf_buf_double(out, h->sum);
	kf_buf_str(out, "\n");
	write_sample_head(out, f, "_count", s->labels);
	kf_buf_u64(out, total);
	kf_buf_str(out, "\n");
}

static void write_number(struct kf_buf *out, const struct kf_series *s)
{
	if (s->kind == KF_VALUE_INT)
		kf_buf_u64(out, s->integer);
	else
		kf_buf_double(out, s->number);
}

/* @page: NULL: in the classic format. */
static void write_samples(struct kf_buf *out, const struct kf_family *f,
			  const struct kf_page *page)
{
	const struct kf_series *s;

	for (s = f->first; s; s = s->next) {
		if (s->kind == KF_VALUE_HISTOGRAM) {
			write_histogram(out, f, s, page);
		} else {
			write_sample_head(out, f, "", s->labels);
			write_number(out, s);
			kf_buf_str(out, "\n");
		}
		if (page && page->created)
			write_created(out, f, s);
	}
}

static void write_classic(const struct kf_page *page, struct kf_buf *out)
{
	const struct kf_family *f;

	for (f = page->first; f; f = f->next) {
		if (!f->first)
			continue;
		kf_buf_fmt(out, "# HELP %s ", f->name);
		kf_buf_escape(out, f->help, false);
		kf_buf_fmt(out, "\n# TYPE %s %s\n", f->name,
			   type_names[f->type]);
		write_samples(out, f, NULL);
	}
}

/* @len: of the family's name */
static void write_metadata(struct kf_buf *out, const struct kf_family *f,
			   size_t len)
{
	int n = (int)len;

	kf_buf_fmt(out, "# TYPE %.*s %s\n", n, f->name, type_names[f->type]);
	if (*f->unit)
		kf_buf_fmt(out, "# UNIT %.*s %s\n", n, f->name, f->unit);
	kf_buf_fmt(out, "# HELP %.*s ", n, f->name);
	kf_buf_escape(out, f->help, true);
	kf_buf_str(out, "\n");
}

static void write_openmetrics(const struct kf_page *page, struct kf_buf *out)
{
	const struct kf_family *f;

	for (f = page->first; f; f = f->next) {
		if (!f->first)
			continue;
		write_metadata(out, f,
			       strlen(f->name) -
				       (f->type == KF_METRIC_COUNTER ? 6 : 0));
		write_samples(out, f, page);
	}
	kf_buf_str(out, "# EOF\n");
}

static void write_native(struct kf_buf *out, const struct kf_native *native)
{
	struct kf_native_run span = {0};
	const char *before = ",positive_spans:[";
	bool any = false;
	unsigned int i;

	kf_buf_fmt(out, ",schema:%d,zero_threshold:", native->schema);
	kf_buf_double(out, KF_ZERO_THRESHOLD);
	kf_buf_str(out, ",zero_count:0");
	for (; kf_native_next(native, &span); any = true, before = ",")
		kf_buf_fmt(out, "%s%d:%u", before, span.offset, span.length);
	if (!any)
		return;
	before = "],positive_buckets:[";
	for (i = 0; i < native->nr; i++) {
		if (!native->count[i])
			continue;
		kf_buf_str(out, before);
		kf_buf_u64(out, native->count[i]);
		before = ",";
	}
	kf_buf_str(out, "]");
}

static void write_composite(struct kf_buf *out, const struct kf_histogram *h)
{
	uint64_t total = 0, all = 0;
	unsigned int i;

	for (i = 0; i <= h->nr; i++)
		all += h->count[i];
	kf_buf_str(out, "{count:");
	kf_buf_u64(out, all);
	kf_buf_str(out, ",sum:");
	kf_buf_double(out, h->sum);
	if (h->native.nr)
		write_native(out, &h->native);
	kf_buf_str(out, ",bucket:[");
	for (i = 0; i <= h->nr; i++) {
		total += h->count[i];
		kf_buf_str(out, i ? "," : "");
		kf_buf_double(out, i < h->nr ? h->le[i] : (double)INFINITY);
		kf_buf_str(out, ":");
		kf_buf_u64(out, total);
	}
	kf_buf_str(out, "]}");
}

static void write_samples2(struct kf_buf *out, const struct kf_family *f)
{
	const struct kf_series *s;
	unsigned int i;

	for (s = f->first; s; s = s->next) {
		const struct kf_histogram *h = &s->histogram;

		write_sample_head(out, f, "", s->labels);
		if (s->kind == KF_VALUE_HISTOGRAM)
			write_composite(out, h);
		else
			write_number(out, s);
		if (s->created_ns)
			write_time(out, " st@", s->created_ns);
		for (i = 0; h->exemplar && i <= h->nr; i++)
			write_exemplar(out, &h->exemplar[i]);
		kf_buf_str(out, "\n");
	}
}

static void write_openmetrics2(const struct kf_page *page, struct kf_buf *out)
{
	const struct kf_family *f;

	for (f = page->first; f; f = f->next) {
		if (!f->first)
			continue;
		write_metadata(out, f, strlen(f->name));
		write_samples2(out, f);
	}
	kf_buf_str(out, "# EOF\n");
}

const struct kf_format kf_format_classic = {
	.content_type = "text/plain; version=0.0.4; charset=utf-8",
	.write = write_classic,
};

const struct kf_format kf_format_openmetrics = {
	.content_type =
		"application/openmetrics-text; version=1.0.0; charset=utf-8",
	.write = write_openmetrics,
};

const struct kf_format kf_format_openmetrics2 = {
	.content_type =
		"application/openmetrics-text; version=2.0.0; charset=utf-8",
	.write = write_openmetrics2,
};
