/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes over all values of its environment, as programs do that show a title
 * in ps, moves to another directory and forks; the child allocates.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR 3000

extern char **environ;

static void write_over(void)
{
	for (char **e = environ; *e; e++) {
		char *value = strchr(*e, '=');

		if (value++)
			memset(value + (*value == '/'), 'x', strlen(value));
		/* And their ends: all is one text then. */
		if (e[1] == *e + strlen(*e) + 1)
			(*e)[strlen(*e)] = 'x';
	}
}

static int allocate(void)
{
	static void *volatile block[NR];

	for (int i = 0; i < NR; i++)
		block[i] = malloc((size_t)i * 8);
	return !block[NR - 1];
}

int main(void)
{
	int status = allocate();
	pid_t child;

	write_over();
	if (chdir("/"))
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	if (!child)
		return allocate();
	if (waitpid(child, &status, 0) != child)
		return 1;
	return status != 0;
}
