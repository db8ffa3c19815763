/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * kin ORDER...: a process that allocates and has children.
 *
 *	hold N		allocate N blocks, in held()
 *	note FILE	make FILE, which tells that the orders before are done
 *	wait FILE	wait until FILE is there
 *	serve FILE	allocate and free blocks until FILE is there
 *	fork N K	fork N children, one after the other, which begin with
 *the next order but free K of the blocks first, and wait for them at the end;
 *the parent has no more orders apart		become a process of a session of
 *its own, whose parent has ended exec ORDER...	be this program anew, with these
 *orders
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 50000
#define MOST 10000

static void *blocks[MOST];
static int nr;

static __attribute__((noinline)) void held(int n)
{
	for (; n && nr < MOST; n--) {
		blocks[nr] = malloc(BLOCK);
		if (!blocks[nr])
			exit(3);
		memset(blocks[nr++], 1, BLOCK);
	}
}

static __attribute__((noinline)) void held_by_child(int n)
{
	held(n);
	__asm__ volatile("" ::: "memory");
}

static void note(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		exit(4);
	close(fd);
}

static void wait_for(const char *path)
{
	while (access(path, F_OK))
		usleep(10000);
}

static void serve(const char *path)
{
	while (access(path, F_OK)) {
		for (int i = 0; i < 100; i++) {
			held(1);
			free(blocks[--nr]);
		}
		usleep(5000);
	}
}

/* Returns in the children. */
static void make_children(int children, int freed)
{
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid < 0)
			exit(5);
		if (pid)
			continue;
		while (freed--)
			free(blocks[--nr]);
		return;
	}
	while (wait(NULL) > 0)
		;
	exit(0);
}

static void go_apart(void)
{
	if (fork())
		_exit(0);
	setsid();
	if (fork())
		_exit(0);
}

static int number_of(const char *text)
{
	return (int)strtol(text, NULL, 10);
}

int main(int argc, char **argv)
{
	bool child = false;

	for (char **a = argv + 1; a < argv + argc; a++) {
		if (!strcmp(*a, "hold") && child)
			held_by_child(number_of(*++a));
		else if (!strcmp(*a, "hold"))
			held(number_of(*++a));
		else if (!strcmp(*a, "note"))
			note(*++a);
		else if (!strcmp(*a, "wait"))
			wait_for(*++a);
		else if (!strcmp(*a, "serve"))
			serve(*++a);
		else if (!strcmp(*a, "apart"))
			go_apart();
		else if (!strcmp(*a, "exec"))
			return execv("/proc/self/exe", a);
		else if (!strcmp(*a, "fork") && argc - (a - argv) > 2) {
			make_children(number_of(a[1]), number_of(a[2]));
			child = true;
			a += 2;
		} else
			return 2;
	}
	return 0;
}
