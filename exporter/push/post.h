/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests to a receiver over HTTP, by libcurl.
 *
 * Redirects are not followed: they would take passwords to another server.
 */
#ifndef KF_EXPORTER_PUSH_POST_H
#define KF_EXPORTER_PUSH_POST_H

#include "exporter/buf.h"
#include "exporter/config/options.h"

struct kf_post;

/* A list of requests in the order of sending; owned by its holder. */
struct kf_post_request {
	struct kf_post_request *next;
	struct kf_buf body;
	bool packed;  /* by gzip */
	size_t items; /* data points or samples */
};

struct kf_post_answer {
	bool again;	      /* not accepted now; it may be sent again */
	unsigned int retry_s; /* not before; 0: not said */
	uint64_t rejected;    /* data points or samples, if accepted */
	char error[512];      /* why, one line; "" for none */
};

/* What a kind of request has in common. Constant. */
struct kf_post_kind {
	const char *path; /* below the receiver's URL */
	const char *type; /* Content-Type */
	/* note what an answer says if the request was accepted; or NULL */
	void (*accepted)(const struct kf_buf *body, struct kf_post_answer *a);
	/* note what an answer says about a failure, behind the status */
	void (*failed)(const struct kf_buf *body, struct kf_post_answer *a);
};

/**
 * kf_post_open() - prepare requests
 * @to:		the receiver; outlives the requests
 * @late:	whether to break off a request that is underway
 * @of:		for @late
 *
 * A request takes at most 10 s.
 *
 * Context: one thread at a time for one receiver.
 * Return: the receiver, or NULL; the reason was printed on stderr.
 */
struct kf_post *kf_post_open(const struct kf_receiver *to,
			     bool (*late)(void *of), void *of);

/**
 * kf_post() - send a request
 * @p:		the receiver
 * @kind:	its kind
 * @q:		the request
 * @a:		out: how it ended
 *
 * Return: whether it was accepted, wholly or in part.
 */
bool kf_post(struct kf_post *p, const struct kf_post_kind *kind,
	     const struct kf_post_request *q, struct kf_post_answer *a);

/**
 * kf_post_note() - add what a receiver says to the reason, in one line
 * @a:		the answer
 * @text:	its text, which is not trusted
 */
void kf_post_note(struct kf_post_answer *a, const char *text);

/**
 * kf_post_close() - end requests
 * @p:		the receiver, or NULL
 */
void kf_post_close(struct kf_post *p);

/**
 * kf_post_free() - free requests
 * @list:	the first, or NULL
 */
void kf_post_free(struct kf_post_request *list);

#endif
