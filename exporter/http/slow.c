/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list of connections with the time of each: see slow.h. A socket is shut
 * down, not closed: the thread that serves it then closes it.
 */
#include "config.h"

#include "exporter/http/slow.h"
#include "exporter/log.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct kf_slow_connection {
	struct kf_slow_connection *next;
	struct kf_slow_connection **from; /* the pointer to this entry */
	struct timespec since;
	struct kf_peer peer;
	int fd;
	bool busy;
	bool cut; /* shut down, not closed yet */
};

#define LOG_EVERY_S 60

static double slow_seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) +
	       (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

/* Callers of the functions below hold the lock. */

static bool slow_is_known(const struct kf_slow *s, const struct kf_peer *peer)
{
	for (unsigned int i = 0; i < s->nr_scrapers; i++) {
		if (kf_peer_same(&s->scraper[i], peer))
			return true;
	}
	return kf_peer_is_local(peer);
}

/* Connections under the same limit as a new one. */
enum rivals { OF_ITS_ADDRESS, OF_UNKNOWN, OF_ALL };

static bool slow_competes(const struct kf_slow *s,
			  const struct kf_slow_connection *c,
			  enum rivals rivals, const struct kf_peer *peer)
{
	if (c->cut)
		return false;
	if (rivals == OF_ITS_ADDRESS)
		return kf_peer_same(&c->peer, peer);
	return rivals == OF_ALL || !slow_is_known(s, &c->peer);
}

static bool slow_is_older(const struct timespec *a, const struct timespec *b)
{
	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec;
	return a->tv_nsec < b->tv_nsec;
}

static void slow_cut(struct kf_slow_connection *c)
{
	c->cut = true;
	shutdown(c->fd, SHUT_RDWR);
}

/*
 * Have fewer than @most rivals, by the end of the one that waits longest.
 * Return: false where there are as many and none waits.
 */
static bool slow_make_room(struct kf_slow *s, enum rivals rivals,
			   unsigned int most, const struct kf_peer *peer,
			   bool *full)
{
	struct kf_slow_connection *c, *oldest = NULL;
	unsigned int nr = 0;

	for (c = s->first; c; c = c->next) {
		if (!slow_competes(s, c, rivals, peer))
			continue;
		nr++;
		if (!c->busy &&
		    (!oldest || slow_is_older(&c->since, &oldest->since)))
			oldest = c;
	}
	if (nr < most)
		return true;
	*full = true;
	if (oldest)
		slow_cut(oldest);
	return oldest;
}

static bool slow_admits(struct kf_slow *s, const struct kf_peer *peer,
			bool *full)
{
	const unsigned int unknown =
		KF_MAX_CONNECTIONS - KF_CONNECTIONS_FOR_KNOWN;
	bool known = slow_is_known(s, peer);

	if (!slow_make_room(s, OF_ITS_ADDRESS, KF_MAX_CONNECTIONS_OF_PEER, peer,
			    full))
		return false;
	if (!known && !slow_make_room(s, OF_UNKNOWN, unknown, peer, full))
		return false;
	return slow_make_room(s, OF_ALL, KF_MAX_CONNECTIONS, peer, full);
}

/* Whether to log again that there are too many. */
static bool slow_is_to_tell(struct kf_slow *s)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (s->logged && now.tv_sec - s->logged < LOG_EVERY_S)
		return false;
	s->logged = now.tv_sec;
	return true;
}

static void slow_tell(const struct kf_peer *peer)
{
	char name[INET6_ADDRSTRLEN];

	kf_peer_name(peer, name, sizeof(name));
	kf_log(KF_LOG_WARN,
	       "too many connections: closing those that wait longest",
	       "address", name, NULL);
}

struct kf_slow_connection *kf_slow_open(struct kf_slow *s, int fd,
					const struct kf_peer *peer)
{
	struct kf_slow_connection *c = calloc(1, sizeof(*c));
	bool full = false;

	if (!c) {
		shutdown(fd, SHUT_RDWR);
		return NULL;
	}
	c->fd = fd;
	c->peer = *peer;
	clock_gettime(CLOCK_MONOTONIC, &c->since);
	pthread_mutex_lock(&s->lock);
	if (!slow_admits(s, peer, &full))
		slow_cut(c);
	c->next = s->first;
	c->from = &s->first;
	if (c->next)
		c->next->from = &c->next;
	s->first = c;
	full = full && slow_is_to_tell(s);
	pthread_mutex_unlock(&s->lock);
	if (full)
		slow_tell(peer);
	return c;
}

void kf_slow_scraped(struct kf_slow *s, struct kf_slow_connection *c)
{
	unsigned int at = 0;

	if (!c || kf_peer_is_local(&c->peer))
		return;
	pthread_mutex_lock(&s->lock);
	while (at < s->nr_scrapers && !kf_peer_same(&s->scraper[at], &c->peer))
		at++;
	if (at == s->nr_scrapers && at < KF_NR_SCRAPERS)
		s->nr_scrapers++;
	at = KF_MIN(at, (unsigned int)KF_NR_SCRAPERS - 1);
	memmove(&s->scraper[1], s->scraper, at * sizeof(s->scraper[0]));
	s->scraper[0] = c->peer;
	pthread_mutex_unlock(&s->lock);
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

void kf_slow_expire(struct kf_slow *s)
{
	struct kf_slow_connection *c;

	pthread_mutex_lock(&s->lock);
	for (c = s->first; c; c = c->next) {
		if (!c->busy && slow_seconds_since(&c->since) >= s->timeout_s)
			slow_cut(c);
	}
	pthread_mutex_unlock(&s->lock);
}

/* A bucket is full at first. */
bool kf_slow_admit(struct kf_slow *s, struct kf_bucket *b, double interval_s,
		   unsigned int burst)
{
	bool admitted;

	if (interval_s == 0)
		return true;
	pthread_mutex_lock(&s->lock);
	if (!b->filled.tv_sec)
		b->tokens = burst;
	else
		b->tokens += slow_seconds_since(&b->filled) / interval_s;
	clock_gettime(CLOCK_MONOTONIC, &b->filled);
	b->tokens = KF_MIN(b->tokens, (double)burst);
	admitted = b->tokens >= 1;
	b->tokens -= admitted;
	pthread_mutex_unlock(&s->lock);
	return admitted;
}
