/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a process has the memory that it has: the verdict and its facts. The
 * rules are in kf_explain_case() and nowhere else; doc/explain.md describes
 * them with these thresholds.
 */
#ifndef KF_READER_VERDICT_H
#define KF_READER_VERDICT_H

#include "reader/growth.h"
#include "reader/reader.h"

/* Growth while the process is watched: less than this is not a leak. */
#define KF_EXPLAIN_GROWTH_MIN (64u << 10)   /* bytes */
#define KF_EXPLAIN_GROWTH_PART 256	    /* of the process, one part */
#define KF_EXPLAIN_QUARTERS KF_GROWTH_PARTS /* each with its least */
#define KF_EXPLAIN_NOISE_PART 8	 /* of the rise, one part, is no step */
#define KF_EXPLAIN_RECORD_PART 4 /* of the rise, one part, is new */
/* Free memory in the heap: less than this does not matter. */
#define KF_EXPLAIN_WASTE_MIN (256u << 10) /* bytes */
#define KF_EXPLAIN_WASTE_PART 3		  /* of the heap, one part */
/* Of the process, one part: others of this size have to be a runtime's. */
#define KF_EXPLAIN_OTHERS_PART 4
/* The history of an ended process: a shorter one may be of its start alone. */
#define KF_EXPLAIN_HISTORY_MIN 10.0 /* seconds */
#define KF_EXPLAIN_TOLD_MIN 0.1	    /* seconds; less is not worth words */
#define KF_EXPLAIN_LEVEL_PART 16 /* one part up or down is as good as level */
/* Growth until the end, without a watch. */
#define KF_EXPLAIN_LIFE_MIN 1.0 /* seconds */
#define KF_EXPLAIN_LIFE_PART 4	/* of the life, the last part */
#define KF_EXPLAIN_PEAK_PARTS 8 /* of the peak, all but one */

/* What was live at the end: this much, and this part of what was allocated. */
#define KF_EXPLAIN_KEPT_MIN (64u << 10) /* bytes */
#define KF_EXPLAIN_KEPT_PART 2		/* one part */

enum kf_verdict {
	KF_VERDICT_LEAK,
	KF_VERDICT_FRAGMENTATION,
	KF_VERDICT_WAITING,
	KF_VERDICT_CACHE,
	KF_VERDICT_NOT_THE_HEAP,
	KF_VERDICT_GROWTH,
	KF_VERDICT_NEVER_FREED,
	KF_VERDICT_IN_USE,
};

/* A snapshot of a process, and the figures from before it. */
struct kf_case {
	const struct kf_snapshot *snap;
	const char *procfs; /* procfs' mount point */
	int pid;    /* pid in @procfs; 0: the process has ended or is hidden */
	bool ended; /* the program has ended; else @pid may be hidden */
	bool mappings;	/* read those of the process too: see smaps.h */
	double seconds; /* the time of the watch; 0: one snapshot */
	/*
	 * the results of kf_snapshot_used() during the watch; if @seconds is
	 * not 0
	 */
	const uint64_t *used;
	unsigned int nr_used;
	uint64_t before; /* most bytes held until the watch began */
};

/*
 * The facts of a verdict, in bytes unless noted. live + rounding + half_empty +
 * dirty + unused + metadata = held. If the mappings are known, held - unused -
 * absent + huge + outside = resident, and files + stacks + shared + others =
 * outside.
 */
struct kf_facts {
	bool resident_known; /* the process is alive and can be read */
	uint64_t resident;   /* of the process */
	uint64_t outside;    /* the part of it outside the heap */
	bool mappings_known;
	uint64_t files;	  /* code and data of mapped files */
	uint64_t stacks;  /* of threads */
	uint64_t shared;  /* shared memory */
	uint64_t others;  /* anonymous memory that is not the heap's */
	uint64_t huge;	  /* free memory within resident huge pages, at most */
	uint64_t absent;  /* of the heap: never touched, or swapped out */
	uint64_t tables;  /* page tables; no part of @resident */
	uint64_t sockets; /* buffers of sockets; no part of @resident */
	bool sockets_known;
	unsigned int runtimes; /* enum kf_runtime, or-ed */
	uint64_t live; /* bytes that the program asked for and has not freed */
	uint64_t rounding;   /* bytes of its blocks beyond that */
	uint64_t half_empty; /* free blocks in slabs */
	uint64_t waiting;    /* the part of it in slabs without a live block */
	uint64_t bins;	     /* the part of it that threads keep in bins */
	bool bins_known;     /* false for files of older libraries */
	uint64_t dirty;	     /* free pages that were not given back yet */
	uint64_t unused;     /* free address space without memory */
	uint64_t metadata;
	uint64_t held;
	uint64_t limit;	    /* of @held, by KONFISCATOR_LIMIT; 0: none */
	uint64_t headroom;  /* to @limit */
	uint64_t pressures; /* times memory was short elsewhere */
	uint64_t peak_held;
	bool peak_known;    /* of the heap of this library, or a pool */
	uint64_t uncounted; /* threads without counters in the file */
	bool attached;	    /* blocks from before the attach are not counted */
	bool watched;
	bool remembered;     /* it has ended, and its history is as a watch */
	double seconds;	     /* of the watch, or its last minutes */
	int64_t grown;	     /* live and rounding, in that time */
	int64_t risen;	     /* change of the lows, in that time */
	struct kf_span used; /* live and rounding, if it is remembered */
	bool rising;	     /* @grown during the whole time */
	bool record;	     /* the heap was never larger before */
	uint64_t allocated;  /* ever */
	uint64_t blocks;     /* that are live */
	bool ended;
	bool life_known;
	double life;	/* seconds, until now or the end of the file */
	double growing; /* seconds of @life until the heap last grew by a
			   sixteenth */
};

struct kf_explained {
	struct kf_facts facts;
	enum kf_verdict verdict;
	char *why; /* one line with numbers; NULL when out of memory */
};

/**
 * kf_snapshot_used() - the bytes of a heap in use by the program
 * @s:		the snapshot
 *
 * Return: bytes, live and rounding.
 */
uint64_t kf_snapshot_used(const struct kf_snapshot *s);

/**
 * kf_explain_case() - the verdict on a process
 * @c:		the snapshot and its history
 * @e:		out: the verdict; kf_explained_release() it
 */
void kf_explain_case(const struct kf_case *c, struct kf_explained *e);

/**
 * kf_explained_release() - free what a verdict holds
 * @e:		the verdict
 */
void kf_explained_release(struct kf_explained *e);

/**
 * kf_verdict_name() - a verdict in a word or three
 * @verdict:	the verdict
 *
 * Return: a constant string.
 */
const char *kf_verdict_name(enum kf_verdict verdict);

#endif
