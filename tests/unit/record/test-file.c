/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/internal.h"

#include "sys/clock.h"

#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

/* More chunks than a writer has filled before it keeps its window. */
#define GROWN (KF_WINDOW_CHUNKS * (KF_STEP_CHUNKS + 1))

/* The last that a writer fills while nobody else has the file. */
#define LAST (KF_WINDOW_CHUNKS - KF_SPARE_CHUNKS - 1)

#define MAX_SIZE (64 * KF_MIB)
#define MAX_CHUNKS (MAX_SIZE / KF_RECORD_CHUNK_SIZE)

static struct kf_writer *const writer = &kf_writers[1];
static const char *name;

static void begin(void)
{
	struct kf_stats_conf stats;
	struct kf_record_conf conf = {.max_size = MAX_SIZE, .stats = &stats};

	support_begin();
	stats = support_conf();
	conf.file = name = support_path_in("recording");
	UNIT_REQUIRE(kf_record_begin(&conf) == 0);
	writer->epoch = kf_record_epoch;
	writer->stream = 1;
}

/* The place in the window of the next chunk that the writer fills. */
static size_t take(bool copying)
{
	__atomic_store_n(&kf_record_copying, copying, __ATOMIC_RELAXED);
	UNIT_REQUIRE(kf_chunk_take(writer, kf_clock_ticks()));
	return (size_t)(writer->chunk - writer->window) / KF_RECORD_CHUNK_SIZE;
}

/* Until it has filled all of a window that it keeps. */
static void grow(void)
{
	for (int i = 0; i < GROWN; i++)
		take(false);
	UNIT_REQUIRE(writer->mapped == KF_WINDOW_CHUNKS);
	while (take(false) != LAST)
		;
}

/* How often each sequence number is in the file; returns those beyond @nr. */
static unsigned int count_chunks(unsigned int *seen, uint64_t nr)
{
	struct kf_record_chunk chunk;
	off_t at = KF_RECORD_CHUNK_SIZE;
	int fd = open(name, O_RDONLY);
	unsigned int others = 0;

	UNIT_REQUIRE(fd >= 0);
	for (; pread(fd, &chunk, sizeof(chunk), at) == sizeof(chunk);
	     at += KF_RECORD_CHUNK_SIZE) {
		if (chunk.magic != KF_RECORD_CHUNK_MAGIC)
			continue;
		if (chunk.stream == 1 && chunk.sequence < nr)
			seen[chunk.sequence]++;
		else
			others++;
	}
	close(fd);
	return others;
}

START_TEST(spare_chunks_are_for_when_another_writer_has_the_file)
{
	begin();
	grow();
	ck_assert_uint_eq(take(false), 0);
	for (size_t i = 1; i < KF_WINDOW_CHUNKS; i++)
		ck_assert_uint_eq(take(true), i);
	ck_assert_uint_eq(take(true), 0);
	/* Who goes on alone has a hint of nobody else. */
	ck_assert_uint_eq(kf_record_copying, 0);
	for (size_t i = 1; i <= LAST; i++)
		ck_assert_uint_eq(take(false), i);
	/* It waits no longer than it has to. */
	for (size_t i = 1; i <= 2; i++)
		ck_assert_uint_eq(take(true), LAST + i);
	ck_assert_uint_eq(take(false), 0);
	kf_record_stop();
}
END_TEST

START_TEST(chunks_are_in_the_file_once_however_many_are_copied)
{
	static unsigned int seen[MAX_CHUNKS];
	uint64_t seed = 9;

	begin();
	while (writer->sequence < 500)
		take(chance_next(&seed) & 1);
	ck_assert_uint_eq(count_chunks(seen, 500), 0);
	for (int i = 0; i < 500; i++)
		ck_assert_uint_eq(seen[i], 1);
	kf_record_stop();
}
END_TEST

/* What is left of the file is less than what was filled. */
START_TEST(file_that_ends_has_all_that_was_filled)
{
	static unsigned int seen[MAX_CHUNKS];
	uint64_t seed = 3, nr;

	begin();
	do {
		nr = writer->sequence;
		__atomic_store_n(&kf_record_copying, chance_next(&seed) & 1,
				 __ATOMIC_RELAXED);
	} while (kf_chunk_take(writer, kf_clock_ticks()));
	ck_assert_uint_gt(nr, MAX_CHUNKS - 2 * KF_WINDOW_CHUNKS);
	ck_assert_uint_eq(count_chunks(seen, nr), 0);
	for (uint64_t i = 0; i < nr; i++)
		ck_assert_uint_eq(seen[i], 1);
	kf_record_stop();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		spare_chunks_are_for_when_another_writer_has_the_file,
		chunks_are_in_the_file_once_however_many_are_copied,
		file_that_ends_has_all_that_was_filled,
	};

	return unit_run("record/file", tests, KF_ARRAY_SIZE(tests));
}
