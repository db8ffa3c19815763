// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The hosted mode: an engine that is safe with threads and keeps errno itself,
 * as the malloc behind the engine system does, is called directly, and its
 * blocks are counted here. If the engine gives no block, the slow path is
 * taken.
 */
#include "mode/mode.h"

#include "core/control.h"
#include "engines/host.h"
#include "engines/tally.h"
#include "engines/chunk.h"

static inline bool hosted_elsewhere(void)
{
	return kf_engine->base.flags & KONF_ENGINE_ELSEWHERE;
}

static __noinline void *hosted_count_asked(void *p, size_t size)
{
	size_t usable = kf_host_direct.usable_size(p);

	kf_tally_new(kf_self.counters->slot, false, size, usable,
		     hosted_elsewhere());
	kf_probe_alloc((uintptr_t)p, size, usable);
	kf_hide(p);
	return p;
}

/*
 * A block with its size in front (engines/chunk.h). The memory of an engine
 * with these blocks is not counted as held.
 */
static __noinline void *hosted_count_chunk(void *p, size_t size)
{
	size_t usable = kf_chunk_usable(kf_chunk_bytes(p));

	kf_tally_new(kf_self.counters->slot, false, size, usable, true);
	kf_probe_alloc((uintptr_t)p, size, usable);
	kf_hide(p);
	return p;
}

static __noinline void *hosted_count(void *p, size_t size)
{
	return kf_host_direct.heads && kf_chunk_is_short(p)
		       ? hosted_count_chunk(p, size)
		       : hosted_count_asked(p, size);
}

/* The size of a tiny chunk is the size of its class. */
static inline bool hosted_is_tiny(const void *p, size_t *chunk)
{
	*chunk = likely(kf_host_direct.heads) ? kf_chunk_bytes(p) : SIZE_MAX;
	return likely(*chunk <= KF_TINY_MAX);
}

static inline void *hosted_new(void *p, size_t size)
{
	size_t chunk, usable;

	if (!hosted_is_tiny(p, &chunk))
		return hosted_count(p, size);
	usable = kf_chunk_usable(chunk);
	kf_tally_small_new(kf_self.counters->slot, false,
			   (unsigned int)(chunk / KF_CHUNK_STEP), size, usable,
			   KF_CHUNK_HEAD, true);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

/* The slow path refuses some larger sizes without the engine. */
static inline bool hosted_may(size_t size)
{
	return likely(kf_process_is_current()) && size <= INT32_MAX &&
	       !kf_control_is_due();
}

static void *hosted_alloc(size_t size, struct kf_front *front)
{
	void *p = hosted_may(size) ? kf_host_direct.malloc(size) : NULL;

	/* Reading the front again is cheaper than keeping it over the call. */
	return likely(p) ? hosted_new(p, size)
			 : kf_slow_alloc(size, kf_front_self);
}

static void *hosted_zeroed(size_t size, struct kf_front *front)
{
	void *p = hosted_may(size) ? kf_host_direct.zeroed(size) : NULL;

	if (unlikely(!p))
		return kf_slow_zeroed(size, kf_front_self);
	kf_self.counters->slot->scalar[KF_SLOT_calloc_calls]++;
	return hosted_new(p, size);
}

static __noinline void hosted_give_asked(void *p)
{
	size_t usable = kf_host_direct.usable_size(p);

	kf_probe_release((uintptr_t)p, usable);
	kf_tally_gone(kf_self.counters->slot, false, usable,
		      hosted_elsewhere());
	kf_host_direct.free(p);
}

static __noinline void hosted_give_chunk(void *p)
{
	size_t usable = kf_chunk_usable(kf_chunk_bytes(p));

	kf_probe_release((uintptr_t)p, usable);
	kf_tally_gone(kf_self.counters->slot, false, usable, true);
	kf_host_direct.free(p);
}

static __noinline void hosted_give(void *p)
{
	if (kf_host_direct.heads && kf_chunk_is_short(p))
		hosted_give_chunk(p);
	else
		hosted_give_asked(p);
}

static void hosted_free(void *p, struct kf_slab *slab, struct kf_front *front)
{
	size_t chunk, usable;

	if (unlikely(!p || slab->run.kind != KF_RUN_NONE ||
		     !kf_process_is_current())) {
		kf_slow_free(p, slab, front);
		return;
	}
	if (!hosted_is_tiny(p, &chunk)) {
		hosted_give(p);
		return;
	}
	usable = kf_chunk_usable(chunk);
	kf_probe_release((uintptr_t)p, usable);
	kf_tally_small_gone(kf_self.counters->slot, false,
			    (unsigned int)(chunk / KF_CHUNK_STEP), usable,
			    KF_CHUNK_HEAD, true);
	kf_host_direct.free(p);
}

static const struct kf_mode hosted = {
	.alloc = hosted_alloc,
	.zeroed = hosted_zeroed,
	.resize = kf_slow_resize,
	.aligned = kf_slow_aligned,
	.free = hosted_free,
};

struct kf_front kf_front_hosted = {.mode = &hosted};
