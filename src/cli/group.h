/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes of one name, container and state, added up; or each by itself.
 */
#ifndef KF_CLI_GROUP_H
#define KF_CLI_GROUP_H

#include "cli/cli.h"
#include "cli/process.h"

enum kf_groups_by {
	KF_GROUPS_BY_NAME,
	KF_GROUPS_BY_CONTAINER,
	KF_GROUPS_BY_PID
};

struct kf_group {
	int32_t pid; /* of KF_GROUPS_BY_PID */
	char name[KF_PROCESS_NAME];
	char container[KF_CONTAINER_ID];
	const char *state;
	unsigned int nr_processes;
	uint64_t resident; /* bytes */
	struct kf_totals totals;
	double malloc_rate; /* a second */
	double mmap_rate;
	uint64_t *values; /* one value for each of the groups' counters */
};

/*
 * The groups of one snapshot of the files. @counters are all counters that any
 * file describes; they point into the files.
 */
struct kf_groups {
	bool ended; /* the groups include ended processes */
	unsigned int nr;
	struct kf_group *group;
	unsigned int nr_counters;
	const struct kf_counter **counters;
};

/* A snapshot of all files, and its time. */
struct kf_snapshots {
	struct kf_files files;
	uint64_t time_ns; /* CLOCK_REALTIME */
};

/**
 * kf_snapshots_take() - read the files
 * @snaps:	out
 * @cli:	where
 *
 * Return: 0, or the exit status after a message.
 */
int kf_snapshots_take(struct kf_snapshots *snaps, const struct kf_cli *cli);

/**
 * kf_snapshots_seconds() - the interval of a file's rates
 * @now:	the later snapshot
 * @f:		the file
 * @before:	the same file in an earlier snapshot, or NULL
 * @then:	that snapshot, or NULL
 *
 * Return: seconds since that snapshot, or since the file was made; more than 0.
 */
double kf_snapshots_seconds(const struct kf_snapshots *now,
			    const struct kf_file *f,
			    const struct kf_file *before,
			    const struct kf_snapshots *then);

/**
 * kf_snapshots_same() - the same file in another snapshot
 * @snaps:	the other snapshot, or NULL
 * @f:		the file
 *
 * Return: the file there, or NULL.
 */
const struct kf_file *kf_snapshots_same(const struct kf_snapshots *snaps,
					const struct kf_file *f);

/**
 * kf_snapshots_wants() - whether a file is among those that the command shows
 * @cli:	selectors
 * @f:		the file
 *
 * Return: true for a valid file that is selected and, without -a, alive.
 */
bool kf_snapshots_wants(const struct kf_cli *cli, const struct kf_file *f);

/**
 * kf_groups_make() - add up the files that the command line selects
 * @g:		out
 * @cli:	selectors
 * @now:	the later snapshot; outlives @g
 * @then:	an earlier one for rates, or NULL: since the processes began
 * @by:		one group for each name and container, container, or process
 */
void kf_groups_make(struct kf_groups *g, const struct kf_cli *cli,
		    const struct kf_snapshots *now,
		    const struct kf_snapshots *then, enum kf_groups_by by);

/**
 * kf_groups_release() - free what groups hold
 * @g:		the groups
 */
void kf_groups_release(struct kf_groups *g);

/**
 * kf_groups_value() - a counter of a group by its name in stats.def
 * @g:		the groups
 * @group:	one of them
 * @name:	the counter
 *
 * Return: its value, 0 where no file describes it.
 */
uint64_t kf_groups_value(const struct kf_groups *g,
			 const struct kf_group *group, const char *name);

/**
 * kf_groups_prom() - print groups in Prometheus' text format
 * @g:		the groups
 */
void kf_groups_prom(const struct kf_groups *g);

#endif
