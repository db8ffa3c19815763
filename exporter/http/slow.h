/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cuts off clients that are slow, ask too often, or hold too many connections.
 *
 * A client that sends a byte now and then is never idle; so a request has to be
 * there whole, and an answer taken whole, by a time that counts from its first
 * byte. Promises: no connection takes longer than that, whatever it does.
 *
 * There are KF_MAX_CONNECTIONS, an address has a part of them, and another part
 * is for known clients: those on this machine, and the addresses that scraped
 * last. Where a new connection is one too many, the one that has waited longest
 * for its client is cut off, of those under the same limit: a client that sends
 * its request at once is served, however many connections others hold. The new
 * one is refused only where all of these are being served.
 */
#ifndef KF_EXPORTER_HTTP_SLOW_H
#define KF_EXPORTER_HTTP_SLOW_H

#include "exporter/http/peer.h"

#include <pthread.h>
#include <time.h>

#define KF_MAX_CONNECTIONS 256
#define KF_CONNECTIONS_OF_ONE 128  /* address */
#define KF_CONNECTIONS_OF_KNOWN 64 /* clients alone */
#define KF_NR_SCRAPERS 16

struct kf_slow_connection;

/* All below the lock is under it. */
struct kf_slow {
	unsigned int timeout_s; /* for a request, and for its answer */
	unsigned int rate;	/* requests in a second; 0: no limit */
	pthread_mutex_t lock;
	struct kf_slow_connection *first;
	double tokens; /* requests that may come now */
	struct timespec filled;
	struct kf_peer scraper[KF_NR_SCRAPERS]; /* the last first */
	unsigned int nr_scrapers;
	time_t told; /* that there were too many; CLOCK_MONOTONIC */
};

/**
 * kf_slow_open() - watch a new connection
 * @s:		the watch
 * @fd:		the connection's socket
 * @peer:	who is connected
 *
 * Context: any thread.
 * Return: the connection, which is shut down where there is no room for it;
 *	   NULL, and it is shut down too, when out of memory.
 */
struct kf_slow_connection *kf_slow_open(struct kf_slow *s, int fd,
					const struct kf_peer *peer);

/**
 * kf_slow_close() - watch a connection no more
 * @s:		the watch
 * @c:		the connection, or NULL; its socket is still open
 *
 * Context: any thread.
 */
void kf_slow_close(struct kf_slow *s, struct kf_slow_connection *c);

/**
 * kf_slow_restart() - give a connection its time anew
 * @s:		the watch
 * @c:		the connection, or NULL
 * @busy:	true while we work for it: then there is no end
 *
 * Context: any thread.
 */
void kf_slow_restart(struct kf_slow *s, struct kf_slow_connection *c,
		     bool busy);

/**
 * kf_slow_scraped() - know a client that was given what it scrapes
 * @s:		the watch
 * @c:		its connection, or NULL
 *
 * Context: any thread.
 */
void kf_slow_scraped(struct kf_slow *s, struct kf_slow_connection *c);

/**
 * kf_slow_cut() - shut down all connections whose time is over
 * @s:		the watch
 *
 * Context: any thread, about once a second.
 */
void kf_slow_cut(struct kf_slow *s);

/**
 * kf_slow_admit() - whether one more request is within the rate
 * @s:		the watch
 *
 * Context: any thread.
 * Return: false where it is too much.
 */
bool kf_slow_admit(struct kf_slow *s);

#endif
