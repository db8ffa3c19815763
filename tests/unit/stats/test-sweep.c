/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/sweep.c: which files go, and which never do.
 *
 * The files are copies of a real one, with one thing changed in each.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

static char *bytes;
static size_t size;
static struct kf_stats_identity *id;
static uint64_t nr_folds;

static void begin(void)
{
	support_publish();
	bytes = support_read(kf_stats_path(), &size);
	id = (void *)(bytes + KF_AT_IDENTITY);
}

static int32_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	support_join(pid);
	return pid;
}

/* The file of a process that is gone, made more than a day ago. */
static void make_left_over(void)
{
	id->pid = dead_pid();
	id->created_ns -= 25 * 3600 * (uint64_t)1000000000;
}

static void sweep(void)
{
	struct kf_ledger_writer w;
	int fd = open(support_dir, O_PATH);

	UNIT_REQUIRE(fd >= 0);
	UNIT_REQUIRE(
		!kf_ledger_open(&w, fd, geteuid(), kf_fold_described(), true));
	kf_sweep_all(&w);
	nr_folds = w.committed;
	kf_ledger_close(&w);
	UNIT_REQUIRE(!close(fd));
}

static bool is_swept(void)
{
	const char *path = support_path_in("copy");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);

	UNIT_REQUIRE(fd >= 0);
	UNIT_REQUIRE(write(fd, bytes, size) == (ssize_t)size);
	UNIT_REQUIRE(!close(fd));
	sweep();
	UNIT_REQUIRE(!access(kf_stats_path(), F_OK));
	return access(path, F_OK) != 0;
}

START_TEST(old_file_of_a_dead_process_goes)
{
	begin();
	make_left_over();
	UNIT_REQUIRE(is_swept());
}
END_TEST

START_TEST(file_of_a_reused_pid_goes)
{
	begin();
	make_left_over();
	id->pid = getppid();
	id->start_ticks = 1;
	UNIT_REQUIRE(is_swept());
}
END_TEST

START_TEST(file_of_a_living_process_stays)
{
	begin();
	make_left_over();
	id->pid = getppid();
	id->start_ticks = kf_identity_start(getppid());
	UNIT_REQUIRE(!is_swept() && nr_folds == 0);
}
END_TEST

START_TEST(file_of_what_we_were_before_exec_goes)
{
	begin();
	id->created_ns--;
	UNIT_REQUIRE(is_swept() && nr_folds == 1);
}
END_TEST

START_TEST(young_file_stays_and_is_folded_once)
{
	begin();
	make_left_over();
	id->created_ns += 24 * 3600 * (uint64_t)1000000000;
	UNIT_REQUIRE(!is_swept() && nr_folds == 1);
	sweep();
	UNIT_REQUIRE(!is_swept() && nr_folds == 1);
}
END_TEST

START_TEST(file_of_another_boot_stays)
{
	begin();
	make_left_over();
	id->boot_id[0] ^= 1;
	UNIT_REQUIRE(!is_swept());
}
END_TEST

START_TEST(file_of_another_namespace_stays)
{
	begin();
	make_left_over();
	id->pid_ns++;
	UNIT_REQUIRE(!is_swept());
}
END_TEST

START_TEST(file_that_is_not_ours_stays)
{
	begin();
	make_left_over();
	bytes[0] ^= 1;
	UNIT_REQUIRE(!is_swept());
	bytes[0] ^= 1;
	size = KF_AT_SLOTS - 1;
	UNIT_REQUIRE(!is_swept());
}
END_TEST

START_TEST(process_that_began_with_a_filter_sweeps_nothing)
{
	begin();
	make_left_over();
	kf_stats.was_filtered = true;
	UNIT_REQUIRE(!is_swept());
}
END_TEST

/* Each sweep looks at a part, the more the fewer are left. */
START_TEST(many_files_go_in_several_sweeps)
{
	int fd, left = 600, before;

	begin();
	make_left_over();
	for (int i = 0; i < left; i++) {
		char name[32];

		snprintf(name, sizeof(name), "many.%d", i);
		fd = open(support_path_in(name), O_WRONLY | O_CREAT, 0640);
		UNIT_REQUIRE(fd >= 0);
		UNIT_REQUIRE(write(fd, bytes, size) == (ssize_t)size);
		UNIT_REQUIRE(!close(fd));
	}
	before = support_nr_files(support_dir);
	is_swept();
	left = support_nr_files(support_dir);
	UNIT_REQUIRE(left < before && left >= before - 256);
	for (int i = 0; i < 20 && left > 1; i++) {
		is_swept();
		unlink(support_path_in("copy"));
		left = support_nr_files(support_dir);
	}
	UNIT_REQUIRE(left == 1);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		old_file_of_a_dead_process_goes,
		file_of_a_reused_pid_goes,
		file_of_a_living_process_stays,
		file_of_what_we_were_before_exec_goes,
		young_file_stays_and_is_folded_once,
		file_of_another_boot_stays,
		file_of_another_namespace_stays,
		file_that_is_not_ours_stays,
		process_that_began_with_a_filter_sweeps_nothing,
		many_files_go_in_several_sweeps,
	};

	return unit_run("stats/sweep", tests, KF_ARRAY_SIZE(tests));
}
