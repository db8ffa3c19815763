/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of processes that are gone, swept out of the user's own directories.
 *
 * A file outlives its process on purpose, and `konfiscator prune` removes it;
 * but where nobody ever prunes, scripts would fill the directory. So a process
 * in some dozens looks at a bounded number of files. One goes that was made
 * more than an hour ago, in this boot and pid namespace, by this user, and
 * whose process is gone; what is in doubt stays.
 */
#include "stats/internal.h"

#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ONE_IN 64
#define FILES_MAX 256
#define HOUR_NS (3600 * (uint64_t)1000000000)

static const struct kf_stats_identity *self(void)
{
	return (const void *)(kf_stats.base + KF_AT_IDENTITY);
}

/* Whether the files' processes can be told apart from ours at all. */
static bool is_able(void)
{
	const struct kf_stats_identity *me = self();

	return me->pid_ns && me->boot_id[0] && me->start_ticks &&
	       me->pid == me->outer_pid && !kf_stats.was_filtered;
}

static bool is_gone(const struct kf_stats_identity *id)
{
	uint64_t start;

	if (kf_process_is_gone(id->pid))
		return true;
	start = kf_identity_start(id->pid);
	return start && start != id->start_ticks;
}

static bool is_left_over(const struct kf_stats_identity *id)
{
	const struct kf_stats_identity *me = self();
	uint64_t now = kf_process_clock_ns(CLOCK_MONOTONIC);

	return id->pid > 0 && id->start_ticks && id->uid == me->uid &&
	       id->pid_ns == me->pid_ns &&
	       !memcmp(id->boot_id, me->boot_id, sizeof(id->boot_id)) &&
	       (int64_t)(now - id->created_mono) > (int64_t)HOUR_NS &&
	       is_gone(id);
}

static bool reads_as_left_over(int fd)
{
	struct {
		struct kf_stats_header h;
		struct kf_stats_identity id;
	} head = {0};
	struct kf_file_stat st;

	if (kf_file_stat(fd, &st) || !S_ISREG(st.mode) ||
	    st.uid != self()->uid || st.size < KF_AT_SLOTS)
		return false;
	if (!kf_file_read_at(fd, &head.h, sizeof(head.h), 0) ||
	    head.h.magic != KF_STATS_MAGIC || head.h.major != KF_STATS_MAJOR ||
	    head.h.identity.offset != KF_AT_IDENTITY)
		return false;
	return kf_file_read_at(fd, &head.id, sizeof(head.id), KF_AT_IDENTITY) &&
	       is_left_over(&head.id);
}

static void look_at(int dirfd, const char *name)
{
	int fd = kf_file_open(dirfd, name, O_RDONLY | O_NOFOLLOW, 0);

	if (fd < 0)
		return;
	if (reads_as_left_over(fd))
		kf_file_unlink(dirfd, name);
	kf_file_close(fd);
}

/* One name in @step is looked at, from a random one on; 0: none is. */
static size_t walk(int dirfd, size_t step)
{
	struct kf_file_names names = {.fd = dirfd};
	size_t from = step > 1 ? kf_process_random() % step : 0;
	const char *name;
	size_t nr = 0;

	while ((name = kf_file_next_name(&names)) != NULL) {
		if (step && nr % step == from)
			look_at(dirfd, name);
		nr++;
	}
	return nr;
}

void kf_sweep_all(int dirfd)
{
	int fd = kf_file_open(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return;
	if (is_able())
		walk(fd, walk(fd, 0) / FILES_MAX + 1);
	kf_file_close(fd);
}

void kf_sweep_sometimes(int dirfd)
{
	if (kf_process_random() % ONE_IN == 0)
		kf_sweep_all(dirfd);
}
