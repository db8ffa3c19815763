/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replays a recording: the live blocks and bytes after each event, and events
 * that an intact heap cannot have.
 *
 * The two events of a realloc become one call at its end: the old block is
 * freed at the begin, but counts until the end. Memory is needed for the live
 * blocks (see blocks.h) and the latest frees, to find double frees.
 */
#ifndef KF_READER_REPLAY_H
#define KF_READER_REPLAY_H

#include "reader/blocks.h"
#include "reader/history.h"
#include "reader/space.h"

#define KF_REPLAY_NR_FREED 65536u

enum kf_anomaly {
	KF_ANOMALY_NONE,
	KF_ANOMALY_FREE_UNKNOWN, /* freed, but never allocated */
	KF_ANOMALY_DOUBLE_FREE,	 /* freed twice */
	KF_ANOMALY_DOUBLE_ALLOC, /* allocated, but live */
	KF_ANOMALY_OVERLAP,	 /* allocated, but overlaps a live block */
	KF_NR_ANOMALIES
};

/* The calls that count; a block counts if the call that allocated it does. */
struct kf_replay_pick {
	uint64_t from; /* ns; earlier events are replayed, but not counted */
	uint64_t min_size;
	uint64_t max_size;
	unsigned int kinds; /* bit of enum kf_record_kind; 0: all */
	bool (*thread)(uint32_t thread, void *arg); /* NULL: all */
	void *thread_arg;
};

/* Levels of the selected blocks; @held is of the whole heap. */
struct kf_replay_level {
	uint64_t bytes;
	uint64_t blocks;
	uint64_t held;
	uint64_t pool; /* bytes that a TLSF pool needs for the blocks */
	uint64_t by_kind[KF_RECORD_NR_KINDS]; /* bytes */
};

/* The effect of an event. */
struct kf_step {
	const struct kf_history_event *event;
	bool call;   /* a call has ended; false: only @held changed */
	bool picked; /* the call counts */
	bool made;   /* @block is new, and selected */
	bool gone;   /* @old was freed, and was selected */
	struct kf_block block;
	struct kf_block old; /* address 0: unknown */
	uint64_t old_address;
	enum kf_anomaly anomaly;
	/*
	 * For exports that write a realloc as one event: @block has the address
	 * of the old block of a realloc that has not ended; and the end of that
	 * realloc.
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
	struct kf_replay_level peak; /* levels at the peak of live bytes */
	uint64_t peak_time;	     /* ns */
	uint64_t peak_held;
	uint64_t peak_held_time;
	uint64_t peak_pool;
	uint64_t end_time;		     /* of the last event, ns */
	uint64_t calls[KF_RECORD_NR_KINDS];  /* selected, successful */
	uint64_t failed[KF_RECORD_NR_KINDS]; /* selected */
	uint64_t allocated;		     /* bytes of selected blocks */
	uint64_t anomalies[KF_NR_ANOMALIES];
	uint64_t from_before; /* frees of blocks from before the recording */

	/* Private. */
	const struct kf_history *history;
	struct kf_space space;
	struct kf_replay_freed *freed;	   /* the latest frees, by address */
	struct kf_replay_pending *pending; /* reallocs, by stream */
	struct kf_map flying;		   /* old blocks of these reallocs */
	bool counting;			   /* the time @pick.from was reached */
};

/**
 * kf_replay_init() - begin a replay
 * @r:		the replay
 * @h:		the recording, of which no event has been read; the replay sets
 *		its tie-breaking function
 * @pick:	the calls that count
 *
 * Return: 0, or -1 when out of memory. Release it in any case.
 */
int kf_replay_init(struct kf_replay *r, struct kf_history *h,
		   const struct kf_replay_pick *pick);

/**
 * kf_replay_step() - play an event
 * @r:		the replay
 * @e:		the event
 * @step:	out: its effect, if 1 is returned
 *
 * Return: 1, or 0 if the event has no effect, or -1 when out of memory.
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
 * kf_replay_pool_bytes() - the bytes of a TLSF pool that a block needs
 * @size:	bytes asked for
 * @align_log2:	logarithm of its alignment
 *
 * Return: bytes, header and rounding included.
 */
uint64_t kf_replay_pool_bytes(uint64_t size, unsigned int align_log2);

/**
 * kf_replay_release() - free what a replay holds
 * @r:		the replay
 */
void kf_replay_release(struct kf_replay *r);

#endif
