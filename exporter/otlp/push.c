/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When to send, and what: see push.h.
 */
#include "config.h"

#include "exporter/otlp/push.h"

#include "exporter/log.h"
#include "exporter/otlp/otlp.h"
#include "exporter/otlp/post.h"
#include "exporter/site/flame.h"
#include "exporter/site/subject.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_PAUSE_MS 1000
#define LAST_S 5	 /* for all that is sent after the end was asked for */
#define MAX_PROFILES 200 /* groups, those that hold most */

static struct {
	const struct kf_options *options;
	const struct kf_sources *sources;
	struct kf_name_cache names;
	struct kf_post *post;
	pthread_t thread;
	bool on; /* constant while the thread runs */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool ending;	 /* under @lock, as the next */
	int64_t last_ms; /* when to end all, if @ending */
	/* the last request was not accepted; the thread's */
	bool failing[KF_NR_OTLP_SIGNALS];
	uint64_t began_ns;
} push = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t push_real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int64_t push_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool push_is_late(void)
{
	bool late;

	pthread_mutex_lock(&push.lock);
	late = push.ending && push_now_ms() >= push.last_ms;
	pthread_mutex_unlock(&push.lock);
	return late;
}

/* Wait until a time, or the end. Return whether the end has come. */
static bool push_wait(int64_t until_ms)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ms / 1000),
		.tv_nsec = (long)(until_ms % 1000) * 1000000,
	};
	bool ending;

	pthread_mutex_lock(&push.lock);
	while (!push.ending && push_now_ms() < until_ms)
		pthread_cond_clockwait(&push.wake, &push.lock, CLOCK_MONOTONIC,
				       &until);
	ending = push.ending;
	pthread_mutex_unlock(&push.lock);
	return ending;
}

/* Log the first failure of a row, and its end. */
static void push_tell(enum kf_otlp_signal signal, bool failed, const char *why)
{
	if (failed && !push.failing[signal])
		kf_log(KF_LOG_WARN, "OTLP receiver takes nothing", "signal",
		       kf_otlp_signal_names[signal], "error", why, NULL);
	else if (!failed && push.failing[signal])
		kf_log(KF_LOG_INFO, "OTLP receiver takes requests again",
		       "signal", kf_otlp_signal_names[signal], NULL);
	push.failing[signal] = failed;
}

static void push_count(enum kf_otlp_signal signal, enum kf_otlp_result result,
		       const struct kf_post_answer *a)
{
	push.sources->sent->requests[signal][result]++;
	push_tell(signal, result != KF_OTLP_ACCEPTED, a->error);
	if (!a->rejected)
		return;
	if (!push.sources->sent->rejected[signal])
		kf_log(KF_LOG_WARN, "OTLP receiver took only a part", "signal",
		       kf_otlp_signal_names[signal], "error", a->error, NULL);
	push.sources->sent->rejected[signal] += a->rejected;
}

/* Pauses double, and are cut at random by up to half. */
static int64_t push_pause_ms(const struct kf_post_answer *a, unsigned int nth)
{
	int64_t pause = (int64_t)FIRST_PAUSE_MS << KF_MIN(nth, 10u);

	if (a->retry_s)
		return (int64_t)a->retry_s * 1000;
	return pause - (int64_t)(push_real_ns() / 1000 % (uint64_t)(pause / 2));
}

static void push_send(enum kf_otlp_signal signal,
		      const struct kf_otlp_request *q, int64_t until_ms)
{
	struct kf_post_answer a;
	enum kf_otlp_result result = KF_OTLP_DROPPED;

	for (unsigned int nth = 0;; nth++) {
		int64_t now, pause;

		if (kf_post(push.post, kf_otlp_signal_names[signal], q, &a)) {
			result = KF_OTLP_ACCEPTED;
			break;
		}
		if (!a.again) {
			result = KF_OTLP_REFUSED;
			break;
		}
		push_tell(signal, true, a.error);
		now = push_now_ms();
		pause = push_pause_ms(&a, nth);
		if (now + pause >= until_ms || push_wait(now + pause))
			break;
	}
	push_count(signal, result, &a);
}

static void push_send_all(enum kf_otlp_signal signal,
			  struct kf_otlp_request *list, int64_t until_ms)
{
	for (const struct kf_otlp_request *q = list; q; q = q->next) {
		/* at the end nobody waits for a receiver that is away */
		if (push_is_late() || (!until_ms && push.failing[signal]))
			break;
		push_send(signal, q, until_ms);
	}
	kf_otlp_free(list);
}

static void push_metrics(int64_t until_ms)
{
	struct kf_scrape scrape = {.sources = push.sources};

	clock_gettime(CLOCK_MONOTONIC, &scrape.deadline);
	scrape.deadline.tv_sec += push.options->otlp_every_s;
	kf_scrape_run(&scrape);
	if (!scrape.page.failed)
		push_send_all(KF_OTLP_METRICS,
			      kf_otlp_metrics(&scrape.page, push.began_ns,
					      push_real_ns()),
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

static void push_profile(const struct kf_subjects *of, int64_t until_ms)
{
	struct kf_buf pprof = {0};

	kf_heap_profile(&push.names, of, &pprof);
	if (!pprof.failed)
		push_send_all(KF_OTLP_PROFILES,
			      kf_otlp_profile(&pprof, of->subject->name,
					      of->subject->container),
			      until_ms);
	kf_buf_free(&pprof);
}

/* A profile of each group. */
static void push_profiles(int64_t until_ms)
{
	struct kf_subject *others = NULL;
	struct kf_subjects all = {0}, of;
	size_t at = 0, groups = 0;

	if (kf_subjects_list(push.sources->groups, &all) && all.nr)
		others = calloc(all.nr, sizeof(*others));
	while (others && at < all.nr && groups++ < MAX_PROFILES &&
	       !push_is_late()) {
		of.subject = &all.subject[at];
		of.nr = push_gather(of.subject, all.nr - at, others);
		push_profile(&of, until_ms);
		at += of.nr;
	}
	free(others);
	kf_subjects_release(&all);
}

static void push_all(int64_t until_ms)
{
	push_metrics(until_ms);
	if (push.options->otlp_profiles)
		push_profiles(until_ms);
}

static void *push_run(void *unused)
{
	int64_t every = (int64_t)push.options->otlp_every_s * 1000;
	int64_t next = push_now_ms() + every;

	while (!push_wait(next)) {
		next += every;
		push_all(next);
		/* what was missed is not made up for */
		while (next <= push_now_ms())
			next += every;
	}
	push_all(0);
	return unused;
}

bool kf_otlp_start(const struct kf_options *options,
		   const struct kf_sources *sources)
{
	if (!options->otlp_endpoint)
		return true;
	push.options = options;
	push.sources = sources;
	push.began_ns = push_real_ns();
	push.post =
		kf_post_open(options->otlp_endpoint, options->otlp_headers_file,
			     options->otlp_ca_file, push_is_late);
	if (!push.post)
		return false;
	kf_name_cache_init(&push.names, options->procfs);
	pthread_cond_init(&push.wake, NULL);
	push.on = pthread_create(&push.thread, NULL, push_run, NULL) == 0;
	if (!push.on) {
		fprintf(stderr,
			"konfiscator_exporter: cannot start a thread for OTLP\n");
		kf_post_close(push.post);
		kf_name_cache_free(&push.names);
	}
	return push.on;
}

void kf_otlp_stop(void)
{
	if (!push.on)
		return;
	pthread_mutex_lock(&push.lock);
	push.ending = true;
	push.last_ms = push_now_ms() + LAST_S * 1000;
	pthread_cond_signal(&push.wake);
	pthread_mutex_unlock(&push.lock);
	pthread_join(push.thread, NULL);
	push.on = false;
	kf_post_close(push.post);
	kf_name_cache_free(&push.names);
}
