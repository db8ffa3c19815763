/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When to send: see push.h.
 */
#include "config.h"

#include "exporter/log.h"
#include "exporter/otlp/otlp.h"
#include "exporter/push/internal.h"
#include "exporter/pyroscope/pyroscope.h"

#include <stdio.h>
#include <time.h>

#define FIRST_PAUSE_MS 1000
#define LAST_S 5 /* for all that is sent after the end was asked for */

static const struct kf_post_kind kinds[KF_NR_SENT] = {
	[KF_SENT_OTLP_METRICS] = {"/v1/metrics", "application/x-protobuf",
				  kf_otlp_accepted, kf_otlp_failed},
	/* the version of the profiles' protocol is in their path */
	[KF_SENT_OTLP_PROFILES] = {"/v1development/profiles",
				   "application/x-protobuf", kf_otlp_accepted,
				   kf_otlp_failed},
	[KF_SENT_PYROSCOPE] = {"/push.v1.PusherService/Push",
			       "application/proto", NULL, kf_pyroscope_failed},
};

static struct kf_pusher pushers[] = {
	{.protocol = "OTLP",
	 .send = kf_push_otlp,
	 .lock = PTHREAD_MUTEX_INITIALIZER},
	{.protocol = "Pyroscope",
	 .send = kf_push_pyroscope,
	 .lock = PTHREAD_MUTEX_INITIALIZER},
};

uint64_t kf_push_real_ns(void)
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

bool kf_push_is_late(void *pusher)
{
	struct kf_pusher *p = pusher;
	bool late;

	pthread_mutex_lock(&p->lock);
	late = p->ending && push_now_ms() >= p->last_ms;
	pthread_mutex_unlock(&p->lock);
	return late;
}

/* Wait until a time, or the end. Return whether the end has come. */
static bool push_wait(struct kf_pusher *p, int64_t until_ms)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ms / 1000),
		.tv_nsec = (long)(until_ms % 1000) * 1000000,
	};
	bool ending;

	pthread_mutex_lock(&p->lock);
	while (!p->ending && push_now_ms() < until_ms)
		pthread_cond_clockwait(&p->wake, &p->lock, CLOCK_MONOTONIC,
				       &until);
	ending = p->ending;
	pthread_mutex_unlock(&p->lock);
	return ending;
}

static void push_log(const struct kf_pusher *p, enum kf_log_level level,
		     enum kf_sent_signal signal, const char *what,
		     const char *why)
{
	char msg[80];

	snprintf(msg, sizeof(msg), "%s receiver %s", p->protocol, what);
	kf_log(level, msg, "signal", kf_sent_signal_names[signal],
	       why ? "error" : NULL, why, NULL);
}

/* Log the first failure of a row, and its end. */
static void push_tell(struct kf_pusher *p, enum kf_sent_signal signal,
		      bool failed, const char *why)
{
	if (failed && !p->failing[signal])
		push_log(p, KF_LOG_WARN, signal, "takes nothing", why);
	else if (!failed && p->failing[signal])
		push_log(p, KF_LOG_INFO, signal, "takes requests again", NULL);
	p->failing[signal] = failed;
}

/* A receiver may also have something to say about what it took; log it once. */
static void push_warn(struct kf_pusher *p, enum kf_sent_signal signal,
		      const struct kf_post_answer *a)
{
	struct kf_sent *sent = p->sources->sent;

	if (a->rejected && !sent->rejected[signal])
		push_log(p, KF_LOG_WARN, signal, "took only a part", a->error);
	else if (!a->rejected && a->error[0] && !p->warned[signal])
		push_log(p, KF_LOG_WARN, signal, "took all, with a warning",
			 a->error);
	p->warned[signal] |= !a->rejected && a->error[0];
	sent->rejected[signal] += a->rejected;
}

static void push_count(struct kf_pusher *p, enum kf_sent_signal signal,
		       enum kf_sent_result result,
		       const struct kf_post_answer *a)
{
	p->sources->sent->requests[signal][result]++;
	push_tell(p, signal, result != KF_SENT_ACCEPTED, a->error);
	if (result == KF_SENT_ACCEPTED)
		push_warn(p, signal, a);
}

/* Pauses double, and are cut at random by up to half. */
static int64_t push_pause_ms(const struct kf_post_answer *a, unsigned int nth)
{
	int64_t pause = (int64_t)FIRST_PAUSE_MS << KF_MIN(nth, 10u);

	if (a->retry_s)
		return (int64_t)a->retry_s * 1000;
	return pause -
	       (int64_t)(kf_push_real_ns() / 1000 % (uint64_t)(pause / 2));
}

static void push_send(struct kf_pusher *p, enum kf_sent_signal signal,
		      const struct kf_post_request *q, int64_t until_ms)
{
	struct kf_post_answer a;
	enum kf_sent_result result = KF_SENT_DROPPED;

	for (unsigned int nth = 0;; nth++) {
		int64_t now, pause;

		if (kf_post(p->post, &kinds[signal], q, &a)) {
			result = KF_SENT_ACCEPTED;
			break;
		}
		if (!a.again) {
			result = KF_SENT_REFUSED;
			break;
		}
		push_tell(p, signal, true, a.error);
		now = push_now_ms();
		pause = push_pause_ms(&a, nth);
		if (now + pause >= until_ms || push_wait(p, now + pause))
			break;
	}
	push_count(p, signal, result, &a);
}

void kf_push_list(struct kf_pusher *p, enum kf_sent_signal signal,
		  struct kf_post_request *list, int64_t until_ms)
{
	for (const struct kf_post_request *q = list; q; q = q->next) {
		/* at the end nobody waits for a receiver that is away */
		if (kf_push_is_late(p) || (!until_ms && p->failing[signal]))
			break;
		push_send(p, signal, q, until_ms);
	}
	kf_post_free(list);
}

static void *push_run(void *pusher)
{
	struct kf_pusher *p = pusher;
	int64_t every = (int64_t)p->to->every_s * 1000;
	int64_t next = push_now_ms() + every;

	while (!push_wait(p, next)) {
		next += every;
		p->send(p, next);
		/* what was missed is not made up for */
		while (next <= push_now_ms())
			next += every;
	}
	p->send(p, 0);
	return NULL;
}

static bool push_start(struct kf_pusher *p, const struct kf_options *options,
		       const struct kf_sources *sources,
		       const struct kf_receiver *to)
{
	if (!to->url)
		return true;
	p->options = options;
	p->sources = sources;
	p->to = to;
	p->began_ns = kf_push_real_ns();
	p->post = kf_post_open(to, kf_push_is_late, p);
	if (!p->post)
		return false;
	kf_name_cache_init(&p->names, options->procfs);
	pthread_cond_init(&p->wake, NULL);
	p->on = pthread_create(&p->thread, NULL, push_run, p) == 0;
	if (!p->on) {
		fprintf(stderr,
			"konfiscator_exporter: cannot start a thread for %s\n",
			p->protocol);
		kf_post_close(p->post);
		kf_name_cache_free(&p->names);
	}
	return p->on;
}

bool kf_push_start(const struct kf_options *options,
		   const struct kf_sources *sources)
{
	return push_start(&pushers[0], options, sources, &options->otlp) &&
	       push_start(&pushers[1], options, sources, &options->pyroscope);
}

static void push_end(struct kf_pusher *p)
{
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	p->last_ms = push_now_ms() + LAST_S * 1000;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

/* All send their last at the same time. */
void kf_push_stop(void)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(pushers); i++) {
		if (pushers[i].on)
			push_end(&pushers[i]);
	}
	for (size_t i = 0; i < KF_ARRAY_SIZE(pushers); i++) {
		if (!pushers[i].on)
			continue;
		pthread_join(pushers[i].thread, NULL);
		pushers[i].on = false;
		kf_post_close(pushers[i].post);
		kf_name_cache_free(&pushers[i].names);
	}
}
