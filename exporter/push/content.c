/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is sent: a scrape, and a heap profile of each group of processes.
 */
#include "config.h"

#include "exporter/otlp/otlp.h"
#include "exporter/push/internal.h"
#include "exporter/pyroscope/pyroscope.h"
#include "exporter/site/subject.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PROFILES 200 /* groups, those that hold most */

typedef struct kf_post_request *make_profile(const struct kf_buf *pprof,
					     const char *name,
					     const char *container);

static void push_metrics(struct kf_pusher *p, int64_t until_ms)
{
	struct kf_scrape scrape = {.sources = p->sources};

	clock_gettime(CLOCK_MONOTONIC, &scrape.deadline);
	scrape.deadline.tv_sec += p->to->every_s;
	kf_scrape_run(&scrape);
	if (!scrape.page.failed)
		kf_push_list(p, KF_SENT_OTLP_METRICS,
			     kf_otlp_metrics(&scrape.page, p->began_ns,
					     kf_push_real_ns()),
			     until_ms);
	kf_page_release(&scrape.page);
}

static bool push_is_same(const struct kf_subject *a, const struct kf_subject *b)
{
	return strcmp(a->name, b->name) == 0 &&
	       strcmp(a->container, b->container) == 0;
}

/* Move the subjects of the first one's group to the front; their number. */
static size_t push_gather(struct kf_subject *s, size_t nr,
			  struct kf_subject *others)
{
	size_t same = 1;

	for (size_t i = 1; i < nr; i++) {
		if (push_is_same(&s[0], &s[i]))
			s[same++] = s[i];
		else
			others[i - same] = s[i];
	}
	memcpy(&s[same], others, (nr - same) * sizeof(s[0]));
	return same;
}

static void push_profile(struct kf_pusher *p, const struct kf_subjects *of,
			 enum kf_sent_signal signal, make_profile *make,
			 int64_t until_ms)
{
	struct kf_buf pprof = {0};

	if (kf_heap_profile(&p->names, of, &pprof) && !pprof.failed)
		kf_push_list(
			p, signal,
			make(&pprof, of->subject->name, of->subject->container),
			until_ms);
	kf_buf_free(&pprof);
}

/* A profile of each group. */
static void push_profiles(struct kf_pusher *p, enum kf_sent_signal signal,
			  make_profile *make, int64_t until_ms)
{
	struct kf_subject *others = NULL;
	struct kf_subjects all = {0}, of;
	size_t at = 0, groups = 0;

	if (kf_subjects_list(p->sources->groups, &all) && all.nr)
		others = calloc(all.nr, sizeof(*others));
	while (others && at < all.nr && groups++ < MAX_PROFILES &&
	       !kf_push_is_late(p)) {
		of.subject = &all.subject[at];
		of.nr = push_gather(of.subject, all.nr - at, others);
		push_profile(p, &of, signal, make, until_ms);
		at += of.nr;
	}
	free(others);
	kf_subjects_release(&all);
}

void kf_push_otlp(struct kf_pusher *p, int64_t until_ms)
{
	push_metrics(p, until_ms);
	if (p->options->otlp_profiles)
		push_profiles(p, KF_SENT_OTLP_PROFILES, kf_otlp_profile,
			      until_ms);
}

void kf_push_pyroscope(struct kf_pusher *p, int64_t until_ms)
{
	push_profiles(p, KF_SENT_PYROSCOPE, kf_pyroscope_profile, until_ms);
}
