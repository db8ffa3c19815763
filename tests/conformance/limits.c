/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Programs under limits: address space, data, locked memory, descriptors, file
 * size. The limited part is start_malloc, started anew, so that the limit is
 * there from its first malloc on.
 */
#include "case.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void use_heap(void)
{
	for (size_t n = 1; n < 3 * KF_MIB_BYTES; n += 1 + n / 3) {
		char *p = malloc(n);

		CHECK(p);
		memset(p, 1, n);
		free(p);
	}
}

static void check_limited(int resource, size_t bytes, const char *arg)
{
	struct rlimit limit = {bytes, bytes};

	CHECK_EQ(setrlimit((__rlimit_resource_t)resource, &limit), 0);
	CHECK_EQ(kf_spawn("start_malloc", arg), 0);
}

CASE(a_program_runs_in_256_mib_of_address_space)
{
	check_limited(RLIMIT_AS, 256 * KF_MIB_BYTES, "work");
}

CASE(malloc_uses_up_256_mib_of_address_space_and_recovers)
{
	check_limited(RLIMIT_AS, 256 * KF_MIB_BYTES, "exhaust");
}

CASE(malloc_uses_up_64_mib_of_address_space_and_recovers)
{
	check_limited(RLIMIT_AS, 64 * KF_MIB_BYTES, "exhaust");
}

CASE(threads_run_in_256_mib_of_address_space)
{
	check_limited(RLIMIT_AS, 256 * KF_MIB_BYTES, "threads");
}

CASE(malloc_uses_up_64_mib_of_data_and_recovers)
{
	check_limited(RLIMIT_DATA, 64 * KF_MIB_BYTES, "exhaust");
}

CASE(most_of_a_limited_address_space_is_for_the_program)
{
	check_limited(RLIMIT_AS, 256 * KF_MIB_BYTES, "most");
}

CASE(every_small_limit_of_address_space_is_borne)
{
	/* From where nothing can start to where all can: no crash anywhere. */
	for (size_t kib = 2048; kib < 24576; kib += 1024) {
		struct rlimit limit = {kib << 10, kib << 10};
		int status;
		pid_t pid = fork();

		if (!pid) {
			if (setrlimit(RLIMIT_AS, &limit))
				_exit(1);
			execl(kf_beside("start_malloc"), "start_malloc",
			      "exhaust", (char *)NULL);
			_exit(1);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		/* 127 and 1: the loader found no room; KILL: the kernel. */
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			continue;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV &&
		    kib < 8192)
			continue;
		CHECK(WIFEXITED(status));
	}
}

CASE(a_forked_child_runs_without_a_descriptor_to_be_had)
{
	struct rlimit limit = {0, 0};
	pid_t pid;

	use_heap();
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	pid = fork();
	if (!pid) {
		use_heap();
		_exit(0);
	}
	kf_reap(pid);
	use_heap();
}

/* A library that writes past the limit would get SIGXFSZ. */
CASE(a_program_runs_with_files_limited_to_0_bytes)
{
	check_limited(RLIMIT_FSIZE, 0, "work");
}

CASE(a_program_runs_with_files_limited_to_one_page)
{
	check_limited(RLIMIT_FSIZE, 4096, "work");
}

CASE(locking_all_future_memory_makes_no_reservation_resident)
{
	size_t before;

	/* Locking counts what is mapped already, too: before is after it. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		kf_case_skip("mlockall is not permitted");
	before = kf_resident();
	for (size_t n = 1; n < 30000; n += 1 + n / 4)
		CHECK(malloc(n));
	CHECK(kf_resident() < before + 12 * KF_MIB_BYTES);
}

CASE(malloc_works_where_locked_memory_is_used_up)
{
	struct rlimit limit = {4 * KF_MIB_BYTES, 4 * KF_MIB_BYTES};
	size_t n, got = 0;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    (geteuid() == 0 && setuid(65534)))
		kf_case_skip("the limit of locked memory cannot be lowered");
	if (mlockall(MCL_FUTURE))
		kf_case_skip("mlockall is not permitted");
	for (n = 1; n < 16 * KF_MIB_BYTES; n += 1 + n / 3) {
		char *p = malloc(n);

		got += p != NULL;
		if (p)
			p[0] = p[n - 1] = 1;
		free(p);
	}
	CHECK(got > 10);
}

/* What the test was started with may be open; what we opened is not. */
CASE(no_descriptor_is_held_open)
{
	bool before[1000];

	for (int fd = 0; fd < 1000; fd++)
		before[fd] = fcntl(fd, F_GETFD) >= 0;
	use_heap();
	malloc_trim(0);
	free(malloc(100 * KF_MIB_BYTES));
	for (int fd = 0; fd < 1000; fd++)
		CHECK_EQ(fcntl(fd, F_GETFD) >= 0, before[fd]);
}

CASE(no_descriptor_of_the_stats_file_is_open_at_main)
{
	const char *dir = getenv("KONFISCATOR_DIR");
	char link[64], target[4096];

	for (int fd = 3; dir && fd < 1000; fd++) {
		ssize_t len;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, target, sizeof(target) - 1);
		target[len < 0 ? 0 : len] = '\0';
		CHECK(!strstr(target, dir));
	}
}

CASE(every_descriptor_may_be_closed)
{
	use_heap();
	for (int fd = 0; fd < 1000; fd++)
		close(fd);
	use_heap();
	free(malloc(100 * KF_MIB_BYTES));
	CHECK_EQ(open("/dev/null", O_RDWR), 0);
}

CASE(the_working_directory_and_umask_are_left_alone)
{
	char cwd[4096];
	mode_t mask = umask(022);

	umask(mask);
	use_heap();
	CHECK(getcwd(cwd, sizeof(cwd)));
	CHECK_EQ(umask(mask), mask);
}

CASE(malloc_works_after_the_root_and_the_user_change)
{
	if (geteuid())
		kf_case_skip("only root may do that");
	use_heap();
	CHECK_EQ(chroot("/proc/self/fdinfo"), 0);
	CHECK_EQ(setuid(65534), 0);
	use_heap();
	free(malloc(100 * KF_MIB_BYTES));
}

CASE(malloc_works_under_no_new_privileges_and_not_dumpable)
{
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
	use_heap();
	CHECK_EQ(kf_spawn("start_malloc", "work"), 0);
}

/* Whoever calls the kernel for anything else is killed. */
static void bar_all_but_memory(void)
{
	static const int allowed[] = {
		SYS_brk,     SYS_mmap,	SYS_munmap, SYS_mremap, SYS_mprotect,
		SYS_madvise, SYS_futex, SYS_write,  SYS_exit,	SYS_exit_group,
	};
	enum { NR = sizeof(allowed) / sizeof(*allowed) };
	struct sock_filter filter[NR + 3] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		[NR + 1] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		[NR + 2] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {NR + 3, filter};

	for (int i = 0; i < NR; i++)
		filter[i + 1] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)allowed[i],
			(unsigned char)(NR - i), 0);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

CASE(a_program_that_bars_all_calls_but_those_of_memory_allocates)
{
	void *live[300];

	use_heap();
	bar_all_but_memory();
	for (int round = 0; round < 10; round++) {
		for (size_t i = 0; i < 300; i++) {
			live[i] = malloc(i * i * 4 + 1);
			CHECK(live[i]);
		}
		for (size_t i = 0; i < 300; i++)
			free(live[i]);
		use_heap();
		malloc_trim(0);
	}
}
