/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pages for a browser, by address.
 *
 * Pages are complete without scripts; scripts, if built in, draw charts from
 * data at addresses of their own. Text from a stats file or a process is never
 * markup.
 */
#ifndef KF_EXPORTER_SITE_H
#define KF_EXPORTER_SITE_H

#include "exporter/collect/collector.h"
#include "exporter/site/sites.h"
#include "exporter/site/subject.h"
#include "exporter/site/timeline.h"
#include "reader/name_cache.h"

/* Data and settings of pages; constant except for fields with a lock. */
struct kf_site {
	const struct kf_sources *sources;
	const char *telemetry_path;
	struct kf_timelines *timelines;
	struct kf_name_cache *names;
	const char *token; /* of forms that send orders; NULL: no actions */
};

/* Where forms send orders; see kf_site_act(). */
#define KF_ORDER_PATH "/order"

/* A request: the path, and its arguments, or NULL. */
struct kf_site_request {
	const char *path;
	const char *pid;
	const char *id;
	const char *by; /* "blocks": count blocks, not bytes */
};

struct kf_site_answer {
	bool found;
	bool lasting; /* may be cached forever */
	bool packed;  /* the body is a gzip file itself */
	const char *type;
	struct kf_buf body;
};

/**
 * kf_site_has() - whether a path belongs to the site
 * @path:	the path
 *
 * Return: true if kf_site_answer() handles it.
 */
bool kf_site_has(const char *path);

/**
 * kf_site_id() - get the id of a process in a path
 * @path:	the path
 *
 * Return: the id, unchecked, or NULL if the path has none.
 */
const char *kf_site_id(const char *path);

/**
 * kf_site_flame() - write the element for a flame graph
 * @id:		the process
 * @by:		what it shows at first
 * @out:	the page
 */
void kf_site_flame(uint64_t id, enum kf_sites_by by, struct kf_buf *out);

/**
 * kf_site_answer() - make a page
 * @site:	data and settings of the pages
 * @q:		the request
 * @a:		out: the response; free its body. @a->found is false if there is
 *		no such page or process
 *
 * Context: any thread; scans the stats files.
 */
void kf_site_answer(const struct kf_site *site, const struct kf_site_request *q,
		    struct kf_site_answer *a);

/**
 * kf_site_scan() - scan the stats files for a page
 * @site:	data and settings of the pages
 */
void kf_site_scan(const struct kf_site *site);

/**
 * kf_site_actions() - write the buttons that send orders to a process
 * @site:	data and settings of the pages
 * @subject:	the process; nothing is written if it has ended, or if there
 *		are no actions
 * @s:		its snapshot
 * @out:	the page
 */
void kf_site_actions(const struct kf_site *site,
		     const struct kf_subject *subject,
		     const struct kf_snapshot *s, struct kf_buf *out);

enum kf_action_result {
	KF_ACTION_DONE,	   /* or will be, at the next slow path */
	KF_ACTION_UNKNOWN, /* the order is not one of the pages' */
	KF_ACTION_NO_PROCESS,
	KF_ACTION_FAILED,
	KF_NR_ACTION_RESULTS
};

extern const char *const kf_action_words[KF_NR_ACTION_RESULTS];

/**
 * kf_site_act() - send an order to a process, and write the page that answers
 * @site:	data and settings of the pages
 * @id:		the process; untrusted
 * @order:	the order; untrusted
 * @out:	the page
 *
 * Context: any thread; scans the stats files, and waits a second for the
 *	    process.
 * Return: the result, which @out explains.
 */
enum kf_action_result kf_site_act(const struct kf_site *site, const char *id,
				  const char *order, struct kf_buf *out);

/**
 * kf_site_overview() - write the first page
 * @site:	data and settings of the pages
 * @out:	the page
 *
 * Context: as kf_site_answer().
 */
void kf_site_overview(const struct kf_site *site, struct kf_buf *out);

/**
 * kf_site_ended() - write the list of processes that have ended
 * @site:	data and settings of the pages
 * @out:	the page
 *
 * Context: as kf_site_answer().
 */
void kf_site_ended(const struct kf_site *site, struct kf_buf *out);

/**
 * kf_site_end() - write how a process ended, and how its heap went before
 * @subject:	the process, which has ended
 * @s:		its snapshot, with KF_TABLE_MOMENTS
 * @out:	the page
 */
void kf_site_end(const struct kf_subject *subject, const struct kf_snapshot *s,
		 struct kf_buf *out);

/**
 * kf_site_warnings() - write warnings
 * @g:		the groups, locked, after a scan
 * @out:	the page
 */
void kf_site_warnings(struct kf_groups *g, struct kf_buf *out);

/**
 * kf_site_limits() - write memory and limits of containers
 * @g:		the groups, locked, after kf_site_warnings(), which reads the
 *		cgroups
 * @out:	the page
 *
 * Context: any thread; reads the files of cgroups.
 */
void kf_site_limits(const struct kf_groups *g, struct kf_buf *out);

/**
 * kf_site_verdict() - write the verdict on a process' memory
 * @site:	data and settings of the pages
 * @subject:	the process
 * @s:		its snapshot
 * @out:	the page
 */
void kf_site_verdict(const struct kf_site *site,
		     const struct kf_subject *subject,
		     const struct kf_snapshot *s, struct kf_buf *out);

/**
 * kf_site_process() - write the page of a process
 * @site:	data and settings of the pages
 * @q:		the process: by the id in the path, or by pid
 * @out:	the page
 *
 * Context: as kf_site_answer().
 * Return: false if there is no such process.
 */
bool kf_site_process(const struct kf_site *site,
		     const struct kf_site_request *q, struct kf_buf *out);

/**
 * kf_site_map() - write the map of a process' heap
 * @subject:	the process
 * @s:		its snapshot, with KF_TABLE_MAP
 * @out:	the page
 *
 * A process that has not noted one is shown with the command that lets it.
 */
void kf_site_map(const struct kf_subject *subject, const struct kf_snapshot *s,
		 struct kf_buf *out);

/**
 * kf_site_tables() - write the tables of a process' page
 * @subject:	the process
 * @s:		its snapshot, with tags and stacks
 * @cache:	cached names
 * @by:		the order of call stacks
 * @out:	the page
 */
void kf_site_tables(const struct kf_subject *subject,
		    const struct kf_snapshot *s, struct kf_name_cache *cache,
		    enum kf_sites_by by, struct kf_buf *out);

/**
 * kf_site_timeline() - write the timeline of held memory
 * @site:	data and settings of the pages
 * @id:		the timeline
 * @out:	the page
 */
void kf_site_timeline(const struct kf_site *site, uint64_t id,
		      struct kf_buf *out);

#endif
