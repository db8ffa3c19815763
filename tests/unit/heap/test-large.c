/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/large.c: which pages of a block from calloc are touched.
 */
#include "config.h"

#include "heap/large.h"
#include "engines/host.h"

#include <string.h>

#include "pages/pages.h"
#include "stats/stats.h"
#include "tests/pattern.h"
#include "tests/unit/pages/support.h"

#define SHORT ((size_t)320 * KF_KIB)
#define LONG (2 * SHORT)

/* Blocks too long for a thread to keep, and all of them in a region. */
static void start(void)
{
	kf_stats_init();
	kf_host_init();
	kf_large_conf.mmap_threshold = SIZE_MAX;
}

static unsigned char *take(size_t size, bool zeroed)
{
	size_t usable;
	unsigned char *at =
		kf_host_alloc(size, 64 * KF_KIB, zeroed, 0, &usable);

	UNIT_REQUIRE(at);
	UNIT_REQUIRE(!zeroed || at[0] == 0);
	return at;
}

static void drop(unsigned char *at)
{
	UNIT_REQUIRE(kf_host_free(at, 0) == KONF_FINE);
}

static int resident(unsigned char *at)
{
	return nr_resident((char *)at, LONG / KF_PAGE);
}

START_TEST(fresh_block_has_no_pages)
{
	unsigned char *at;

	start();
	at = take(LONG, true);
	/* but the one that was looked at */
	ck_assert_int_eq(resident(at), 1);
	UNIT_REQUIRE(pattern_is_zero(at, LONG));
}
END_TEST

START_TEST(block_has_pages_where_another_was)
{
	unsigned char *at;

	start();
	at = take(SHORT, false);
	memset(at, 'x', SHORT);
	drop(at);
	ck_assert_ptr_eq(take(LONG, true), at);
	ck_assert_int_eq(resident(at), SHORT / KF_PAGE);
	UNIT_REQUIRE(pattern_is_zero(at, LONG));
	memset(at, 'x', LONG);
	drop(at);
	ck_assert_ptr_eq(take(LONG, true), at);
	UNIT_REQUIRE(pattern_is_zero(at, LONG));
}
END_TEST

/* What lies behind it is clean then, and what lies before it is not. */
START_TEST(block_has_no_pages_where_a_trim_was)
{
	unsigned char *low, *high;

	start();
	low = take(SHORT, false);
	high = take(SHORT, false);
	ck_assert_ptr_eq(high, low + SHORT);
	memset(low, 'x', LONG);
	drop(high);
	kf_pages_trim(0);
	drop(low);
	ck_assert_ptr_eq(take(LONG, true), low);
	ck_assert_int_eq(resident(low), SHORT / KF_PAGE);
	UNIT_REQUIRE(pattern_is_zero(low, LONG));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		fresh_block_has_no_pages,
		block_has_pages_where_another_was,
		block_has_no_pages_where_a_trim_was,
	};

	return unit_run("heap/large", tests, KF_ARRAY_SIZE(tests));
}
