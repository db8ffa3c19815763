/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Detours: see detour.h.
 */
#include "engine/detour.h"

bool kf_detour_on = true;
bool kf_detour_strict;

struct kf_heap kf_heap_detour = {.guest = true, .shared = true};

__thread uint32_t kf_detour_depth __attribute__((tls_model("initial-exec")));

/* The calling thread's heap while it points at kf_heap_detour. */
static __thread struct kf_heap *hidden
	__attribute__((tls_model("initial-exec")));

/* The detour that the thread set out on last. */
static __thread uint32_t seen __attribute__((tls_model("initial-exec")));

static uint32_t nr_detours;

void kf_detour_start(bool strict)
{
	__atomic_store_n(&kf_detour_strict, strict, __ATOMIC_RELAXED);
	__atomic_store_n(&nr_detours, nr_detours + 1, __ATOMIC_RELAXED);
	/* pairs with the acquire load of kf_detour_is_due() */
	__atomic_store_n(&kf_detour_on, true, __ATOMIC_RELEASE);
}

void kf_detour_stop(void)
{
	__atomic_store_n(&kf_detour_on, false, __ATOMIC_RELEASE);
	__atomic_store_n(&kf_detour_strict, false, __ATOMIC_RELAXED);
}

/* What it has of others' goes home before it hands out a block that is seen. */
static void set_out(void)
{
	uint32_t nr = __atomic_load_n(&nr_detours, __ATOMIC_RELAXED);

	if (likely(seen == nr))
		return;
	seen = nr;
	if (kf_detour_strict && !kf_heap_self->guest)
		kf_heap_send_foreign(kf_heap_self);
}

void kf_detour_enter(void)
{
	if (!kf_detour_depth++ && kf_heap_self == &kf_heap_detour)
		kf_heap_self = hidden;
	if (kf_detour_on)
		set_out();
}

static void hide(void)
{
	hidden = kf_heap_self;
	kf_heap_self = &kf_heap_detour;
}

void kf_detour_leave(void)
{
	if (!--kf_detour_depth && kf_detour_on)
		hide();
}

uint32_t kf_detour_step_out(void)
{
	uint32_t depth = kf_detour_depth;

	if (depth && kf_detour_on) {
		kf_detour_depth = 0;
		hide();
		return depth;
	}
	return 0;
}

void kf_detour_step_in(uint32_t depth)
{
	if (!depth)
		return;
	if (kf_heap_self == &kf_heap_detour)
		kf_heap_self = hidden;
	kf_detour_depth = depth;
}
