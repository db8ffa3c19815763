/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The numbering of figures. The table below and stats.def come before any file:
 * the first definition of a metric wins. A file of another version may add
 * metrics, within limits. In a shared directory anyone may write such a file,
 * so its texts are not trusted.
 */
#include "config.h"

#include "base/saturate.h"
#include "exporter/groups/figures.h"
#include "exporter/buf.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const double kf_sizes[KF_NR_SIZES] = {16,   32,	  64,	128,  256,   512,
				      1024, 2048, 4096, 8192, 16384, 32768};

static const struct {
	const char *metric;
	const char *labels;
	const char *help;
	const char *unit;
	enum kf_figure_kind kind;
} derived[KF_FIG_SIZES] = {
	[KF_FIG_MALLOCS] = {"malloc_total", "", "konfiscator malloc calls", "",
			    KF_FIGURE_COUNTER},
	[KF_FIG_FREES] = {"free_total", "", "konfiscator free calls", "",
			  KF_FIGURE_COUNTER},
	[KF_FIG_ALLOCATED] = {"allocated_bytes_total", "",
			      "usable bytes of all blocks ever allocated",
			      "bytes", KF_FIGURE_COUNTER},
	[KF_FIG_FREED] = {"freed_bytes_total", "",
			  "usable bytes of all blocks ever freed", "bytes",
			  KF_FIGURE_COUNTER},
	[KF_FIG_CALL_MALLOC] = {"calls_total", "call=\"malloc\"",
				"calls by the function called", "",
				KF_FIGURE_COUNTER},
	[KF_FIG_CALL_CALLOC] = {"calls_total", "call=\"calloc\"", "", "",
				KF_FIGURE_COUNTER},
	[KF_FIG_CALL_ALIGNED] = {"calls_total", "call=\"aligned\"", "", "",
				 KF_FIGURE_COUNTER},
	[KF_FIG_CALL_FREE] = {"calls_total", "call=\"free\"", "", "",
			      KF_FIGURE_COUNTER},
	[KF_FIG_EXITS] =
		{"process_exits_total", "reason=\"exit\"",
		 "processes that ended, or ran another program by exec", "",
		 KF_FIGURE_COUNTER},
	[KF_FIG_EXECS] = {"process_exits_total", "reason=\"exec\"", "", "",
			  KF_FIGURE_COUNTER},
	[KF_FIG_ENDED + KF_ENDED_EXIT] =
		{"ended_total", "cause=\"exit\"",
		 "processes that ended and left a stats file, by how they ended",
		 "", KF_FIGURE_COUNTER},
	[KF_FIG_ENDED + KF_ENDED_FAILURE] = {"ended_total",
					     "cause=\"exit_failure\"", "", "",
					     KF_FIGURE_COUNTER},
	[KF_FIG_ENDED + KF_ENDED_SIGNAL] = {"ended_total",
					    "cause=\"signal_or_exit\"", "", "",
					    KF_FIGURE_COUNTER},
	[KF_FIG_ENDED + KF_ENDED_CRASH] = {"ended_total", "cause=\"crash\"", "",
					   "", KF_FIGURE_COUNTER},
	[KF_FIG_ENDED + KF_ENDED_OOM] = {"ended_total", "cause=\"oom\"", "", "",
					 KF_FIGURE_COUNTER},
	[KF_FIG_ENDED + KF_ENDED_LIKELY_OOM] = {"ended_total",
						"cause=\"likely_oom\"", "", "",
						KF_FIGURE_COUNTER},
	[KF_FIG_ENDED + KF_ENDED_UNKNOWN] = {"ended_total", "cause=\"unknown\"",
					     "", "", KF_FIGURE_COUNTER},
	[KF_FIG_LIVE_BLOCKS] = {"live_blocks", "", "live blocks", "",
				KF_FIGURE_GAUGE_SUM},
	[KF_FIG_HEAP_LIVE] = {"heap_bytes", "state=\"live\"",
			      "bytes held from the kernel by state: live, "
			      "rounding, cached, free, metadata",
			      "bytes", KF_FIGURE_GAUGE_SUM},
	[KF_FIG_HEAP_ROUNDING] = {"heap_bytes", "state=\"rounding\"", "",
				  "bytes", KF_FIGURE_GAUGE_SUM},
	[KF_FIG_HEAP_CACHED] = {"heap_bytes", "state=\"cached\"", "", "bytes",
				KF_FIGURE_GAUGE_SUM},
	[KF_FIG_HEAP_FREE] = {"heap_bytes", "state=\"free\"", "", "bytes",
			      KF_FIGURE_GAUGE_SUM},
	[KF_FIG_HEAP_METADATA] = {"heap_bytes", "state=\"metadata\"", "",
				  "bytes", KF_FIGURE_GAUGE_SUM},
	[KF_FIG_BINS] = {"bins_bytes", "",
			 "free blocks in bins of threads, a part of heap_bytes "
			 "with state cached",
			 "bytes", KF_FIGURE_GAUGE_SUM},
};

static const struct kf_counter described_counters[] = {
#define KF_STAT_SLOT(id, t, u, m, l, h) \
	{.name = #id,                   \
	 .metric = m,                   \
	 .labels = l,                   \
	 .help = h,                     \
	 .type = KF_TYPE_##t,           \
	 .unit = KF_UNIT_##u},
#define KF_STAT_WORD KF_STAT_SLOT
#include "stats/stats.def"
#undef KF_STAT_WORD
#undef KF_STAT_SLOT
};

/* Gauges whose sum over processes is meaningless. */
static const char *const largest_figures[] = {
	"largest_free_bytes", "mmap_threshold_bytes", "trim_threshold_bytes"};

static bool figure_is_name(const char *s, const char *end)
{
	if (s == end || !(islower((unsigned char)*s) || *s == '_'))
		return false;
	for (; s < end; s++) {
		if (!islower((unsigned char)*s) &&
		    !isdigit((unsigned char)*s) && *s != '_')
			return false;
	}
	return true;
}

/*
 * Accept no label, or one label with a plain value whose name the exporter does
 * not use.
 */
static bool figure_labels_valid(const char *s)
{
	static const char *const ours[] = {"process", "container", "le",
					   "reason"};
	const char *eq = strchr(s, '=');
	size_t len = strlen(s), i;

	if (!*s)
		return true;
	if (!eq || !figure_is_name(s, eq) || strncmp(s, "__", 2) == 0 ||
	    len < (size_t)(eq - s) + 3 || eq[1] != '"' || s[len - 1] != '"')
		return false;
	for (i = 0; i < KF_ARRAY_SIZE(ours); i++) {
		if (strlen(ours[i]) == (size_t)(eq - s) &&
		    strncmp(s, ours[i], (size_t)(eq - s)) == 0)
			return false;
	}
	for (s = eq + 2; s[1]; s++) {
		if (!isalnum((unsigned char)*s) && !strchr("_-.", *s))
			return false;
	}
	return true;
}

/* Names reserved by the exporter or by a format. */
static bool figure_is_reserved(const char *metric)
{
	static const char *const first[] = {
		"cgroup_",   "ended_",	 "exporter_", "http_",
		"oldest_",   "otlp_",	 "process",   "proportional_",
		"resident_", "scrape_",	 "series_",   "size_",
		"stats_",    "swapped_", "tag_",      "trace_"};
	static const char *const last[] = {"_bucket", "_count", "_created",
					   "_info", "_sum"};
	size_t len = strlen(metric), i;

	for (i = 0; i < KF_ARRAY_SIZE(first); i++) {
		if (strncmp(metric, first[i], strlen(first[i])) == 0)
			return true;
	}
	for (i = 0; i < KF_ARRAY_SIZE(last); i++) {
		if (len >= strlen(last[i]) &&
		    strcmp(metric + len - strlen(last[i]), last[i]) == 0)
			return true;
	}
	return false;
}

static bool figure_counter_valid(const struct kf_counter *c)
{
	const char *end = c->metric + strlen(c->metric);
	bool total = end - c->metric > 6 && strcmp(end - 6, "_total") == 0;

	if (!figure_is_name(c->metric, end) || figure_is_reserved(c->metric) ||
	    !figure_labels_valid(c->labels))
		return false;
	if (c->type == KF_TYPE_COUNTER)
		return total;
	return c->type == KF_TYPE_GAUGE && !total;
}

static enum kf_figure_kind figure_kind_of(const struct kf_counter *c)
{
	size_t i;

	if (c->type == KF_TYPE_COUNTER)
		return KF_FIGURE_COUNTER;
	for (i = 0; i < KF_ARRAY_SIZE(largest_figures); i++) {
		if (strcmp(c->metric, largest_figures[i]) == 0)
			return KF_FIGURE_GAUGE_MAX;
	}
	return KF_FIGURE_GAUGE_SUM;
}

static void figure_make_key(char *key, size_t size, const char *metric,
			    const char *labels)
{
	snprintf(key, size, *labels ? "%s{%s}" : "%s", metric, labels);
}

static void figure_set_kind(struct kf_figures *t, struct kf_figure *f,
			    enum kf_figure_kind kind)
{
	f->kind = kind;
	t->kind[f - t->figure] = (uint8_t)kind;
}

static struct kf_figure *figure_add(struct kf_figures *t, const char *metric,
				    const char *labels, const char *help)
{
	struct kf_figure *f = &t->figure[t->nr++];

	figure_make_key(f->key, sizeof(f->key), metric, labels);
	snprintf(f->metric, sizeof(f->metric), "konfiscator_%s", metric);
	snprintf(f->labels, sizeof(f->labels), "%s", labels);
	snprintf(f->help, sizeof(f->help), "%s", help);
	f->since_ns = t->since_ns;
	return f;
}

int kf_figures_find(const struct kf_figures *t, const char *key)
{
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		if (strcmp(t->figure[i].key, key) == 0)
			return (int)i;
	}
	return -1;
}

/* Find or add the figure of a counter; -1 if it is invalid. */
static int figure_of(struct kf_figures *t, const struct kf_counter *c)
{
	char key[sizeof(t->figure[0].key)];
	struct kf_figure *f;
	int i;

	if (!c->metric[0])
		return -1;
	figure_make_key(key, sizeof(key), c->metric, c->labels);
	i = kf_figures_find(t, key);
	if (i >= 0)
		return kf_figure_grows(&t->figure[i]) ==
				       (c->type == KF_TYPE_COUNTER)
			       ? i
			       : -1;
	if (t->nr == KF_MAX_FIGURES || !figure_counter_valid(c))
		return -1;
	f = figure_add(t, c->metric, c->labels, "");
	kf_utf8_clean(f->help, sizeof(f->help), c->help);
	f->unit = c->unit == KF_UNIT_BYTES ? "bytes" : "";
	figure_set_kind(t, f, figure_kind_of(c));
	return (int)t->nr - 1;
}

static void figure_add_size(struct kf_figures *t, const char *metric,
			    unsigned int i, enum kf_figure_kind kind)
{
	struct kf_figure *f;
	char labels[32];

	if (i < KF_NR_SIZES)
		snprintf(labels, sizeof(labels), "le=\"%.1f\"", kf_sizes[i]);
	else
		snprintf(labels, sizeof(labels), "le=\"+Inf\"");
	f = figure_add(t, metric, labels, "usable bytes of allocated blocks");
	f->unit = "bytes";
	figure_set_kind(t, f, kind);
}

void kf_figures_init(struct kf_figures *t)
{
	struct kf_figure *f;
	unsigned int i;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < KF_FIG_SIZES; i++) {
		f = figure_add(t, derived[i].metric, derived[i].labels,
			       derived[i].help);
		f->unit = derived[i].unit;
		figure_set_kind(t, f, derived[i].kind);
	}
	for (i = 0; i <= KF_NR_SIZES; i++)
		figure_add_size(t, "allocation_size_bytes", i,
				KF_FIGURE_BUCKET);
	for (i = 0; i <= KF_NR_SIZES; i++)
		figure_add_size(t, "size_live_blocks", i, KF_FIGURE_LIVE);
	for (i = 0; i < KF_ARRAY_SIZE(described_counters); i++)
		t->hint[i] = figure_of(t, &described_counters[i]);
}

static bool figure_matches(const struct kf_figure *f,
			   const struct kf_counter *c)
{
	return strcmp(f->metric + strlen("konfiscator_"), c->metric) == 0 &&
	       strcmp(f->labels, c->labels) == 0 &&
	       kf_figure_grows(f) == (c->type == KF_TYPE_COUNTER);
}

/* A value below zero, from an inconsistent read, counts as 0. */
static uint64_t figure_clamp(uint64_t v)
{
	return v > INT64_MAX ? 0 : v;
}

/*
 * Bounds are powers of two from 16 on; large blocks, with size 0, are above
 * all.
 */
unsigned int kf_figures_size(uint64_t bytes)
{
	unsigned int bits;

	if (!bytes)
		return KF_NR_SIZES;
	bits = bytes > 16 ? 64 - (unsigned int)__builtin_clzll(bytes - 1) : 4;
	return KF_MIN(bits - 4, (unsigned int)KF_NR_SIZES);
}

static void figure_fill_sizes(const struct kf_snapshot *s, uint64_t *value)
{
	const struct kf_class_count *c;
	unsigned int i, b;

	for (i = 0; i < s->nr_classes; i++) {
		c = &s->classes[i];
		if (!(c->mallocs | c->frees | (uint64_t)c->inherited))
			continue;
		b = kf_figures_size(c->bytes);
		value[KF_FIG_SIZES + b] =
			kf_sum(value[KF_FIG_SIZES + b], c->mallocs);
		value[KF_FIG_LIVE_SIZES + b] = kf_sum(
			value[KF_FIG_LIVE_SIZES + b], kf_class_blocks(c));
	}
}

static void figure_fill_derived(const struct kf_snapshot *s, uint64_t *value)
{
	const struct kf_totals *t = &s->totals;
	uint64_t calloc_calls = kf_snapshot_stat(s, KF_STAT_calloc_calls);
	uint64_t aligned_calls = kf_snapshot_stat(s, KF_STAT_aligned_calls);
	uint64_t other = calloc_calls + aligned_calls +
			 kf_snapshot_stat(s, KF_STAT_realloc_new);

	value[KF_FIG_MALLOCS] = t->mallocs;
	value[KF_FIG_FREES] = t->frees;
	value[KF_FIG_ALLOCATED] = t->allocated;
	value[KF_FIG_FREED] = t->freed;
	value[KF_FIG_CALL_MALLOC] = t->mallocs > other ? t->mallocs - other : 0;
	value[KF_FIG_CALL_CALLOC] = calloc_calls;
	value[KF_FIG_CALL_ALIGNED] = aligned_calls;
	value[KF_FIG_CALL_FREE] = t->frees;
	value[KF_FIG_LIVE_BLOCKS] = t->live_blocks;
	value[KF_FIG_HEAP_LIVE] = t->live;
	value[KF_FIG_HEAP_ROUNDING] = t->rounding;
	value[KF_FIG_HEAP_CACHED] = t->cached;
	value[KF_FIG_HEAP_FREE] = t->free;
	value[KF_FIG_HEAP_METADATA] = t->metadata;
	value[KF_FIG_BINS] = t->bins;
}

static const int *figure_map_of(struct kf_figures *t,
				const struct kf_snapshot *s)
{
	unsigned int nr = KF_MIN(s->nr_counters, (unsigned int)KF_MAX_FIGURES);
	struct kf_figure_map *m;
	unsigned int i;
	int id;

	for (m = t->map; s->described && m < t->map + KF_FIGURE_MAPS; m++) {
		if (m->described == s->described)
			return m->id;
	}
	m = &t->map[t->next_map++ % KF_FIGURE_MAPS];
	for (i = 0; i < nr; i++) {
		id = t->hint[i];
		if (id < 0 || !figure_matches(&t->figure[id], &s->counters[i]))
			id = figure_of(t, &s->counters[i]);
		t->hint[i] = m->id[i] = id;
	}
	m->described = s->described;
	return m->id;
}

void kf_figures_fill(struct kf_figures *t, const struct kf_snapshot *s,
		     uint64_t value[KF_MAX_FIGURES])
{
	const int *map = figure_map_of(t, s);
	unsigned int i;
	int id;

	memset(value, 0, KF_MAX_FIGURES * sizeof(value[0]));
	for (i = 0; i < s->nr_counters; i++) {
		const struct kf_counter *c = &s->counters[i];

		id = i < KF_MAX_FIGURES ? map[i] : figure_of(t, c);
		/* a file cannot set a derived figure */
		if (id >= KF_NR_DERIVED)
			value[id] = c->value;
	}
	figure_fill_derived(s, value);
	figure_fill_sizes(s, value);
	for (i = 0; i < t->nr; i++)
		value[i] = figure_clamp(value[i]);
}

static uint64_t figure_most_in(uint64_t ns, bool bytes)
{
	static long cpus;
	double rate, most;

	if (cpus < 1)
		cpus = sysconf(_SC_NPROCESSORS_CONF);
	rate = (double)KF_MAX(cpus, 1L) * (bytes ? 0x1p50 : 0x1p30);
	/* add a second, since clock and counters are read at different times */
	most = rate * ((double)ns * 1e-9 + 1);
	return most < (double)KF_FIGURE_MOST ? (uint64_t)most : KF_FIGURE_MOST;
}

bool kf_figures_plausible(const struct kf_figures *t, const uint64_t *value,
			  const uint64_t *before, uint64_t ns)
{
	const uint64_t most[] = {figure_most_in(ns, false),
				 figure_most_in(ns, true)};
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		bool bytes = t->kind[i] == KF_FIGURE_COUNTER &&
			     strcmp(t->figure[i].unit, "bytes") == 0;
		uint64_t was = before ? before[i] : 0;

		if (!kf_kind_grows(t->kind[i]))
			continue;
		if (value[i] >= KF_FIGURE_MOST ||
		    (value[i] > was && value[i] - was > most[bytes]))
			return false;
	}
	return true;
}
