/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small blocks of the engine secure: areas of slots, a redzone before each and
 * one behind the last, so that each slot lies between two. Which of an area's
 * free slots is given is left to chance.
 */
#include "engines/secure.h"

#include "pages/pages.h"

#include <string.h>

#define AREA_BYTES (64 * KF_KIB)
#define AREA_WIDE (512 * KF_KIB) /* as mappings are few, too */
#define AREAS_NARROW 64

/* @room: areas with a free slot; @nr: areas. */
static struct {
	struct kf_list room[KF_SECURE_CLASSES];
	uint32_t nr[KF_SECURE_CLASSES];
	bool ready;
} slots;

static void secure_slot_get_ready(void)
{
	for (unsigned int i = 0; i < KF_SECURE_CLASSES; i++)
		kf_list_init(&slots.room[i]);
	slots.ready = true;
}

/* The numbers of the free slots. */
static uint16_t *free_of(struct kf_secure_area *area)
{
	return (uint16_t *)(area->slot + area->nr + 1);
}

bool kf_secure_find(const void *p, struct kf_secure_block *block)
{
	struct kf_run *run = kf_map_get(p);
	struct kf_secure_area *area;
	uint64_t offset;

	if (run->kind != KF_RUN_POOL)
		return false;
	area = kf_container_of(run, struct kf_secure_area, run);
	offset = (uint64_t)((const char *)p - area->first);
	if (offset % area->stride || offset / area->stride >= area->nr)
		return false;
	*block = (struct kf_secure_block){area,
					  (uint32_t)(offset / area->stride)};
	return true;
}

/* How far a block's canaries go: to the next slot, or to its pages' end. */
static void bounds(struct kf_secure_block block, const char **from,
		   const char **to)
{
	const char *p = kf_secure_slot_at(block);

	if (block.area->size) {
		*from = p - KF_SECURE_REDZONE;
		*to = p + block.area->size + KF_SECURE_REDZONE;
	} else {
		*from = block.area->run.start;
		*to = *from + block.area->bytes;
	}
}

enum konf_misuse kf_secure_slot_check(struct kf_secure_block block)
{
	const struct kf_secure_slot *slot = &block.area->slot[block.index];
	const char *p = kf_secure_slot_at(block);
	const char *from, *to;

	/* The pages of blocks of size 0 and of hidden areas fault. */
	if (!block.area->bytes || block.area->hidden ||
	    slot->state == KF_SECURE_FRESH)
		return KONF_FINE;
	bounds(block, &from, &to);
	if (slot->state == KF_SECURE_LIVE)
		return kf_secure_holds(from, p) &&
				       kf_secure_holds(p + slot->asked, to)
			       ? KONF_FINE
			       : KONF_OVERFLOW;
	if (!kf_secure_is_zero(p, p + block.area->size))
		return KONF_WRITE_AFTER_FREE;
	return KONF_FINE;
}

enum konf_misuse kf_secure_judge(const void *p)
{
	struct kf_secure_block block;

	if (!kf_secure_find(p, &block))
		return KONF_INVALID_POINTER;
	switch (block.area->slot[block.index].state) {
	case KF_SECURE_LIVE:
		return kf_secure_slot_check(block);
	case KF_SECURE_FRESH:
		return KONF_INVALID_POINTER;
	default:
		return KONF_DOUBLE_FREE;
	}
}

/* Classes of larger slots than 2 KiB there are none, so numbers are 16 bits. */
static struct kf_secure_area *secure_slot_make(uint32_t class)
{
	size_t bytes = slots.nr[class] < AREAS_NARROW ? AREA_BYTES : AREA_WIDE;
	size_t size = kf_class_bytes(class);
	size_t stride = class ? size + KF_SECURE_REDZONE : 16;
	size_t nr = class ? (bytes - KF_SECURE_REDZONE) / stride
			  : AREA_BYTES / stride;
	struct kf_secure_area *area = kf_secure_area_make(
		class ? bytes : 0, 0, KF_PAGE, (uint32_t)nr);

	_Static_assert(AREA_WIDE / 48 < UINT16_MAX, "numbers of slots");
	if (!area)
		return NULL;
	area->class = class;
	area->size = (uint32_t)size;
	area->stride = (uint32_t)stride;
	area->first += class ? KF_SECURE_REDZONE : 0;
	area->nr_free = (uint32_t)nr;
	for (size_t i = 0; i < nr; i++)
		free_of(area)[i] = (uint16_t)i;
	if (!kf_secure_area_name(area, area->run.start,
				 class ? bytes : AREA_BYTES)) {
		kf_secure_area_drop(area);
		return NULL;
	}
	kf_list_add(&area->room, &slots.room[class]);
	slots.nr[class]++;
	return area;
}

/* The redzone before a slot: written once, and looked at from then on. */
static void prime(struct kf_secure_area *area, uint32_t index)
{
	struct kf_secure_block block = {area, index};
	char *p = kf_secure_slot_at(block);

	if (!area->slot[index].primed)
		kf_secure_fill(p - KF_SECURE_REDZONE, p);
	else if (!kf_secure_holds(p - KF_SECURE_REDZONE, p))
		kf_audit_report(KONF_OVERFLOW, p);
	area->slot[index].primed = 1;
}

static uint32_t pick(struct kf_secure_area *area)
{
	uint16_t *list = free_of(area);
	uint32_t i = (uint32_t)kf_secure_random(area->nr_free);
	uint32_t index = list[i];

	list[i] = list[--area->nr_free];
	if (!area->nr_free) {
		kf_list_del(&area->room);
		kf_list_init(&area->room);
	}
	area->busy++;
	return index;
}

void *kf_secure_slot_alloc(size_t size)
{
	uint32_t class = kf_class_of(size);
	struct kf_secure_block block;
	struct kf_secure_slot *slot;
	char *p;

	if (!slots.ready)
		secure_slot_get_ready();
	block.area =
		kf_list_empty(&slots.room[class])
			? secure_slot_make(class)
			: kf_container_of(kf_list_first(&slots.room[class]),
					  struct kf_secure_area, room);
	if (!block.area)
		return NULL;
	block.index = pick(block.area);
	slot = &block.area->slot[block.index];
	p = kf_secure_slot_at(block);
	if (class) {
		prime(block.area, block.index);
		prime(block.area, block.index + 1);
		if (kf_secure_slot_check(block)) {
			kf_audit_report(KONF_WRITE_AFTER_FREE, p);
			memset(p, 0, block.area->size);
		}
		kf_secure_fill(p + size, p + block.area->size);
	}
	slot->asked = size;
	slot->state = KF_SECURE_LIVE;
	return p;
}

/* An area of a class that has room elsewhere goes when it is empty. */
static void see_to(struct kf_secure_area *area)
{
	struct kf_list *room = &slots.room[area->class];

	if (area->busy || kf_list_first(room) == kf_list_last(room))
		return;
	kf_list_del(&area->room);
	slots.nr[area->class]--;
	kf_secure_area_drop(area);
}

void kf_secure_slot_leave(struct kf_secure_block block)
{
	struct kf_secure_area *area = block.area;
	char *p = kf_secure_slot_at(block);

	if (kf_secure_slot_check(block)) {
		kf_audit_report(KONF_WRITE_AFTER_FREE, p);
		memset(p, 0, area->size);
	}
	area->slot[block.index].state = KF_SECURE_FREE;
	free_of(area)[area->nr_free++] = (uint16_t)block.index;
	area->busy--;
	if (area->nr_free == 1)
		kf_list_add_tail(&area->room, &slots.room[area->class]);
	see_to(area);
}
