/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All that is for a person with a browser: which address shows what.
 *
 * Promises: pages need no script; where one is built in it draws charts of
 * what is asked for by addresses of their own. Whatever a stats file or a
 * process says of itself is text on a page, never markup.
 */
#ifndef KF_EXPORTER_SITE_H
#define KF_EXPORTER_SITE_H

#include "exporter/collect/collector.h"
#include "exporter/site/subject.h"
#include "exporter/site/timeline.h"
#include "reader/name_cache.h"

/* What pages are made from; constant but for what has a lock. */
struct kf_site {
	const struct kf_sources *sources;
	const char *telemetry_path;
	struct kf_timelines *timelines;
	struct kf_name_cache *names;
};

/* What is asked for: the path, and two of the arguments, or NULL. */
struct kf_site_request {
	const char *path;
	const char *pid;
	const char *id;
};

struct kf_site_answer {
	bool found;
	bool lasting; /* may be kept for good */
	bool packed;  /* the body is a file of gzip by itself */
	const char *type;
	struct kf_buf body;
};

/**
 * kf_site_has() - whether a path belongs to the site
 * @path:	the path
 *
 * Context: any thread.
 * Return: whether kf_site_answer() may know it.
 */
bool kf_site_has(const char *path);

/**
 * kf_site_id() - the id of a process in a path
 * @path:	the path
 *
 * Context: any thread; pure.
 * Return: what should be the id, or NULL where the path has none.
 */
const char *kf_site_id(const char *path);

/**
 * kf_site_flame() - write the place of a flame graph, for who has scripts
 * @id:		the process
 * @out:	the page
 *
 * Context: any thread.
 */
void kf_site_flame(uint64_t id, struct kf_buf *out);

/**
 * kf_site_answer() - make a page
 * @site:	what it is made from
 * @q:		what is asked for
 * @a:		out: the answer; free its body. @a->found is false where there
 *		is no such page, or no such process any more
 *
 * Context: any thread; scans the stats files.
 */
void kf_site_answer(const struct kf_site *site, const struct kf_site_request *q,
		    struct kf_site_answer *a);

/**
 * kf_site_overview() - write the first page
 * @site:	what it is made from
 * @out:	the page
 *
 * Context: as kf_site_answer().
 */
void kf_site_overview(const struct kf_site *site, struct kf_buf *out);

/**
 * kf_site_warnings() - write what somebody should look at
 * @g:		the groups, locked, after a scan
 * @out:	the page
 *
 * Context: any thread.
 */
void kf_site_warnings(struct kf_groups *g, struct kf_buf *out);

/**
 * kf_site_limits() - write what containers take and may take
 * @g:		the groups, locked, after kf_site_warnings(), which has looked
 *		at the cgroups
 * @out:	the page
 *
 * Context: any thread; reads the files of cgroups.
 */
void kf_site_limits(const struct kf_groups *g, struct kf_buf *out);

/**
 * kf_site_verdict() - write why a process has the memory that it has
 * @site:	what it is made from
 * @subject:	the process
 * @s:		its snapshot
 * @out:	the page
 *
 * Context: any thread.
 */
void kf_site_verdict(const struct kf_site *site,
		     const struct kf_subject *subject,
		     const struct kf_snapshot *s, struct kf_buf *out);

/**
 * kf_site_process() - write the page of a process
 * @site:	what it is made from
 * @q:		the process: by the id in the path, or by pid
 * @out:	the page
 *
 * Context: as kf_site_answer().
 * Return: false where there is no such process.
 */
bool kf_site_process(const struct kf_site *site,
		     const struct kf_site_request *q, struct kf_buf *out);

/**
 * kf_site_tables() - write the tables of a process' page
 * @s:		its snapshot, with tags and stacks
 * @cache:	names that are known
 * @pid:	the process there, or 0
 * @out:	the page
 *
 * Context: any thread.
 */
void kf_site_tables(const struct kf_snapshot *s, struct kf_name_cache *cache,
		    int pid, struct kf_buf *out);

/**
 * kf_site_timeline() - write how held memory went lately
 * @site:	what it is made from
 * @id:		the timeline
 * @out:	the page
 *
 * Context: any thread.
 */
void kf_site_timeline(const struct kf_site *site, uint64_t id,
		      struct kf_buf *out);

#endif
