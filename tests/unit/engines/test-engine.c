/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * engines/engine.h: the contract, for every engine of engines.def.
 *
 * Each test runs once for each engine, in a process of its own, and asks it
 * as the core does: through the host. What the C library's names mean is tested
 * with the names.
 */
#include "config.h"

#include "engines/host.h"
#include "engines/engine.h"
#include "heap/large.h"
#include "engines/tlsf.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stats/stats.h"
#include "tests/pattern.h"
#include "tests/unit/unit.h"

#define NR_BLOCKS 1000
#define KEY 0x0123456789abcdef

static const struct kf_engine *const engines[] = {
#define KF_ENGINE(id, help) &kf_engine_##id,
#include "engines/engines.def"
#undef KF_ENGINE
};

static const size_t sizes[] = {1,     15,      123,	   1024,       4096,
			       32768, 0x12345, 2 * KF_MIB, 40 * KF_MIB};

static const struct kf_engine *engine;
static __thread size_t usable; /* of the last block */

struct block {
	unsigned char *at;
	size_t bytes;
	uint64_t key;
};

static void start(int number)
{
	kf_stats_init();
	engine = engines[number];
	kf_host_init();
	if (engine != kf_engine_find(NULL))
		ck_assert_ptr_null(kf_host_install(engine));
	errno = ERANGE;
}

static unsigned char *take(size_t size, size_t align, bool zeroed)
{
	unsigned char *at = kf_host_alloc(size, align, zeroed, 0, &usable);

	UNIT_REQUIRE(at);
	UNIT_REQUIRE((uintptr_t)at % align == 0);
	UNIT_REQUIRE(usable >= size);
	UNIT_REQUIRE(kf_host_usable(at) == usable);
	UNIT_REQUIRE(errno == ERANGE);
	return at;
}

static enum konf_misuse release(void *at)
{
	return kf_host_free(at, kf_host_usable(at));
}

static void drop(unsigned char *at)
{
	UNIT_REQUIRE(release(at) == KONF_FINE);
	UNIT_REQUIRE(errno == ERANGE);
}

START_TEST(engine_is_found_by_its_name)
{
	ck_assert_ptr_eq(kf_engine_find(engines[_i]->base.name), engines[_i]);
	ck_assert_ptr_eq(kf_engine_find(NULL), engines[0]);
	ck_assert_ptr_null(kf_engine_find("no such engine"));
	ck_assert_ptr_null(kf_engine_find(""));
}
END_TEST

START_TEST(usable_bytes_are_all_writable)
{
	struct block blocks[KF_ARRAY_SIZE(sizes)];

	start(_i);
	for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++) {
		blocks[i].at = take(sizes[i], 16, false);
		blocks[i].bytes = kf_host_usable(blocks[i].at);
		pattern_fill(blocks[i].at, blocks[i].bytes, KEY + i);
	}
	for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++) {
		ck_assert(
			pattern_holds(blocks[i].at, blocks[i].bytes, KEY + i));
		drop(blocks[i].at);
	}
}
END_TEST

START_TEST(block_is_aligned_as_asked)
{
	start(_i);
	for (size_t align = 16; align <= 16 * KF_MIB; align *= 2) {
		for (size_t i = 0; i < KF_ARRAY_SIZE(sizes) - 1; i++) {
			unsigned char *at = take(sizes[i], align, false);

			memset(at, 1, kf_host_usable(at));
			/* Some stay, so that the next find other places. */
			if (i % 2)
				drop(at);
		}
	}
}
END_TEST

START_TEST(zeroed_block_is_zero_where_others_were_before)
{
	unsigned char *at[KF_ARRAY_SIZE(sizes)];

	start(_i);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++) {
			size_t align = round < 2 ? 16 : 256;

			at[i] = take(sizes[i], align, true);
			UNIT_REQUIRE(pattern_is_zero(at[i], sizes[i]));
			memset(at[i], 0xff, kf_host_usable(at[i]));
		}
		for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++)
			drop(at[i]);
	}
}
END_TEST

/* A block by each of the ways to get one. */
static unsigned char *obtain(int way, size_t size)
{
	enum konf_misuse wrong = KONF_FINE;

	switch (way) {
	case 0:
		return take(size, 16, false);
	case 1:
		return take(size, 16, true);
	case 2:
		return take(size, 1024, false);
	default:
		return kf_host_realloc(take(3 * size, 16, false), size, &wrong);
	}
}

START_TEST(resized_block_keeps_its_contents)
{
	static const size_t pairs[][2] = {
		{1, 24},	 {100, 30000},
		{30000, 100},	 {4096, 0x12345},
		{0x12345, 5000}, {200000, 3000000},
		{3000000, 40},	 {KF_MIB, 2 * KF_MIB + 1},
	};

	start(_i);
	for (size_t i = 0; i < KF_ARRAY_SIZE(pairs) * 4; i++) {
		size_t from = pairs[i / 4][0], to = pairs[i / 4][1];
		unsigned char *at = obtain((int)(i % 4), from);
		enum konf_misuse wrong = KONF_INVALID_POINTER;

		ck_assert_ptr_nonnull(at);
		pattern_fill(at, from, KEY);
		at = kf_host_realloc(at, to, &wrong);
		ck_assert_ptr_nonnull(at);
		ck_assert_int_eq(wrong, KONF_FINE);
		ck_assert_uint_eq((uintptr_t)at % 16, 0);
		ck_assert_uint_ge(kf_host_usable(at), to);
		ck_assert(pattern_holds(at, KF_MIN(from, to), KEY));
		memset(at, 0xee, kf_host_usable(at));
		/* Every other stays, in the way of later growth. */
		if (i % 2)
			drop(at);
	}
}
END_TEST

/* Bytes copied would be quadratic if each step moved its block. */
START_TEST(blocks_that_grow_in_turn_move_rarely)
{
	static unsigned char *at[20];
	enum konf_misuse wrong;
	int nr_moved = 0;

	start(_i);
	if (engine->base.flags & KONF_ENGINE_ELSEWHERE)
		return;
	/* Who resizes a block there learns where the next one is not. */
	if (engine == &kf_engine_secure)
		return;
	/* The kernel would make room by moving mappings out of the way. */
	kf_large_conf.mmap_max = 0;
	for (size_t i = 0; i < KF_ARRAY_SIZE(at); i++)
		at[i] = take(40000, 16, false);
	for (size_t size = 44096; size < 2 * KF_MIB; size += 4096) {
		for (size_t i = 0; i < KF_ARRAY_SIZE(at); i++) {
			unsigned char *to =
				kf_host_realloc(at[i], size, &wrong);

			UNIT_REQUIRE(to);
			UNIT_REQUIRE(kf_host_usable(to) >= size);
			to[size - 1] = (unsigned char)i;
			UNIT_REQUIRE(size == 44096 || to[size - 4097] == i);
			nr_moved += to != at[i];
			at[i] = to;
		}
	}
	/* 1.125^34 is above 2 MiB / 40000. */
	ck_assert_int_le(nr_moved, 36 * (int)KF_ARRAY_SIZE(at));
	for (size_t i = 0; i < KF_ARRAY_SIZE(at); i++)
		drop(at[i]);
}
END_TEST

START_TEST(shrunk_block_gives_back_what_it_has_beyond)
{
	enum konf_misuse wrong;
	unsigned char *at;

	start(_i);
	at = take(KF_MIB, 16, false);
	take(40000, 16, false);
	at = kf_host_realloc(at, 3 * KF_MIB, &wrong);
	ck_assert_ptr_nonnull(at);
	at = kf_host_realloc(at, 2 * KF_MIB, &wrong);
	ck_assert_ptr_nonnull(at);
	ck_assert_uint_lt(kf_host_usable(at), 2 * KF_MIB + 2 * 4096);
	drop(at);
}
END_TEST

static void take_random(struct block *block, uint64_t *state)
{
	size_t limit = (size_t)1 << (1 + chance_below(state, 18));
	size_t align = (size_t)16 << chance_below(state, 5);

	block->bytes = 1 + chance_below(state, limit);
	block->at = take(block->bytes, align, false);
	block->bytes = kf_host_usable(block->at);
	block->key = chance_next(state);
	pattern_fill(block->at, block->bytes, block->key);
}

static void drop_checked(struct block *block)
{
	UNIT_REQUIRE(pattern_holds(block->at, block->bytes, block->key));
	drop(block->at);
}

START_TEST(random_blocks_do_not_overlap)
{
	static struct block blocks[NR_BLOCKS];
	uint64_t state = 6;

	start(_i);
	for (int i = 0; i < NR_BLOCKS; i++)
		take_random(&blocks[i], &state);
	for (int i = 0; i < 20 * NR_BLOCKS; i++) {
		struct block *block = &blocks[chance_below(&state, NR_BLOCKS)];

		drop_checked(block);
		take_random(block, &state);
	}
	for (int i = 0; i < NR_BLOCKS; i++)
		drop_checked(&blocks[i]);
}
END_TEST

START_TEST(what_is_no_block_is_refused)
{
	enum konf_misuse wrong = KONF_FINE;
	static char in_data[64];
	unsigned char *at;

	start(_i);
	/* The C library's own heap answers for the engine that passes through.
	 */
	if (engine->base.flags & KONF_ENGINE_ELSEWHERE)
		return;
	ck_assert_int_eq(release(in_data), KONF_INVALID_POINTER);
	ck_assert_int_eq(release((void *)16), KONF_INVALID_POINTER);
	ck_assert_uint_eq(kf_host_usable(in_data), 0);
	ck_assert_ptr_null(kf_host_realloc(in_data, 100, &wrong));
	ck_assert_int_eq(wrong, KONF_INVALID_POINTER);
	for (size_t i = 2; i < KF_ARRAY_SIZE(sizes); i++) {
		at = take(sizes[i], 16, false);
		memset(at, 1, sizes[i]);
		ck_assert_int_ne(release(at + 16), KONF_FINE);
		ck_assert_uint_eq(kf_host_usable(at + 8), 0);
		ck_assert_ptr_null(kf_host_realloc(at + 8, 100, &wrong));
		ck_assert_int_ne(wrong, KONF_FINE);
		ck_assert(at[0] == 1 && at[sizes[i] - 1] == 1);
		drop(at);
	}
}
END_TEST

START_TEST(large_block_freed_twice_is_refused)
{
	start(_i);
	if (engine->base.flags & KONF_ENGINE_ELSEWHERE)
		return;
	for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++) {
		unsigned char *at, *fence;

		if (sizes[i] <= 32768)
			continue;
		at = take(sizes[i], 16, false);
		fence = take(sizes[i], 16, false);
		drop(at);
		ck_assert_int_ne(release(at), KONF_FINE);
		drop(fence);
	}
}
END_TEST

static void *drop_all(void *arg)
{
	struct block *blocks = arg;

	errno = ERANGE;
	for (int i = 0; i < NR_BLOCKS; i++)
		drop_checked(&blocks[i]);
	kf_heap_detach();
	return NULL;
}

static void *take_all(void *arg)
{
	struct block *blocks = arg;
	uint64_t state = 7;

	errno = ERANGE;
	for (int i = 0; i < NR_BLOCKS; i++)
		take_random(&blocks[i], &state);
	kf_heap_detach();
	return NULL;
}

static void run(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, fn, arg), 0);
	pthread_join(thread, NULL);
}

START_TEST(another_thread_may_free_after_the_first_has_gone)
{
	static struct block blocks[NR_BLOCKS];
	struct kf_host_info info;

	start(_i);
	for (int i = 0; i < 20; i++) {
		run(take_all, blocks);
		run(drop_all, blocks);
	}
	kf_host_info(&info);
	ck_assert_uint_eq(info.used, 0);
	ck_assert_uint_eq(info.mapped_blocks, 0);
	/* Heaps change hands: twenty rounds hold what one holds. */
	ck_assert_uint_lt(info.arena, 200 * KF_MIB);
}
END_TEST

START_TEST(info_tells_what_is_live_and_held)
{
	static unsigned char *at[NR_BLOCKS];
	struct kf_host_info info;
	size_t live = 0;

	start(_i);
	for (int i = 0; i < NR_BLOCKS; i++) {
		at[i] = take(100 + (size_t)i * 40, 16, false);
		live += kf_host_usable(at[i]);
	}
	kf_host_info(&info);
	ck_assert_uint_eq(info.used + info.mapped_bytes, live);
	ck_assert_uint_ge(info.arena, info.used + info.cached + info.free.free);
	for (int i = 0; i < NR_BLOCKS; i++)
		drop(at[i]);
	kf_host_info(&info);
	ck_assert_uint_eq(info.used + info.mapped_bytes, 0);
}
END_TEST

START_TEST(reclaim_gives_back_what_nobody_uses)
{
	static unsigned char *at[NR_BLOCKS];
	struct kf_host_info before, after;

	/* Of TLSF's pools the first one stays. */
	kf_tlsf_conf.initial = kf_tlsf_conf.additional = KF_MIB;
	start(_i);
	/* Some never give back, and of some it is not known. */
	if (_i &&
	    (!engine->base.trim || engine->base.flags & KONF_ENGINE_ELSEWHERE))
		return;
	for (int i = 0; i < NR_BLOCKS; i++) {
		at[i] = take(20000, 16, false);
		memset(at[i], 1, 20000);
	}
	for (int i = 0; i < NR_BLOCKS; i++)
		drop(at[i]);
	kf_host_info(&before);
	kf_host_trim(0);
	kf_host_info(&after);
	ck_assert_uint_lt(after.arena, before.arena / 2);
	take(20000, 16, false);
}
END_TEST

START_TEST(impossible_sizes_give_null)
{
	unsigned char *at;
	enum konf_misuse wrong;

	start(_i);
	ck_assert_ptr_null(kf_host_alloc(PTRDIFF_MAX, 16, false, 0, &usable));
	ck_assert_ptr_null(
		kf_host_alloc(PTRDIFF_MAX, (size_t)1 << 40, true, 0, &usable));
	ck_assert_ptr_null(
		kf_host_alloc((size_t)1 << 48, 16, false, 0, &usable));
	ck_assert_ptr_null(
		kf_host_alloc(1, (size_t)1 << 62, false, 0, &usable));
	at = take(100, 16, false);
	pattern_fill(at, 100, KEY);
	ck_assert_ptr_null(kf_host_realloc(at, PTRDIFF_MAX, &wrong));
	ck_assert_int_eq(wrong, KONF_FINE);
	ck_assert(pattern_holds(at, 100, KEY));
	ck_assert_int_eq(errno, ERANGE);
	drop(at);
}
END_TEST

static size_t fill_memory(unsigned char **at, size_t nr)
{
	size_t i = 0;

	while (i < nr &&
	       (at[i] = kf_host_alloc(3000 + i % 60000, 16, false, 0, &usable)))
		i++;
	UNIT_REQUIRE(i < nr);
	return i;
}

static void limit_memory(int number)
{
	start(number);
	drop(take(1, 16, false));
	unit_limit_address_space(200 * KF_MIB);
}

/* How many blocks a process has room for that has had none. */
static size_t room_at_first(int number, unsigned char **at, size_t max)
{
	size_t nr = 0;
	int ends[2];
	pid_t pid;

	UNIT_REQUIRE(pipe(ends) == 0);
	pid = fork();
	UNIT_REQUIRE(pid >= 0);
	if (!pid) {
		limit_memory(number);
		nr = fill_memory(at, max);
		_exit(write(ends[1], &nr, sizeof(nr)) != sizeof(nr));
	}
	UNIT_REQUIRE(read(ends[0], &nr, sizeof(nr)) == sizeof(nr));
	UNIT_REQUIRE(waitpid(pid, NULL, 0) == pid);
	close(ends[0]);
	close(ends[1]);
	return nr;
}

#define AT(member) offsetof(struct konf_engine, member)

/* Engines that were built against version 1 have their members there. */
START_TEST(contract_has_the_layout_of_version_1)
{
	static const size_t at[][2] = {
		{AT(version), 0},	 {AT(size), 4},
		{AT(flags), 8},		 {AT(name), 16},
		{AT(alloc), 24},	 {AT(free), 32},
		{AT(usable_size), 40},	 {AT(init), 48},
		{AT(alloc_zeroed), 56},	 {AT(realloc), 64},
		{AT(check), 72},	 {AT(trim), 80},
		{AT(info), 88},		 {AT(option), 96},
		{AT(fork_prepare), 104}, {AT(fork_parent), 112},
		{AT(fork_child), 120},
	};

	ck_assert_int_eq(KONF_ENGINE_VERSION, 1);
	ck_assert_uint_eq(sizeof(struct konf_engine), 128);
	for (size_t i = 0; i < KF_ARRAY_SIZE(at); i++)
		ck_assert_uint_eq(at[i][0], at[i][1]);
}
END_TEST

/*
 * How many blocks an engine has room for may depend on chance, as secure's do:
 * so four later fills are held against the first ones of four processes.
 */
START_TEST(end_of_memory_is_survived)
{
	static unsigned char *at[100000];
	size_t first = 0, later = 0;
	enum konf_misuse wrong;

	if (!UNIT_MALLOC_HAS_AN_END &&
	    !strcmp(engines[_i]->base.name, "system"))
		return;
	for (int i = 0; i < 4; i++)
		first += room_at_first(_i, at, KF_ARRAY_SIZE(at));
	limit_memory(_i);
	for (int round = 0; round < 5; round++) {
		size_t nr = fill_memory(at, KF_ARRAY_SIZE(at));

		later += round ? nr : 0;
		/* A smaller size is had even then: it is where the block is. */
		memset(at[0], 5, 3000);
		at[0] = kf_host_realloc(at[0], 1000, &wrong);
		ck_assert_ptr_nonnull(at[0]);
		ck_assert(at[0][0] == 5 && at[0][999] == 5);
		for (size_t i = 0; i < nr; i++)
			drop(at[i]);
		kf_host_trim(0);
	}
	unit_limit_address_space(SIZE_MAX);
	ck_assert_uint_ge(later, first - first / 8);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		engine_is_found_by_its_name,
		usable_bytes_are_all_writable,
		block_is_aligned_as_asked,
		zeroed_block_is_zero_where_others_were_before,
		resized_block_keeps_its_contents,
		blocks_that_grow_in_turn_move_rarely,
		shrunk_block_gives_back_what_it_has_beyond,
		random_blocks_do_not_overlap,
		what_is_no_block_is_refused,
		large_block_freed_twice_is_refused,
		another_thread_may_free_after_the_first_has_gone,
		info_tells_what_is_live_and_held,
		reclaim_gives_back_what_nobody_uses,
		impossible_sizes_give_null,
		end_of_memory_is_survived,
		contract_has_the_layout_of_version_1,
	};

	return unit_run_each("engines/engine", tests, KF_ARRAY_SIZE(tests),
			     KF_ARRAY_SIZE(engines));
}
