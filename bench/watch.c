/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/watch.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Looks for each that reads smaps_rollup, and what is too large for it. */
#define ROLLUP_EVERY 5
#define ROLLUP_MAX_KIB 16384

/* A process that was seen; amounts in KiB. */
struct seen {
	pid_t pid;
	long peak;
	long last;
	long sum;
	long looks;
	long dirty; /* -1: it is not known, as the process was too large */
	long pss;
};

static struct seen *seen;
static size_t nr_seen, room;

/* A file of /proc/PID as a string; "" if the process has gone. */
static const char *text_of(pid_t pid, const char *file)
{
	static char text[65536];
	char path[64];
	ssize_t got = 0, n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		while ((n = read(fd, text + got, sizeof(text) - 1 - got)) > 0)
			got += n;
		close(fd);
	}
	text[got] = '\0';
	return text;
}

static long kib_behind(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtol(at + strlen(word), NULL, 10) : -1;
}

/* NULL: there is no memory for it, and the process is not watched. */
static struct seen *entry_of(pid_t pid)
{
	for (size_t i = nr_seen; i-- > 0;)
		if (seen[i].pid == pid)
			return &seen[i];
	if (nr_seen == room) {
		size_t more = room ? 2 * room : 64;
		struct seen *grown = realloc(seen, more * sizeof(*seen));

		if (!grown)
			return NULL;
		seen = grown;
		room = more;
	}
	seen[nr_seen] = (struct seen){.pid = pid};
	return &seen[nr_seen++];
}

/* A figure that was unknown once stays unknown: that may have been its most. */
static void keep_most(long *most, long now)
{
	if (now < 0 || *most < 0)
		*most = -1;
	else if (now > *most)
		*most = now;
}

static void look_at(pid_t pid)
{
	struct seen *of;
	long pages = 0, rss;

	if (sscanf(text_of(pid, "statm"), "%*d %ld", &pages) != 1 || !pages)
		return;
	of = entry_of(pid);
	if (!of)
		return;
	rss = pages * (sysconf(_SC_PAGESIZE) / 1024);
	of->last = rss;
	of->sum += rss;
	of->peak = rss > of->peak ? rss : of->peak;
	if (of->looks++ % ROLLUP_EVERY == 0 || rss >= ROLLUP_MAX_KIB) {
		bool small = rss < ROLLUP_MAX_KIB;
		const char *text = small ? text_of(pid, "smaps_rollup") : "";

		keep_most(&of->dirty, kib_behind(text, "\nPrivate_Dirty:"));
		keep_most(&of->pss, kib_behind(text, "\nPss:"));
	}
}

/* All that a process, and what it started, have started. */
static bool look_below(pid_t pid, int depth)
{
	char file[64], list[4096], *at = list, *end;
	pid_t child;

	snprintf(file, sizeof(file), "task/%d/children", (int)pid);
	snprintf(list, sizeof(list), "%s", text_of(pid, file));
	for (; (child = (pid_t)strtol(at, &end, 10)) > 0; at = end) {
		look_at(child);
		if (depth < 8)
			look_below(child, depth + 1);
	}
	return at != list;
}

void watch_look(pid_t child)
{
	/* A kernel may not have the lists. */
	if (!look_below(getpid(), 0))
		look_at(child);
}

static void say(long kib, const char *behind)
{
	if (kib < 0)
		printf("-%s", behind);
	else
		printf("%ld%s", kib, behind);
}

void watch_say(void)
{
	struct seen *most = NULL;

	for (size_t i = 0; i < nr_seen; i++)
		if (!most || seen[i].peak > most->peak)
			most = &seen[i];
	say(most ? most->sum / most->looks : -1, " ");
	say(most ? most->last : -1, " ");
	say(most ? most->dirty : -1, " ");
	say(most ? most->pss : -1, "\n");
}
