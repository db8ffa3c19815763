/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list of collectors, which are run and timed one after the other. The page
 * refuses duplicate series; the log of them is here.
 */
#include "config.h"

#include "exporter/collect/collector.h"
#include "exporter/log.h"

#include <stdatomic.h>
#include <stdio.h>

const struct kf_collector *const kf_collectors[] = {
	&kf_collect_stats,   &kf_collect_sizes,	   &kf_collect_resident,
	&kf_collect_cgroup,  &kf_collect_tags,	   &kf_collect_latency,
	&kf_collect_tracing, &kf_collect_exporter, NULL,
};

const unsigned int kf_nr_collectors = KF_ARRAY_SIZE(kf_collectors) - 1;

bool kf_collector_is_on(const struct kf_collector *c, const bool *enabled)
{
	for (unsigned int i = 0; i < kf_nr_collectors; i++) {
		if (kf_collectors[i] == c)
			return enabled[i];
	}
	return false;
}

_Static_assert(KF_ARRAY_SIZE(kf_collectors) <= 32,
	       "left_out of a scrape has a bit for each");

static double scrape_seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) +
	       (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

uint64_t kf_scrape_ns(const struct kf_scrape *scrape)
{
	return (uint64_t)(scrape_seconds_since(&scrape->began) * 1e9);
}

bool kf_scrape_late(const struct kf_scrape *scrape)
{
	return scrape_seconds_since(&scrape->deadline) >= 0;
}

void kf_collectors_finish(struct kf_groups *g)
{
	unsigned int i;

	for (i = 0; i < kf_nr_collectors; i++) {
		if (kf_collectors[i]->finish)
			kf_collectors[i]->finish(g);
	}
}

struct kf_groups *kf_scrape_groups(struct kf_scrape *scrape)
{
	struct kf_groups *g = scrape->sources->groups;

	if (pthread_mutex_clocklock(&g->lock, CLOCK_MONOTONIC,
				    &scrape->deadline) != 0)
		return NULL;
	if (kf_groups_scan(g, &scrape->began, &scrape->deadline) == 0 &&
	    !kf_scrape_late(scrape))
		return g;
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

const char *kf_group_labels(struct kf_page *page, const struct kf_group *group)
{
	const struct kf_label label[] = {{"process", group->name},
					 {"container", group->container}};

	return kf_page_labels(page, label, KF_ARRAY_SIZE(label));
}

void kf_page_dropped(struct kf_page *page, const char *limit, uint64_t nr)
{
	const struct kf_label label[] = {{"limit", limit}};

	kf_family_int(
		page,
		kf_page_family(
			page, "konfiscator_series_dropped_total",
			KF_METRIC_COUNTER, "",
			"items left out or counted under \"other\" because of a limit"),
		kf_page_labels(page, label, 1), nr);
}

static void collector_run(struct kf_scrape *scrape,
			  const struct kf_collector *c)
{
	struct kf_page *page = &scrape->page;
	struct kf_label label = {"collector", c->name};
	const char *labels = kf_page_labels(page, &label, 1);
	struct timespec start;
	bool success = false;
	double taken;

	clock_gettime(CLOCK_MONOTONIC, &start);
	if (!kf_scrape_late(scrape))
		success = c->collect(scrape);
	taken = scrape_seconds_since(&start);
	kf_family_double(
		page,
		kf_page_family(page,
			       "konfiscator_scrape_collector_duration_seconds",
			       KF_METRIC_GAUGE, "seconds",
			       "time the collector took in this scrape"),
		labels, taken);
	kf_family_int(
		page,
		kf_page_family(
			page, "konfiscator_scrape_collector_success",
			KF_METRIC_GAUGE, "",
			"1 if the collector succeeded in this scrape, otherwise 0"),
		labels, success);
}

void kf_scrape_run(struct kf_scrape *scrape)
{
	static atomic_bool said;
	unsigned int i;

	clock_gettime(CLOCK_MONOTONIC, &scrape->began);
	for (i = 0; i < kf_nr_collectors; i++) {
		if (scrape->sources->enabled[i] && !(scrape->left_out >> i & 1))
			collector_run(scrape, kf_collectors[i]);
	}
	if (scrape->page.refused && !atomic_exchange(&said, true))
		kf_log(KF_LOG_ERROR, "duplicate series left out of the scrape",
		       NULL);
}
