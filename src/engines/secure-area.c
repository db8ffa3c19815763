/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Areas of the engine secure: pages between guards, and their contents
 * that must not change.
 *
 * A guard has a random length of more than a MiB where addresses are plentiful,
 * less where the kernel refuses. Where an area lies is the kernel's choice and
 * theirs.
 */
#include "engines/secure.h"

#include "base/text.h"
#include "pages/pages.h"
#include "stats/stats.h"
#include "sys/file.h"
#include "sys/process.h"

#include <string.h>

#define GUARD_LEAST (KF_MIB + 4 * KF_AREA_UNIT)
#define GUARD_SPREAD 64 /* units */

/* Descriptors of areas with one block are made so many bytes at a time. */
#define CHUNK (64 * KF_KIB)
#define ONE_BLOCK                                              \
	KF_ALIGN_UP(sizeof(struct kf_secure_area) +            \
			    2 * sizeof(struct kf_secure_slot), \
		    (size_t)KF_CACHE_LINE)

struct kf_list kf_secure_areas = KF_LIST_INIT(kf_secure_areas);

/* Mappings of a process if the limit cannot be read: the kernel's default. */
#define MAPPINGS 65530

/* @secret, @most and @addresses: constant. */
static struct {
	uint64_t secret;
	uint64_t most; /* areas; each takes two mappings, half are others' */
	uint64_t addresses; /* RLIMIT_AS at the start */
	uint64_t nr;
	size_t reserved; /* bytes of addresses of all areas */
	uint64_t random;
	struct kf_list unused; /* descriptors of one block */
} area_state = {
	.unused = KF_LIST_INIT(area_state.unused),
};

static uint64_t most_mappings(void)
{
	char text[32];
	uint64_t nr;
	ssize_t n = kf_file_read("/proc/sys/vm/max_map_count", text,
				 sizeof(text) - 1);

	if (n <= 0)
		return MAPPINGS;
	text[n] = '\0';
	if (text[n - 1] == '\n')
		text[n - 1] = '\0';
	return kf_parse_u64(text, &nr) ? nr : MAPPINGS;
}

void kf_secure_area_init(void)
{
	area_state.most = most_mappings() / 4;
	area_state.addresses = kf_process_address_limit();
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

static uint8_t canary(const char *p)
{
	return (uint8_t)(canaries((uintptr_t)p >> 3) >> ((uintptr_t)p & 7) * 8);
}

/* The whole words between two addresses: most of what is to be looked at. */
static const char *words_from(const char *from, const char *to)
{
	return KF_MIN((const char *)KF_ALIGN_UP((uintptr_t)from, (uintptr_t)8),
		      to);
}

static const char *words_to(const char *first, const char *to)
{
	return first + KF_ALIGN_DOWN((size_t)(to - first), (size_t)8);
}

void kf_secure_fill(char *from, const char *to)
{
	const char *first = words_from(from, to), *last = words_to(first, to);

	for (; from < first; from++)
		*from = (char)canary(from);
	for (; from < last; from += 8)
		*(uint64_t *)from = canaries((uintptr_t)from >> 3);
	for (; from < to; from++)
		*from = (char)canary(from);
}

bool kf_secure_holds(const char *from, const char *to)
{
	const char *first = words_from(from, to), *last = words_to(first, to);
	uint64_t differ = 0;

	for (; from < first; from++)
		differ |= (uint8_t)*from ^ canary(from);
	for (; from < last; from += 8)
		differ |= *(const uint64_t *)from ^
			  canaries((uintptr_t)from >> 3);
	for (; from < to; from++)
		differ |= (uint8_t)*from ^ canary(from);
	return !differ;
}

bool kf_secure_is_zero(const char *from, const char *to)
{
	const char *first = words_from(from, to), *last = words_to(first, to);
	uint64_t some = 0;

	for (; from < first; from++)
		some |= (uint8_t)*from;
	for (; from < last; from += 8)
		some |= *(const uint64_t *)from;
	for (; from < to; from++)
		some |= (uint8_t)*from;
	return !some;
}

static size_t descriptor_bytes(uint32_t nr)
{
	size_t bytes = sizeof(struct kf_secure_area) +
		       (nr + 1) * sizeof(struct kf_secure_slot) +
		       nr * sizeof(uint16_t);

	return KF_ALIGN_UP(bytes, KF_PAGE);
}

/* Those of one block lie side by side, and stay. */
static bool carve_descriptors(void)
{
	char *at = kf_engine_map(CHUNK, KF_PAGE);
	char *end = at + CHUNK;

	if (!at)
		return false;
	kf_word_add_atomic(KF_WORD_metadata, CHUNK);
	for (; end - at >= (ptrdiff_t)ONE_BLOCK; at += ONE_BLOCK) {
		struct kf_secure_area *area = (struct kf_secure_area *)at;

		kf_list_add_tail(&area->link, &area_state.unused);
	}
	return true;
}

static struct kf_secure_area *describe_one(void)
{
	struct kf_list *link;
	struct kf_secure_area *area;

	if (kf_list_empty(&area_state.unused) && !carve_descriptors())
		return NULL;
	link = kf_list_first(&area_state.unused);
	kf_list_del(link);
	area = kf_container_of(link, struct kf_secure_area, link);
	memset(area, 0, ONE_BLOCK);
	return area;
}

static struct kf_secure_area *describe_many(size_t held)
{
	struct kf_secure_area *area = kf_engine_map(held, KF_PAGE);

	if (area)
		kf_word_add_atomic(KF_WORD_metadata, held);
	return area;
}

static struct kf_secure_area *secure_area_describe(uint32_t nr)
{
	size_t held = nr > 1 ? descriptor_bytes(nr) : 0;
	struct kf_secure_area *area =
		held ? describe_many(held) : describe_one();

	if (!area)
		return NULL;
	area->held = held;
	area->nr = nr;
	return area;
}

static void secure_area_forget(struct kf_secure_area *area)
{
	size_t held = area->held;

	if (!held) {
		kf_list_add(&area->link, &area_state.unused);
		return;
	}
	kf_word_add_atomic(KF_WORD_metadata, -held);
	kf_engine_unmap(area, held);
}

static bool reserve_guarded(struct kf_secure_area *area, size_t bytes,
			    size_t align, size_t guard)
{
	size_t before = KF_ALIGN_UP(guard, align);

	area->limit = KF_ALIGN_UP(bytes, KF_AREA_UNIT);
	area->reserved = before + area->limit + guard;
	area->base = kf_vm_reserve(area->reserved, align);
	area->run.start = area->base + before;
	return area->base;
}

/*
 * How long a guard may be: where addresses are limited they are shorter the
 * more of them areas have, and end at half.
 */
static size_t guard_bytes(void)
{
	size_t guard =
		GUARD_LEAST + kf_secure_random(GUARD_SPREAD) * KF_AREA_UNIT;
	size_t half = area_state.addresses / 2;
	size_t left = half - KF_MIN(area_state.reserved, half);

	return KF_MIN(guard, KF_ALIGN_DOWN(left / 1024, KF_AREA_UNIT));
}

/* Addresses with a guard before and behind, with room and wide ones first. */
static bool secure_area_reserve(struct kf_secure_area *area, size_t bytes,
				size_t room, size_t align)
{
	size_t guard = guard_bytes();

	align = KF_MAX(align, KF_AREA_UNIT);
	if (guard < GUARD_LEAST)
		room = 0;
	if (room && reserve_guarded(area, bytes + room, align, guard))
		return true;
	for (; guard >= KF_AREA_UNIT;
	     guard = guard / 8 / KF_AREA_UNIT * KF_AREA_UNIT) {
		if (reserve_guarded(area, bytes, align, guard))
			return true;
	}
	return false;
}

static struct kf_secure_area *secure_area_make(size_t bytes, size_t room,
					       size_t align, uint32_t nr)
{
	struct kf_secure_area *area = secure_area_describe(nr);
	size_t span = bytes ? bytes : (size_t)nr * 16;

	if (!area)
		return NULL;
	area->run.kind = KF_RUN_POOL;
	area->bytes = bytes;
	if (!secure_area_reserve(area, span, room, align)) {
		secure_area_forget(area);
		return NULL;
	}
	if (bytes && !kf_engine_commit(area->run.start, bytes)) {
		kf_vm_drop(area->base, area->reserved);
		secure_area_forget(area);
		return NULL;
	}
	area->first = area->run.start;
	kf_list_init(&area->room);
	kf_list_add_tail(&area->link, &kf_secure_areas);
	area_state.nr++;
	area_state.reserved += area->reserved;
	return area;
}

/* Spare areas first, then the oldest block in quarantine. */
static bool give_way(void)
{
	return kf_secure_pages_drop_spare() || kf_secure_wait_less();
}

void kf_secure_empty(void)
{
	while (give_way())
		;
}

struct kf_secure_area *kf_secure_area_make(size_t bytes, size_t room,
					   size_t align, uint32_t nr)
{
	struct kf_secure_area *area;

	while (area_state.nr >= area_state.most) {
		if (!give_way())
			return NULL;
	}
	area = secure_area_make(bytes, room, align, nr);
	if (area)
		return area;
	kf_secure_empty();
	return secure_area_make(bytes, 0, align, nr);
}

static void unname(const struct kf_secure_area *area)
{
	if (area->named)
		kf_map_clear(area->named, area->named_bytes);
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
	if (!area->hidden)
		memset(area->run.start, 0, area->bytes);
}

void kf_secure_area_drop(struct kf_secure_area *area)
{
	unname(area);
	kf_list_del(&area->link);
	area_state.nr--;
	area_state.reserved -= area->reserved;
	kf_secure_area_close(area);
	kf_pages_unmap_later(area->base, area->reserved);
	secure_area_forget(area);
}
