/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A receiver and its thread, for the files of this directory: push.c says when
 * to send, content.c what.
 */
#ifndef KF_EXPORTER_PUSH_INTERNAL_H
#define KF_EXPORTER_PUSH_INTERNAL_H

#include "exporter/push/post.h"
#include "exporter/push/push.h"
#include "exporter/site/flame.h"

#include <pthread.h>

struct kf_pusher {
	const char *protocol; /* for the log; constant */
	/* sends all that there is, again until a time; constant */
	void (*send)(struct kf_pusher *p, int64_t until_ms);
	const struct kf_options *options; /* constant from the start on */
	const struct kf_sources *sources;
	const struct kf_receiver *to;
	uint64_t began_ns;
	struct kf_name_cache names; /* the thread's, as the next */
	struct kf_post *post;
	bool failing[KF_NR_SENT]; /* the last request was not accepted */
	bool warned[KF_NR_SENT];  /* of what the receiver says to accepted ones
				   */
	pthread_t thread;
	bool on; /* constant while the thread runs */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool ending;	 /* under @lock, as the next */
	int64_t last_ms; /* when to end all, if @ending */
};

/**
 * kf_push_otlp() - send metrics, and profiles if asked for, by OTLP
 * @p:		the receiver
 * @until_ms:	CLOCK_MONOTONIC until which requests are sent again
 */
void kf_push_otlp(struct kf_pusher *p, int64_t until_ms);

/**
 * kf_push_pyroscope() - send a profile of each group to Pyroscope
 * @p:		the receiver
 * @until_ms:	CLOCK_MONOTONIC until which requests are sent again
 */
void kf_push_pyroscope(struct kf_pusher *p, int64_t until_ms);

/**
 * kf_push_list() - send requests, and free them
 * @p:		the receiver
 * @signal:	what they are
 * @list:	the first, or NULL
 * @until_ms:	CLOCK_MONOTONIC until which they are sent again; 0: the end
 */
void kf_push_list(struct kf_pusher *p, enum kf_sent_signal signal,
		  struct kf_post_request *list, int64_t until_ms);

/**
 * kf_push_is_late() - whether nothing more is to be sent
 * @pusher:	the receiver
 *
 * Return: true some seconds after the end was asked for.
 */
bool kf_push_is_late(void *pusher);

/**
 * kf_push_real_ns() - the time
 *
 * Return: CLOCK_REALTIME.
 */
uint64_t kf_push_real_ns(void);

#endif
