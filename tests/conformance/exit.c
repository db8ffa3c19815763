/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ways out of a process: handlers and destructors that still allocate,
 * and exits that run none. A case whose last handler never runs ends with
 * status 1 and so fails.
 */
#include "case.h"

#include <dlfcn.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned char *early;

static void use_heap(void)
{
	unsigned char *p;

	for (size_t n = 1; n < 3 * KF_MIB_BYTES; n += 1 + n / 2) {
		p = malloc(n);
		CHECK(p);
		kf_fill(p, n, 1);
		p = realloc(p, 2 * n);
		CHECK(p && kf_filled(p, n, 1));
		free(p);
		free(calloc(1, n));
	}
}

static void take_early(void)
{
	early = malloc(5000);
	CHECK(early);
	kf_fill(early, 5000, 4);
}

static void use_heap_and_pass(void)
{
	CHECK(kf_filled(early, 5000, 4));
	use_heap();
	early = realloc(early, 100000);
	CHECK(early && kf_filled(early, 5000, 4));
	free(early);
	use_heap();
	_exit(0);
}

CASE(atexit_handlers_allocate_and_free)
{
	take_early();
	CHECK_EQ(atexit(use_heap_and_pass), 0);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(atexit(use_heap), 0);
	exit(1);
}

static void on_exit_handler(int status, void *arg)
{
	CHECK(status == 1 && arg == &early);
	use_heap_and_pass();
}

CASE(on_exit_handlers_allocate_and_free)
{
	take_early();
	CHECK_EQ(on_exit(on_exit_handler, &early), 0);
	exit(1);
}

CASE(quick_exit_handlers_allocate_and_free)
{
	take_early();
	CHECK_EQ(at_quick_exit(use_heap_and_pass), 0);
	quick_exit(1);
}

/* Set by a case; the destructor of the program is then its last word. */
static void (*at_destruction)(void);

__attribute__((destructor)) static void destructor(void)
{
	if (at_destruction)
		at_destruction();
}

CASE(destructors_allocate_and_free)
{
	take_early();
	at_destruction = use_heap_and_pass;
	exit(1);
}

CASE(destructors_of_a_loaded_library_allocate_and_free)
{
	void *plugin = dlopen(kf_beside(".libs/plugin.so"), RTLD_NOW);
	void (**hook)(void);

	CHECK(plugin);
	hook = dlsym(plugin, "plugin_at_destruction");
	CHECK(hook);
	take_early();
	*hook = use_heap_and_pass;
	exit(1);
}

CASE(blocks_live_at_exit_are_no_crime)
{
	for (int i = 0; i < 1000; i++)
		CHECK(malloc(i * 100));
	exit(0);
}

CASE(buffered_output_is_written_at_exit)
{
	int fd[2];
	char text[16] = "";
	pid_t pid;

	CHECK_EQ(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		CHECK(dup2(fd[1], STDOUT_FILENO) >= 0);
		use_heap();
		printf("hello");
		exit(0);
	}
	kf_reap(pid);
	CHECK_EQ(read(fd[0], text, sizeof(text)), 5);
	CHECK(!strcmp(text, "hello"));
}

static int status_of(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		fn();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static void abort_now(void)
{
	use_heap();
	abort();
}

static void exit_with_37(void)
{
	use_heap();
	exit(37);
}

static void die_of_sigterm(void)
{
	use_heap();
	raise(SIGTERM);
}

static void die_of_segv(void)
{
	use_heap();
	*(volatile char *)kf_ptr((void *)8) = 1;
}

CASE(the_exit_status_is_the_programs)
{
	int status = status_of(exit_with_37);

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 37);
	status = status_of(abort_now);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	status = status_of(die_of_sigterm);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	status = status_of(die_of_segv);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* A byte of a file's mapping that lies behind the end of the file. */
static volatile char *beyond_the_end(void)
{
	int fd = memfd_create("shrunk", MFD_CLOEXEC);
	char *p;

	CHECK(fd >= 0 && !ftruncate(fd, 4 * KF_PAGE));
	p = mmap(NULL, 4 * KF_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED && !ftruncate(fd, 0));
	close(fd);
	return p;
}

static void die_of_sigbus(void)
{
	use_heap();
	*beyond_the_end() = 1;
}

CASE(sigbus_of_the_programs_own_file_still_kills)
{
	int status = status_of(die_of_sigbus);

	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGBUS);
}

static volatile char *volatile expected_fault;

static void sigbus_handler(int sig, siginfo_t *info, void *context)
{
	_exit(info->si_addr == expected_fault ? 0 : 1);
}

CASE(sigbus_handler_of_the_program_is_called)
{
	struct sigaction action = {.sa_sigaction = sigbus_handler,
				   .sa_flags = SA_SIGINFO};

	use_heap();
	CHECK_EQ(sigaction(SIGBUS, &action, NULL), 0);
	use_heap();
	expected_fault = beyond_the_end();
	*expected_fault = 1;
	CHECK(!"the handler was called");
}

CASE(signal_dispositions_are_those_of_the_start)
{
	struct sigaction action;

	use_heap();
	for (int sig = 1; sig < 32; sig++) {
		/* The guard of the stats file is documented for this one. */
		if (sig == SIGBUS || sigaction(sig, NULL, &action))
			continue;
		CHECK(action.sa_handler == SIG_DFL ||
		      action.sa_handler == SIG_IGN);
	}
}
