/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A storm of forks, processes made behind the C library's back, and threads
 * that are cancelled at any instruction of their own.
 *
 * KF_STORM_FORKS says how many forks there are: make check-fork-storm makes
 * 100,000.
 */
#include "tests/conformance/case.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_STORMING 8
#define NR_KINDS 5
#define STACK_BYTES (256 * 1024)

static volatile bool stop;
static pthread_t storming[NR_STORMING];

static void use_heap(unsigned int seed)
{
	unsigned char *p[16];

	for (unsigned int i = 0; i < 16; i++) {
		size_t n = 1 + (seed + i) * 271 % 5000;

		if (!((seed + i) % 40))
			n += 200000;
		p[i] = malloc(n);
		CHECK(p[i]);
		p[i][0] = p[i][n - 1] = (unsigned char)i;
	}
	for (unsigned int i = 0; i < 16; i++) {
		CHECK_EQ(p[i][0], (unsigned char)i);
		free(p[i]);
	}
}

static void *storm(void *arg)
{
	for (unsigned int seed = 0; !stop; seed++)
		use_heap(seed);
	return arg;
}

static void begin(void)
{
	for (int i = 0; i < NR_STORMING; i++)
		CHECK_EQ(pthread_create(&storming[i], NULL, storm, NULL), 0);
}

static void end(void)
{
	stop = true;
	for (int i = 0; i < NR_STORMING; i++)
		CHECK_EQ(pthread_join(storming[i], NULL), 0);
}

static void *use_once(void *arg)
{
	use_heap(3);
	return arg;
}

/* What children do: nothing, little, much, with a thread, with a child. */
static void be_child(unsigned int kind)
{
	pthread_t thread;
	pid_t pid;

	if (kind % NR_KINDS == 1)
		free(malloc(100));
	if (kind % NR_KINDS >= 2)
		use_heap(kind);
	if (kind % NR_KINDS == 3) {
		CHECK_EQ(pthread_create(&thread, NULL, use_once, NULL), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	if (kind % NR_KINDS == 4) {
		pid = fork();
		if (!pid)
			_exit(0);
		kf_reap(pid);
	}
	_exit(0);
}

/* The stats files of children: of so many they would fill the directory. */
static void remove_files(void)
{
	const char *dir = getenv("KONFISCATOR_DIR");
	struct dirent *entry;
	char own[32];
	DIR *d;

	if (!getenv("KF_STORM_FORKS") || !dir)
		return;
	snprintf(own, sizeof(own), "threads.%d.", getpid());
	d = opendir(dir);
	CHECK(d);
	while ((entry = readdir(d)) != NULL) {
		if (!strncmp(entry->d_name, "threads.", 8) &&
		    strncmp(entry->d_name, own, strlen(own)))
			unlinkat(dirfd(d), entry->d_name, 0);
	}
	closedir(d);
}

CASE(a_storm_of_forks_hangs_nobody)
{
	const char *wanted = getenv("KF_STORM_FORKS");
	unsigned int nr =
		wanted ? (unsigned int)strtoul(wanted, NULL, 10) : 200;

	begin();
	for (unsigned int i = 0; i < nr; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			be_child(i);
		kf_reap(pid);
		if (i % 1000 == 999)
			remove_files();
	}
	end();
	use_heap(0);
}

static pid_t raw_clone(unsigned long flags)
{
	return (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
}

CASE(a_raw_clone_while_threads_allocate_may_exec)
{
	begin();
	for (int i = 0; i < 50; i++) {
		pid_t pid = raw_clone(SIGCHLD);

		CHECK(pid >= 0);
		if (!pid && i % 2)
			_exit(0);
		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		kf_reap(pid);
		use_heap((unsigned int)i);
	}
	end();
}

CASE(a_raw_clone_of_the_only_thread_allocates)
{
	void *p = malloc(1000);

	for (int i = 0; i < 20; i++) {
		pid_t pid = raw_clone(SIGCHLD);

		CHECK(pid >= 0);
		if (!pid) {
			free(p);
			use_heap((unsigned int)i);
			_exit(0);
		}
		kf_reap(pid);
		use_heap((unsigned int)i);
	}
	free(p);
}

static void *left_by_child;

static int allocate_in_shared_memory(void *arg)
{
	free(arg);
	use_heap(2);
	left_by_child = malloc(3000);
	kf_fill(left_by_child, 3000, 23);
	return 0;
}

/* As vfork, but on a stack of its own: the parent waits meanwhile. */
CASE(a_clone_that_shares_memory_allocates_for_its_parent)
{
	char *stack = malloc(STACK_BYTES);

	CHECK(stack);
	begin();
	for (int i = 0; i < 50; i++) {
		pid_t pid =
			clone(allocate_in_shared_memory, stack + STACK_BYTES,
			      CLONE_VM | CLONE_VFORK | SIGCHLD, malloc(2000));

		CHECK(pid > 0);
		kf_reap(pid);
		CHECK(kf_filled(left_by_child, 3000, 23));
		free(left_by_child);
		use_heap((unsigned int)i);
	}
	end();
	free(stack);
}

/*
 * malloc is not safe to be cancelled in at any instruction, here as in any C
 * library: what is promised is that a thread which allocates with such
 * cancellation off may have it on elsewhere.
 */
static void *compute_and_allocate(void *arg)
{
	volatile unsigned int sum = 0;
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old);
	for (unsigned int seed = 0;; seed++) {
		use_heap(seed);
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
		for (int i = 0; i < 5000; i++)
			sum += seed;
		pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old);
	}
	return arg;
}

CASE(threads_cancelled_at_any_instruction_of_their_own_do_no_harm)
{
	pthread_t thread[4];
	void *result;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 4; i++)
			CHECK_EQ(pthread_create(&thread[i], NULL,
						compute_and_allocate, NULL),
				 0);
		use_heap((unsigned int)round);
		for (int i = 0; i < 4; i++)
			CHECK_EQ(pthread_cancel(thread[i]), 0);
		for (int i = 0; i < 4; i++) {
			CHECK_EQ(pthread_join(thread[i], &result), 0);
			CHECK(result == PTHREAD_CANCELED);
		}
	}
	use_heap(0);
}
