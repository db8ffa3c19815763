/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The writer of Prometheus' protobuf format: each family is a message behind
 * its length. Names and values are those of the text formats. Histograms have
 * their buckets, and those of the native form where they have one: a server
 * takes one of them, or both.
 */
#include "config.h"

#include "exporter/collect/metrics.pb-c.h"
#include "exporter/collect/writer.h"

#include <math.h>

/*
 * Messages are allocated in a page of their own for each family, and freed with
 * it at once.
 */
#define PROTO_NEW(page, type) ((type *)kf_page_alloc(page, sizeof(type)))
#define PROTO_ARRAY(page, type, nr) \
	((type **)kf_page_alloc(page, (nr) * sizeof(type *)))

static Kf__Metrics__Time *proto_time(struct kf_page *page, uint64_t ns)
{
	Kf__Metrics__Time *t = ns ? PROTO_NEW(page, Kf__Metrics__Time) : NULL;

	if (!t)
		return NULL;
	kf__metrics__time__init(t);
	t->seconds = (int64_t)(ns / 1000000000);
	t->nanos = (int32_t)(ns % 1000000000);
	return t;
}

static Kf__Metrics__Label **proto_labels(struct kf_page *page, size_t *nr,
					 const char *labels)
{
	Kf__Metrics__Label **to;
	const char *s = labels;
	struct kf_label label;
	size_t most = 1;

	for (; *s; s++)
		most += *s == ',';
	to = PROTO_ARRAY(page, Kf__Metrics__Label, most);
	for (s = labels; to && kf_labels_next(page, &s, &label);) {
		Kf__Metrics__Label *l = PROTO_NEW(page, Kf__Metrics__Label);

		if (!l)
			return NULL;
		kf__metrics__label__init(l);
		l->name = (char *)(uintptr_t)label.name;
		l->value = (char *)(uintptr_t)label.value;
		to[(*nr)++] = l;
	}
	return to;
}

static Kf__Metrics__Exemplar *proto_exemplar(struct kf_page *page,
					     const struct kf_exemplar *e)
{
	Kf__Metrics__Exemplar *to =
		e->labels ? PROTO_NEW(page, Kf__Metrics__Exemplar) : NULL;

	if (!to)
		return NULL;
	kf__metrics__exemplar__init(to);
	to->label = proto_labels(page, &to->n_label, e->labels);
	to->value = e->value;
	to->time = proto_time(page, e->ns);
	return to;
}

/* The last bucket has all observations. */
static bool proto_buckets(struct kf_page *page, Kf__Metrics__Histogram *to,
			  const struct kf_histogram *h)
{
	unsigned int i;

	to->bucket = PROTO_ARRAY(page, Kf__Metrics__Bucket, h->nr + 1);
	for (i = 0; to->bucket && i <= h->nr; i++) {
		Kf__Metrics__Bucket *b = PROTO_NEW(page, Kf__Metrics__Bucket);

		if (!b)
			return false;
		kf__metrics__bucket__init(b);
		b->upper_bound = i < h->nr ? h->le[i] : (double)INFINITY;
		b->cumulative_count = to->sample_count += h->count[i];
		if (h->exemplar)
			b->exemplar = proto_exemplar(page, &h->exemplar[i]);
		to->bucket[to->n_bucket++] = b;
	}
	return !page->failed;
}

static void proto_deltas(Kf__Metrics__Histogram *to,
			 const struct kf_native *native,
			 const struct kf_native_run *span, uint64_t *before)
{
	for (unsigned int i = 0; i < span->length; i++) {
		uint64_t count = native->count[span->first + i];

		to->positive_delta[to->n_positive_delta++] =
			(int64_t)(count - *before);
		*before = count;
	}
}

/*
 * Only buckets with observations are written, each as its difference to the one
 * before.
 */
static bool proto_native(struct kf_page *page, Kf__Metrics__Histogram *to,
			 const struct kf_native *native)
{
	struct kf_native_run span = {0};
	uint64_t before = 0;

	if (!native->nr)
		return true;
	to->schema = native->schema;
	to->zero_threshold = KF_ZERO_THRESHOLD;
	to->positive_span = PROTO_ARRAY(page, Kf__Metrics__Span, native->nr);
	to->positive_delta =
		kf_page_alloc(page, native->nr * sizeof(to->positive_delta[0]));
	while (!page->failed && kf_native_next(native, &span)) {
		Kf__Metrics__Span *s = PROTO_NEW(page, Kf__Metrics__Span);

		if (!s)
			return false;
		kf__metrics__span__init(s);
		s->offset = span.offset;
		s->length = span.length;
		to->positive_span[to->n_positive_span++] = s;
		proto_deltas(to, native, &span, &before);
	}
	return !page->failed;
}

/* The native form has a list of its own. */
static bool proto_exemplars(struct kf_page *page, Kf__Metrics__Histogram *to)
{
	to->exemplar = PROTO_ARRAY(page, Kf__Metrics__Exemplar, to->n_bucket);
	for (size_t i = 0; to->exemplar && i < to->n_bucket; i++) {
		if (to->bucket[i]->exemplar)
			to->exemplar[to->n_exemplar++] =
				to->bucket[i]->exemplar;
	}
	return !page->failed;
}

static bool proto_histogram(struct kf_page *page, Kf__Metrics__Metric *m,
			    const struct kf_series *s)
{
	Kf__Metrics__Histogram *h = PROTO_NEW(page, Kf__Metrics__Histogram);

	m->histogram = h;
	if (!h)
		return false;
	kf__metrics__histogram__init(h);
	h->sample_sum = s->histogram.sum;
	h->created = proto_time(page, s->created_ns);
	return proto_buckets(page, h, &s->histogram) &&
	       proto_native(page, h, &s->histogram.native) &&
	       (!s->histogram.native.nr || proto_exemplars(page, h));
}

static double proto_value(const struct kf_series *s)
{
	return s->kind == KF_VALUE_INT ? (double)s->integer : s->number;
}

static bool proto_counter(struct kf_page *page, Kf__Metrics__Metric *m,
			  const struct kf_series *s)
{
	m->counter = PROTO_NEW(page, Kf__Metrics__Counter);
	if (!m->counter)
		return false;
	kf__metrics__counter__init(m->counter);
	m->counter->value = proto_value(s);
	m->counter->created = proto_time(page, s->created_ns);
	return !page->failed;
}

static bool proto_gauge(struct kf_page *page, Kf__Metrics__Metric *m,
			const struct kf_series *s)
{
	m->gauge = PROTO_NEW(page, Kf__Metrics__Gauge);
	if (!m->gauge)
		return false;
	kf__metrics__gauge__init(m->gauge);
	m->gauge->value = proto_value(s);
	return true;
}

static const struct {
	Kf__Metrics__Type type;
	bool (*add)(struct kf_page *page, Kf__Metrics__Metric *m,
		    const struct kf_series *s);
} proto_types[] = {
	[KF_METRIC_COUNTER] = {KF__METRICS__TYPE__COUNTER, proto_counter},
	[KF_METRIC_GAUGE] = {KF__METRICS__TYPE__GAUGE, proto_gauge},
	[KF_METRIC_HISTOGRAM] = {KF__METRICS__TYPE__HISTOGRAM, proto_histogram},
};

static bool proto_family(struct kf_page *page, Kf__Metrics__Family *message,
			 const struct kf_family *f)
{
	const struct kf_series *s;
	size_t nr = 0;

	kf__metrics__family__init(message);
	message->name = (char *)(uintptr_t)f->name;
	message->help = (char *)(uintptr_t)f->help;
	message->unit = (char *)(uintptr_t)f->unit;
	message->type = proto_types[f->type].type;
	for (s = f->first; s; s = s->next)
		nr++;
	message->metric = PROTO_ARRAY(page, Kf__Metrics__Metric, nr);
	for (s = f->first; message->metric && s; s = s->next) {
		Kf__Metrics__Metric *m = PROTO_NEW(page, Kf__Metrics__Metric);

		if (!m)
			return false;
		kf__metrics__metric__init(m);
		message->metric[message->n_metric++] = m;
		m->label = proto_labels(page, &m->n_label, s->labels);
		if (!m->label || !proto_types[f->type].add(page, m, s))
			return false;
	}
	return !page->failed;
}

static void proto_length(struct kf_buf *out, size_t len)
{
	char byte;

	do {
		byte = (char)((len & 0x7f) | (len > 0x7f ? 0x80 : 0));
		kf_buf_add(out, &byte, 1);
		len >>= 7;
	} while (len);
}

/* Where protobuf-c puts its bytes. */
struct proto_out {
	ProtobufCBuffer base;
	struct kf_buf *out;
};

static void proto_append(ProtobufCBuffer *base, size_t len, const uint8_t *data)
{
	struct proto_out *to = (struct proto_out *)base;

	kf_buf_add(to->out, (const char *)data, len);
}

static void proto_write(const struct kf_page *page, struct kf_buf *out)
{
	struct proto_out to = {{proto_append}, out};
	Kf__Metrics__Family message;
	const struct kf_family *f;

	for (f = page->first; f; f = f->next) {
		struct kf_page scratch = {0};

		if (f->first && proto_family(&scratch, &message, f)) {
			proto_length(out, kf__metrics__family__get_packed_size(
						  &message));
			kf__metrics__family__pack_to_buffer(&message, &to.base);
		}
		out->failed = out->failed || scratch.failed;
		kf_page_release(&scratch);
	}
}

const struct kf_format kf_format_protobuf = {
	.content_type =
		"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
	.write = proto_write,
};
