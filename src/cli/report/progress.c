/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A progress bar while a recording is read, if stderr is a terminal.
 */
#include "config.h"

#include "cli/report/report.h"

#include <time.h>
#include <unistd.h>

#define WIDTH 40
#define PAUSE_NS 100000000

static bool progress_shown;

static uint64_t progress_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void progress_show(uint64_t done, uint64_t all, uint64_t bytes)
{
	unsigned int full = (unsigned int)(done * WIDTH / all);
	char size[32];

	fprintf(stderr, "\r[%.*s%*s] %3u%% of %s", (int)full,
		"########################################", (int)(WIDTH - full),
		"", (unsigned int)(done * 100 / all),
		kf_human_bytes(size, sizeof(size), bytes));
	fflush(stderr);
	progress_shown = true;
}

void kf_progress(const struct kf_report *r)
{
	const struct kf_history *h = &r->history;
	static uint64_t last_done, last_time;
	static int terminal = -1;
	uint64_t time;

	if (terminal < 0)
		terminal = !r->cli->quiet && isatty(STDERR_FILENO);
	if (!terminal || !h->nr_chunks || h->done_chunks == last_done)
		return;
	last_done = h->done_chunks;
	time = progress_now_ns();
	if (time - last_time < PAUSE_NS)
		return;
	last_time = time;
	progress_show(KF_MIN(last_done, h->nr_chunks), h->nr_chunks,
		      h->file_size);
}

void kf_progress_end(void)
{
	if (progress_shown)
		fprintf(stderr, "\r\033[K");
	progress_shown = false;
}
