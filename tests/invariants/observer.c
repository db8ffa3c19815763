/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Answers for each pid read from stdin what its stats file in the directory
 * given as argument says, until stdin ends.
 */
#include "observe.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void fill(struct kf_seen *seen, const struct kf_snapshot *s)
{
	seen->found = 1;
	seen->totals = s->totals;
	seen->mapped = kf_snapshot_value(s, "mapped");
	seen->purged = kf_snapshot_value(s, "purged");
	seen->slabs = kf_snapshot_value(s, "slabs");
	seen->large = kf_snapshot_value(s, "large");
	seen->free_runs = kf_snapshot_value(s, "free_runs");
	seen->metadata = kf_snapshot_value(s, "metadata");
	seen->pools = kf_snapshot_value(s, "pools");
	seen->elsewhere = kf_snapshot_value(s, "elsewhere");
	seen->nr_classes = KF_MIN(s->nr_classes, (uint32_t)KF_STATS_NR_CLASSES);
	memcpy(seen->class, s->classes,
	       seen->nr_classes * sizeof(seen->class[0]));
}

static void look(const char *dir, pid_t pid, struct kf_seen *seen)
{
	const char *dirs[] = {dir, NULL};
	struct kf_find find = {.dirs = dirs};
	struct kf_files files;

	memset(seen, 0, sizeof(*seen));
	if (kf_files_find(&find, &files))
		return;
	for (unsigned int i = 0; i < files.nr; i++) {
		const struct kf_snapshot *s = &files.file[i].snap;

		if (s->result == KF_READ_OK && s->id.pid == pid)
			fill(seen, s);
	}
	kf_files_release(&files);
}

int main(int argc, char **argv)
{
	static struct kf_seen seen;
	pid_t pid;

	if (argc != 2) {
		fprintf(stderr, "usage: observer DIRECTORY\n");
		return 2;
	}
	while (fread(&pid, sizeof(pid), 1, stdin) == 1) {
		look(argv[1], pid, &seen);
		if (fwrite(&seen, sizeof(seen), 1, stdout) != 1 ||
		    fflush(stdout))
			return 1;
	}
	return 0;
}
