/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The exporter's scans of a directory whose files are changed in any way
 * between: no counter of a group falls, whatever the files say.
 */
#include "config.h"

#include "exporter/groups/groups.h"
#include "exporter/log.h"
#include "exporter/trace/trace.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define NR_FILES 3
#define MAX_SCANS 32
#define BUDGET_NS 100000000

/* The tracers' table is not of this. */
const char *kf_trace_known(const char *script)
{
	return script;
}

static struct kf_groups groups;

static void begin(void)
{
	static char dir[128], procfs[128];
	static const char *dirs[] = {dir, NULL};
	const struct kf_groups_conf conf = {.dirs = dirs,
					    .procfs = procfs,
					    .tags = true,
					    .max = 4,
					    .forget_s = 1u << 30};

	kf_log_setup(KF_NR_LOG_LEVELS, KF_LOGFMT);
	fuzz_write("files/1", "", 0);
	fuzz_write("proc/sys/kernel/random/boot_id", "boot\n", 5);
	snprintf(dir, sizeof(dir), "%s/files", fuzz_directory());
	snprintf(procfs, sizeof(procfs), "%s/proc", fuzz_directory());
	fuzz_require(!kf_groups_init(&groups, &conf), "no memory");
}

/* What all groups have counted; they are few, and none is forgotten. */
static void sum_up(uint64_t sum[KF_MAX_FIGURES])
{
	const struct kf_group *g;

	memset(sum, 0, KF_MAX_FIGURES * sizeof(*sum));
	for (g = groups.groups; g; g = g->next) {
		for (unsigned int i = 0; i < groups.figures.nr; i++) {
			fuzz_require(g->now[i] <= INT64_MAX,
				     "a figure is too large");
			if (kf_kind_grows(groups.figures.kind[i]))
				sum[i] = KF_MIN(sum[i] + g->now[i],
						(uint64_t)INT64_MAX);
		}
	}
}

static void scan(uint64_t before[KF_MAX_FIGURES])
{
	uint64_t now[KF_MAX_FIGURES];
	struct timespec since, until;

	clock_gettime(CLOCK_MONOTONIC, &since);
	until = since;
	until.tv_nsec += BUDGET_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	fuzz_require(!kf_groups_scan(&groups, &since, &until), "no memory");
	sum_up(now);
	for (unsigned int i = 0; i < groups.figures.nr; i++)
		fuzz_require(now[i] >= before[i], "a counter falls");
	memcpy(before, now, sizeof(now));
}

static void remove_files(void)
{
	char path[128];

	for (int i = 0; i < NR_FILES; i++) {
		snprintf(path, sizeof(path), "%s/files/%d", fuzz_directory(),
			 i);
		unlink(path);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"files/0", "files/1", "files/2"};
	uint64_t before[KF_MAX_FIGURES] = {0};
	struct fuzz_in in = {data, size};

	if (!groups.conf.dirs)
		begin();
	remove_files();
	for (int i = 0; i < MAX_SCANS && in.left; i++) {
		fuzz_change(&in, names[fuzz_number(&in, 1) % NR_FILES]);
		scan(before);
	}
	kf_groups_clear(&groups);
	return 0;
}
