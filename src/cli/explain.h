/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a process has the memory that it has: the parts of it, and the verdict
 * that follows from them. The rules stand in kf_explain() and nowhere else;
 * doc/explain.md says them in words, with these thresholds.
 */
#ifndef KF_CLI_EXPLAIN_H
#define KF_CLI_EXPLAIN_H

#include "cli/cli.h"
#include "cli/table.h"

/* Growth while the process is watched: less than this is no leak. */
#define KF_EXPLAIN_GROWTH_MIN (64u << 10) /* bytes */
#define KF_EXPLAIN_GROWTH_PART 256	  /* of the process, one part */
/* Free memory in the heap: less than this is no waste. */
#define KF_EXPLAIN_WASTE_MIN (256u << 10) /* bytes */
#define KF_EXPLAIN_WASTE_PART 3		  /* of the heap, one part */
/* Growth until the end, without a watch. */
#define KF_EXPLAIN_LIFE_MIN 1.0 /* seconds */
#define KF_EXPLAIN_LIFE_PART 4	/* of the life, the last part */
#define KF_EXPLAIN_PEAK_PARTS 8 /* of the peak, all but one */

enum kf_verdict {
	KF_VERDICT_LEAK,
	KF_VERDICT_FRAGMENTATION,
	KF_VERDICT_CACHE,
	KF_VERDICT_NOT_THE_HEAP,
	KF_VERDICT_IN_USE,
};

/* Three looks at a process, or one: then all are the same. */
struct kf_watch {
	const struct kf_file *first;
	const struct kf_file *middle;
	const struct kf_file *last;
	double seconds; /* from the first to the last; 0: one look */
};

/*
 * What a verdict rests on, in bytes unless said. live + rounding + half_empty +
 * dirty + unused + metadata = held.
 */
struct kf_facts {
	bool resident_known; /* the process is there to be asked */
	uint64_t resident;   /* of the process */
	uint64_t outside;    /* of that what is not the heap's */
	uint64_t live;	     /* that the program asked for and has */
	uint64_t rounding;   /* that its blocks have beyond that */
	uint64_t half_empty; /* free blocks in pages that live ones keep */
	uint64_t dirty;	     /* free pages that were not given back yet */
	uint64_t unused;     /* free, and nothing is behind it */
	uint64_t metadata;
	uint64_t held;
	uint64_t peak_held;
	bool watched;
	double seconds;	    /* of the watch */
	int64_t grown;	    /* live and rounding, in the watch */
	bool steady;	    /* in either half of it */
	uint64_t allocated; /* ever */
	bool life_known;
	double life;	/* seconds, until the allocator looked last */
	double growing; /* of these, until the heap grew by a sixteenth last */
};

struct kf_explained {
	struct kf_facts facts;
	enum kf_verdict verdict;
	char *why; /* one line; the numbers are in it */
};

/**
 * kf_explain() - find out why a process has the memory that it has
 * @w:		the looks
 * @e:		out: the verdict; kf_explained_release() it
 *
 * Context: one thread; the command has no other.
 */
void kf_explain(const struct kf_watch *w, struct kf_explained *e);

/**
 * kf_explained_release() - free what a verdict holds
 * @e:		the verdict
 *
 * Context: one thread; the command has no other.
 */
void kf_explained_release(struct kf_explained *e);

/**
 * kf_verdict_name() - a verdict in a word or three
 * @verdict:	the verdict
 *
 * Context: one thread; the command has no other.
 * Return: a constant string.
 */
const char *kf_verdict_name(enum kf_verdict verdict);

/**
 * kf_explain_parts() - a row for each part of the memory
 * @t:		out: the table; kf_table_release() it
 * @f:		the facts
 *
 * Context: one thread; the command has no other.
 */
void kf_explain_parts(struct kf_table *t, const struct kf_facts *f);

/**
 * kf_explain_sizes() - a row for each size class in use
 * @t:		out: the table, what the verdict is about first; release it
 * @w:		the looks
 * @verdict:	the verdict
 *
 * Context: one thread; the command has no other.
 */
void kf_explain_sizes(struct kf_table *t, const struct kf_watch *w,
		      enum kf_verdict verdict);

/**
 * kf_explain_stacks() - a row for each sampled stack that has live blocks
 * @t:		out: the table, what the verdict is about first; release it
 * @cli:	for messages
 * @w:		the looks; the first with KF_TABLE_STACKS
 * @verdict:	the verdict
 *
 * Context: one thread; the command has no other.
 * Return: 0, or the exit status after a message.
 */
int kf_explain_stacks(struct kf_table *t, const struct kf_cli *cli,
		      const struct kf_watch *w, enum kf_verdict verdict);

#endif
