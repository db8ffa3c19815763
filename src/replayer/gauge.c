/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory and time of the process, by system calls alone.
 */
#include "replayer/replayer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u

/* Waiting for less is not worth a system call. */
#define PAUSE_LEAST_NS 100000u

static uint64_t gauge_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint64_t gauge_number(const char *text)
{
	uint64_t n = 0;

	while (*text == ' ')
		text++;
	for (; *text >= '0' && *text <= '9'; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	return n;
}

/* statm counts in steps of many pages on machines with many processors. */
uint64_t kf_gauge_resident(void)
{
	static const char key[] = "\nRss:";
	char text[4096];
	const char *line;
	ssize_t n;
	int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);

	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		kf_play_die("/proc/self/smaps_rollup", errno);
	close(fd);
	text[n] = '\0';
	line = strstr(text, key);
	if (!line)
		kf_play_die("/proc/self/smaps_rollup has no Rss", 0);
	return gauge_number(line + sizeof(key) - 1) * 1024;
}

void kf_gauge_read(struct kf_script_end *g)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	g->faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
	g->wall_ns = gauge_clock(CLOCK_MONOTONIC);
	g->cpu_ns = gauge_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void kf_gauge_sample(void)
{
	uint64_t cpu = gauge_clock(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t wall = gauge_clock(CLOCK_MONOTONIC);
	struct kf_script_memory m = {.resident = kf_gauge_resident()};

	kf_play_write(&m, sizeof(m));
	kf_play.wall_aside += gauge_clock(CLOCK_MONOTONIC) - wall;
	kf_play.cpu_aside += gauge_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

void kf_gauge_pause(void)
{
	uint64_t now = gauge_clock(CLOCK_MONOTONIC);
	uint64_t until = kf_play.begin_ns + kf_play.time_ns;
	struct timespec ts = {.tv_sec = (time_t)(until / NS_PER_S),
			      .tv_nsec = (long)(until % NS_PER_S)};

	if (until < now + PAUSE_LEAST_NS)
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	       EINTR)
		;
	kf_play.wall_aside += gauge_clock(CLOCK_MONOTONIC) - now;
}
