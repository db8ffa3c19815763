/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stays: allocates under tags in two threads, says "ready", and stays until its
 * stdin ends.
 */
#include <konfiscator.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define NR_BLOCKS 23

/* Volatile, so that no compiler leaves an allocation out. */
static void *volatile kept[2 * NR_BLOCKS];

static void *run_thread(void *unused)
{
	KONF_TAG_SCOPE("shared");

	for (int i = 0; i < NR_BLOCKS; i++)
		kept[NR_BLOCKS + i] = malloc(1000);
	return unused;
}

int main(void)
{
	pthread_t thread;
	char byte;

	konf_tag_push("own \"name\"\n\xff");
	konf_tag_push("shared");
	for (int i = 0; i < NR_BLOCKS; i++)
		kept[i] = malloc(100);
	konf_tag_pop_all(2);
	if (pthread_create(&thread, NULL, run_thread, NULL) ||
	    pthread_join(thread, NULL))
		return 1;
	for (int i = 0; i < NR_BLOCKS; i += 2)
		free(kept[i]); /* they leave their tag, whatever it is now */
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
