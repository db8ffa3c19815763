/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The identity of the process, and its key in the ledger.
 *
 * A pid is not enough: it is reused, and every container has a pid 1. With
 * start time, boot id and pid namespace it names one process. A field that
 * /proc does not have stays 0 or empty.
 */
#include "config.h"

#include "stats/internal.h"

#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"

#include <string.h>
#include <time.h>

/* Field 22 of /proc/PID/stat, counted from field 3, which follows the name. */
#define START_FIELD (22 - 3)

static void identity_set_text(char *dst, size_t size, const char *src)
{
	struct kf_text text;

	kf_text_init(&text, dst, size);
	kf_text_str(&text, src ? src : "");
}

/*
 * The program chooses the name, which may have parentheses and spaces; all
 * behind the last parenthesis is the kernel's.
 */
static uint64_t start_of(const char *stat)
{
	const char *p = strrchr(stat, ')');

	if (!p || p[1] != ' ')
		return 0;
	p += 2;
	for (int i = 0; i < START_FIELD; i++) {
		p = strchr(p, ' ');
		if (!p)
			return 0;
		p++;
	}
	return kf_parse_digits(&p, 10);
}

/* The pid in /proc/self/stat is of the namespace in which /proc was mounted. */
static void read_stat(struct kf_stats_identity *id)
{
	char stat[1024];
	const char *s = stat;
	uint64_t pid;

	if (kf_file_read("/proc/self/stat", stat, sizeof(stat)) <= 0)
		return;
	id->start_ticks = start_of(stat);
	pid = kf_parse_digits(&s, 10);
	if (pid)
		id->outer_pid = (int32_t)pid;
}

uint64_t kf_identity_start(int32_t pid)
{
	char path[32], stat[1024];
	struct kf_text text;

	kf_text_init(&text, path, sizeof(path));
	kf_text_add(&text, "/proc/%d/stat", pid);
	return kf_file_read(path, stat, sizeof(stat)) > 0 ? start_of(stat) : 0;
}

static void read_boot_id(struct kf_stats_identity *id)
{
	char *boot = id->boot_id;
	const char *end;

	kf_file_read("/proc/sys/kernel/random/boot_id", boot,
		     sizeof(id->boot_id));
	end = strchr(boot, '\n');
	if (end)
		boot[end - boot] = '\0';
}

/* Each argument ends in NUL. */
static void read_cmdline(struct kf_stats_ending *e)
{
	ssize_t n = kf_file_read("/proc/self/cmdline", e->cmdline,
				 sizeof(e->cmdline));

	for (ssize_t i = 0; i + 1 < n; i++) {
		if (!e->cmdline[i])
			e->cmdline[i] = ' ';
	}
}

/* Whether a list "a,b,c:" has the memory controller. */
static bool has_memory(const char *list)
{
	for (; *list != ':' && *list; list++) {
		if (!strncmp(list, "memory", 6) &&
		    (list[6] == ',' || list[6] == ':'))
			return true;
	}
	return false;
}

static void take_cgroup(struct kf_stats_ending *e, const char *path)
{
	size_t length = strlen(path);

	if (length >= sizeof(e->cgroup))
		path += length - sizeof(e->cgroup) + 1;
	identity_set_text(e->cgroup, sizeof(e->cgroup), path);
}

/*
 * Lines are "NUMBER:CONTROLLERS:PATH". Where a cgroup of version 1 has the
 * memory controller, that of version 2, whose list is empty, does not.
 */
static void read_cgroup(struct kf_stats_ending *e)
{
	char text[2048];
	char *line = text, *end;

	e->cgroup[0] = '\0';
	kf_file_read("/proc/self/cgroup", text, sizeof(text));
	for (; *line; line = end + 1) {
		const char *list = strchr(line, ':');
		const char *path = list ? strchr(list + 1, ':') : NULL;

		end = strchr(line, '\n');
		if (!path || !end)
			break;
		*end = '\0';
		if (has_memory(list + 1)) {
			take_cgroup(e, path + 1);
			break;
		}
		if (path == list + 1)
			take_cgroup(e, path + 1);
	}
}

void kf_ending_fill(struct kf_stats_ending *e)
{
	e->folded = 0;
	e->exited = 0;
	read_cmdline(e);
	read_cgroup(e);
}

void kf_stats_name_engine(const char *name)
{
	struct kf_stats_identity *id = (void *)(kf_stats.base + KF_AT_IDENTITY);

	identity_set_text(id->engine, sizeof(id->engine), name);
}

void kf_identity_fill(struct kf_stats_identity *id,
		      const struct kf_stats_conf *conf, bool forked)
{
	id->pid = kf_process_pid();
	id->outer_pid = id->pid;
	id->uid = kf_process_uid();
	id->forked = forked;
	id->pid_ns = kf_file_inode("/proc/self/ns/pid");
	id->created_ns = kf_process_clock_ns(CLOCK_REALTIME);
	id->created_mono = kf_process_clock_ns(CLOCK_MONOTONIC);
	id->start_ticks = 0;
	read_stat(id);
	read_boot_id(id);
	kf_process_comm(id->comm);
	kf_file_link("/proc/self/exe", id->exe, sizeof(id->exe));
	identity_set_text(id->name, sizeof(id->name), conf->name);
	identity_set_text(id->engine, sizeof(id->engine), conf->engine);
	identity_set_text(id->version, sizeof(id->version), PACKAGE_VERSION);
}
