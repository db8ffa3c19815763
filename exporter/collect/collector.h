/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A collector writes the metrics of one source to a page.
 *
 * To add one, write collect/NAME.c that ends in a const struct kf_collector,
 * declare it here and list it in registry.c; its flag, its line in --help and
 * its scrape metrics are derived.
 */
#ifndef KF_EXPORTER_COLLECT_COLLECTOR_H
#define KF_EXPORTER_COLLECT_COLLECTOR_H

#include "exporter/groups/groups.h"
#include "exporter/collect/model.h"
#include "exporter/collect/sent.h"
#include "exporter/http/requests.h"

struct kf_durations;
struct kf_tracers;

/* The sources of collectors; constant while the exporter serves. */
struct kf_sources {
	struct kf_groups *groups;
	struct kf_requests *requests;
	struct kf_sent *sent;
	struct kf_durations *scrapes; /* of those that were served */
	uint64_t started_ns;	      /* CLOCK_REALTIME of the exporter */
	struct kf_tracers *tracers;   /* NULL: none */
	const bool *enabled;	      /* one for each of kf_collectors */
	bool own_metrics; /* of the exporter's process and its requests */
};

/* A scrape: its page and its deadline. */
struct kf_scrape {
	const struct kf_sources *sources;
	uint32_t left_out; /* bit i: kf_collectors[i] was not requested */
	struct kf_page page;
	struct timespec began; /* CLOCK_MONOTONIC, as is the deadline */
	struct timespec deadline;
};

struct kf_collector {
	const char *name;
	const char *help; /* for --help, one phrase */
	bool off;	  /* off by default */
	/* Return: whether it worked; on false what it added stays. */
	bool (*collect)(struct kf_scrape *scrape);
	/* Free its state in the groups; may be NULL. */
	void (*finish)(struct kf_groups *g);
};

extern const struct kf_collector kf_collect_stats;
extern const struct kf_collector kf_collect_sizes;
extern const struct kf_collector kf_collect_resident;
extern const struct kf_collector kf_collect_cgroup;
extern const struct kf_collector kf_collect_tags;
extern const struct kf_collector kf_collect_latency;
extern const struct kf_collector kf_collect_tracing;
extern const struct kf_collector kf_collect_exporter;

/* All collectors, NULL-terminated; kf_nr_collectors without the NULL. */
extern const struct kf_collector *const kf_collectors[];
extern const unsigned int kf_nr_collectors;

/**
 * kf_collector_is_on() - whether a collector is enabled
 * @c:		one of kf_collectors
 * @enabled:	one for each of them
 *
 * Return: true if so.
 */
bool kf_collector_is_on(const struct kf_collector *c, const bool *enabled);

/**
 * kf_scrape_run() - collect a page
 * @scrape:	sources and deadline set, page empty; release the page
 *
 * After the deadline the remaining collectors are left out and counted as
 * failed.
 *
 * Context: any thread, several at once.
 */
void kf_scrape_run(struct kf_scrape *scrape);

/**
 * kf_collectors_finish() - free the state of all collectors
 * @g:		the groups
 *
 * Context: once, when no scrape is left.
 */
void kf_collectors_finish(struct kf_groups *g);

/**
 * kf_scrape_groups() - scan and lock the groups
 * @scrape:	the scrape
 *
 * The files are read once for each scrape.
 *
 * Return: the groups; unlock them. NULL if they could not be read in time.
 */
struct kf_groups *kf_scrape_groups(struct kf_scrape *scrape);

/**
 * kf_group_labels() - render the common labels of a group's series
 * @page:	the page, which keeps them
 * @group:	the group
 *
 * Context: as kf_page_labels().
 * Return: rendered labels.
 */
const char *kf_group_labels(struct kf_page *page, const struct kf_group *group);

/**
 * kf_page_dropped() - report how much a limit has left out
 * @page:	the page
 * @limit:	which limit
 * @nr:		number left out since the start
 *
 * Context: as kf_page_family().
 */
void kf_page_dropped(struct kf_page *page, const char *limit, uint64_t nr);

/**
 * kf_scrape_ns() - how long a scrape has taken
 * @scrape:	the scrape
 *
 * Return: nanoseconds since it began.
 */
uint64_t kf_scrape_ns(const struct kf_scrape *scrape);

/**
 * kf_scrape_late() - whether the deadline has passed
 * @scrape:	the scrape
 *
 * Return: true from the deadline on.
 */
bool kf_scrape_late(const struct kf_scrape *scrape);

#endif
