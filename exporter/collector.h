/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collectors: each turns one source into metrics on a page.
 *
 * A new one is a file collect_NAME.c that ends in a const struct kf_collector,
 * declared here and listed in registry.c; its flag, its line in --help and its
 * scrape metrics follow from that.
 */
#ifndef KF_EXPORTER_COLLECTOR_H
#define KF_EXPORTER_COLLECTOR_H

#include "exporter/groups.h"
#include "exporter/model.h"
#include "exporter/requests.h"

/* What there is to collect from; constant while the exporter serves. */
struct kf_sources {
	struct kf_groups *groups;
	struct kf_requests *requests;
	const bool *enabled; /* one for each of kf_collectors */
	bool own_metrics;    /* of the exporter's process and its requests */
};

/* One scrape: where the metrics go, and how long it may take. */
struct kf_scrape {
	const struct kf_sources *sources;
	struct kf_page page;
	struct timespec deadline; /* CLOCK_MONOTONIC */
};

struct kf_collector {
	const char *name;
	const char *help; /* for --help, one phrase */
	bool off;	  /* unless asked for */
	/* Return: whether it worked; on false what it added stays. */
	bool (*collect)(struct kf_scrape *scrape);
};

extern const struct kf_collector kf_collect_stats;
extern const struct kf_collector kf_collect_exporter;

/* All collectors, NULL-terminated; kf_nr_collectors without the NULL. */
extern const struct kf_collector *const kf_collectors[];
extern const unsigned int kf_nr_collectors;

/**
 * kf_scrape_run() - collect a page
 * @scrape:	sources and deadline set, page empty; release the page
 *
 * Once the deadline has passed, collectors are left out and counted as failed:
 * what is ready is what is served.
 *
 * Context: any thread, several at once.
 */
void kf_scrape_run(struct kf_scrape *scrape);

/**
 * kf_scrape_late() - whether the deadline has passed
 * @scrape:	the scrape
 *
 * Context: any thread.
 * Return: true from the deadline on.
 */
bool kf_scrape_late(const struct kf_scrape *scrape);

#endif
