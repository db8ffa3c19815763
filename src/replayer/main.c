/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator-replay: plays a script under the malloc that the environment
 * gives it, and tells how much memory and time that took. `konfiscator whatif`
 * and `konfiscator replay` start it:
 *
 *	konfiscator-replay SCRIPT-FD PIPE-FD all|first|none MODE
 *
 * MODE has the letter d for a dry play, without the calls, and p for the
 * recorded pace; "-" for neither.
 */
#define _GNU_SOURCE
#include "replayer/replayer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct kf_play kf_play;

void kf_play_die(const char *what, int error)
{
	dprintf(STDERR_FILENO, "konfiscator-replay: %s%s%s\n", what,
		error ? ": " : "", error ? strerror(error) : "");
	_exit(1);
}

void *kf_play_map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		kf_play_die("map memory", errno);
	return p;
}

void kf_play_write(const void *data, size_t size)
{
	const char *p = data;
	ssize_t n;

	while (size) {
		n = write(kf_play.out, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		p += n;
		size -= (size_t)n;
	}
}

static void replayer_read(void *data, size_t size, uint64_t offset)
{
	char *p = data;
	ssize_t n;

	while (size) {
		n = pread(kf_play.fd, p, size, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			kf_play_die("read the script", n ? errno : EIO);
		p += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
}

static void replayer_open(void)
{
	struct kf_script_header *h = &kf_play.head;
	struct kf_script_sample *samples;
	size_t size;

	replayer_read(h, sizeof(*h), 0);
	if (h->magic != KF_SCRIPT_MAGIC)
		kf_play_die("the script is of another version", 0);
	size = (size_t)h->nr_samples * sizeof(*samples);
	samples = kf_play_map(size + 1);
	replayer_read(samples, size, h->samples);
	kf_play.samples = samples;
	kf_play.next = h->nr_samples ? samples[0].op : UINT64_MAX;
	kf_play.blocks = kf_play_map(((size_t)h->nr_blocks + 1) *
				     sizeof(*kf_play.blocks));
	kf_play.window = kf_play_map(KF_PLAY_WINDOW);
	kf_play.p = kf_play.end = kf_play.window;
	kf_play.offset = h->ops;
}

static void replayer_begin(void)
{
	static struct kf_script_begin begin = {.magic = KF_SCRIPT_MAGIC};
	void *(*allocate)(size_t) = malloc;
	Dl_info info;
	void *p;

	memcpy(&p, &allocate, sizeof(p));
	if (dladdr(p, &info) && info.dli_fname)
		snprintf(begin.malloc_from, sizeof(begin.malloc_from), "%s",
			 info.dli_fname);
	kf_play_write(&begin, sizeof(begin));
}

static void replayer_done(void)
{
	struct kf_script_end g;

	kf_gauge_read(&g);
	g.cpu_ns -= kf_play.gauge.cpu_ns + kf_play.cpu_aside;
	g.wall_ns -= kf_play.gauge.wall_ns + kf_play.wall_aside;
	g.faults -= kf_play.gauge.faults;
	g.failed = kf_play.failed;
	kf_play_write(&g, sizeof(g));
	exit(0);
}

static bool replayer_options(int argc, char **argv)
{
	static const char *const touches[] = {"all", "first", "none"};

	if (argc != 5)
		return false;
	kf_play.fd = (int)strtol(argv[1], NULL, 10);
	kf_play.out = (int)strtol(argv[2], NULL, 10);
	while (strcmp(argv[3], touches[kf_play.touch]) != 0) {
		if (++kf_play.touch > KF_TOUCH_NONE)
			return false;
	}
	kf_play.dry = strchr(argv[4], 'd');
	kf_play.paced = strchr(argv[4], 'p');
	return true;
}

/* If memory runs out, it is this process that the kernel ends. */
static void replayer_yield(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : write(fd, "1000", 4); /* may be forbidden */

	(void)n;
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	if (!replayer_options(argc, argv))
		kf_play_die("konfiscator whatif and konfiscator replay start "
			    "this program",
			    0);
	replayer_yield();
	replayer_open();
	replayer_begin();
	kf_gauge_read(&kf_play.gauge);
	kf_play.begin_ns = kf_play.gauge.wall_ns;
	kf_turn_play(replayer_done);
}
