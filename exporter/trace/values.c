/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The maps of scripts that are metrics, and the parser of bpftrace's JSON
 * lines.
 */
#include "config.h"

#include "exporter/trace/trace.h"

#include <jansson.h>
#include <string.h>

enum kind { COUNTER, HISTOGRAM, SUM };

/* @scale converts the script's unit to the metric's. */
static const struct metric {
	const char *name;
	const char *unit;
	const char *help;
	enum kf_metric_type type;
	double scale;
	unsigned int low; /* the first bound is 2^low - 1 */
	unsigned int nr;  /* of bounds */
	/* power of two that is taken for a unit of the script in a native
	 * histogram; 0: there is none */
	int unit_log2;
} metrics[KF_NR_TRACE_METRICS] = {
	[KF_TRACE_EVENTS] = {"konfiscator_trace_events_total", "",
			     "events seen by a tracer", KF_METRIC_COUNTER, 1, 0,
			     0},
	[KF_TRACE_BYTES] = {"konfiscator_trace_bytes_total", "bytes",
			    "bytes of the events seen by a tracer",
			    KF_METRIC_COUNTER, 1, 0, 0},
	[KF_TRACE_SIZES] = {"konfiscator_trace_size_bytes", "bytes",
			    "bytes requested by each call, seen by a tracer",
			    KF_METRIC_HISTOGRAM, 1, 4, 21},
	[KF_TRACE_SLOW_CALLS] =
		{"konfiscator_trace_slow_call_seconds", "seconds",
		 "duration of calls that leave the fast path, seen by a tracer",
		 KF_METRIC_HISTOGRAM, 1e-9, 9, 22, -30},
	[KF_TRACE_SEARCHES] =
		{"konfiscator_trace_search_visits", "",
		 "nodes visited by each search of the free runs, seen by a tracer",
		 KF_METRIC_HISTOGRAM, 1, 0, 9},
};

/* @key NULL: all keys, each an event with its name. */
static const struct row {
	const char *script;
	const char *map;
	const char *key;
	const char *event;
	enum kind kind;
	enum kf_trace_metric_id metric;
} rows[] = {
	{"konfiscator", "@total", NULL, NULL, COUNTER, KF_TRACE_EVENTS},
	{"sizes", "@total", "alloc", "alloc", COUNTER, KF_TRACE_EVENTS},
	{"sizes", "@total", "resize", "resize", COUNTER, KF_TRACE_EVENTS},
	{"sizes", "@total", "moved", "moved", COUNTER, KF_TRACE_EVENTS},
	{"sizes", "@total", "large", "large", COUNTER, KF_TRACE_EVENTS},
	{"sizes", "@total", "alloc_usable", "usable", COUNTER, KF_TRACE_BYTES},
	{"sizes", "@alloc_bytes", NULL, "alloc", HISTOGRAM, KF_TRACE_SIZES},
	{"sizes", "@total", "alloc_bytes", "alloc", SUM, KF_TRACE_SIZES},
	{"sizes", "@resize_bytes", NULL, "resize", HISTOGRAM, KF_TRACE_SIZES},
	{"sizes", "@total", "resize_bytes", "resize", SUM, KF_TRACE_SIZES},
	{"sizes", "@large_bytes", NULL, "large", HISTOGRAM, KF_TRACE_SIZES},
	{"sizes", "@total", "large_bytes", "large", SUM, KF_TRACE_SIZES},
	{"latency", "@total", NULL, NULL, COUNTER, KF_TRACE_EVENTS},
	{"latency", "@slow_ns", NULL, NULL, HISTOGRAM, KF_TRACE_SLOW_CALLS},
	{"latency", "@nanoseconds", NULL, NULL, SUM, KF_TRACE_SLOW_CALLS},
	{"mmap", "@total", NULL, NULL, COUNTER, KF_TRACE_BYTES},
	{"frag", "@total", NULL, NULL, COUNTER, KF_TRACE_EVENTS},
	{"frag", "@visited_in_search", NULL, "visited", HISTOGRAM,
	 KF_TRACE_SEARCHES},
	{"frag", "@total", "visited", "visited", SUM, KF_TRACE_SEARCHES},
};

const char *kf_trace_known(const char *script)
{
	size_t i;

	for (i = 0; i < KF_ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].script, script) == 0)
			return rows[i].script;
	}
	return strcmp(script, KF_TRACE_PAGE) == 0 ? KF_TRACE_PAGE : NULL;
}

bool kf_trace_plain(const char *word)
{
	size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return len > 0 && !word[len] && len < KF_TRACE_EVENT;
}

struct kf_trace_value *kf_trace_value(struct kf_trace_values *v,
				      enum kf_trace_metric_id metric,
				      const char *event)
{
	struct kf_trace_value *value;
	unsigned int i;

	for (i = 0; i < v->nr; i++) {
		value = &v->value[i];
		if (value->metric == metric && strcmp(value->event, event) == 0)
			return value;
	}
	if (v->nr == KF_TRACE_VALUES) {
		v->dropped++;
		return NULL;
	}
	value = &v->value[v->nr++];
	memset(value, 0, sizeof(*value));
	value->metric = metric;
	memcpy(value->event, event, strlen(event) + 1);
	return value;
}

/* Accept a number in the range of a counter. */
static bool values_number(json_t *j, uint64_t *out)
{
	json_int_t n = json_integer_value(j);

	if (!json_is_integer(j) || n < 0 || (uint64_t)n > KF_TRACE_MOST)
		return false;
	*out = (uint64_t)n;
	return true;
}

unsigned int kf_trace_bucket(enum kf_trace_metric_id metric, uint64_t top)
{
	const struct metric *m = &metrics[metric];
	unsigned int b = 0;

	while (b < m->nr && top > (1ull << (m->low + b)) - 1)
		b++;
	return b;
}

static bool values_take_histogram(enum kf_trace_metric_id metric, json_t *j,
				  struct kf_trace_counts *c)
{
	uint64_t top, count;
	json_t *bucket;
	size_t i;

	if (!json_is_array(j) || json_array_size(j) > 80)
		return false;
	json_array_foreach(j, i, bucket)
	{
		json_t *max = json_object_get(bucket, "max");

		/* the last may have no upper bound, the first none below 0 */
		if (!max)
			top = UINT64_MAX;
		else if (json_is_integer(max) && json_integer_value(max) < 0)
			top = 0;
		else if (!values_number(max, &top))
			return false;
		if (!values_number(json_object_get(bucket, "count"), &count))
			return false;
		c->count[kf_trace_bucket(metric, top)] += count;
	}
	return true;
}

bool kf_trace_has_fallen(const struct kf_trace_counts *from,
			 const struct kf_trace_counts *to)
{
	unsigned int i;

	for (i = 0; i <= KF_TRACE_BUCKETS; i++) {
		if (to->count[i] < from->count[i])
			return true;
	}
	return to->sum < from->sum;
}

/* Process an entry of a map: a number, or the buckets of a histogram. */
static bool values_take_entry(struct kf_trace_values *v, const struct row *r,
			      const char *event, json_t *j)
{
	struct kf_trace_counts c = {0};
	struct kf_trace_value *value;
	bool right = true;

	if (!kf_trace_plain(event))
		return false;
	value = kf_trace_value(v, r->metric, event);
	if (!value)
		return true;
	c.sum = value->now.sum;
	if (r->kind == HISTOGRAM)
		right = values_take_histogram(r->metric, j, &c);
	else
		memcpy(c.count, value->now.count, sizeof(c.count));
	if (r->kind == COUNTER)
		right = values_number(j, &c.count[0]);
	if (r->kind == SUM)
		right = values_number(j, &c.sum);
	if (!right || kf_trace_has_fallen(&value->now, &c))
		return false;
	value->now = c;
	return true;
}

static bool values_take_row(struct kf_trace_values *v, const struct row *r,
			    json_t *data)
{
	const char *key;
	json_t *j;

	if (r->kind == HISTOGRAM && r->event)
		return values_take_entry(v, r, r->event, data);
	if (!json_is_object(data) || json_object_size(data) > 4096)
		return false;
	if (r->key) {
		j = json_object_get(data, r->key);
		return !j || values_take_entry(v, r, r->event, j);
	}
	json_object_foreach(data, key, j)
	{
		if (!values_take_entry(v, r, key, j))
			return false;
	}
	return true;
}

static enum kf_trace_line values_take_map(struct kf_trace_values *v,
					  const char *type, const char *map,
					  json_t *data)
{
	enum kf_trace_line line = KF_TRACE_IGNORED;
	bool histogram = strcmp(type, "hist") == 0;
	size_t i;

	for (i = 0; i < KF_ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		if (strcmp(r->script, v->script) != 0 ||
		    strcmp(r->map, map) != 0 ||
		    (r->kind == HISTOGRAM) != histogram)
			continue;
		if (!values_take_row(v, r, data))
			return KF_TRACE_BAD;
		line = KF_TRACE_TAKEN;
	}
	return line;
}

static enum kf_trace_line values_take(struct kf_trace_values *v, json_t *root)
{
	const char *type = json_string_value(json_object_get(root, "type"));
	json_t *data = json_object_get(root, "data"), *j;
	enum kf_trace_line line = KF_TRACE_IGNORED;
	uint64_t lost;
	const char *map;

	if (!type || !data)
		return KF_TRACE_BAD;
	if (strcmp(type, "lost_events") == 0) {
		if (!values_number(json_object_get(data, "events"), &lost))
			return KF_TRACE_BAD;
		v->lost += lost;
		return KF_TRACE_TAKEN;
	}
	if (strcmp(type, "map") != 0 && strcmp(type, "hist") != 0)
		return KF_TRACE_IGNORED;
	if (json_object_size(data) != 1)
		return KF_TRACE_BAD;
	json_object_foreach(data, map, j)
	{
		line = values_take_map(v, type, map, j);
	}
	return line;
}

enum kf_trace_line kf_trace_take(struct kf_trace_values *v, const char *line,
				 size_t len)
{
	json_t *root = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	enum kf_trace_line result = root ? values_take(v, root) : KF_TRACE_BAD;

	json_decref(root);
	return result;
}

void kf_trace_fold(struct kf_trace_values *v)
{
	unsigned int i, b;

	for (i = 0; i < v->nr; i++) {
		struct kf_trace_value *value = &v->value[i];

		for (b = 0; b <= KF_TRACE_BUCKETS; b++)
			value->before.count[b] += value->now.count[b];
		value->before.sum += value->now.sum;
		memset(&value->now, 0, sizeof(value->now));
	}
}

static double bucket_bounds[KF_NR_TRACE_METRICS][KF_TRACE_BUCKETS];

/* Bytes and nodes are integers: below 2^k means at most 2^k - 1. */
static void values_make_bounds(void)
{
	unsigned int id, b;

	for (id = 0; id < KF_NR_TRACE_METRICS; id++) {
		const struct metric *m = &metrics[id];

		for (b = 0; b < m->nr; b++)
			bucket_bounds[id][b] = ((double)(1ull << (m->low + b)) -
						(m->scale >= 1)) *
					       m->scale;
	}
}

static struct kf_series *values_show_histogram(struct kf_page *page,
					       struct kf_family *f,
					       const char *labels,
					       const struct kf_trace_value *v)
{
	const struct metric *m = &metrics[v->metric];
	uint64_t count[KF_TRACE_BUCKETS + 1];
	struct kf_histogram h = {
		.nr = m->nr,
		.le = bucket_bounds[v->metric],
		.count = count,
		.sum = (double)(v->before.sum + v->now.sum) * m->scale,
		.native = {.nr = m->unit_log2 ? m->nr + 1 : 0,
			   .first = (int)m->low + m->unit_log2,
			   .count = count},
	};
	uint64_t all = 0;
	unsigned int b;

	for (b = 0; b <= m->nr; b++)
		all += v->before.count[b] + v->now.count[b];
	if (!all)
		return NULL;
	for (b = 0; b <= m->nr; b++)
		count[b] = v->before.count[b] + v->now.count[b];
	return kf_family_histogram(page, f, labels, &h);
}

void kf_trace_show(const struct kf_trace_values *v, struct kf_page *page)
{
	struct kf_label label[] = {{"script", v->script}, {"event", NULL}};
	const struct metric *m;
	struct kf_family *f;
	const char *labels;
	struct kf_series *s;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned int i;

	pthread_once(&once, values_make_bounds);
	for (i = 0; i < v->nr; i++) {
		m = &metrics[v->value[i].metric];
		label[1].value = v->value[i].event;
		labels = kf_page_labels(page, label, KF_ARRAY_SIZE(label));
		f = kf_page_family(page, m->name, m->type, m->unit, m->help);
		if (m->type == KF_METRIC_HISTOGRAM)
			s = values_show_histogram(page, f, labels,
						  &v->value[i]);
		else
			s = kf_family_int(page, f, labels,
					  v->value[i].before.count[0] +
						  v->value[i].now.count[0]);
		kf_series_created(s, v->since_ns);
	}
}
