/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits on slow clients, request rates and numbers of connections.
 *
 * A client that sends a byte now and then is never idle. Therefore a request
 * must be complete, and a response received, within a time that counts from its
 * first byte; no connection takes longer.
 *
 * There are KF_MAX_CONNECTIONS connections. One address may have a part of
 * them, and another part is reserved for known clients: clients on this
 * machine, and the addresses that scraped last. A new connection above a limit
 * replaces the connection, among those under the same limit, that has waited
 * longest for its client: a client that sends its request at once is served,
 * however many connections others hold. The new connection is refused only if
 * all of these are being served.
 */
#ifndef KF_EXPORTER_HTTP_SLOW_H
#define KF_EXPORTER_HTTP_SLOW_H

#include "exporter/http/peer.h"

#include <pthread.h>
#include <time.h>

#define KF_MAX_CONNECTIONS 256
#define KF_MAX_CONNECTIONS_OF_PEER 128 /* address */
#define KF_CONNECTIONS_FOR_KNOWN 64    /* clients alone */
#define KF_NR_SCRAPERS 16

struct kf_slow_connection;

/* A token bucket. */
struct kf_bucket {
	double tokens; /* requests allowed now */
	struct timespec filled;
};

/* The lock guards all fields below it. */
struct kf_slow {
	unsigned int timeout_s; /* for a request, and for its response */
	pthread_mutex_t lock;
	struct kf_slow_connection *first;
	struct kf_bucket flag, file; /* of the flag and the configuration */
	struct kf_peer scraper[KF_NR_SCRAPERS]; /* the latest first */
	unsigned int nr_scrapers;
	time_t logged; /* last message about too many; CLOCK_MONOTONIC */
};

/**
 * kf_slow_open() - watch a new connection
 * @s:		the limits
 * @fd:		the connection's socket
 * @peer:	the client
 *
 * Return: the connection, which is shut down where there is no room for it;
 *	   NULL, and it is shut down too, when out of memory.
 */
struct kf_slow_connection *kf_slow_open(struct kf_slow *s, int fd,
					const struct kf_peer *peer);

/**
 * kf_slow_close() - stop watching a connection
 * @s:		the limits
 * @c:		the connection, or NULL; its socket is still open
 */
void kf_slow_close(struct kf_slow *s, struct kf_slow_connection *c);

/**
 * kf_slow_restart() - restart the time limit of a connection
 * @s:		the limits
 * @c:		the connection, or NULL
 * @busy:	the server is working on its request: no limit
 */
void kf_slow_restart(struct kf_slow *s, struct kf_slow_connection *c,
		     bool busy);

/**
 * kf_slow_scraped() - remember a client that was served metrics
 * @s:		the limits
 * @c:		its connection, or NULL
 */
void kf_slow_scraped(struct kf_slow *s, struct kf_slow_connection *c);

/**
 * kf_slow_expire() - shut down all connections whose time has expired
 * @s:		the limits
 *
 * Context: any thread, about once a second.
 */
void kf_slow_expire(struct kf_slow *s);

/**
 * kf_slow_admit() - whether one more request is within a rate
 * @s:		the limits
 * @b:		one of its buckets
 * @interval_s:	time between requests on average; 0: no limit
 * @burst:	requests at once
 *
 * Return: false if the rate is exceeded.
 */
bool kf_slow_admit(struct kf_slow *s, struct kf_bucket *b, double interval_s,
		   unsigned int burst);

#endif
