/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Groups as Prometheus' text format 0.0.4, for a textfile collector or a look.
 * A family's samples stand together below one HELP and one TYPE; the names are
 * the exporter's.
 */
#include "config.h"

#include "cli/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOTAL(member) offsetof(struct kf_group, totals.member)

/* The derived metrics: offset in a group, name and help. */
struct derived {
	const char *metric;
	const char *labels;
	const char *help;
	size_t offset;
	enum kf_stats_type type;
};

static const struct derived prom_derived[] = {
	{"malloc_total", "", "konfiscator malloc calls", TOTAL(mallocs),
	 KF_TYPE_COUNTER},
	{"free_total", "", "konfiscator free calls", TOTAL(frees),
	 KF_TYPE_COUNTER},
	{"allocated_bytes_total", "", "bytes allocated, in block sizes",
	 TOTAL(allocated), KF_TYPE_COUNTER},
	{"freed_bytes_total", "", "bytes freed, in block sizes", TOTAL(freed),
	 KF_TYPE_COUNTER},
	{"live_blocks", "", "blocks allocated and not freed",
	 TOTAL(live_blocks), KF_TYPE_GAUGE},
	{"heap_bytes", "state=\"live\"", "bytes held from the kernel",
	 TOTAL(live), KF_TYPE_GAUGE},
	{"heap_bytes", "state=\"rounding\"", "", TOTAL(rounding),
	 KF_TYPE_GAUGE},
	{"heap_bytes", "state=\"cached\"", "", TOTAL(cached), KF_TYPE_GAUGE},
	{"heap_bytes", "state=\"free\"", "", TOTAL(free), KF_TYPE_GAUGE},
	{"heap_bytes", "state=\"metadata\"", "", TOTAL(metadata),
	 KF_TYPE_GAUGE},
	{"bins_bytes", "", "free blocks in bins of threads", TOTAL(bins),
	 KF_TYPE_GAUGE},
};

/* Newlines, quotes and backslashes as the format has them. */
static void put_value(const char *s)
{
	char safe[4 * KF_PROCESS_NAME];

	for (s = kf_escape(safe, sizeof(safe), s); *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
}

static void put_sample(const struct kf_groups *g, const struct kf_group *group,
		       const char *metric, const char *labels, uint64_t value)
{
	printf("konfiscator_%s{process=\"", metric);
	put_value(group->name);
	printf("\",container=\"");
	put_value(group->container);
	/* ended and living processes of one name would be one series twice */
	if (g->ended)
		printf("\",status=\"%s", group->state);
	printf("\"%s%s} %llu\n", labels[0] ? "," : "", labels,
	       (unsigned long long)value);
}

static void prom_put_head(const char *metric, const char *help,
			  enum kf_stats_type type)
{
	printf("# HELP konfiscator_%s ", metric);
	for (; *help; help++)
		printf(*help == '\\' ? "\\\\" : "%c", *help);
	printf("\n# TYPE konfiscator_%s %s\n", metric,
	       type == KF_TYPE_COUNTER ? "counter" : "gauge");
}

static void put_derived(const struct kf_groups *g)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(prom_derived); i++) {
		const struct derived *d = &prom_derived[i];

		if (!i || strcmp(d->metric, prom_derived[i - 1].metric))
			prom_put_head(d->metric, d->help, d->type);
		for (unsigned int k = 0; k < g->nr; k++) {
			const char *group = (const char *)&g->group[k];
			uint64_t value;

			memcpy(&value, group + d->offset, sizeof(value));
			put_sample(g, &g->group[k], d->metric, d->labels,
				   value);
		}
	}
}

static bool is_derived(const char *metric)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(prom_derived); i++) {
		if (!strcmp(prom_derived[i].metric, metric))
			return true;
	}
	return !strcmp(metric, "calls_total") || !strcmp(metric, "processes") ||
	       !strcmp(metric, "resident_bytes");
}

/* The calls by function, and the counters derived from them. */
static void put_calls(const struct kf_groups *g)
{
	prom_put_head("calls_total", "calls, by function", KF_TYPE_COUNTER);
	for (unsigned int i = 0; i < g->nr; i++) {
		const struct kf_group *group = &g->group[i];
		uint64_t callocs = kf_groups_value(g, group, "calloc_calls");
		uint64_t aligned = kf_groups_value(g, group, "aligned_calls");
		uint64_t new = kf_groups_value(g, group, "realloc_new");
		uint64_t others = callocs + aligned + new;
		uint64_t all = group->totals.mallocs;

		put_sample(g, group, "calls_total", "call=\"malloc\"",
			   all > others ? all - others : 0);
		put_sample(g, group, "calls_total", "call=\"calloc\"", callocs);
		put_sample(g, group, "calls_total", "call=\"aligned\"",
			   aligned);
		put_sample(g, group, "calls_total", "call=\"realloc\"",
			   kf_groups_value(g, group, "realloc_calls"));
		put_sample(g, group, "calls_total", "call=\"free\"",
			   group->totals.frees);
	}
}

/* Prints a described metric with all its label sets, at its first counter. */
static void put_described(const struct kf_groups *g, unsigned int first)
{
	const struct kf_counter *c = g->counters[first];

	if (!c->metric[0] || is_derived(c->metric))
		return;
	for (unsigned int i = 0; i < first; i++) {
		if (!strcmp(g->counters[i]->metric, c->metric))
			return;
	}
	prom_put_head(c->metric, c->help, c->type);
	for (unsigned int i = first; i < g->nr_counters; i++) {
		if (strcmp(g->counters[i]->metric, c->metric))
			continue;
		for (unsigned int k = 0; k < g->nr; k++)
			put_sample(g, &g->group[k], c->metric,
				   g->counters[i]->labels,
				   g->group[k].values[i]);
	}
}

void kf_groups_prom(const struct kf_groups *g)
{
	put_derived(g);
	put_calls(g);
	prom_put_head("processes", "processes", KF_TYPE_GAUGE);
	for (unsigned int i = 0; i < g->nr; i++)
		put_sample(g, &g->group[i], "processes", "",
			   g->group[i].nr_processes);
	prom_put_head("resident_bytes", "resident memory of the processes",
		      KF_TYPE_GAUGE);
	for (unsigned int i = 0; i < g->nr; i++)
		put_sample(g, &g->group[i], "resident_bytes", "",
			   g->group[i].resident);
	for (unsigned int i = 0; i < g->nr_counters; i++)
		put_described(g, i);
}
