/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the observer tells the program it looks at: a request is a pid, the
 * answer one struct, over a pipe each way. The observer is a process of its
 * own, so that its own allocations are not among those it counts.
 */
#ifndef KF_TEST_OBSERVE_H
#define KF_TEST_OBSERVE_H

#include "reader/reader.h"

struct kf_seen {
	uint32_t found; /* 1: the pid has a file, and it was read */
	uint32_t nr_classes;
	struct kf_totals totals;
	uint64_t mapped;
	uint64_t purged;
	uint64_t slabs;
	uint64_t large;
	uint64_t free_runs;
	uint64_t metadata;
	uint64_t pools;
	uint64_t elsewhere;
	struct kf_class_count class[KF_STATS_NR_CLASSES];
};

#endif
