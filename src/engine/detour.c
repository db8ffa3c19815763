/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Detours: see detour.h.
 */
#include "engine/detour.h"

#include "sys/thread.h"

bool kf_detour_on = true;
bool kf_detour_strict;

struct kf_heap kf_heap_detour = {.guest = true, .shared = true};

__thread struct kf_detour kf_detour __attribute__((tls_model("initial-exec")));

uint32_t kf_detour_number;

static bool kept; /* constant after start */

void kf_detour_keep(void)
{
	kept = true;
}

void kf_detour_start(bool strict)
{
	__atomic_store_n(&kf_detour_strict, strict, __ATOMIC_RELAXED);
	__atomic_store_n(&kf_detour_number, kf_detour_number + 1,
			 __ATOMIC_RELAXED);
	/* pairs with the acquire load of kf_detour_is_due() */
	__atomic_store_n(&kf_detour_on, true, __ATOMIC_RELEASE);
	kf_process_close();
}

void kf_detour_stop(void)
{
	__atomic_store_n(&kf_detour_on, kept, __ATOMIC_RELEASE);
	__atomic_store_n(&kf_detour_strict, false, __ATOMIC_RELAXED);
}

/* What it has of others' goes home before it hands out a block that is seen. */
void kf_detour_set_out(void)
{
	if (!kf_detour_on)
		return;
	kf_detour.number = __atomic_load_n(&kf_detour_number, __ATOMIC_RELAXED);
	if (kf_detour_strict && !kf_heap_self->guest)
		kf_heap_send_foreign(kf_heap_self);
}

uint32_t kf_detour_step_out(void)
{
	uint32_t depth = kf_detour.depth;

	if (!depth || !kf_detour_on)
		return 0;
	kf_detour.depth = 1;
	kf_detour_leave();
	return depth;
}

void kf_detour_step_in(uint32_t depth)
{
	if (!depth)
		return;
	if (kf_heap_self == &kf_heap_detour)
		kf_heap_self = kf_detour.hidden;
	kf_detour.depth = (uint16_t)depth;
}
