/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * http/web.c and guess.c: what is worked out for a wrong password does not
 * tell whether there is the user, and an address that guesses has to wait.
 *
 * bcrypt is this file's own: it adds up what each call would cost, and takes
 * "right" for the password of every hash that ends in r.
 */
#include "config.h"

#include "exporter/http/guess.h"
#include "exporter/http/web.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <crypt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SALT "konfiscatorkonfiscatou"
#define DIGEST "eiHXXP269BCs7HzQBjp6DDsAEI7wpV"

#define MAX_WRONG 5

static unsigned long long worked; /* in steps of bcrypt */
static struct kf_web *web;
static const struct kf_web_config *config;
static char path[64];

char *crypt_rn(const char *phrase, const char *setting, void *data, int size)
{
	struct crypt_data *d = data;
	size_t len = strlen(setting);

	worked += 1ull << strtoul(setting + 4, NULL, 10);
	ck_assert_uint_ge((size_t)size, sizeof(*d));
	memcpy(d->output, setting, len + 1);
	if (strcmp(phrase, "right") != 0 || setting[len - 1] != 'r')
		d->output[len - 1] = '!';
	return d->output;
}

/* Three users, each of another cost; the dearest is not the first. */
static void begin(unsigned int max_wrong)
{
	static const unsigned int cost[] = {4, 12, 7};
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/kf-web.XXXXXX");
	ck_assert_int_ge(mkstemp(path), 0);
	f = fopen(path, "w");
	fprintf(f, "basic_auth_users:\n");
	for (int i = 0; i < 3; i++)
		fprintf(f, "  user%d: $2b$%02u$" SALT DIGEST "r\n", i, cost[i]);
	fclose(f);
	web = kf_web_open(path, max_wrong);
	ck_assert_ptr_nonnull(web);
	config = kf_web_get(web);
	ck_assert_ptr_nonnull(config);
	unlink(path);
	worked = 0;
}

static void end(void)
{
	kf_web_put(web, config);
	kf_web_close(web);
}

static struct kf_peer from(const char *address)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};
	struct kf_peer peer;

	if (inet_pton(AF_INET, address, &four.sin_addr) == 1) {
		kf_peer_of((const void *)&four, &peer);
	} else {
		ck_assert_int_eq(inet_pton(AF_INET6, address, &six.sin6_addr),
				 1);
		kf_peer_of((const void *)&six, &peer);
	}
	return peer;
}

static enum kf_web_result ask(const char *address, const char *user,
			      const char *password)
{
	struct kf_peer peer = from(address);

	return kf_web_authenticate(web, config, &peer, user, password);
}

START_TEST(wrong_password_takes_as_long_for_every_user)
{
	static const char *const names[] = {"user0", "user1", "user2", "nobody",
					    ""};

	begin(0);
	for (size_t i = 0; i < KF_ARRAY_SIZE(names); i++) {
		worked = 0;
		ck_assert_int_eq(ask("::1", names[i], "wrong"), KF_WEB_REFUSED);
		ck_assert_uint_eq(worked, 1 << 12);
	}
	end();
}
END_TEST

START_TEST(nobody_comes_in_by_the_password_of_no_user)
{
	begin(0);
	ck_assert_int_eq(ask("::1", "nobody", "right"), KF_WEB_REFUSED);
	ck_assert_int_eq(ask("::1", NULL, NULL), KF_WEB_REFUSED);
	ck_assert_int_eq(ask("::1", "user2", "right"), KF_WEB_ACCEPTED);
	end();
}
END_TEST

START_TEST(address_that_guesses_has_to_wait)
{
	begin(MAX_WRONG);
	for (int i = 0; i < MAX_WRONG; i++)
		ck_assert_int_eq(ask("192.0.2.1", "user1", "wrong"),
				 KF_WEB_REFUSED);
	worked = 0;
	for (int i = 0; i < MAX_WRONG; i++) {
		ck_assert_int_eq(ask("192.0.2.1", "user1", "wrong"),
				 KF_WEB_LIMITED);
		ck_assert_int_eq(ask("192.0.2.1", "nobody", "wrong"),
				 KF_WEB_LIMITED);
		ck_assert_int_eq(ask("::ffff:192.0.2.1", "user1", "right"),
				 KF_WEB_LIMITED);
	}
	ck_assert_uint_eq(worked, 0);
	/* without a password there is nothing to guess */
	ck_assert_int_eq(ask("192.0.2.1", NULL, NULL), KF_WEB_REFUSED);
	end();
}
END_TEST

START_TEST(others_do_not_wait_for_who_guesses)
{
	begin(MAX_WRONG);
	ck_assert_int_eq(ask("192.0.2.2", "user0", "right"), KF_WEB_ACCEPTED);
	for (int i = 0; i < 2 * MAX_WRONG; i++) {
		ask("192.0.2.1", "user1", "wrong");
		ask("192.0.2.2", "user1", "wrong");
	}
	ck_assert_int_eq(ask("192.0.2.3", "user1", "right"), KF_WEB_ACCEPTED);
	ck_assert_int_eq(ask("127.0.0.1", "user2", "right"), KF_WEB_ACCEPTED);
	/* it was let in before, so this is no guess */
	ck_assert_int_eq(ask("192.0.2.2", "user0", "right"), KF_WEB_ACCEPTED);
	end();
}
END_TEST

START_TEST(right_passwords_are_no_guesses)
{
	begin(MAX_WRONG);
	for (int i = 0; i < 3 * MAX_WRONG; i++) {
		ck_assert_int_eq(ask("192.0.2.1", "user0", "right"),
				 KF_WEB_ACCEPTED);
		ck_assert_int_eq(ask("192.0.2.1", "user1", "right"),
				 KF_WEB_ACCEPTED);
	}
	ck_assert_int_eq(ask("192.0.2.1", "user0", "wrong"), KF_WEB_REFUSED);
	end();
}
END_TEST

START_TEST(network_of_one_client_guesses_as_one)
{
	char address[64];

	begin(MAX_WRONG);
	for (int i = 0; i < MAX_WRONG; i++) {
		snprintf(address, sizeof(address), "2001:db8:0:1::%x", i);
		ck_assert_int_eq(ask(address, "user1", "wrong"),
				 KF_WEB_REFUSED);
	}
	ck_assert_int_eq(ask("2001:db8:0:1:ff::", "user1", "wrong"),
			 KF_WEB_LIMITED);
	ck_assert_int_eq(ask("2001:db8:0:2::1", "user1", "wrong"),
			 KF_WEB_REFUSED);
	for (int i = 0; i < MAX_WRONG; i++) {
		snprintf(address, sizeof(address), "127.0.0.%d", i + 1);
		ask(address, "user1", "wrong");
	}
	ck_assert_int_eq(ask("::1", "user1", "wrong"), KF_WEB_LIMITED);
	end();
}
END_TEST

/* The one that guessed longest ago makes room. */
START_TEST(addresses_beyond_the_room_there_is_are_counted_too)
{
	char address[64];

	begin(MAX_WRONG);
	for (int i = 0; i < 3 * KF_NR_GUESSERS; i++) {
		snprintf(address, sizeof(address), "10.0.%d.%d", i >> 8,
			 i & 255);
		ck_assert_int_eq(ask(address, "user1", "wrong"),
				 KF_WEB_REFUSED);
	}
	for (int i = 1; i < MAX_WRONG; i++)
		ask(address, "user1", "wrong");
	ck_assert_int_eq(ask(address, "user1", "wrong"), KF_WEB_LIMITED);
	end();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		wrong_password_takes_as_long_for_every_user,
		nobody_comes_in_by_the_password_of_no_user,
		address_that_guesses_has_to_wait,
		others_do_not_wait_for_who_guesses,
		right_passwords_are_no_guesses,
		network_of_one_client_guesses_as_one,
		addresses_beyond_the_room_there_is_are_counted_too,
	};

	return unit_run("exporter/http/web", tests, KF_ARRAY_SIZE(tests));
}
