/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/fork.c: a forked child leaves its parent's file at once.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/space.h"
#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

/* What the children's checks came to, for the parent to see. */
#define CHILD_OK 23

static struct kf_slot *slot;

static void count_some(void)
{
	support_publish();
	slot = kf_stats_slot_take();
	slot->class[5].mallocs = 100;
	slot->class[5].frees = 77;
	slot->scalar[KF_SLOT_failed] = 3;
	slot->scalar[KF_SLOT_carved] = 8192;
	/* 100 blocks of class 5 were handed out, 20 more are in the bin. */
	slot->scalar[KF_SLOT_taken] = 120 * 80;
	slot->scalar[KF_SLOT_large_allocated] = 70000;
	slot->scalar[KF_SLOT_large_freed] = 20000;
	kf_word_set(KF_WORD_mapped, 1 << 20);
	kf_word_set(KF_WORD_splits, 9);
}

static pid_t fork_with_handlers(void)
{
	pid_t pid;

	kf_stats_prepare_fork();
	pid = fork();
	if (pid == 0)
		kf_stats_fork_child();
	else
		kf_stats_parent_fork();
	return pid;
}

static int64_t inherited(size_t class)
{
	const struct kf_stats_class *table =
		(const void *)(kf_stats.base + KF_AT_CLASSES);

	return table[class].inherited;
}

static bool started_anew(void)
{
	return slot->class[5].mallocs == 0 && slot->class[5].frees == 0 &&
	       slot->scalar[KF_SLOT_failed] == 0 &&
	       slot->scalar[KF_SLOT_carved] == 8192 &&
	       slot->scalar[KF_SLOT_taken] == 20 * 80 &&
	       kf_word_get(KF_WORD_mapped) == 1 << 20 &&
	       kf_word_get(KF_WORD_splits) == 0 && inherited(5) == 23 &&
	       inherited(6) == 0 &&
	       kf_word_get(KF_WORD_inherited_large) == 50000 &&
	       slot->state != KF_SLOT_FREE && !kf_stats_path();
}

static void check_child(pid_t pid)
{
	int status = support_join(pid);

	UNIT_REQUIRE(WIFEXITED(status));
	UNIT_REQUIRE(WEXITSTATUS(status) == CHILD_OK);
}

START_TEST(child_inherits_what_is_live_and_counts_anew)
{
	pid_t pid;

	count_some();
	pid = fork_with_handlers();
	if (pid == 0)
		_exit(started_anew() ? CHILD_OK : 1);
	check_child(pid);
}
END_TEST

/* The parent may run first, and far: the child starts where the fork was. */
START_TEST(what_the_parent_counts_after_the_fork_is_not_inherited)
{
	int gate[2];
	pid_t pid;
	char c;

	count_some();
	UNIT_REQUIRE(!pipe(gate));
	kf_stats_prepare_fork();
	pid = fork();
	if (pid == 0) {
		if (read(gate[0], &c, 1) != 1)
			_exit(2);
		kf_stats_fork_child();
		_exit(started_anew() ? CHILD_OK : 1);
	}
	kf_stats_parent_fork();
	slot->class[5].mallocs += 1000;
	kf_word_set(KF_WORD_mapped, 12345);
	UNIT_REQUIRE(write(gate[1], "x", 1) == 1);
	check_child(pid);
}
END_TEST

START_TEST(slot_of_the_thread_that_forks_stays_in_use)
{
	struct kf_slot *other;
	pid_t pid;

	count_some();
	other = kf_stats_slot_take();
	kf_stats_slot_label(slot, KF_SLOT_IN_USE);
	kf_stats_slot_label(other, KF_SLOT_IN_USE);
	other->tid++;
	pid = fork_with_handlers();
	if (pid == 0) {
		if (slot->state != KF_SLOT_IN_USE || slot->tid != getpid())
			_exit(1);
		_exit(other->state == KF_SLOT_IDLE ? CHILD_OK : 2);
	}
	check_child(pid);
}
END_TEST

START_TEST(child_does_not_count_in_its_parents_file)
{
	pid_t pid;

	count_some();
	pid = fork_with_handlers();
	if (pid == 0) {
		slot->class[5].mallocs = 4711;
		kf_word_set(KF_WORD_splits, 4711);
		_exit(CHILD_OK);
	}
	check_child(pid);
	UNIT_REQUIRE(slot->class[5].mallocs == 100);
	UNIT_REQUIRE(kf_word_get(KF_WORD_splits) == 9);
	free(support_check(kf_stats_path()));
}
END_TEST

START_TEST(fork_without_handlers_leaves_the_file_as_well)
{
	pid_t pid;

	count_some();
	pid = fork();
	if (pid == 0) {
		kf_stats_fork_child();
		if (!started_anew())
			_exit(1);
		slot->class[5].mallocs = 4711;
		_exit(CHILD_OK);
	}
	check_child(pid);
	UNIT_REQUIRE(slot->class[5].mallocs == 100);
}
END_TEST

static void publish_child(void)
{
	struct kf_stats_conf conf = support_conf();

	kf_stats_publish(&conf, true);
	slot->class[5].frees++;
}

START_TEST(child_makes_its_own_file)
{
	const struct kf_stats_identity *id;
	char path[PATH_MAX];
	char *bytes;
	pid_t pid;

	count_some();
	snprintf(path, sizeof(path), "%s", kf_stats_path());
	pid = fork_with_handlers();
	if (pid == 0) {
		publish_child();
		if (!kf_stats_path() || !strcmp(path, kf_stats_path()))
			_exit(1);
		bytes = support_check(kf_stats_path());
		id = (const void *)(bytes + KF_AT_IDENTITY);
		if (id->pid != getpid() || !id->forked)
			_exit(2);
		if (kf_image_slot(bytes, 0)->class[5].frees != 1)
			_exit(3);
		_exit(CHILD_OK);
	}
	check_child(pid);
	UNIT_REQUIRE(support_nr_files(support_dir) == 2);
	UNIT_REQUIRE(slot->class[5].frees == 77);
}
END_TEST

START_TEST(grandchild_inherits_what_its_parent_inherited)
{
	pid_t pid, grandchild;

	count_some();
	pid = fork_with_handlers();
	if (pid == 0) {
		publish_child();
		slot->scalar[KF_SLOT_large_freed] = 10000;
		grandchild = fork_with_handlers();
		if (grandchild == 0) {
			bool right =
				inherited(5) == 22 &&
				kf_word_get(KF_WORD_inherited_large) == 40000;

			_exit(right ? CHILD_OK : 1);
		}
		_exit(WEXITSTATUS(support_join(grandchild)));
	}
	check_child(pid);
}
END_TEST

START_TEST(slots_taken_between_copy_and_fork_are_the_childs_too)
{
	struct kf_slot *late = NULL;
	pid_t pid;

	count_some();
	kf_stats_prepare_fork();
	for (int i = 0; i < 20; i++)
		late = kf_stats_slot_take();
	late->class[1].mallocs = 5;
	pid = fork();
	if (pid == 0) {
		kf_stats_fork_child();
		if (late->class[1].mallocs != 0 || !started_anew())
			_exit(1);
		late->class[1].mallocs = 4711;
		publish_child();
		free(support_check(kf_stats_path()));
		_exit(CHILD_OK);
	}
	kf_stats_parent_fork();
	check_child(pid);
	UNIT_REQUIRE(late->class[1].mallocs == 5);
}
END_TEST

START_TEST(slot_lost_to_readers_is_seen_in_the_childs_file)
{
	struct rlimit none = {0, RLIM_INFINITY};
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	struct kf_slot *lost = NULL;
	const struct kf_stats_header *h;
	char *bytes;
	pid_t pid;

	count_some();
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &none));
	for (int i = 0; i < 20; i++)
		lost = kf_stats_slot_take();
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &all));
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) > 0);
	pid = fork_with_handlers();
	if (pid == 0) {
		publish_child();
		lost->class[1].mallocs = 6;
		bytes = support_check(kf_stats_path());
		h = (const void *)bytes;
		if (h->slots.nr < 21 ||
		    kf_image_slot(bytes, 20)->class[1].mallocs != 6)
			_exit(1);
		_exit(kf_word_get(KF_WORD_lost_slots) ? 2 : CHILD_OK);
	}
	check_child(pid);
}
END_TEST

/* RLIMIT_DATA refuses private memory to the fork's copy and to the child. */
START_TEST(child_without_private_memory_still_leaves_the_file)
{
	struct rlimit none = {0, RLIM_INFINITY};
	pid_t pid;

	count_some();
	UNIT_REQUIRE(!setrlimit(RLIMIT_DATA, &none));
	pid = fork_with_handlers();
	if (pid == 0) {
		if (!started_anew())
			_exit(1);
		slot->class[5].mallocs = 4711;
		_exit(CHILD_OK);
	}
	check_child(pid);
	UNIT_REQUIRE(slot->class[5].mallocs == 100);
}
END_TEST

START_TEST(parent_gives_the_copy_back)
{
	size_t before;

	count_some();
	before = space_bytes(SPACE_MAPPED);
	UNIT_REQUIRE(before > 0);
	for (int i = 0; i < 3; i++) {
		kf_stats_prepare_fork();
		UNIT_REQUIRE(space_bytes(SPACE_MAPPED) > before);
		kf_stats_parent_fork();
		UNIT_REQUIRE(space_bytes(SPACE_MAPPED) == before);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		child_inherits_what_is_live_and_counts_anew,
		slot_of_the_thread_that_forks_stays_in_use,
		what_the_parent_counts_after_the_fork_is_not_inherited,
		child_does_not_count_in_its_parents_file,
		fork_without_handlers_leaves_the_file_as_well,
		child_makes_its_own_file,
		grandchild_inherits_what_its_parent_inherited,
		slots_taken_between_copy_and_fork_are_the_childs_too,
		slot_lost_to_readers_is_seen_in_the_childs_file,
		child_without_private_memory_still_leaves_the_file,
		parent_gives_the_copy_back,
	};

	return unit_run("stats/fork", tests, KF_ARRAY_SIZE(tests));
}
