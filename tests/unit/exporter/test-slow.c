/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exporter/http/slow.c: who goes when there are too many connections.
 */
#include "config.h"

#include "exporter/log.h"
#include "exporter/http/slow.h"
#include "tests/unit/unit.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX 400
#define STRANGERS (KF_MAX_CONNECTIONS - KF_CONNECTIONS_FOR_KNOWN)

static struct kf_slow slow = {.timeout_s = 86400};

/* A connection, and the client's end of it. */
static struct client {
	struct kf_slow_connection *c;
	int fd[2];
} client[MAX];
static unsigned int nr;

static void begin(void)
{
	pthread_mutex_init(&slow.lock, NULL);
	kf_log_setup(KF_LOG_ERROR, KF_LOGFMT);
}

/* The address 10.0.0.@host, or of this machine for 0. */
static struct kf_peer peer_of(unsigned int host)
{
	struct sockaddr_in four = {
		.sin_family = AF_INET,
		.sin_addr.s_addr =
			htonl(host ? 0x0a000000 + host : INADDR_LOOPBACK)};
	struct kf_peer peer;

	kf_peer_of((const void *)&four, &peer);
	return peer;
}

static struct client *come(unsigned int host)
{
	struct kf_peer peer = peer_of(host);
	struct client *at = &client[nr++];

	ck_assert_uint_le(nr, MAX);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, at->fd), 0);
	at->c = kf_slow_open(&slow, at->fd[0], &peer);
	ck_assert_ptr_nonnull(at->c);
	return at;
}

/* Is not shut down. */
static bool is_there(const struct client *at)
{
	struct pollfd p = {.fd = at->fd[1], .events = POLLRDHUP};

	return poll(&p, 1, 0) == 0;
}

static unsigned int nr_there(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nr; i++)
		n += is_there(&client[i]);
	return n;
}

static void end(void)
{
	while (nr) {
		struct client *at = &client[--nr];

		kf_slow_close(&slow, at->c);
		close(at->fd[0]);
		close(at->fd[1]);
	}
}

/* Strangers, each address as many as it may have. */
static void fill(unsigned int n, bool busy)
{
	for (unsigned int i = 0; i < n; i++) {
		struct client *at = come(100 + i / KF_MAX_CONNECTIONS_OF_PEER);

		kf_slow_restart(&slow, at->c, busy);
	}
}

START_TEST(address_has_a_part_of_the_connections)
{
	begin();
	for (unsigned int i = 0; i < 3 * KF_MAX_CONNECTIONS_OF_PEER; i++)
		ck_assert(is_there(come(1)));
	ck_assert_uint_eq(nr_there(), KF_MAX_CONNECTIONS_OF_PEER);
	/* the ones that waited longest went */
	for (unsigned int i = 0; i < nr; i++)
		ck_assert_int_eq(is_there(&client[i]),
				 i >= 2 * KF_MAX_CONNECTIONS_OF_PEER);
	end();
}
END_TEST

START_TEST(who_is_worked_for_stays)
{
	struct client *busy;

	begin();
	busy = come(1);
	kf_slow_restart(&slow, busy->c, true);
	for (unsigned int i = 0; i < 2 * KF_MAX_CONNECTIONS_OF_PEER; i++)
		come(1);
	ck_assert(is_there(busy));
	ck_assert_uint_eq(nr_there(), KF_MAX_CONNECTIONS_OF_PEER);
	end();
	for (unsigned int i = 0; i < KF_MAX_CONNECTIONS_OF_PEER; i++)
		kf_slow_restart(&slow, come(1)->c, true);
	ck_assert(!is_there(come(1)));
	ck_assert_uint_eq(nr_there(), KF_MAX_CONNECTIONS_OF_PEER);
	end();
}
END_TEST

START_TEST(many_strangers_leave_room_for_those_who_are_known)
{
	struct client *scraper;
	struct client *local;

	begin();
	scraper = come(1);
	kf_slow_scraped(&slow, scraper->c);
	fill(STRANGERS, true);
	ck_assert_uint_eq(nr_there(), STRANGERS + 1);
	/* all are worked for: there is room for no stranger */
	ck_assert(!is_there(come(2)));
	ck_assert_uint_eq(nr_there(), STRANGERS + 1);
	local = come(0);
	ck_assert(is_there(local) && is_there(come(1)));
	ck_assert_uint_eq(nr_there(), STRANGERS + 3);
	end();
}
END_TEST

START_TEST(stranger_comes_in_the_place_of_one_who_waits)
{
	struct client *local, *late;

	begin();
	local = come(0);
	fill(STRANGERS, false);
	late = come(2);
	ck_assert(is_there(late) && is_there(local));
	ck_assert(!is_there(&client[1]));
	ck_assert_uint_eq(nr_there(), STRANGERS + 1);
	end();
}
END_TEST

START_TEST(there_are_never_more_than_there_may_be)
{
	begin();
	fill(STRANGERS, false);
	for (unsigned int i = 0; i < KF_MAX_CONNECTIONS_OF_PEER; i++)
		ck_assert(is_there(come(0)));
	for (unsigned int i = 0; i < 4; i++) {
		struct client *at = come(1);

		kf_slow_scraped(&slow, at->c);
		ck_assert(is_there(at) && is_there(come(1)));
		ck_assert_uint_le(nr_there(), KF_MAX_CONNECTIONS);
	}
	end();
}
END_TEST

START_TEST(scrapers_that_came_last_are_known)
{
	struct client *at;

	begin();
	for (unsigned int i = 1; i <= KF_NR_SCRAPERS + 1; i++) {
		at = come(i);
		kf_slow_scraped(&slow, at->c);
		kf_slow_scraped(&slow, at->c);
	}
	end();
	fill(STRANGERS, true);
	ck_assert(!is_there(come(1)));
	for (unsigned int i = 2; i <= KF_NR_SCRAPERS + 1; i++)
		ck_assert(is_there(come(i)));
	end();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		address_has_a_part_of_the_connections,
		who_is_worked_for_stays,
		many_strangers_leave_room_for_those_who_are_known,
		stranger_comes_in_the_place_of_one_who_waits,
		there_are_never_more_than_there_may_be,
		scrapers_that_came_last_are_known,
	};

	return unit_run("exporter/http/slow", tests, KF_ARRAY_SIZE(tests));
}
