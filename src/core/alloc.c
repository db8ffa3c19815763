/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The slow path's frame around the engine: retry, errno, misuse.
 */
#include "core/core.h"

#include "core/control.h"
#include "core/limit.h"
#include "engines/host.h"
#include "core/misuse.h"
#include "core/realtime.h"
#include "core/sampling.h"
#include "core/snapshot.h"
#include "heap/heap.h"
#include "heap/marked.h"
#include "pages/limit.h"
#include "sample/countdown.h"
#include "stats/stats.h"
#include "tags/tags.h"

#include "probes/konfiscator-probes.h"

#include <errno.h>
#include <string.h>

static int perturb; /* atomic; see kf_perturb() */

void kf_perturb(int value)
{
	__atomic_store_n(&perturb, value & 0xff, __ATOMIC_RELAXED);
	kf_host_slow_down(value & 0xff);
}

/* Fill with a byte derived from M_PERTURB's, if it is set. */
static void alloc_fill(void *p, size_t size, int mask)
{
	int value = __atomic_load_n(&perturb, __ATOMIC_RELAXED);

	if (unlikely(value))
		memset(p, value ^ mask, size);
}

static void alloc_prepare(void)
{
	if (kf_start_is_due())
		kf_start();
	if (unlikely(kf_fork_is_due()))
		kf_fork_complete();
	kf_control_poll();
	kf_snapshot_poll();
	kf_limit_poll();
	kf_realtime_poll();
}

static void fire_retry(size_t size, size_t other, enum kf_call call)
{
	kf_probe_memory_arena_retry(size, (uintptr_t)kf_front_self);
	switch (call) {
	case KF_CALL_MALLOC:
		kf_probe_memory_malloc_retry(size);
		break;
	case KF_CALL_CALLOC:
		kf_probe_memory_calloc_retry(size);
		break;
	case KF_CALL_REALLOC:
		kf_probe_memory_realloc_retry(size, other);
		break;
	case KF_CALL_ALIGNED:
		kf_probe_memory_memalign_retry(size, other);
		break;
	case KF_CALL_FREE:
		break;
	}
}

/*
 * Before a second try: what caches hold goes back to the free runs. The try
 * ends with kf_limit_retry(false).
 */
static void make_room(size_t size, size_t other, enum kf_call call)
{
	kf_word_add_atomic(KF_WORD_retries, 1);
	fire_retry(size, other, call);
	kf_host_trim(0);
	kf_limit_retry(true);
}

static void *fail(size_t size)
{
	kf_self_stat(KF_SLOT_failed, 1);
	kf_probe_out_of_memory(size, ENOMEM);
	errno = ENOMEM;
	return NULL;
}

/*
 * A block of the engine, or a sample. The engine gives no block while a sample
 * is due in its class. If an order changes the distance of samples meanwhile,
 * that sample is due no more, but the next one may be.
 */
static void *alloc_take(size_t size, size_t align, bool zeroed, size_t *usable)
{
	uint32_t epoch;
	void *p;

	do {
		epoch = kf_load(&kf_sample_epoch);
		p = kf_sampling_alloc(size, align, zeroed, usable);
		if (likely(!p))
			p = kf_host_alloc(size, align, zeroed, 0, usable);
	} while (unlikely(!p) && (kf_sampling_is_due(size, align) ||
				  epoch != kf_load(&kf_sample_epoch)));
	return p;
}

/* A block with a tag. If it is a sample too, its mark is the sample's. */
static void *take_tagged(size_t size, size_t align, bool zeroed, uint32_t mark,
			 size_t *usable)
{
	uint32_t sample = kf_sampling_draw(size, align, kf_tag_of_mark(mark));
	void *p = kf_host_alloc(size, align, zeroed, sample ? sample : mark,
				usable);

	if (sample)
		kf_sampling_drawn(sample, p, p ? *usable : 0);
	return p;
}

static void *alloc_try(size_t size, size_t align, bool zeroed, uint32_t mark,
		       size_t *usable)
{
	return mark ? take_tagged(size, align, zeroed, mark, usable)
		    : alloc_take(size, align, zeroed, usable);
}

static __noinline void *allocate(size_t size, size_t align, enum kf_call call,
				 uint32_t mark, size_t *usable)
{
	bool zeroed = call == KF_CALL_CALLOC;
	void *p;

	alloc_prepare();
	if (unlikely(size >= KF_SIZE_LIMIT || align >= KF_SIZE_LIMIT))
		return fail(size);
	if (!size && !(kf_engine->base.flags & KONF_ENGINE_ZERO))
		size = 1;
	p = alloc_try(size, align, zeroed, mark, usable);
	if (unlikely(!p)) {
		make_room(size, call == KF_CALL_REALLOC ? 0 : align, call);
		p = alloc_try(size, align, zeroed, mark, usable);
		kf_limit_retry(false);
	}
	if (unlikely(!p))
		return fail(size);
	if (!zeroed)
		alloc_fill(p, size, 0xff);
	return p;
}

void *kf_alloc(size_t size, size_t align, enum kf_call call, uint32_t mark,
	       size_t *usable)
{
	void *p;

	kf_probe_slow_enter(size, call);
	p = allocate(size, align, call, mark, usable);
	kf_probe_slow_leave((uintptr_t)p, size, call);
	return p;
}

void kf_release(void *p, size_t usable)
{
	enum konf_misuse wrong;

	kf_probe_slow_enter(0, KF_CALL_FREE);
	alloc_prepare();
	alloc_fill(p, usable, 0);
	wrong = kf_host_free(p, usable);
	if (unlikely(wrong))
		kf_misuse_report(wrong, p);
	kf_probe_slow_leave((uintptr_t)p, usable, KF_CALL_FREE);
}

static void *alloc_resize(void *p, size_t size)
{
	enum konf_misuse wrong;
	void *to;

	alloc_prepare();
	if (unlikely(size >= KF_SIZE_LIMIT))
		return fail(size);
	to = kf_host_realloc(p, size, &wrong);
	if (unlikely(wrong)) {
		kf_misuse_report(wrong, p);
		return fail(size);
	}
	if (unlikely(!to)) {
		make_room(size, (uintptr_t)p, KF_CALL_REALLOC);
		to = kf_host_realloc(p, size, &wrong);
		kf_limit_retry(false);
	}
	return likely(to) ? to : fail(size);
}

void *kf_resize(void *p, size_t size)
{
	void *to;

	kf_probe_slow_enter(size, KF_CALL_REALLOC);
	to = alloc_resize(p, size);
	kf_probe_slow_leave((uintptr_t)to, size, KF_CALL_REALLOC);
	return to;
}

size_t kf_usable(const void *p)
{
	if (!p || kf_start_is_due())
		return 0;
	return kf_host_usable(p);
}
