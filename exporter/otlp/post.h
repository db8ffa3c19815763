/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A request of OTLP over HTTP, by libcurl.
 *
 * Redirects are not followed: they would take passwords to another server.
 */
#ifndef KF_EXPORTER_OTLP_POST_H
#define KF_EXPORTER_OTLP_POST_H

#include "exporter/otlp/otlp.h"

struct kf_post;

struct kf_post_answer {
	bool again;	      /* not accepted now; it may be sent again */
	unsigned int retry_s; /* not before; 0: not said */
	uint64_t rejected;    /* data points or samples, if accepted */
	char error[512];      /* why, one line; "" for none */
};

/**
 * kf_post_open() - prepare requests
 * @endpoint:	the receiver's URL, to which v1/metrics and the like are added
 * @headers:	file of further headers, a "NAME: VALUE" a line, which is read
 *		for each request; or NULL
 * @ca:		file of certificate authorities; NULL: the system's
 * @late:	whether to break off a request that is underway
 *
 * A request takes at most 10 s.
 *
 * Context: one thread at a time for one receiver.
 * Return: the receiver, or NULL; the reason was printed on stderr.
 */
struct kf_post *kf_post_open(const char *endpoint, const char *headers,
			     const char *ca, bool (*late)(void));

/**
 * kf_post() - send a request
 * @p:		the receiver
 * @signal:	"metrics" or "profiles"
 * @q:		the request
 * @a:		out: how it ended
 *
 * Return: whether it was accepted, wholly or in part.
 */
bool kf_post(struct kf_post *p, const char *signal,
	     const struct kf_otlp_request *q, struct kf_post_answer *a);

/**
 * kf_post_close() - end requests
 * @p:		the receiver, or NULL
 */
void kf_post_close(struct kf_post *p);

#endif
