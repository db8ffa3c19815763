/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that allocates and ends, in one way or another:
 *
 *	ended BLOCKS exit	by exit()
 *	ended BLOCKS wait	says "ready", and ends when its input does
 *	ended BLOCKS tell	says "ready", then by exit(): to be killed
 *meanwhile ended BLOCKS fork N	N children, one after the other, allocate as
 *many blocks and end by exit() ended BLOCKS filter	by exit(), when nothing
 *but that is allowed
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocate(int blocks)
{
	while (blocks-- > 0) {
		char *volatile p = malloc(100);

		if (!p)
			abort();
		free(p);
	}
}

static void forbid_all_but_the_end(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		exit(77);
}

static int have_children(int nr, int blocks)
{
	int status;

	while (nr-- > 0) {
		pid_t pid = fork();

		if (pid == 0) {
			allocate(blocks);
			exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}

static void say_ready(void)
{
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		abort();
}

static int number(const char *s)
{
	return (int)strtol(s, NULL, 10);
}

int main(int argc, char **argv)
{
	int blocks = argc > 2 ? number(argv[1]) : 0;
	const char *how = argc > 2 ? argv[2] : "exit";
	char c;

	allocate(blocks);
	if (!strcmp(how, "wait") || !strcmp(how, "tell"))
		say_ready();
	if (!strcmp(how, "wait"))
		return read(STDIN_FILENO, &c, 1) < 0;
	if (!strcmp(how, "fork"))
		return have_children(argc > 3 ? number(argv[3]) : 1, blocks);
	if (!strcmp(how, "filter"))
		forbid_all_but_the_end();
	return 0;
}
