/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The black box: what a thread's slow paths did last, in the stats file, so
 * that it is there after a SIGKILL too.
 *
 * Each heap has a ring of events, in chunks that are taken from the slots as
 * the ring fills, and goes on with it when another thread has the heap. A
 * thread without a heap writes into a ring that all such share. No lock: who
 * writes takes a place by one atomic addition, and a reader finds a place that
 * is being written empty, or finds it changed when it looks again.
 */
#ifndef KF_STATS_BOX_H
#define KF_STATS_BOX_H

#include "base/compiler.h"
#include "stats/layout.h"

#define KF_BOX_MAX_EVENTS 4096
#define KF_BOX_MAX_CHUNKS \
	((KF_BOX_MAX_EVENTS + KF_STATS_EVENTS - 1) / KF_STATS_EVENTS)

enum kf_box_kind {
	KF_BOX_none,
#define KF_BOX(id, number, probe, address, bytes, clock, shows, help) \
	KF_BOX_##id = number,
#include "stats/box.def"
#undef KF_BOX
	KF_NR_BOX_KINDS
};

/*
 * A ring. What is in it is its thread's, but in the shared ring, which is
 * written by many.
 */
struct kf_box {
	uint64_t last;	    /* ns: no event is told to be older; atomic */
	uint64_t refilled;  /* ns: the last refill that was told; atomic */
	uint32_t repeats;   /* events of large blocks in a row; atomic */
	uint32_t nr;	    /* events, ever; atomic */
	uint32_t slot;	    /* number of its slot, from 1; 0: nothing is kept;
			     * atomic */
	uint16_t nr_chunks; /* it ends with these; 0: not known yet; atomic */
	uint16_t chunk[KF_BOX_MAX_CHUNKS]; /* number of the slot from 1; atomic
					    */
};

/**
 * kf_box_init() - say how long rings are
 * @events:	kept of each thread, at least; 0: none are
 *
 * Context: once, after kf_stats_init().
 */
void kf_box_init(uint32_t events);

/**
 * kf_box_share() - say who counts for the ring that threads share
 * @slot:	the slot
 *
 * Context: once, after kf_box_init().
 */
void kf_box_share(const struct kf_slot *slot);

/**
 * kf_box_attach() - have the calling thread write into a ring
 * kf_box_resume() - the same, where it did so before and it was forgotten
 * kf_box_detach() - have it write into the shared one again
 * @box:	the ring, zeroes at first
 * @slot:	where the thread counts
 *
 * The first to attach takes over what the shared ring holds: it is what this
 * thread did before.
 *
 * Context: any thread.
 */
void kf_box_attach(struct kf_box *box, const struct kf_slot *slot);
void kf_box_resume(struct kf_box *box);
void kf_box_detach(void);

/**
 * kf_box_write() - write an event
 * @kind:	which
 * @address:	what it is about, or 0
 * @bytes:	how much, or 0
 *
 * Context: any thread, any lock held. May take another chunk, by a few system
 *	    calls. errno kept.
 */
__cold void kf_box_write(enum kf_box_kind kind, uint64_t address,
			 uint64_t bytes);

/* Whether an event is cheap otherwise: see box.def. A bit for each kind. */
static inline bool kf_box_is_coarse(enum kf_box_kind kind)
{
	enum { FINE, COARSE };
	const uint64_t coarse =
#define KF_BOX(id, number, probe, address, bytes, clock, shows, help) \
	(uint64_t)(clock) << KF_BOX_##id |
#include "stats/box.def"
#undef KF_BOX
		0;

	_Static_assert(KF_NR_BOX_KINDS <= 64, "each has a bit");
	return coarse >> kind & 1;
}

/* Of such events in a row, with no other between, two of so many are told. */
#define KF_BOX_REPEATS 64

static inline bool kf_box_is_repeat(struct kf_box *box)
{
	uint32_t repeats = kf_load(&box->repeats);

	kf_store(&box->repeats, repeats + 1);
	/* Two in a row: mostly these come in pairs. */
	return likely(repeats % KF_BOX_REPEATS > 1);
}

/* NULL: the shared one, for threads before ld.so has set up their variables. */
extern __thread struct kf_box *kf_box_mine
	__attribute__((tls_model("initial-exec"))) __kf_hidden;

/* kf_box_write(), unless the event is one of many. */
static inline void kf_box_put(enum kf_box_kind kind, uint64_t address,
			      uint64_t bytes)
{
	struct kf_box *box = kf_box_mine;

	if (!kf_box_is_coarse(kind) || !box || !kf_box_is_repeat(box))
		kf_box_write(kind, address, bytes);
}

/**
 * kf_box_refill() - write that a list was filled, if this tick has none yet
 * @bytes:	of a block
 *
 * Context: as kf_box_put().
 */
void kf_box_refill(uint64_t bytes);

#endif
