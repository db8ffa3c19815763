/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sys/process.c: what a process may ask of itself, against libc's answers.
 */
#include "config.h"

#include "sys/process.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit.h"

START_TEST(ids_are_those_of_libc)
{
	UNIT_REQUIRE(kf_process_pid() == getpid());
	UNIT_REQUIRE(kf_process_tid() == gettid());
	UNIT_REQUIRE(kf_process_uid() == geteuid());
}
END_TEST

START_TEST(child_has_ids_of_its_own)
{
	int32_t parent = kf_process_pid();
	pid_t pid = fork();
	int status;

	UNIT_REQUIRE(pid >= 0);
	if (pid == 0)
		_exit(kf_process_pid() == parent ||
		      kf_process_tid() == parent ||
		      kf_process_pid() != getpid());
	UNIT_REQUIRE(waitpid(pid, &status, 0) == pid);
	UNIT_REQUIRE(status == 0);
}
END_TEST

START_TEST(name_is_the_threads)
{
	char comm[KF_COMM_SIZE];

	UNIT_REQUIRE(!prctl(PR_SET_NAME, "a very long name indeed"));
	kf_process_comm(comm);
	UNIT_REQUIRE(!strcmp(comm, "a very long nam"));
	UNIT_REQUIRE(!prctl(PR_SET_NAME, ""));
	kf_process_comm(comm);
	UNIT_REQUIRE(comm[0] == '\0');
}
END_TEST

START_TEST(address_limit_is_the_soft_one)
{
	struct rlimit limit, old;
	uint64_t seen;

	UNIT_REQUIRE(!getrlimit(RLIMIT_AS, &old));
	limit = old;
	limit.rlim_cur = (rlim_t)1 << 46;
	UNIT_REQUIRE(!setrlimit(RLIMIT_AS, &limit));
	seen = kf_process_address_limit();
	UNIT_REQUIRE(!setrlimit(RLIMIT_AS, &old));
	UNIT_REQUIRE(seen == (uint64_t)1 << 46);
	UNIT_REQUIRE(kf_process_address_limit() == old.rlim_cur);
}
END_TEST

START_TEST(random_numbers_differ)
{
	UNIT_REQUIRE(kf_process_random() != kf_process_random());
}
END_TEST

START_TEST(clock_is_the_kernels)
{
	struct timespec before, after;
	uint64_t now;

	UNIT_REQUIRE(!clock_gettime(CLOCK_MONOTONIC, &before));
	now = kf_process_clock_ns(CLOCK_MONOTONIC);
	UNIT_REQUIRE(!clock_gettime(CLOCK_MONOTONIC, &after));
	UNIT_REQUIRE(now >= (uint64_t)before.tv_sec * 1000000000u +
				    (uint64_t)before.tv_nsec);
	UNIT_REQUIRE(now <= (uint64_t)after.tv_sec * 1000000000u +
				    (uint64_t)after.tv_nsec);
}
END_TEST

START_TEST(pause_ends_and_keeps_errno)
{
	errno = 1234;
	kf_process_pause();
	UNIT_REQUIRE(errno == 1234);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		ids_are_those_of_libc,	    child_has_ids_of_its_own,
		name_is_the_threads,	    address_limit_is_the_soft_one,
		random_numbers_differ,	    clock_is_the_kernels,
		pause_ends_and_keeps_errno,
	};

	return unit_run("sys/process", tests, KF_ARRAY_SIZE(tests));
}
