/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slots: taken one by one and never given back, as new threads adopt the slots
 * of ended ones.
 *
 * A slot is taken by compare and swap; only one thread at a time makes room for
 * more. The image has addresses for KF_STATS_MAX_SLOTS slots and chunks of the
 * black box. Further slots are in an area of their own, and their threads leave
 * no events.
 */
#include "stats/internal.h"

#include "sys/vm.h"
#include "sys/process.h"
#include "sys/thread.h"

#include <string.h>

/* Shared by heaps whose slots found no memory; no reader sees it. */
static struct kf_slot shared_slot;

/* kf_thread_self() of the thread that has the right of growth, or 0; atomic. */
static uintptr_t grower;

bool kf_growth_enter(void)
{
	while (!kf_claim(&grower, kf_thread_self())) {
		if (kf_load(&grower) == kf_thread_self())
			return false;
		kf_process_pause();
	}
	return true;
}

void kf_growth_leave(void)
{
	kf_store_release(&grower, 0);
}

void kf_growth_reset(void)
{
	kf_store(&grower, 0);
}

static size_t next_nr_slots(void)
{
	size_t nr = kf_image_fit(kf_stats.nr_slots * 2, kf_stats.page);

	return KF_MIN(nr, kf_stats.max_slots);
}

/*
 * Where the file cannot grow, slots are in private memory behind it, which no
 * reader sees. Later slots are too, so that the file has no hole.
 */
static bool slots_put_memory(size_t nr)
{
	size_t from = kf_image_size(kf_stats.nr_slots);
	size_t to = kf_image_size(nr);
	bool whole = kf_stats.nr_shown == kf_stats.nr_slots;

	if (!kf_vm_claim(kf_stats.base + from, to - from))
		return false;
	if (kf_stats.on_file && whole &&
	    !kf_backing_grow(kf_stats.base + from, from, to)) {
		kf_store(&kf_stats.nr_shown, nr);
		return true;
	}
	if (!kf_vm_put_memory(kf_stats.base + from, to - from)) {
		kf_vm_drop(kf_stats.base + from, to - from);
		return false;
	}
	if (!kf_stats.on_file)
		kf_store(&kf_stats.nr_shown, nr);
	return true;
}

/* Returns false when there will be no more slots. */
static bool slots_grow(size_t seen)
{
	size_t nr;
	bool more = true;

	if (!kf_growth_enter())
		return false;
	if (kf_stats.nr_slots == seen) {
		nr = next_nr_slots();
		more = nr > seen && slots_put_memory(nr);
		if (more) {
			kf_image_show();
			/* pairs with the acquire load of slots_take() */
			kf_store_release(&kf_stats.nr_slots, nr);
		}
	}
	kf_growth_leave();
	return more;
}

static void show_more(void)
{
	if (!kf_growth_enter())
		return;
	kf_image_show();
	kf_growth_leave();
}

/* Returns the slot's number, or SIZE_MAX. */
static size_t slots_take(void)
{
	size_t i = kf_load(&kf_stats.nr_taken);

	for (;;) {
		/* pairs with the release store of slots_grow() */
		size_t nr = kf_load_acquire(&kf_stats.nr_slots);

		if (i >= nr && !slots_grow(nr))
			return SIZE_MAX;
		if (i < nr && kf_cas(&kf_stats.nr_taken, &i, i + 1)) {
			if (i == KF_FEW_SLOTS)
				show_more();
			return i;
		}
	}
}

struct kf_stats_chunk *kf_stats_chunk_take(void)
{
	static uint32_t nr_chunks; /* atomic */
	size_t i = SIZE_MAX;

	if (kf_load(&nr_chunks) < kf_stats.max_slots / 2)
		i = slots_take();
	if (i == SIZE_MAX)
		return NULL;
	kf_fetch_add(&nr_chunks, 1);
	return (void *)kf_image_slot(kf_stats.base, i);
}

/* Take a slot behind those of the image. @seen: out: readers find it. */
static struct kf_slot *slots_take_more(bool *seen)
{
	const struct kf_area *area = &kf_stats.area[KF_AREA_SLOTS];
	uint32_t i = kf_fetch_add(&kf_stats.nr_more, 1);
	struct kf_slot *more = kf_stats_area_grow(KF_AREA_SLOTS, i + 1);

	*seen = more && (!kf_load(&kf_stats.on_file) ||
			 i < kf_load(&area->shown) / sizeof(*more));
	return more ? &more[i] : &shared_slot;
}

struct kf_slot *kf_stats_slot_take(void)
{
	size_t i = slots_take();
	struct kf_slot *slot;
	bool seen;

	if (i == SIZE_MAX) {
		slot = slots_take_more(&seen);
	} else {
		slot = kf_image_slot(kf_stats.base, i);
		seen = i < kf_load(&kf_stats.nr_shown);
	}
	if (!seen)
		kf_word_add_atomic(KF_WORD_lost_slots, 1);
	kf_store(&slot->state, KF_SLOT_IN_USE);
	return slot;
}

void kf_stats_slot_label(struct kf_slot *slot, enum kf_slot_state state)
{
	char comm[KF_COMM_SIZE];

	/* Without a file no reader needs it, and a seccomp filter may kill. */
	if (!kf_load(&kf_stats.disabled)) {
		kf_process_comm(comm);
		memcpy(slot->name, comm, sizeof(slot->name));
		slot->tid = kf_process_tid();
	}
	kf_store_release(&slot->state, state);
}
