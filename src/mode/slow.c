// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The slow mode: every call goes through the core (core/core.h), which retries,
 * keeps errno and tells of misuse. Each is the last part of other modes too.
 */
#include "mode/mode.h"

#include "core/core.h"

kf_free_fn *kf_mode_elsewhere;

__noinline void *kf_slow_alloc(size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);
	size_t usable;
	void *p;

	if (unlikely(other))
		return kf_front_malloc(other, size);
	p = kf_alloc(size, 16, KF_CALL_MALLOC, &usable);
	if (likely(p))
		kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

__noinline void *kf_slow_zeroed(size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);
	size_t usable;
	void *p;

	if (unlikely(other))
		return other->mode->zeroed(size, other);
	p = kf_alloc(size, 16, KF_CALL_CALLOC, &usable);
	if (unlikely(!p))
		return NULL;
	kf_self_stat(KF_SLOT_calloc_calls, 1);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static void *slow_new(size_t size)
{
	size_t usable;
	void *p = kf_alloc(size, 16, KF_CALL_REALLOC, &usable);

	if (unlikely(!p))
		return NULL;
	kf_self_stat(KF_SLOT_realloc_new, 1);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

void *kf_slow_resize(void *p, size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);
	void *to = NULL;

	if (unlikely(other))
		return other->mode->resize(p, size, other);
	if (!p) {
		to = slow_new(size);
	} else if (!size) {
		kf_front_free(front, p);
	} else {
		to = kf_resize(p, size);
		if (to)
			kf_probe_resize((uintptr_t)p, (uintptr_t)to, size);
	}
	kf_self_stat(KF_SLOT_realloc_calls, 1);
	return to;
}

void *kf_slow_aligned(size_t align, size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);
	size_t usable;
	void *p;

	if (unlikely(other))
		return other->mode->aligned(align, size, other);
	p = kf_alloc(size, KF_MAX(align, (size_t)16), KF_CALL_ALIGNED, &usable);
	if (unlikely(!p))
		return NULL;
	kf_self_stat(KF_SLOT_aligned_calls, 1);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

__noinline void kf_slow_free(void *p, struct kf_slab *slab,
			     struct kf_front *front)
{
	struct kf_front *other;
	size_t usable;

	if (!p)
		return;
	if (unlikely(kf_mode_elsewhere) && slab->run.kind == KF_RUN_NONE) {
		kf_mode_elsewhere(p);
		return;
	}
	other = kf_mode_renew(front);
	if (unlikely(other)) {
		kf_front_free(other, p);
		return;
	}
	usable = kf_usable(p);
	kf_probe_release((uintptr_t)p, usable);
	kf_release(p, usable);
}

const struct kf_mode kf_mode_slow = {
	.alloc = kf_slow_alloc,
	.zeroed = kf_slow_zeroed,
	.resize = kf_slow_resize,
	.aligned = kf_slow_aligned,
	.free = kf_slow_free,
};

struct kf_front kf_front_guest = {.mode = &kf_mode_slow};
