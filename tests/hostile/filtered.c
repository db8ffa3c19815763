// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * filtered HOW WHAT [FILE]: a program that has itself killed for all system
 *calls but those by which memory is had, and what WHAT needs. It allocates
 *nothing before. HOW is the name that sets the filter: prctl or syscall.
 *
 *	nothing	nothing more
 *	alone	one thread
 *	late	threads that were there before, and then allocate
 *	threads	threads that start later
 *	fork	a child
 *	live	one thread, until it is killed; makes FILE once it is filtered
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NR_THREADS 40
#define ROUNDS 300
#define NR(array) (sizeof(array) / sizeof((array)[0]))

static const unsigned int allowed[] = {
	SYS_brk,
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_futex,
	SYS_write,
	SYS_exit,
	SYS_exit_group,
	/* of the C library, to start a thread and a child */
	SYS_clone,
	SYS_clone3,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_wait4,
};

static uint32_t go; /* atomic: the filter is set */

static void need(bool good, const char *what)
{
	if (good)
		return;
	if (write(2, what, strlen(what)) < 0)
		_exit(2);
	_exit(1);
}

static void filter(const char *how)
{
	static struct sock_filter code[NR(allowed) + 3];
	static struct sock_fprog prog = {NR(code), code};
	size_t at = 0;

	code[at++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < NR(allowed); i++)
		code[at++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
			(unsigned char)(NR(allowed) - i), 0);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						  SECCOMP_RET_KILL_PROCESS);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						  SECCOMP_RET_ALLOW);
	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs\n");
	/* As a program asks whether there are filters. */
	need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0, "none\n");
	if (!strcmp(how, "prctl"))
		need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog),
		     "filter\n");
	else
		need(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			      SECCOMP_FILTER_FLAG_TSYNC, &prog),
		     "filter\n");
}

/* Two that take the most arguments there are, and leave the caller's alone. */
static void pass_arguments(void)
{
	int fd = (int)syscall(SYS_memfd_create, "pages", 0);
	char *page;

	need(fd >= 0 && pwrite(fd, "second", 7, 4096) == 7, "memfd\n");
	page = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, fd,
			       4096);
	need(!memcmp(page, "second", 7), "an argument is lost\n");
	close(fd);
}

static void pause_for(long ns)
{
	const struct timespec ts = {0, ns};
	static uint32_t word;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
}

static void allocate(void)
{
	void *live[100] = {NULL};
	size_t size = 1;

	for (int i = 0; i < ROUNDS; i++) {
		void **p = &live[i % 100];

		free(*p);
		size = size * 5 % 700001 + 1;
		*p = i % 7 ? malloc(size) : memalign(256, size);
		need(*p, "malloc\n");
		memset(*p, 1, size < 4096 ? size : 4096);
		if (i % 5)
			continue;
		*p = realloc(*p, size * 2);
		need(*p, "realloc\n");
	}
	for (int i = 0; i < 100; i++)
		free(live[i]);
	malloc_trim(0);
}

static void *work(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		pause_for(1000000);
	allocate();
	return NULL;
}

static pthread_t thread[NR_THREADS];

static void start(void)
{
	for (int i = 0; i < NR_THREADS; i++)
		need(!pthread_create(&thread[i], NULL, work, NULL), "thread\n");
}

static void join(void)
{
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void have_child(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		allocate();
		start();
		join();
		exit(0);
	}
	need(waitpid(pid, &status, 0) == pid && !status, "child\n");
}

int main(int argc, char **argv)
{
	const char *what = argv[2];
	int ready = argc > 3 ? open(argv[3], O_CREAT | O_WRONLY, 0644) : -1;

	pass_arguments();
	if (!strcmp(what, "late"))
		start();
	filter(argv[1]);
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	if (ready >= 0)
		need(write(ready, "x", 1) == 1, "ready\n");
	if (!strcmp(what, "nothing"))
		return 0;
	allocate();
	if (!strcmp(what, "threads"))
		start();
	if (!strcmp(what, "late") || !strcmp(what, "threads"))
		join();
	if (!strcmp(what, "fork"))
		have_child();
	while (!strcmp(what, "live")) {
		allocate();
		pause_for(1000000);
	}
	return 0;
}
