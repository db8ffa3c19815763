/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The black box: see box.h.
 */
#include "stats/box.h"

#include "stats/internal.h"

#include "sys/process.h"
#include "sys/thread.h"

/* In place of the number of a chunk that a thread is taking. */
#define TAKING UINT16_MAX

_Static_assert(KF_STATS_MAX_SLOTS < TAKING, "a chunk's number fits");

static struct kf_box shared;
static uint32_t nr_chunks; /* of a ring; constant after kf_box_init() */
static bool taken_over;	   /* the first events, by the first heap; atomic */

__thread struct kf_box *kf_box_mine __attribute__((tls_model("initial-exec")));

static inline struct kf_box *own(void)
{
	return kf_box_mine ? kf_box_mine : &shared;
}

/* The number of the ring's slot; 0: the ring keeps no events. */
static inline uint32_t slot_of(const struct kf_box *box)
{
	return kf_load(&box->slot);
}

void kf_box_init(uint32_t events)
{
	events = KF_MIN(events, (uint32_t)KF_BOX_MAX_EVENTS);
	if (!kf_stats.in_bss)
		nr_chunks = (events + KF_STATS_EVENTS - 1) / KF_STATS_EVENTS;
}

static struct kf_stats_chunk *box_chunk_at(uint32_t number)
{
	return (void *)kf_image_slot(kf_stats.base, number - 1);
}

/* The number of a slot; 0: it is not in the image. */
static uint32_t number_of(const void *slot)
{
	uintptr_t at = (uintptr_t)slot - (uintptr_t)kf_stats.base - KF_AT_SLOTS;

	return at < kf_stats.max_slots * sizeof(struct kf_slot)
		       ? (uint32_t)(at / sizeof(struct kf_slot)) + 1
		       : 0;
}

void kf_box_share(const struct kf_slot *slot)
{
	kf_store(&shared.slot, nr_chunks ? number_of(slot) : 0);
}

/* Where there is no room for a chunk, the ring has no more from then on. */
static struct kf_stats_chunk *box_take_chunk(struct kf_box *box, uint32_t index)
{
	struct kf_stats_chunk *chunk;

	if (!kf_claim(&box->chunk[index], TAKING))
		return NULL;
	chunk = kf_stats_chunk_take();
	if (chunk) {
		chunk->index = index;
		kf_store_release(&chunk->slot, slot_of(box));
	} else if (index) {
		kf_store(&box->nr_chunks, (uint16_t)index);
	} else {
		kf_store(&box->slot, 0);
	}
	/* pairs with the acquire load of box_next() */
	kf_store_release(&box->chunk[index], (uint16_t)number_of(chunk));
	return chunk;
}

/* The place of the next event, or NULL. */
static struct kf_stats_event *box_next(struct kf_box *box)
{
	uint32_t nr, limit, index, number;
	struct kf_stats_chunk *chunk;

	if (!slot_of(box))
		return NULL;
	nr = kf_fetch_add(&box->nr, 1);
	limit = kf_load(&box->nr_chunks);
	index = nr / KF_STATS_EVENTS % (limit ? limit : nr_chunks);
	number = kf_load_acquire(&box->chunk[index]);
	if (likely(number && number != TAKING))
		chunk = box_chunk_at(number);
	else
		chunk = box_take_chunk(box, index);
	return chunk ? &chunk->event[nr % KF_STATS_EVENTS] : NULL;
}

static void put_at(struct kf_box *box, enum kf_box_kind kind, uint64_t time,
		   uint64_t address, uint64_t bytes)
{
	struct kf_stats_event *e = box_next(box);

	if (!e)
		return;
	/* The fine and the coarse clock differ; a ring's times never fall. */
	time = KF_MAX(time, kf_load(&box->last));
	kf_store(&box->last, time);
	kf_store(&e->when, 0);
	/* A reader of a half-written event finds @when 0 or changed. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	kf_store(&e->address, address);
	kf_store(&e->bytes, bytes);
	kf_store_release(&e->when, (uint64_t)kind << KF_STATS_EVENT_TIME_BITS |
					   (time & KF_STATS_EVENT_TIME));
}

void kf_box_write(enum kf_box_kind kind, uint64_t address, uint64_t bytes)
{
	struct kf_box *box = own();
	bool coarse = kf_box_is_coarse(kind);

	if (!slot_of(box) ||
	    (coarse && box == &shared && kf_box_is_repeat(box)))
		return;
	if (!coarse)
		kf_store(&box->repeats, 0);
	put_at(box, kind, coarse ? kf_now_coarse_ns() : kf_now_ns(), address,
	       bytes);
}

void kf_box_refill(uint64_t bytes)
{
	struct kf_box *box = own();
	uint64_t now;

	if (!slot_of(box))
		return;
	now = kf_now_coarse_ns();
	if (kf_load(&box->refilled) == now)
		return;
	kf_store(&box->refilled, now);
	put_at(box, KF_BOX_refill, now, 0, bytes);
}

/*
 * Events before the first heap belong to the first thread. Other threads may
 * write to the shared ring meanwhile: chunks that they are taking stay there.
 */
static void take_over(struct kf_box *box, uint32_t slot)
{
	box->slot = slot;
	box->last = kf_load(&shared.last);
	box->nr_chunks = kf_load(&shared.nr_chunks);
	box->nr = __atomic_exchange_n(&shared.nr, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < nr_chunks; i++) {
		uint16_t number = kf_load_acquire(&shared.chunk[i]);

		if (!number || number == TAKING)
			continue;
		kf_store(&shared.chunk[i], 0);
		kf_store(&box_chunk_at(number)->slot, slot);
		box->chunk[i] = number;
	}
}

void kf_box_attach(struct kf_box *box, const struct kf_slot *slot)
{
	uint32_t number = nr_chunks ? number_of(slot) : 0;

	if (!box->slot && number &&
	    !__atomic_exchange_n(&taken_over, true, __ATOMIC_RELAXED))
		take_over(box, number);
	else if (!box->nr)
		box->slot = number;
	kf_box_mine = box;
	kf_box_put(KF_BOX_thread_start, 0, (uint64_t)slot->tid);
}

void kf_box_resume(struct kf_box *box)
{
	kf_box_mine = box;
}

void kf_box_detach(void)
{
	kf_box_put(KF_BOX_thread_end, 0, (uint64_t)kf_process_tid());
	kf_box_mine = NULL;
}
