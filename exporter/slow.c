/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list of connections with the time of each: see slow.h. A socket is shut
 * down, not closed: whoever serves it sees the end and closes it.
 */
#include "config.h"

#include "exporter/slow.h"

#include <stdlib.h>
#include <sys/socket.h>

struct kf_slow_connection {
	struct kf_slow_connection *next;
	struct kf_slow_connection **from; /* what points here */
	struct timespec since;
	int fd;
	bool busy;
};

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) +
	       (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

struct kf_slow_connection *kf_slow_open(struct kf_slow *s, int fd)
{
	struct kf_slow_connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = fd;
	clock_gettime(CLOCK_MONOTONIC, &c->since);
	pthread_mutex_lock(&s->lock);
	c->next = s->first;
	c->from = &s->first;
	if (c->next)
		c->next->from = &c->next;
	s->first = c;
	pthread_mutex_unlock(&s->lock);
	return c;
}

void kf_slow_close(struct kf_slow *s, struct kf_slow_connection *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&s->lock);
	*c->from = c->next;
	if (c->next)
		c->next->from = c->from;
	pthread_mutex_unlock(&s->lock);
	free(c);
}

void kf_slow_restart(struct kf_slow *s, struct kf_slow_connection *c, bool busy)
{
	if (!c)
		return;
	pthread_mutex_lock(&s->lock);
	c->busy = busy;
	clock_gettime(CLOCK_MONOTONIC, &c->since);
	pthread_mutex_unlock(&s->lock);
}

void kf_slow_cut(struct kf_slow *s)
{
	struct kf_slow_connection *c;

	pthread_mutex_lock(&s->lock);
	for (c = s->first; c; c = c->next) {
		if (!c->busy && seconds_since(&c->since) >= s->timeout_s)
			shutdown(c->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&s->lock);
}

bool kf_slow_admit(struct kf_slow *s)
{
	bool admitted;

	if (!s->rate)
		return true;
	pthread_mutex_lock(&s->lock);
	s->tokens += seconds_since(&s->filled) * s->rate;
	clock_gettime(CLOCK_MONOTONIC, &s->filled);
	s->tokens = KF_MIN(s->tokens, (double)s->rate);
	admitted = s->tokens >= 1;
	s->tokens -= admitted;
	pthread_mutex_unlock(&s->lock);
	return admitted;
}
