/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fork, _Fork, vfork and posix_spawn of a program with one thread; those with
 * many are in tests/threads.
 */
#include "case.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_BLOCKS 2000

static unsigned char *block[NR_BLOCKS];

static size_t size_of(int i)
{
	return 1 + (size_t)i * 31 % 5000 + (i % 100 ? 0 : 300000);
}

static void take(void)
{
	for (int i = 0; i < NR_BLOCKS; i++) {
		block[i] = malloc(size_of(i));
		CHECK(block[i]);
		kf_fill(block[i], size_of(i), i);
	}
}

static void check_and_drop(void)
{
	for (int i = 0; i < NR_BLOCKS; i++) {
		CHECK(kf_filled(block[i], size_of(i), i));
		free(block[i]);
	}
}

static void live_as_child(void)
{
	check_and_drop();
	take();
	check_and_drop();
	_exit(0);
}

CASE(a_forked_child_has_its_parents_blocks_and_makes_its_own)
{
	pid_t pid;

	take();
	pid = fork();
	if (!pid)
		live_as_child();
	kf_reap(pid);
	check_and_drop();
}

CASE(a_forked_childs_writes_are_not_seen_by_its_parent)
{
	pid_t pid;

	take();
	pid = fork();
	if (!pid) {
		for (int i = 0; i < NR_BLOCKS; i++)
			memset(block[i], 0, size_of(i));
		malloc_trim(0);
		_exit(0);
	}
	kf_reap(pid);
	check_and_drop();
}

CASE(grandchildren_allocate_too)
{
	pid_t pid;

	take();
	pid = fork();
	if (!pid) {
		pid = fork();
		if (!pid) {
			check_and_drop();
			exit(0);
		}
		kf_reap(pid);
		check_and_drop();
		exit(0);
	}
	kf_reap(pid);
	check_and_drop();
}

CASE(fork_keeps_errno_in_parent_and_child)
{
	pid_t pid;

	free(malloc(1));
	errno = EXDEV;
	pid = fork();
	if (!pid) {
		CHECK_EQ(errno, EXDEV);
		free(malloc(1));
		CHECK_EQ(errno, EXDEV);
		_exit(0);
	}
	CHECK_EQ(errno, EXDEV);
	kf_reap(pid);
}

CASE(a_raw_forked_child_allocates)
{
	pid_t (*raw_fork)(void) = dlsym(RTLD_DEFAULT, "_Fork");
	pid_t pid;

	if (!raw_fork)
		kf_case_skip("this C library has no _Fork");
	take();
	pid = raw_fork();
	if (!pid)
		live_as_child();
	kf_reap(pid);
	check_and_drop();
}

CASE(vfork_and_exec_leave_the_parents_heap_whole)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		take();
		pid = vfork();
		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		kf_reap(pid);
		check_and_drop();
	}
}

CASE(vfork_and_a_failing_exec_leave_the_parents_heap_whole)
{
	pid_t pid;
	int status;

	take();
	pid = vfork();
	if (!pid) {
		execl("/no/such/program", "program", (char *)NULL);
		_exit(127);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 127);
	check_and_drop();
}

CASE(posix_spawn_system_and_popen_work)
{
	FILE *pipe;
	char line[64];

	take();
	CHECK_EQ(kf_spawn("start_malloc", NULL), 0);
	CHECK_EQ(system("exit 0"), 0);
	pipe = popen("echo hello", "r");
	CHECK(pipe);
	CHECK(fgets(line, sizeof(line), pipe) && !strcmp(line, "hello\n"));
	CHECK_EQ(pclose(pipe), 0);
	check_and_drop();
}

static int handled;

static void allocate_in_handler(void)
{
	unsigned char *p = malloc(700), *q = calloc(1, 100000);

	CHECK(p && q);
	kf_fill(p, 700, 1);
	p = realloc(p, 3000);
	CHECK(p && kf_filled(p, 700, 1));
	free(q);
	free(p);
	handled++;
}

CASE(fork_handlers_of_the_program_allocate)
{
	pid_t pid;

	free(malloc(1));
	CHECK_EQ(pthread_atfork(allocate_in_handler, allocate_in_handler,
				allocate_in_handler),
		 0);
	take();
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (!pid)
			_exit(handled == 2 * i + 2 ? 0 : 1);
		kf_reap(pid);
	}
	CHECK_EQ(handled, 40);
	check_and_drop();
}

CASE(a_hundred_fork_handlers_can_be_registered)
{
	pid_t pid;

	for (int i = 0; i < 100; i++)
		CHECK_EQ(pthread_atfork(allocate_in_handler, NULL, NULL), 0);
	pid = fork();
	if (!pid)
		_exit(handled == 100 ? 0 : 1);
	kf_reap(pid);
}

CASE(fork_handlers_registered_before_the_first_malloc_allocate)
{
	CHECK_EQ(kf_spawn("start_malloc", "fork"), 0);
}

CASE(a_forked_childs_exit_handlers_allocate)
{
	pid_t pid;

	take();
	atexit(allocate_in_handler);
	pid = fork();
	if (!pid)
		exit(0);
	kf_reap(pid);
	check_and_drop();
}

CASE(a_daemon_allocates)
{
	int fd[2];
	char byte = 0;

	take();
	CHECK_EQ(pipe(fd), 0);
	if (!fork()) {
		CHECK_EQ(daemon(1, 1), 0);
		check_and_drop();
		take();
		CHECK_EQ(write(fd[1], "x", 1), 1);
		_exit(0);
	}
	close(fd[1]);
	CHECK_EQ(read(fd[0], &byte, 1), 1);
	CHECK_EQ(byte, 'x');
}
