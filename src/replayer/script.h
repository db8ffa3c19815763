/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The script of a replay: what `konfiscator whatif` makes of a recording, and
 * what the replayer plays.
 *
 *	header | operations | samples
 *
 * All calls of a recording are in one order. Blocks have small numbers instead
 * of addresses, and a number is used again after the block's free, so that a
 * player needs no more than an array of pointers. The command has checked
 * everything: no operation names a block that is not live.
 *
 * An operation is a byte, enum kf_script_op, and its varints (record/event.h).
 * Both programs are of one build, and a script lives as long as the command:
 * the format is not ABI.
 */
#ifndef KF_REPLAYER_SCRIPT_H
#define KF_REPLAYER_SCRIPT_H

#include <stdint.h>

#define KF_SCRIPT_MAGIC 0x31545049524353ffULL

/* The most bytes of an operation: a byte and three varints. */
#define KF_SCRIPT_OP_MAX 31

enum kf_script_op {
	KF_SCRIPT_MALLOC = 1, /* block, bytes */
	KF_SCRIPT_CALLOC,     /* block, bytes */
	KF_SCRIPT_ALIGNED,    /* block, bytes, logarithm of the alignment */
	KF_SCRIPT_REALLOC,    /* block, bytes, bytes before */
	KF_SCRIPT_FREE,	      /* block */
	KF_SCRIPT_TURN,	      /* thread: the following operations are its */
	KF_SCRIPT_END,	      /* none: the thread ends, thread 0 has the turn */
	KF_SCRIPT_TIME,	      /* ns since the last one: the recorded time */
};

struct kf_script_header {
	uint64_t magic;
	uint32_t nr_threads; /* at once; thread 0 is the first one */
	uint32_t nr_blocks;  /* at once */
	uint32_t nr_samples;
	uint32_t reserved;
	uint64_t nr_ops;
	uint64_t ops;	  /* offset */
	uint64_t samples; /* offset; the operations end here */
};

/* A moment at which memory is read: when @op operations are done. */
struct kf_script_sample {
	uint64_t op; /* from 1, ascending */
	uint64_t time_ns;
	uint64_t live; /* bytes requested by then */
};

/* How blocks are written to. */
enum kf_script_touch {
	KF_TOUCH_ALL, /* each page */
	KF_TOUCH_FIRST,
	KF_TOUCH_NONE
};

/*
 * What the replayer writes to its pipe: a begin, a memory word for each sample,
 * and an end.
 */
struct kf_script_begin {
	uint64_t magic;
	char malloc_from[4096]; /* the object that malloc is in, or "" */
};

struct kf_script_memory {
	uint64_t resident; /* bytes */
};

struct kf_script_end {
	uint64_t cpu_ns;  /* of all threads, without samples */
	uint64_t wall_ns; /* likewise */
	uint64_t faults;
	uint64_t failed; /* calls without a block */
};

#endif
