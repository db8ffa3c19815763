/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stacks FILE: prints the table of stacks in a stats file, a line for each:
 * bytes of a block, estimates of live bytes and of bytes ever, samples, those
 * freed, flags, number of frames, tag, frames. A block's bytes are 0 where none
 * was billed.
 */
#include "reader/estimate.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

static void print(const struct kf_stats_stack *s)
{
	double all = kf_estimate_stack(s, KF_ESTIMATE_ALLOCATED).value;
	double blocks =
		kf_estimate_stack(s, KF_ESTIMATE_ALLOCATED_BLOCKS).value;

	printf("%.0f %.0f %.0f %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32
	       " %" PRIu32,
	       blocks > 0 ? all / blocks : 0,
	       kf_estimate_stack(s, KF_ESTIMATE_LIVE).value, all, s->samples,
	       s->freed_samples, s->flags, s->nr_frames, s->tag);
	for (uint32_t i = 0; i < s->nr_frames; i++)
		printf(" 0x%" PRIx64, s->frame[i]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct kf_snapshot s;

	if (argc != 2)
		return 2;
	if (kf_snapshot_read_with(AT_FDCWD, argv[1], KF_TABLE_STACKS, &s)) {
		fprintf(stderr, "%s: %s\n", argv[1],
			kf_read_result_name(s.result));
		return 1;
	}
	for (uint32_t i = 0; i < s.nr_stacks; i++) {
		if (s.stacks[i].hash)
			print(&s.stacks[i]);
	}
	kf_snapshot_release(&s);
	return 0;
}
