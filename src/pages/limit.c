/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The limit for held memory: see limit.h.
 */
#include "pages/limit.h"

#include "probes/konfiscator-probes.h"

/* Caches are given back each time that such a part of the limit was taken. */
#define STEPS 64

/* The most dirty bytes while memory is short elsewhere. */
#define PRESSED_DIRTY ((uint64_t)KF_MIB)

struct kf_limit kf_limit = {
	.bytes = UINT64_MAX,
	.near = UINT64_MAX,
	.trim_at = UINT64_MAX,
	.watch = UINT64_MAX,
	.dirty = UINT64_MAX,
};

/* The thread tries again: a fork cannot leave it set, as a counter would be. */
static __thread bool limit_retries __attribute__((tls_model("initial-exec")));

void kf_limit_set(uint64_t bytes)
{
	uint64_t limit = bytes ? bytes : UINT64_MAX;
	uint64_t near =
		bytes ? kf_limit_part(bytes, KF_LIMIT_NEAR) : UINT64_MAX;

	if (limit == kf_load(&kf_limit.bytes))
		return;
	kf_store(&kf_limit.bytes, limit);
	kf_store(&kf_limit.near, near);
	kf_store(&kf_limit.trim_at, near);
	kf_word_set(KF_WORD_limit, bytes);
	kf_limit_note(kf_stats_held());
}

bool kf_limit_allows(size_t more)
{
	uint64_t held = kf_stats_held() + more;

	if (likely(held <= kf_load(&kf_limit.trim_at)))
		return true;
	return limit_retries &&
	       (!kf_limit.hard || held <= kf_load(&kf_limit.bytes));
}

void kf_limit_retry(bool on)
{
	uint64_t near = kf_load(&kf_limit.near);
	uint64_t next = kf_stats_held() + kf_load(&kf_limit.bytes) / STEPS;

	limit_retries = on;
	if (kf_limit.hard)
		next = KF_MIN(next, kf_load(&kf_limit.bytes));
	if (near != UINT64_MAX)
		kf_store(&kf_limit.trim_at, KF_MAX(near, next));
}

/* Told again after what is held was a few percent lower. */
static void limit_cross(uint64_t held, uint64_t limit)
{
	uint64_t told = kf_limit_part(limit, KF_LIMIT_TOLD);

	if (held < told - told / 32) {
		kf_store(&kf_limit.crossed, false);
		return;
	}
	if (held < told ||
	    __atomic_exchange_n(&kf_limit.crossed, true, __ATOMIC_RELAXED))
		return;
	kf_word_add_atomic(KF_WORD_limit_near, 1);
	kf_probe_limit_near(held, limit);
}

void kf_limit_press(bool on)
{
	kf_store(&kf_limit.pressed, on);
	kf_limit_note(kf_stats_held());
}

static uint64_t limit_most_dirty(uint64_t limit, bool pressed)
{
	return pressed ? KF_MIN(limit / STEPS, PRESSED_DIRTY) : limit / STEPS;
}

void kf_limit_note(uint64_t held)
{
	uint64_t limit = kf_load(&kf_limit.bytes);
	uint64_t near = kf_load(&kf_limit.near);
	bool pressed = kf_load(&kf_limit.pressed);
	bool full = held >= near && limit != UINT64_MAX;

	if (limit != UINT64_MAX)
		limit_cross(held, limit);
	if (!full)
		kf_store(&kf_limit.trim_at, near);
	kf_store(&kf_limit.dirty, full || pressed
					  ? limit_most_dirty(limit, pressed)
					  : UINT64_MAX);
	kf_store(&kf_limit.is_near, full || pressed);
	/* What is less than this must be looked at, too, once it is near. */
	kf_store(&kf_limit.watch, full ? 0 : near);
}
