/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Areas of the engine secure: pages between guards, and what stands in them
 * that must not change.
 *
 * A guard has a random length of more than a MiB where addresses are plentiful,
 * less where the kernel refuses. Where an area lies is the kernel's choice and
 * theirs.
 */
#include "engine/secure.h"

#include "pages/pages.h"
#include "stats/stats.h"
#include "sys/process.h"

#include <string.h>

#define GUARD_LEAST (KF_MIB + 4 * KF_AREA_UNIT)
#define GUARD_SPREAD 64 /* units */

/* Descriptors of one page that are kept for the next areas. */
#define SPARES 256

struct kf_list kf_secure_areas = KF_LIST_INIT(kf_secure_areas);

/* @secret: constant. */
static struct {
	uint64_t secret;
	uint64_t random;
	struct kf_list spares;
	unsigned int nr_spares;
} area_state = {
	.spares = KF_LIST_INIT(area_state.spares),
};

void kf_secure_area_init(void)
{
	area_state.secret = kf_process_random();
	area_state.random = kf_process_random() | 1;
}

/* Marsaglia's xorshift64, 2003. */
uint64_t kf_secure_random(uint64_t below)
{
	uint64_t x = area_state.random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	area_state.random = x;
	return (x >> 16) % below;
}

/* The canaries of eight bytes; none is 0, which is what is written most. */
static uint64_t canaries(uintptr_t word)
{
	uint64_t x = (word ^ area_state.secret) * 0x9e3779b97f4a7c15;

	return (x ^ x >> 29) | 0x0101010101010101;
}

/* How many bytes to look at together: a word or one. */
static size_t step(const char *p, const char *to)
{
	return !((uintptr_t)p & 7) && to - p >= 8 ? 8 : 1;
}

static uint64_t load(const char *p, size_t n)
{
	return n == 8 ? *(const uint64_t *)p : (uint8_t)*p;
}

static uint64_t wanted(const char *p, size_t n)
{
	uint64_t word = canaries((uintptr_t)p >> 3);

	return n == 8 ? word : (uint8_t)(word >> ((uintptr_t)p & 7) * 8);
}

void kf_secure_fill(char *from, const char *to)
{
	size_t n;

	for (; from < to; from += n) {
		n = step(from, to);
		if (n == 8)
			*(uint64_t *)from = wanted(from, n);
		else
			*from = (char)wanted(from, n);
	}
}

bool kf_secure_holds(const char *from, const char *to)
{
	size_t n;

	for (; from < to; from += n) {
		n = step(from, to);
		if (load(from, n) != wanted(from, n))
			return false;
	}
	return true;
}

bool kf_secure_is_zero(const char *from, const char *to)
{
	size_t n;

	for (; from < to; from += n) {
		n = step(from, to);
		if (load(from, n))
			return false;
	}
	return true;
}

static size_t descriptor_bytes(uint32_t nr)
{
	size_t bytes = sizeof(struct kf_secure_area) +
		       (nr + 1) * sizeof(struct kf_secure_slot) +
		       nr * sizeof(uint16_t);

	return KF_ALIGN_UP(bytes, KF_PAGE);
}

static struct kf_secure_area *spare(void)
{
	struct kf_list *link = kf_list_first(&area_state.spares);
	struct kf_secure_area *area =
		kf_container_of(link, struct kf_secure_area, link);

	kf_list_del(link);
	area_state.nr_spares--;
	memset(area, 0, KF_PAGE);
	return area;
}

static struct kf_secure_area *describe(uint32_t nr)
{
	size_t held = descriptor_bytes(nr);
	struct kf_secure_area *area;

	if (held == KF_PAGE && area_state.nr_spares) {
		area = spare();
	} else {
		area = kf_engine_map(held, KF_PAGE);
		if (!area)
			return NULL;
		kf_word_add_atomic(KF_WORD_metadata, held);
	}
	area->held = held;
	area->nr = nr;
	return area;
}

static void forget(struct kf_secure_area *area)
{
	size_t held = area->held;

	if (held == KF_PAGE && area_state.nr_spares < SPARES) {
		kf_list_add(&area->link, &area_state.spares);
		area_state.nr_spares++;
		return;
	}
	kf_word_add_atomic(KF_WORD_metadata, -held);
	kf_engine_unmap(area, held);
}

/* Addresses with a guard before and behind, wide ones first. */
static bool reserve(struct kf_secure_area *area, size_t bytes, size_t align)
{
	size_t guard =
		GUARD_LEAST + kf_secure_random(GUARD_SPREAD) * KF_AREA_UNIT;

	align = KF_MAX(align, KF_AREA_UNIT);
	for (; guard >= KF_AREA_UNIT;
	     guard = guard / 8 / KF_AREA_UNIT * KF_AREA_UNIT) {
		size_t before = KF_ALIGN_UP(guard, align);

		area->reserved =
			before + KF_ALIGN_UP(bytes, KF_AREA_UNIT) + guard;
		area->base = kf_vm_reserve(area->reserved, align);
		if (!area->base)
			continue;
		area->run.start = area->base + before;
		return true;
	}
	return false;
}

struct kf_secure_area *kf_secure_area_make(size_t bytes, size_t align,
					   uint32_t nr)
{
	struct kf_secure_area *area = describe(nr);
	size_t span = bytes ? bytes : (size_t)nr * 16;

	if (!area)
		return NULL;
	area->run.kind = KF_RUN_POOL;
	area->bytes = bytes;
	if (!reserve(area, span, align)) {
		forget(area);
		return NULL;
	}
	if (bytes && !kf_engine_commit(area->run.start, bytes)) {
		kf_vm_drop(area->base, area->reserved);
		forget(area);
		return NULL;
	}
	area->first = area->run.start;
	kf_list_init(&area->room);
	kf_list_add_tail(&area->link, &kf_secure_areas);
	return area;
}

/* A part of the map that has been named before can always be taken back. */
static void unname(const struct kf_secure_area *area)
{
	if (area->named && !kf_map_set(area->named, area->named_bytes, NULL))
		__builtin_unreachable();
}

bool kf_secure_area_name(struct kf_secure_area *area, const char *start,
			 size_t bytes)
{
	size_t off = (uintptr_t)start & (KF_GRANULE - 1);

	if (!kf_map_set(start - off, bytes + off, &area->run))
		return false;
	area->named = (char *)(uintptr_t)(start - off);
	area->named_bytes = bytes + off;
	return true;
}

void kf_secure_area_close(struct kf_secure_area *area)
{
	if (area->bytes && kf_engine_decommit(area->run.start, area->bytes)) {
		area->bytes = 0;
		return;
	}
	memset(area->run.start, 0, area->bytes);
}

void kf_secure_area_drop(struct kf_secure_area *area)
{
	unname(area);
	kf_list_del(&area->link);
	kf_secure_area_close(area);
	kf_pages_unmap_later(area->base, area->reserved);
	forget(area);
}
