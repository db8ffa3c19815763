/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libkonfiscator-alone.so, for `konfiscator run --no-children`: preloaded after
 * the library, it takes both out of LD_PRELOAD before main, so that the
 * program's children start without them. Other entries of LD_PRELOAD stay.
 *
 * The environment is changed in place: nothing is allocated, and a program that
 * reads its environment from the stack sees the change.
 */
#include <string.h>
#include <unistd.h>

#define ALONE "libkonfiscator-alone.so"
#define LD_PRELOAD "LD_PRELOAD="

extern char **environ;

static void drop_entry(char **entry)
{
	do
		entry[0] = entry[1];
	while (*entry++);
}

/* `run` puts both libraries at the front, so all up to this one is removed. */
static void argv_cut_front(char **entry)
{
	char *value = *entry + strlen(LD_PRELOAD);
	char *at = strstr(value, ALONE);

	if (!at)
		return;
	at += strcspn(at, ": ");
	at += strspn(at, ": ");
	if (*at)
		memmove(value, at, strlen(at) + 1);
	else
		drop_entry(entry);
}

__attribute__((constructor)) static void leave_environment(void)
{
	for (char **entry = environ; entry && *entry; entry++) {
		if (!strncmp(*entry, LD_PRELOAD, strlen(LD_PRELOAD))) {
			argv_cut_front(entry);
			return;
		}
	}
}
