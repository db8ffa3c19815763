/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cuts off who is slow, and who asks too often.
 *
 * A client that sends a byte now and then is never idle; so a request has to be
 * there whole, and an answer taken whole, by a time that counts from its first
 * byte. Promises: no connection takes longer than that, whatever it does.
 */
#ifndef KF_EXPORTER_SLOW_H
#define KF_EXPORTER_SLOW_H

#include "base/compiler.h"

#include <pthread.h>
#include <time.h>

struct kf_slow_connection;

/* All below the lock is under it. */
struct kf_slow {
	unsigned int timeout_s; /* for a request, and for its answer */
	unsigned int rate;	/* requests in a second; 0: no limit */
	pthread_mutex_t lock;
	struct kf_slow_connection *first;
	double tokens; /* requests that may come now */
	struct timespec filled;
};

/**
 * kf_slow_open() - watch a new connection
 * @s:		the watch
 * @fd:		the connection's socket
 *
 * Context: any thread.
 * Return: the connection, or NULL when out of memory: it is not watched then.
 */
struct kf_slow_connection *kf_slow_open(struct kf_slow *s, int fd);

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
