/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The black box: the last events of each thread's slow paths, in the stats
 * file, so that they survive a SIGKILL.
 *
 * Each heap has a ring of events, in chunks that take the place of slots as the
 * ring fills; the ring stays with the heap when another thread adopts it.
 * Threads without a heap share one ring. There is no lock: a writer takes a
 * place by one atomic addition. A reader sees a place that is being written as
 * empty, or sees that it changed between two reads.
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
 * A ring. Its thread alone writes it, except the shared ring; all fields are
 * atomic.
 */
struct kf_box {
	uint64_t last;	    /* ns: time of the last event; times never fall */
	uint64_t refilled;  /* ns: time of the last refill event */
	uint32_t repeats;   /* events of large blocks in a row */
	uint32_t nr;	    /* events, ever */
	uint32_t slot;	    /* number of its slot, from 1; 0: keeps nothing */
	uint16_t nr_chunks; /* chunks of a ring that found no more; else 0 */
	uint16_t chunk[KF_BOX_MAX_CHUNKS]; /* numbers of slots, from 1 */
};

/**
 * kf_box_init() - set the length of the rings
 * @events:	least number of events that a ring keeps; 0: no rings
 *
 * Context: once, after kf_stats_init().
 */
void kf_box_init(uint32_t events);

/**
 * kf_box_share() - set the slot of the shared ring
 * @slot:	the slot
 *
 * Context: once, after kf_box_init().
 */
void kf_box_share(const struct kf_slot *slot);

/**
 * kf_box_attach() - let the calling thread write to a ring
 * kf_box_resume() - the same after ld.so reset the thread's variables
 * kf_box_detach() - let the calling thread write to the shared ring again
 * @box:	the ring, zeroes at first
 * @slot:	the thread's slot
 *
 * The first thread that attaches takes over the events of the shared ring,
 * which are its own.
 *
 * Context: any thread.
 */
void kf_box_attach(struct kf_box *box, const struct kf_slot *slot);
void kf_box_resume(struct kf_box *box);
void kf_box_detach(void);

/**
 * kf_box_write() - write an event
 * @kind:	its kind
 * @address:	of a block or mapping, or 0
 * @bytes:	a size, or 0
 *
 * Context: any thread, any lock held. May take another chunk, by a few system
 *	    calls. errno kept.
 */
__cold void kf_box_write(enum kf_box_kind kind, uint64_t address,
			 uint64_t bytes);

/* Whether a kind has the coarse clock, see box.def. */
static inline bool kf_box_is_coarse(enum kf_box_kind kind)
{
	enum { FINE, COARSE };
	const uint64_t coarse =
#define KF_BOX(id, number, probe, address, bytes, clock, shows, help) \
	(uint64_t)(clock) << KF_BOX_##id |
#include "stats/box.def"
#undef KF_BOX
		0;

	_Static_assert(KF_NR_BOX_KINDS <= 64, "each kind has a bit");
	return coarse >> kind & 1;
}

/* Of coarse events in a row the first two of each so many are written. */
#define KF_BOX_REPEATS 64

static inline bool kf_box_is_repeat(struct kf_box *box)
{
	uint32_t repeats = kf_load(&box->repeats);

	kf_store(&box->repeats, repeats + 1);
	/* Two, as an allocation and its free often come in pairs. */
	return likely(repeats % KF_BOX_REPEATS > 1);
}

/* NULL, as before ld.so sets up the thread's variables, is the shared ring. */
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
 * kf_box_refill() - write a refill event, at most one each tick
 * @bytes:	size of a block
 *
 * Context: as kf_box_put().
 */
void kf_box_refill(uint64_t bytes);

#endif
