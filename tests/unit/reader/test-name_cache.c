/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/name_cache.c: a name is that of its file and place, and none is kept
 * beyond the room there is.
 */
#include "config.h"

#include "reader/name_cache.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kf_name_cache cache;

static struct kf_file_key key_of(unsigned int n)
{
	struct kf_file_key key;

	memset(&key, 0, sizeof(key));
	key.dev = 1;
	key.ino = n;
	return key;
}

static void put(unsigned int file, uint64_t offset)
{
	struct kf_file_key key = key_of(file);
	char text[128];

	snprintf(text, sizeof(text), "function_%u_%llu_%050d", file,
		 (unsigned long long)offset, 0);
	kf_name_cache_put(&cache, &key, offset, text);
}

/* Whether it is kept; what is, is right. */
static bool has(unsigned int file, uint64_t offset)
{
	struct kf_file_key key = key_of(file);
	char right[128], *text = kf_name_cache_get(&cache, &key, offset);

	if (!text)
		return false;
	snprintf(right, sizeof(right), "function_%u_%llu_%050d", file,
		 (unsigned long long)offset, 0);
	ck_assert_str_eq(text, right);
	free(text);
	return true;
}

START_TEST(a_name_is_of_its_file_and_place)
{
	struct kf_file_key key = key_of(1);
	char *text;

	kf_name_cache_init(&cache, "/proc");
	ck_assert(!has(1, 16));
	for (uint64_t i = 0; i < 5000; i++)
		put(1, i << 12);
	for (uint64_t i = 0; i < 5000; i++)
		ck_assert(has(1, i << 12));
	ck_assert(!has(1, 16) && !has(2, 1 << 12));
	/* each part of the key tells files apart */
	for (size_t i = 0; i < sizeof(key); i++) {
		((unsigned char *)&key)[i] ^= 1;
		ck_assert(!kf_name_cache_get(&cache, &key, 1 << 12));
		((unsigned char *)&key)[i] ^= 1;
	}
	/* none is an answer, too */
	kf_name_cache_put(&cache, &key, 16, "");
	text = kf_name_cache_get(&cache, &key, 16);
	ck_assert(text);
	ck_assert_str_eq(text, "");
	free(text);
	kf_name_cache_free(&cache);
	ck_assert_uint_eq(cache.bytes, 0);
}
END_TEST

START_TEST(what_was_not_asked_for_longest_goes_first)
{
	kf_name_cache_init(&cache, "/proc");
	for (unsigned int i = 0; i < KF_NAME_CACHE_FILES; i++)
		put(i, 16);
	ck_assert(has(0, 16));
	put(1000, 16);
	ck_assert(has(0, 16) && has(1000, 16) && !has(1, 16) && has(2, 16));
	kf_name_cache_free(&cache);
}
END_TEST

START_TEST(it_does_not_grow_beyond_its_room)
{
	unsigned int kept = 0;

	kf_name_cache_init(&cache, "/proc");
	for (unsigned int i = 0; i < 100000; i++) {
		put(i % 10, 16 * (uint64_t)i);
		ck_assert_uint_le(cache.bytes, KF_NAME_CACHE_BYTES);
	}
	for (unsigned int i = 0; i < 100000; i++)
		kept += has(i % 10, 16 * (uint64_t)i);
	ck_assert_uint_gt(kept, 1000);
	ck_assert_uint_lt(kept, 100000);
	/* one that fills it by itself begins anew */
	for (unsigned int i = 0; i < 100000; i++) {
		put(5, 1 + 16 * (uint64_t)i);
		ck_assert_uint_le(cache.bytes, KF_NAME_CACHE_BYTES);
	}
	kf_name_cache_free(&cache);
	ck_assert_uint_eq(cache.bytes, 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_name_is_of_its_file_and_place,
		what_was_not_asked_for_longest_goes_first,
		it_does_not_grow_beyond_its_room,
	};

	return unit_run("reader/name_cache", tests, KF_ARRAY_SIZE(tests));
}
