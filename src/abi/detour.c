/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of threads that are on a detour: see detour.h.
 *
 * A block is written down as given when it is ours, and as taken before it can
 * be another's: so the order of the times is one in which all that happened
 * could have happened.
 */
#include "abi/detour.h"

#include "abi/tiny.h"
#include "core/recorder.h"
#include "sys/clock.h"

static inline uint64_t begin(void)
{
	kf_recorder_enter();
	return kf_clock_ticks();
}

static inline void *end(enum kf_record_kind kind, uint64_t began, void *p,
			size_t size, size_t align)
{
	kf_detour_leave();
	if (kf_record_is_on())
		kf_record_gave(kind, began, p, size, align);
	return p;
}

void *kf_detour_malloc(size_t size)
{
	uint64_t began = begin();
	void *p = kf_malloc(size);

	return end(KF_RECORD_MALLOC, began, p, size, 0);
}

void *kf_detour_calloc(size_t size)
{
	uint64_t began = begin();
	void *p = kf_calloc(1, size);

	return end(KF_RECORD_CALLOC, began, p, size, 0);
}

void *kf_detour_aligned(size_t align, size_t size)
{
	uint64_t began = begin();
	void *p = kf_aligned(align, size);

	return end(KF_RECORD_ALIGNED, began, p, size, align);
}

void *kf_detour_realloc(void *p, size_t size)
{
	uint64_t began = begin();

	if (p && kf_record_is_on())
		kf_record_takes(KF_RECORD_REALLOC_OLD, p);
	p = kf_realloc(p, size);
	return end(KF_RECORD_REALLOC, began, p, size, 0);
}

void kf_detour_free(void *p)
{
	uint64_t began = 0;
	bool is_on;

	if (!p)
		return;
	kf_recorder_enter();
	is_on = kf_record_is_on();
	if (is_on)
		began = kf_record_takes(KF_RECORD_FREE, p);
	kf_free(p);
	kf_detour_leave();
	if (is_on)
		kf_record_took(began);
}
