// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The slow mode: every call goes through the core (core/core.h), which retries,
 * keeps errno and reports misuse. The other modes end in these functions too;
 * those of tags give blocks a mark and bill them.
 */
#include "mode/mode.h"

#include "core/core.h"
#include "tags/tags.h"

kf_free_fn *kf_mode_elsewhere;

static void slow_bill(uint32_t mark, size_t usable, enum kf_call call)
{
	struct kf_tag_node *node = &kf_tags.node[kf_tag_of_mark(mark)];

	_Static_assert((int)KF_CALL_MALLOC == (int)KF_TAG_MALLOC &&
			       (int)KF_CALL_CALLOC == (int)KF_TAG_CALLOC &&
			       (int)KF_CALL_REALLOC == (int)KF_TAG_REALLOC &&
			       (int)KF_CALL_ALIGNED == (int)KF_TAG_ALIGNED,
		       "one numbering");
	if (kf_tags_came(node, usable, (enum kf_tag_call)call))
		kf_tags_rise(node);
}

static void *slow_take(size_t size, size_t align, enum kf_call call,
		       uint32_t mark)
{
	size_t usable;
	void *p = kf_alloc(size, align, call, mark, &usable);

	if (unlikely(!p))
		return NULL;
	if (mark)
		slow_bill(mark, usable, call);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

void *kf_call_malloc(size_t size, uint32_t mark)
{
	return slow_take(size, 16, KF_CALL_MALLOC, mark);
}

void *kf_call_calloc(size_t size, uint32_t mark)
{
	void *p = slow_take(size, 16, KF_CALL_CALLOC, mark);

	if (likely(p))
		kf_self_stat(KF_SLOT_calloc_calls, 1);
	return p;
}

void *kf_call_aligned(size_t align, size_t size, uint32_t mark)
{
	void *p = slow_take(size, KF_MAX(align, (size_t)16), KF_CALL_ALIGNED,
			    mark);

	if (likely(p))
		kf_self_stat(KF_SLOT_aligned_calls, 1);
	return p;
}

void *kf_call_realloc(void *p, size_t size, uint32_t mark)
{
	void *to = NULL;

	if (!p) {
		to = slow_take(size, 16, KF_CALL_REALLOC, mark);
		if (to)
			kf_self_stat(KF_SLOT_realloc_new, 1);
	} else if (!size) {
		kf_front_free(kf_self.inner, p);
	} else {
		to = kf_resize(p, size);
		if (to)
			kf_probe_resize((uintptr_t)p, (uintptr_t)to, size);
	}
	kf_self_stat(KF_SLOT_realloc_calls, 1);
	return to;
}

__noinline void *kf_slow_alloc(size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);

	return unlikely(other) ? kf_front_malloc(other, size)
			       : kf_call_malloc(size, 0);
}

__noinline void *kf_slow_zeroed(size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);

	return unlikely(other) ? other->mode->zeroed(size, other)
			       : kf_call_calloc(size, 0);
}

void *kf_slow_resize(void *p, size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);

	return unlikely(other) ? other->mode->resize(p, size, other)
			       : kf_call_realloc(p, size, 0);
}

void *kf_slow_aligned(size_t align, size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);

	return unlikely(other) ? other->mode->aligned(align, size, other)
			       : kf_call_aligned(align, size, 0);
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

static const struct kf_mode slow = {
	.alloc = kf_slow_alloc,
	.zeroed = kf_slow_zeroed,
	.resize = kf_slow_resize,
	.aligned = kf_slow_aligned,
	.free = kf_slow_free,
};

struct kf_front kf_front_guest = {.mode = &slow};
