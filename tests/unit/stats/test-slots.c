/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/slots.c: slots taken and labelled, and the file grown for them.
 */
#include "config.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/process.h"
#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

#define MANY 100
#define NR_THREADS 8
#define SLOTS_A_THREAD 40

static bool is_zero(const struct kf_slot *slot)
{
	static const struct kf_slot zero;

	return !memcmp(slot->scalar, zero.scalar, sizeof(zero.scalar)) &&
	       !memcmp(slot->class, zero.class, sizeof(zero.class));
}

START_TEST(hundred_slots_are_in_the_file)
{
	struct kf_slot *slot[MANY];
	char *bytes;

	support_publish();
	for (size_t i = 0; i < MANY; i++) {
		slot[i] = kf_stats_slot_take();
		UNIT_REQUIRE(is_zero(slot[i]));
		UNIT_REQUIRE((uintptr_t)slot[i] % KF_CACHE_LINE == 0);
		slot[i]->class[1].mallocs = i + 1;
		free(support_check(kf_stats_path()));
	}
	bytes = support_check(kf_stats_path());
	for (size_t i = 0; i < MANY; i++) {
		const struct kf_slot *in_file = kf_image_slot(bytes, i);

		UNIT_REQUIRE(slot[i]->class[1].mallocs == i + 1);
		UNIT_REQUIRE(in_file->class[1].mallocs == i + 1);
		UNIT_REQUIRE(in_file->state == KF_SLOT_IN_USE);
	}
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 0);
	free(bytes);
}
END_TEST

START_TEST(slots_grown_before_publication_are_in_the_file)
{
	struct kf_stats_conf conf;
	struct kf_slot *slot = NULL;
	char *bytes;

	support_begin();
	for (size_t i = 0; i < MANY; i++)
		slot = kf_stats_slot_take();
	slot->class[2].frees = 23;
	conf = support_conf();
	kf_stats_publish(&conf, false);
	bytes = support_check(kf_stats_path());
	UNIT_REQUIRE(kf_image_slot(bytes, MANY - 1)->class[2].frees == 23);
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 0);
	free(bytes);
}
END_TEST

static void *take_some(void *out)
{
	struct kf_slot **slot = out;

	for (int i = 0; i < SLOTS_A_THREAD; i++) {
		slot[i] = kf_stats_slot_take();
		slot[i]->class[1].mallocs++;
	}
	return NULL;
}

START_TEST(threads_that_take_slots_at_once_get_different_ones)
{
	static struct kf_slot *slot[NR_THREADS][SLOTS_A_THREAD];
	pthread_t thread[NR_THREADS];
	uint64_t sum = 0;
	char *bytes;

	support_publish();
	for (int i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(
			!pthread_create(&thread[i], NULL, take_some, slot[i]));
	for (int i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(!pthread_join(thread[i], NULL));
	for (int i = 0; i < NR_THREADS; i++) {
		for (int j = 0; j < SLOTS_A_THREAD; j++)
			UNIT_REQUIRE(slot[i][j]->class[1].mallocs == 1);
	}
	bytes = support_check(kf_stats_path());
	for (size_t i = 0; i < NR_THREADS * SLOTS_A_THREAD; i++)
		sum += kf_image_slot(bytes, i)->class[1].mallocs;
	UNIT_REQUIRE(sum == NR_THREADS * SLOTS_A_THREAD);
	free(bytes);
}
END_TEST

/* Take slots until one is in memory alone, the last. */
static void take_one_too_many(struct kf_slot **last)
{
	while (!kf_word_get(KF_WORD_lost_slots))
		*last = kf_stats_slot_take();
}

static size_t file_bytes(void)
{
	struct stat st;

	UNIT_REQUIRE(!stat(kf_stats_path(), &st));
	return (size_t)st.st_size;
}

static void check_lost(size_t had)
{
	char *bytes = support_check(kf_stats_path());
	const struct kf_stats_header *h = (const void *)bytes;

	UNIT_REQUIRE(kf_image_size(h->slots.nr) == had);
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 1);
	free(bytes);
}

START_TEST(slot_without_room_in_the_file_counts_unseen)
{
	struct rlimit limit = {0, RLIM_INFINITY};
	struct kf_slot *last = NULL;
	size_t had;

	support_publish();
	had = file_bytes();
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	take_one_too_many(&last);
	limit.rlim_cur = RLIM_INFINITY;
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	last->class[1].mallocs++;
	check_lost(had);
}
END_TEST

static void lose_the_file(const char *path)
{
	UNIT_REQUIRE(!unlink(path));
}

START_TEST(file_that_is_gone_is_not_missed)
{
	struct kf_slot *last = NULL;
	struct stat st;

	support_publish();
	lose_the_file(kf_stats_path());
	take_one_too_many(&last);
	last->class[1].mallocs++;
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 1);
	UNIT_REQUIRE(stat(kf_stats_path(), &st));
}
END_TEST

START_TEST(another_file_in_its_place_is_not_touched)
{
	static const char text[] = "somebody else's";
	struct kf_slot *last = NULL;
	size_t size;
	char *bytes;
	FILE *f;

	support_publish();
	lose_the_file(kf_stats_path());
	f = fopen(kf_stats_path(), "w");
	UNIT_REQUIRE(f && fputs(text, f) >= 0 && !fclose(f));
	take_one_too_many(&last);
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 1);
	bytes = support_read(kf_stats_path(), &size);
	UNIT_REQUIRE(size == strlen(text) && !memcmp(bytes, text, size));
	free(bytes);
}
END_TEST

START_TEST(fifo_in_its_place_blocks_nobody)
{
	struct kf_slot *last = NULL;

	support_publish();
	lose_the_file(kf_stats_path());
	UNIT_REQUIRE(!mkfifo(kf_stats_path(), 0600));
	take_one_too_many(&last);
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 1);
}
END_TEST

START_TEST(file_that_became_longer_is_not_grown)
{
	struct kf_slot *last = NULL;

	support_publish();
	UNIT_REQUIRE(!truncate(kf_stats_path(), (off_t)file_bytes() + 1));
	take_one_too_many(&last);
	UNIT_REQUIRE(is_zero(last));
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 1);
}
END_TEST

/* Kills whoever opens a file, as sandboxes do. */
static void bar_open(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {KF_ARRAY_SIZE(filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(1);
}

START_TEST(program_that_bars_itself_from_opening_is_not_killed)
{
	struct kf_stats_conf conf;
	struct kf_slot *last = NULL;
	pid_t pid;

	support_publish();
	pid = fork();
	if (pid) {
		UNIT_REQUIRE(support_join(pid) == 0);
		return;
	}
	kf_stats_fork_child();
	conf = support_conf();
	kf_stats_publish(&conf, true);
	kf_process_bar(true);
	bar_open();
	take_one_too_many(&last);
	last->class[1].mallocs++;
	kf_stats_fork_child();
	kf_stats_publish(&conf, true);
	_exit(kf_stats_path() ? 1 : 0);
}
END_TEST

static void fill_the_image(void)
{
	while (kf_stats.nr_taken < kf_stats.max_slots)
		UNIT_REQUIRE(kf_stats_slot_take());
}

/* Of the file as it is now. */
static void check_more(const struct kf_slot *slot, size_t nr)
{
	size_t size;
	char *bytes = support_read(kf_stats_path(), &size);
	const struct kf_stats_header *h = (const void *)bytes;
	const struct kf_slot *more = (const void *)(bytes + h->more.offset);

	UNIT_REQUIRE(h->slots.nr == kf_stats.max_slots);
	UNIT_REQUIRE(h->more.entry_size == sizeof(*more));
	UNIT_REQUIRE(h->more.nr >= nr);
	UNIT_REQUIRE(h->total_size == size);
	UNIT_REQUIRE(size == h->more.offset + h->more.nr * sizeof(*more));
	for (size_t i = 0; i < nr; i++)
		UNIT_REQUIRE(!memcmp(&more[i], &slot[i], sizeof(*more)));
	UNIT_REQUIRE(more[nr - 1].class[1].mallocs == nr);
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 0);
	free(bytes);
}

static struct kf_slot *take_more(size_t nr)
{
	struct kf_slot *first = kf_stats_slot_take();

	first->class[1].mallocs = 1;
	for (size_t i = 1; i < nr; i++) {
		struct kf_slot *slot = kf_stats_slot_take();

		UNIT_REQUIRE(slot == first + i && is_zero(slot));
		slot->class[1].mallocs = i + 1;
	}
	return first;
}

START_TEST(slots_beyond_the_image_are_in_the_file)
{
	struct kf_slot *slot;

	support_publish();
	fill_the_image();
	slot = take_more(MANY);
	check_more(slot, MANY);
}
END_TEST

START_TEST(slots_beyond_the_image_are_in_a_file_made_later)
{
	struct kf_stats_conf conf = support_conf();
	struct kf_slot *slot;

	support_begin();
	fill_the_image();
	slot = take_more(MANY);
	kf_stats_publish(&conf, false);
	check_more(slot, MANY);
}
END_TEST

START_TEST(slots_beyond_the_image_are_live_and_inherited)
{
	uint64_t blocks, bytes, live;
	struct kf_slot *slot;

	support_publish();
	fill_the_image();
	slot = take_more(2);
	slot[1].scalar[KF_SLOT_large_allocated] = 70000;
	kf_stats_live(&blocks, &bytes);
	UNIT_REQUIRE(blocks == 3 && bytes >= 70000);
	live = bytes;
	kf_stats_fork_child();
	UNIT_REQUIRE(slot[1].class[1].mallocs == 0);
	UNIT_REQUIRE(kf_stats_classes[1].inherited == 3);
	UNIT_REQUIRE(kf_word_get(KF_WORD_inherited_large) == 70000);
	kf_stats_live(&blocks, &bytes);
	UNIT_REQUIRE(blocks == 3 && bytes == live);
}
END_TEST

START_TEST(beyond_the_last_slot_one_is_shared)
{
	struct kf_slot *slot, *last;

	support_begin();
	fill_the_image();
	last = take_more(1);
	kf_stats.area[KF_AREA_SLOTS].room = kf_stats.area[KF_AREA_SLOTS].bytes;
	while (kf_stats.nr_more * sizeof(*last) <
	       kf_stats.area[KF_AREA_SLOTS].room)
		last = kf_stats_slot_take();
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 0);
	slot = kf_stats_slot_take();
	UNIT_REQUIRE(slot && slot != last);
	UNIT_REQUIRE(kf_stats_slot_take() == slot);
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 2);
}
END_TEST

START_TEST(label_names_the_calling_thread)
{
	struct kf_slot *slot;

	support_publish();
	slot = kf_stats_slot_take();
	UNIT_REQUIRE(!prctl(PR_SET_NAME, "fifteen letters"));
	kf_stats_slot_label(slot, KF_SLOT_IDLE);
	UNIT_REQUIRE(!strcmp(slot->name, "fifteen letters"));
	UNIT_REQUIRE(slot->tid == syscall(SYS_gettid));
	UNIT_REQUIRE(slot->state == KF_SLOT_IDLE);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		hundred_slots_are_in_the_file,
		slots_grown_before_publication_are_in_the_file,
		threads_that_take_slots_at_once_get_different_ones,
		slot_without_room_in_the_file_counts_unseen,
		file_that_is_gone_is_not_missed,
		another_file_in_its_place_is_not_touched,
		fifo_in_its_place_blocks_nobody,
		file_that_became_longer_is_not_grown,
		slots_beyond_the_image_are_in_the_file,
		slots_beyond_the_image_are_in_a_file_made_later,
		slots_beyond_the_image_are_live_and_inherited,
		beyond_the_last_slot_one_is_shared,
		program_that_bars_itself_from_opening_is_not_killed,
		label_names_the_calling_thread,
	};

	return unit_run("stats/slots", tests, KF_ARRAY_SIZE(tests));
}
