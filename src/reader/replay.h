/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plays a recording again: which blocks are live after each event, how many
 * bytes they are, and what cannot have happened in a heap that is in order.
 *
 * Of a realloc the old block is gone when it begins and counts until it ends;
 * the two events become one call at its end. Memory is for the live blocks
 * (see blocks.h) and the last frees, to tell a double one.
 */
#ifndef KF_READER_REPLAY_H
#define KF_READER_REPLAY_H

#include "reader/blocks.h"
#include "reader/history.h"
#include "reader/space.h"

#define KF_REPLAY_NR_FREED 65536u

enum kf_anomaly {
	KF_ANOMALY_NONE,
	KF_ANOMALY_FREE_UNKNOWN, /* freed, and was never given */
	KF_ANOMALY_DOUBLE_FREE,	 /* freed, and was freed already */
	KF_ANOMALY_DOUBLE_ALLOC, /* given, and is live */
	KF_ANOMALY_OVERLAP,	 /* given, and part of it is live */
	KF_NR_ANOMALIES
};

/* Which calls count; blocks by the call that made them. */
struct kf_replay_pick {
	uint64_t from; /* ns; what is before is played, not counted */
	uint64_t min_size;
	uint64_t max_size;
	unsigned int kinds; /* bit of enum kf_record_kind; 0: all */
	bool (*thread)(uint32_t thread, void *arg); /* NULL: all */
	void *thread_arg;
};

/* Levels, all of them of picked blocks but @held. */
struct kf_replay_level {
	uint64_t bytes;
	uint64_t blocks;
	uint64_t held;
	uint64_t pool; /* bytes that a TLSF pool needs for the blocks */
	uint64_t by_kind[KF_RECORD_NR_KINDS]; /* bytes */
};

/* What one event did. */
struct kf_step {
	const struct kf_history_event *event;
	bool call;   /* a call has ended, or held has changed if not */
	bool picked; /* the call counts */
	bool made;   /* @block is new, and picked */
	bool gone;   /* @old is gone, and was picked */
	struct kf_block block;
	struct kf_block old; /* address 0: not known */
	uint64_t old_address;
	enum kf_anomaly anomaly;
	/*
	 * For what writes a realloc as one event: @block is where the old one
	 * of a realloc that has not ended was; and the end of that realloc.
	 */
	bool steals;
	bool stolen;
};

struct kf_replay_freed;
struct kf_replay_pending;

struct kf_replay {
	struct kf_replay_pick pick;
	struct kf_blocks blocks;
	struct kf_replay_level now;
	struct kf_replay_level peak; /* when most bytes were live */
	uint64_t peak_time;	     /* ns */
	uint64_t peak_held;
	uint64_t peak_held_time;
	uint64_t peak_pool;
	uint64_t end_time;		     /* of the last event, ns */
	uint64_t calls[KF_RECORD_NR_KINDS];  /* picked, that did not fail */
	uint64_t failed[KF_RECORD_NR_KINDS]; /* picked */
	uint64_t allocated;		     /* bytes of picked blocks */
	uint64_t anomalies[KF_NR_ANOMALIES];
	uint64_t from_before; /* frees of what was live at the begin */

	/* Private. */
	const struct kf_history *history;
	struct kf_space space;
	struct kf_replay_freed *freed;	   /* by address, the last ones */
	struct kf_replay_pending *pending; /* reallocs, by stream */
	struct kf_map flying;		   /* old blocks of these */
	bool counting;			   /* @pick.from is over */
};

/**
 * kf_replay_init() - begin a replay
 * @r:		the replay
 * @h:		the recording, of which no event has been read; its ties are
 *		the replay's from now on
 * @pick:	what counts
 *
 * Return: 0, or -1 when out of memory. Release it in any case.
 */
int kf_replay_init(struct kf_replay *r, struct kf_history *h,
		   const struct kf_replay_pick *pick);

/**
 * kf_replay_step() - play an event
 * @r:		the replay
 * @e:		the event
 * @step:	out: what it did, if it returns 1
 *
 * Return: 1, or 0 if there is nothing to tell, or -1 when out of memory.
 */
int kf_replay_step(struct kf_replay *r, const struct kf_history_event *e,
		   struct kf_step *step);

/**
 * kf_replay_picks() - whether a block counts
 * @r:		the replay
 * @block:	the block
 *
 * Return: whether.
 */
bool kf_replay_picks(const struct kf_replay *r, const struct kf_block *block);

/**
 * kf_replay_pool_bytes() - what TLSF takes for a block
 * @size:	bytes asked for
 * @align_log2:	logarithm of its alignment
 *
 * Return: bytes, heads and rounding included.
 */
uint64_t kf_replay_pool_bytes(uint64_t size, unsigned int align_log2);

/**
 * kf_replay_release() - free what a replay holds
 * @r:		the replay
 */
void kf_replay_release(struct kf_replay *r);

#endif
