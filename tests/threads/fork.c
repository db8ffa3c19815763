/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes that begin in a program with many threads, in the shapes in which
 * replaced mallocs are known to hang. A hang is ended by the runner's alarm.
 */
#include "tests/conformance/case.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_BUSY 8

extern char **environ;

static volatile bool stop;
static pthread_t busy[NR_BUSY];

static void use_heap(unsigned int seed)
{
	unsigned char *p[32];

	for (unsigned int i = 0; i < 32; i++) {
		size_t n = 1 + (seed + i) * 271 % 5000;

		if (!((seed + i) % 50))
			n += 200000;
		p[i] = malloc(n);
		CHECK(p[i]);
		p[i][0] = p[i][n - 1] = (unsigned char)i;
	}
	for (unsigned int i = 0; i < 32; i++) {
		CHECK_EQ(p[i][0], (unsigned char)i);
		free(p[i]);
	}
}

static void *keep_allocating(void *arg)
{
	for (unsigned int seed = 0; !stop; seed++)
		use_heap(seed);
	return arg;
}

static void start(void *(*fn)(void *), int nr)
{
	for (int i = 0; i < nr; i++)
		CHECK_EQ(pthread_create(&busy[i], NULL, fn, NULL), 0);
}

static void finish(int nr)
{
	stop = true;
	for (int i = 0; i < nr; i++)
		CHECK_EQ(pthread_join(busy[i], NULL), 0);
}

static void fork_and_allocate(void)
{
	pid_t pid = fork();

	if (!pid) {
		use_heap(0);
		malloc_trim(0);
		use_heap(1);
		_exit(0);
	}
	kf_reap(pid);
}

CASE(fork_while_eight_threads_allocate)
{
	start(keep_allocating, NR_BUSY);
	for (int i = 0; i < 300; i++)
		fork_and_allocate();
	finish(NR_BUSY);
}

static void *fork_some(void *arg)
{
	for (int i = 0; i < 60; i++)
		fork_and_allocate();
	return arg;
}

CASE(several_threads_fork_at_once)
{
	pthread_t forker[4];

	start(keep_allocating, 4);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&forker[i], NULL, fork_some, NULL), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(forker[i], NULL), 0);
	finish(4);
}

CASE(a_forked_child_starts_threads_and_forks_again)
{
	start(keep_allocating, 4);
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();

		if (!pid) {
			stop = false;
			start(keep_allocating, 3);
			fork_and_allocate();
			fork_and_allocate();
			finish(3);
			_exit(0);
		}
		kf_reap(pid);
	}
	finish(4);
}

CASE(blocks_of_all_threads_are_the_childs_too)
{
	static unsigned char *p[1000];
	pid_t pid;

	start(keep_allocating, NR_BUSY);
	for (int round = 0; round < 30; round++) {
		for (int i = 0; i < 1000; i++) {
			p[i] = malloc(50 + i);
			CHECK(p[i]);
			kf_fill(p[i], 50 + i, i);
		}
		pid = fork();
		for (int i = 0; i < 1000; i++) {
			CHECK(kf_filled(p[i], 50 + i, i));
			free(p[i]);
		}
		if (!pid)
			_exit(0);
		kf_reap(pid);
	}
	finish(NR_BUSY);
}

/*
 * Registered before the constructors of any library, so that the prepare
 * handler runs last, when a malloc that locks in its own holds its locks.
 */
static pthread_mutex_t app_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool handlers_on;

static void app_prepare(void)
{
	if (!handlers_on)
		return;
	pthread_mutex_lock(&app_lock);
	use_heap(7);
}

static void app_after(void)
{
	if (!handlers_on)
		return;
	use_heap(8);
	pthread_mutex_unlock(&app_lock);
}

static void register_early(void)
{
	pthread_atfork(app_prepare, app_after, app_after);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*early_entry)(void) = register_early;

static void late_prepare(void)
{
	pthread_mutex_lock(&app_lock);
	use_heap(7);
}

static void late_after(void)
{
	use_heap(8);
	pthread_mutex_unlock(&app_lock);
}

static void *allocate_under_app_lock(void *arg)
{
	for (unsigned int seed = 0; !stop; seed++) {
		pthread_mutex_lock(&app_lock);
		use_heap(seed);
		pthread_mutex_unlock(&app_lock);
	}
	return arg;
}

CASE(an_early_prepare_handler_waits_for_a_thread_that_allocates)
{
	handlers_on = true;
	start(allocate_under_app_lock, NR_BUSY);
	for (int i = 0; i < 150; i++)
		fork_and_allocate();
	finish(NR_BUSY);
}

CASE(a_late_prepare_handler_waits_for_a_thread_that_allocates)
{
	CHECK_EQ(pthread_atfork(late_prepare, late_after, late_after), 0);
	start(allocate_under_app_lock, NR_BUSY);
	for (int i = 0; i < 50; i++)
		fork_and_allocate();
	finish(NR_BUSY);
}

static void *use_streams(void *arg)
{
	while (!stop) {
		FILE *f = fopen("/dev/null", "w"), *g = tmpfile();

		CHECK(f && g);
		fprintf(f, "%d\n", 1);
		fprintf(g, "%d\n", 1);
		fflush(NULL);
		fclose(f);
		fclose(g);
		use_heap(3);
	}
	return arg;
}

CASE(fork_while_other_threads_open_flush_and_close_streams)
{
	start(use_streams, NR_BUSY);
	for (int i = 0; i < 150; i++)
		fork_and_allocate();
	finish(NR_BUSY);
}

CASE(children_open_and_flush_streams)
{
	start(use_streams, 4);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (!pid) {
			FILE *f = fopen("/dev/null", "w");

			CHECK(f);
			fprintf(f, "%d\n", 1);
			fflush(NULL);
			fclose(f);
			use_heap(1);
			_exit(0);
		}
		kf_reap(pid);
	}
	finish(4);
}

static volatile int forks_in_handler;

static void fork_in_handler(int sig)
{
	int saved = errno, status;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(3);
	forks_in_handler++;
	errno = saved;
}

/* A timer of CPU time, so that the handler interrupts what uses the CPU. */
static void fork_by_timer(int nr)
{
	struct itimerval every = {{0, 2000}, {0, 2000}}, never = {{0}};
	struct sigaction action = {.sa_handler = fork_in_handler,
				   .sa_flags = SA_RESTART};

	CHECK_EQ(sigaction(SIGPROF, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_PROF, &every, NULL), 0);
	for (unsigned int seed = 0; forks_in_handler < nr; seed++)
		use_heap(seed);
	CHECK_EQ(setitimer(ITIMER_PROF, &never, NULL), 0);
	use_heap(0);
}

CASE(fork_in_a_handler_that_interrupted_malloc)
{
	fork_by_timer(200);
}

CASE(fork_in_a_handler_that_interrupted_malloc_with_a_second_thread)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	start(keep_allocating, 1);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	fork_by_timer(200);
	finish(1);
}

CASE(a_raw_fork_while_eight_threads_allocate)
{
	pid_t (*raw_fork)(void) = dlsym(RTLD_DEFAULT, "_Fork");

	if (!raw_fork)
		kf_case_skip("this C library has no _Fork");
	start(keep_allocating, NR_BUSY);
	for (int i = 0; i < 100; i++) {
		pid_t pid = raw_fork();

		if (!pid) {
			/* All that POSIX allows such a child. */
			if (i % 2)
				_exit(0);
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		kf_reap(pid);
	}
	finish(NR_BUSY);
}

CASE(vfork_and_exec_while_eight_threads_allocate)
{
	start(keep_allocating, NR_BUSY);
	for (int i = 0; i < 60; i++) {
		pid_t pid = vfork();

		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		kf_reap(pid);
		use_heap(i);
	}
	finish(NR_BUSY);
}

CASE(posix_spawn_while_eight_threads_allocate)
{
	char *argv[] = {(char *)"true", NULL};
	pid_t pid;

	start(keep_allocating, NR_BUSY);
	for (int i = 0; i < 60; i++) {
		CHECK_EQ(posix_spawn(&pid, "/bin/true", NULL, NULL, argv,
				     environ),
			 0);
		kf_reap(pid);
	}
	CHECK_EQ(system("exit 0"), 0);
	finish(NR_BUSY);
}

static void *come_and_go(void *arg)
{
	use_heap(5);
	return arg;
}

static void *keep_starting(void *arg)
{
	pthread_t thread;

	while (!stop) {
		CHECK_EQ(pthread_create(&thread, NULL, come_and_go, NULL), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	return arg;
}

CASE(fork_while_threads_start_and_end)
{
	start(keep_starting, 4);
	for (int i = 0; i < 150; i++)
		fork_and_allocate();
	finish(4);
}
