/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of stacks of a process that is sampled from outside: the lines of
 * scripts/ebpf/record.bt, counted as the library counts its own samples.
 */
#ifndef KF_CLI_PROFILE_TRACED_H
#define KF_CLI_PROFILE_TRACED_H

#include "reader/map.h"
#include "reader/reader.h"

/* A mapping with code. */
struct kf_traced_range {
	uint64_t begin;
	uint64_t end;
};

/* Begins as all zero but @pid and @mean. */
struct kf_traced {
	int32_t pid;
	uint64_t mean;	  /* distance of samples, bytes */
	uint64_t lost;	  /* events that bpftrace lost */
	uint64_t no_room; /* samples without room in the script's map */
	/* its id, the stacks and frames, and live, estimated */
	struct kf_snapshot snapshot;

	/* Private. */
	uint64_t blocks;       /* live ones, in parts */
	struct kf_map samples; /* by id */
	struct kf_map stacks;  /* by hash */
	uint32_t room_stacks;
	uint32_t room_frames;
	size_t nr_ranges;
	struct kf_traced_range *range;
	uint64_t ranges_ns; /* when they were read; 0: never */
};

/**
 * kf_traced_line() - take a line of the script
 * @t:		the table
 * @line:	the line; others than those of the script are ignored
 */
void kf_traced_line(struct kf_traced *t, const char *line);

/**
 * kf_traced_release() - free what a table holds
 * @t:		the table; harmless twice
 */
void kf_traced_release(struct kf_traced *t);

#endif
