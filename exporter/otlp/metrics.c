/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A page as OTLP's metrics: the series of each family are divided among the
 * resources of their groups.
 */
#include "config.h"

#include "exporter/otlp/message.h"

#include <string.h>

/* Data points after which a request is full: about 4 MiB. */
#define MAX_POINTS 20000

struct resource {
	struct resource *next;
	const char *name; /* NULL: the exporter itself */
	const char *container;
	size_t points;
	const struct kf_family *family; /* of the last metric */
	Kf__Otlp__ScopeMetrics *metrics;
	Kf__Otlp__ResourceMetrics *message;
};

struct writing {
	struct kf_page page; /* owns all */
	struct resource *first, **end;
	struct resource *recent; /* families have the same order of groups */
	uint64_t began_ns, now_ns;
};

/* A series: its resource, and its other labels. */
struct point {
	const struct kf_series *series;
	const char *name, *container;
	size_t n_label;
	Kf__Otlp__Attribute **label;
};

static bool metrics_take_labels(struct writing *w, struct point *p)
{
	const char *text = p->series->labels;
	struct kf_label label;

	while (kf_labels_next(&w->page, &text, &label)) {
		Kf__Otlp__Attribute *a;

		if (strcmp(label.name, "process") == 0) {
			p->name = label.value;
			continue;
		}
		if (strcmp(label.name, "container") == 0) {
			p->container = label.value;
			continue;
		}
		a = kf_otlp_attribute(&w->page, label.name, label.value);
		if (!a || !OTLP_ADD(&w->page, p, label, a))
			return false;
	}
	return !w->page.failed;
}

static bool metrics_is_of(const struct resource *r, const struct point *p)
{
	return !r->name == !p->name &&
	       (!r->name || strcmp(r->name, p->name) == 0) &&
	       strcmp(r->container, p->container) == 0;
}

static struct resource *metrics_find(struct writing *w, const struct point *p)
{
	struct resource *r = w->recent;

	if (r && metrics_is_of(r, p))
		return r;
	if (r && r->next && metrics_is_of(r->next, p))
		return w->recent = r->next;
	for (r = w->first; r && !metrics_is_of(r, p);)
		r = r->next;
	return w->recent = r;
}

static struct resource *metrics_resource(struct writing *w,
					 const struct point *p)
{
	struct resource *r = metrics_find(w, p);

	if (r)
		return r;
	r = OTLP_NEW(&w->page, struct resource);
	if (!r)
		return NULL;
	r->name = p->name;
	r->container = p->container;
	r->metrics = OTLP_NEW(&w->page, Kf__Otlp__ScopeMetrics);
	r->message = OTLP_NEW(&w->page, Kf__Otlp__ResourceMetrics);
	if (!r->metrics || !r->message)
		return NULL;
	kf__otlp__scope_metrics__init(r->metrics);
	kf__otlp__resource_metrics__init(r->message);
	r->metrics->scope = kf_otlp_scope(&w->page);
	r->message->resource =
		kf_otlp_resource(&w->page, r->name, r->container);
	if (!r->metrics->scope || !r->message->resource ||
	    !OTLP_ADD(&w->page, r->message, scope, r->metrics))
		return NULL;
	*w->end = r;
	w->end = &r->next;
	return w->recent = r;
}

static const char *metrics_unit(const struct kf_family *f)
{
	if (strcmp(f->unit, "bytes") == 0)
		return "By";
	return strcmp(f->unit, "seconds") == 0 ? "s" : "";
}

/* The data of a metric; NULL when out of memory. */
static bool metrics_data(struct writing *w, const struct kf_family *f,
			 Kf__Otlp__Metric *m)
{
	switch (f->type) {
	case KF_METRIC_COUNTER:
		m->data_case = KF__OTLP__METRIC__DATA_SUM;
		m->sum = OTLP_NEW(&w->page, Kf__Otlp__Sum);
		if (!m->sum)
			return false;
		kf__otlp__sum__init(m->sum);
		m->sum->temporality = KF__OTLP__TEMPORALITY__CUMULATIVE;
		m->sum->monotonic = true;
		return true;
	case KF_METRIC_GAUGE:
		m->data_case = KF__OTLP__METRIC__DATA_GAUGE;
		m->gauge = OTLP_NEW(&w->page, Kf__Otlp__Gauge);
		if (!m->gauge)
			return false;
		kf__otlp__gauge__init(m->gauge);
		return true;
	default:
		m->data_case = KF__OTLP__METRIC__DATA_HISTOGRAM;
		m->histogram = OTLP_NEW(&w->page, Kf__Otlp__Histogram);
		if (!m->histogram)
			return false;
		kf__otlp__histogram__init(m->histogram);
		m->histogram->temporality = KF__OTLP__TEMPORALITY__CUMULATIVE;
		return true;
	}
}

static Kf__Otlp__Metric *metrics_metric(struct writing *w, struct resource *r,
					const struct kf_family *f)
{
	Kf__Otlp__ScopeMetrics *s = r->metrics;
	Kf__Otlp__Metric *m;

	if (r->family == f)
		return s->metric[s->n_metric - 1];
	m = OTLP_NEW(&w->page, Kf__Otlp__Metric);
	if (!m)
		return NULL;
	kf__otlp__metric__init(m);
	m->name = (char *)(uintptr_t)f->name;
	m->description = (char *)(uintptr_t)f->help;
	m->unit = (char *)(uintptr_t)metrics_unit(f);
	if (!metrics_data(w, f, m) || !OTLP_ADD(&w->page, s, metric, m))
		return NULL;
	r->family = f;
	return m;
}

static bool metrics_add_buckets(struct writing *w, Kf__Otlp__Histogram *to,
				const struct point *p)
{
	const struct kf_histogram *h = &p->series->histogram;
	Kf__Otlp__Buckets *b = OTLP_NEW(&w->page, Kf__Otlp__Buckets);

	if (!b)
		return false;
	kf__otlp__buckets__init(b);
	b->start_ns =
		p->series->created_ns ? p->series->created_ns : w->began_ns;
	b->time_ns = w->now_ns;
	b->known_case = KF__OTLP__BUCKETS__KNOWN_SUM;
	b->sum = h->sum;
	b->n_bound = h->nr;
	b->bound = (double *)(uintptr_t)h->le;
	b->n_bucket = h->nr + 1;
	b->bucket = (uint64_t *)(uintptr_t)h->count;
	for (unsigned int i = 0; i <= h->nr; i++)
		b->count += h->count[i];
	b->n_attribute = p->n_label;
	b->attribute = p->label;
	return OTLP_ADD(&w->page, to, point, b);
}

static Kf__Otlp__Number *metrics_number(struct writing *w,
					const struct kf_family *f,
					const struct point *p)
{
	Kf__Otlp__Number *n = OTLP_NEW(&w->page, Kf__Otlp__Number);
	const struct kf_series *s = p->series;

	if (!n)
		return NULL;
	kf__otlp__number__init(n);
	if (f->type == KF_METRIC_COUNTER)
		n->start_ns = s->created_ns ? s->created_ns : w->began_ns;
	n->time_ns = w->now_ns;
	if (s->kind == KF_VALUE_INT && s->integer <= INT64_MAX) {
		n->value_case = KF__OTLP__NUMBER__VALUE_WHOLE;
		n->whole = (int64_t)s->integer;
	} else {
		n->value_case = KF__OTLP__NUMBER__VALUE_REAL;
		n->real = s->kind == KF_VALUE_INT ? (double)s->integer
						  : s->number;
	}
	n->n_attribute = p->n_label;
	n->attribute = p->label;
	return n;
}

static bool metrics_add_series(struct writing *w, const struct kf_family *f,
			       const struct kf_series *s)
{
	struct point p = {.series = s, .container = ""};
	struct resource *r =
		metrics_take_labels(w, &p) ? metrics_resource(w, &p) : NULL;
	Kf__Otlp__Metric *m = r ? metrics_metric(w, r, f) : NULL;
	Kf__Otlp__Number *n;

	if (!m)
		return false;
	r->points++;
	if (f->type == KF_METRIC_HISTOGRAM)
		return metrics_add_buckets(w, m->histogram, &p);
	n = metrics_number(w, f, &p);
	if (!n)
		return false;
	return f->type == KF_METRIC_COUNTER
		       ? OTLP_ADD(&w->page, m->sum, point, n)
		       : OTLP_ADD(&w->page, m->gauge, point, n);
}

static bool metrics_add_family(struct writing *w, const struct kf_family *f)
{
	for (const struct kf_series *s = f->first; s; s = s->next) {
		if (!metrics_add_series(w, f, s))
			return false;
	}
	return true;
}

static bool metrics_add(struct writing *w, const struct kf_page *page)
{
	for (const struct kf_family *f = page->first; f; f = f->next) {
		if (!metrics_add_family(w, f))
			return false;
	}
	return true;
}

/* A request of as many whole resources as it has room for, from @r on. */
static struct kf_post_request *metrics_fill(struct writing *w,
					    struct resource **r)
{
	Kf__Otlp__MetricsRequest q = KF__OTLP__METRICS_REQUEST__INIT;
	size_t points = 0;

	do {
		if (!OTLP_ADD(&w->page, &q, resource, (*r)->message))
			return NULL;
		points += (*r)->points;
		*r = (*r)->next;
	} while (*r && points + (*r)->points <= MAX_POINTS);
	return w->page.failed ? NULL : kf_otlp_pack(&q.base, points);
}

static struct kf_post_request *metrics_pack(struct writing *w)
{
	struct kf_post_request *first = NULL, **end = &first;

	for (struct resource *r = w->first; r;) {
		*end = metrics_fill(w, &r);
		if (!*end) {
			kf_post_free(first);
			return NULL;
		}
		end = &(*end)->next;
	}
	return first;
}

struct kf_post_request *kf_otlp_metrics(const struct kf_page *page,
					uint64_t began_ns, uint64_t now_ns)
{
	struct writing w = {.began_ns = began_ns, .now_ns = now_ns};
	struct kf_post_request *list = NULL;

	w.end = &w.first;
	if (metrics_add(&w, page))
		list = metrics_pack(&w);
	kf_page_release(&w.page);
	return list;
}
