/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks of the engine secure that have pages of their own.
 *
 * A block lies at the end of its pages, where an overflow faults, but for a
 * slack of canaries where the alignment asks for one. One that was resized
 * stays where it began, and so may end up to a page before its guard; canaries
 * fill what is between. It grows in its place as far as its area goes, else its
 * pages are moved to an area with as much room again: so a block that grows
 * step by step moves once for each doubling, and no byte is copied.
 *
 * The pages of a freed block fault. Those of shorter ones are zeroed and stay
 * behind addresses that fault, and are used again once the block has left the
 * quarantine: to show pages costs a tenth of what new ones between new guards
 * do.
 */
#include "engines/secure.h"

#include "pages/pages.h"

#include <string.h>

#define REUSED_MAX (64 * KF_KIB) /* bytes of an area that is used again */
#define SPARE_MAX (8 * KF_MIB)	 /* bytes that wait to be used again */

/* Areas that left the quarantine, by their pages; oldest first in @all. */
static struct {
	struct kf_list of[(REUSED_MAX >> KF_PAGE_SHIFT) + 1];
	struct kf_list all;
	size_t bytes;
	bool ready;
} spares;

static void secure_pages_get_ready(void)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(spares.of); i++)
		kf_list_init(&spares.of[i]);
	kf_list_init(&spares.all);
	spares.ready = true;
}

static struct kf_list *spares_of(size_t bytes)
{
	if (!spares.ready)
		secure_pages_get_ready();
	return &spares.of[bytes >> KF_PAGE_SHIFT];
}

/* A spare is taken off its lists, to be used or dropped. */
static void take_off(struct kf_secure_area *area)
{
	kf_list_del(&area->room);
	kf_list_init(&area->room);
	kf_list_del(&area->link);
	kf_list_add_tail(&area->link, &kf_secure_areas);
	spares.bytes -= area->bytes;
}

bool kf_secure_pages_drop_spare(void)
{
	struct kf_secure_area *area;

	if (!spares.bytes)
		return false;
	area = kf_container_of(kf_list_first(&spares.all),
			       struct kf_secure_area, link);
	take_off(area);
	kf_secure_area_drop(area);
	return true;
}

/* The bytes after the canaries are zero: the block was zeroed when freed. */
static struct kf_secure_area *use_again(size_t bytes, size_t align)
{
	struct kf_secure_area *area;

	if (bytes > REUSED_MAX || align > KF_AREA_UNIT ||
	    kf_list_empty(spares_of(bytes)))
		return NULL;
	area = kf_container_of(kf_list_first(spares_of(bytes)),
			       struct kf_secure_area, room);
	if (!kf_vm_commit(area->run.start, bytes))
		return NULL;
	take_off(area);
	area->hidden = false;
	return area;
}

/* Canaries before the block and behind it, to the end of its pages. */
static void fence(struct kf_secure_area *area, size_t size)
{
	kf_secure_fill(area->run.start, area->first);
	kf_secure_fill(area->first + size, area->run.start + area->bytes);
}

static void unfence(struct kf_secure_area *area)
{
	char *end = area->first + area->slot[0].asked;

	memset(area->run.start, 0, (size_t)(area->first - area->run.start));
	memset(end, 0, (size_t)(area->run.start + area->bytes - end));
}

static struct kf_secure_area *secure_pages_make(size_t bytes, size_t room,
						size_t align, size_t offset)
{
	struct kf_secure_area *area =
		kf_secure_area_make(bytes, room, align, 1);

	if (!area)
		return NULL;
	area->first += offset;
	area->stride = UINT32_MAX;
	area->busy = 1;
	if (kf_secure_area_name(area, area->first, 1))
		return area;
	kf_secure_area_drop(area);
	return NULL;
}

static void secure_pages_set(struct kf_secure_area *area, size_t size)
{
	area->slot[0].asked = size;
	area->slot[0].state = KF_SECURE_LIVE;
}

void *kf_secure_pages_alloc(size_t size, size_t align)
{
	size_t bytes = KF_ALIGN_UP(size ? size : 1, KF_PAGE);
	size_t offset =
		align < KF_PAGE ? KF_ALIGN_DOWN(bytes - size, align) : 0;
	struct kf_secure_area *area = size ? use_again(bytes, align) : NULL;

	if (!area) {
		area = secure_pages_make(bytes, 0, align, offset);
		if (!area)
			return NULL;
		fence(area, size);
	} else if (area->first != area->run.start + offset ||
		   area->slot[0].asked != size) {
		unfence(area);
		area->first = area->run.start + offset;
		fence(area, size);
	}
	secure_pages_set(area, size);
	return area->first;
}

void kf_secure_pages_free(struct kf_secure_area *area)
{
	size_t asked = area->slot[0].asked;

	area->slot[0].state = KF_SECURE_WAITING;
	if (asked && area->bytes <= REUSED_MAX) {
		memset(area->first, 0, asked);
		area->hidden = kf_vm_hide(area->run.start, area->bytes);
	}
	if (!area->hidden)
		kf_secure_area_close(area);
}

void kf_secure_pages_leave(struct kf_secure_area *area)
{
	if (!area->hidden) {
		kf_secure_area_drop(area);
		return;
	}
	area->slot[0].state = KF_SECURE_FREE;
	kf_list_add(&area->room, spares_of(area->bytes));
	kf_list_del(&area->link);
	kf_list_add_tail(&area->link, &spares.all);
	spares.bytes += area->bytes;
	while (spares.bytes > SPARE_MAX)
		kf_secure_pages_drop_spare();
}

/* Have so many bytes of pages; what is new reads as zeroes. */
static bool set_bytes(struct kf_secure_area *area, size_t bytes)
{
	size_t had = area->bytes;

	if (bytes > had) {
		if (!kf_engine_commit(area->run.start + had, bytes - had))
			return false;
	} else if (bytes < had &&
		   !kf_engine_decommit(area->run.start + bytes, had - bytes)) {
		return true;
	}
	area->bytes = bytes;
	return true;
}

static bool secure_pages_resize_in_place(struct kf_secure_area *area,
					 size_t size)
{
	size_t asked = area->slot[0].asked;
	size_t offset = (size_t)(area->first - area->run.start);
	size_t bytes = KF_ALIGN_UP(offset + size, KF_PAGE);
	size_t slack = area->bytes - offset - asked;

	if (bytes > area->limit || !set_bytes(area, bytes))
		return false;
	if (size > asked)
		memset(area->first + asked, 0, KF_MIN(slack, size - asked));
	area->slot[0].asked = size;
	kf_secure_fill(area->first + size, area->run.start + area->bytes);
	return true;
}

/* To an area with as much room again, if there are addresses for it. */
static struct kf_secure_area *secure_pages_move(struct kf_secure_area *from,
						size_t size)
{
	size_t asked = from->slot[0].asked;
	size_t offset = (size_t)(from->first - from->run.start);
	size_t bytes = KF_ALIGN_UP(offset + size, KF_PAGE);
	struct kf_secure_area *to = secure_pages_make(
		bytes, KF_MIN(bytes, KF_SIZE_LIMIT / 4), KF_PAGE, offset);

	if (!to)
		return NULL;
	/* The pages of short ones stay, to be used again. */
	if (from->bytes <= REUSED_MAX ||
	    !kf_vm_take(to->run.start, from->bytes, from->run.start))
		memcpy(to->first, from->first, asked);
	else
		memset(to->first + asked, 0, from->bytes - offset - asked);
	fence(to, size);
	secure_pages_set(to, size);
	return to;
}

void *kf_secure_pages_resize(struct kf_secure_area *area, size_t size)
{
	struct kf_secure_area *to;

	if (secure_pages_resize_in_place(area, size))
		return area->first;
	if (size < area->slot[0].asked)
		return NULL;
	to = secure_pages_move(area, size);
	if (!to)
		return NULL;
	kf_secure_pages_free(area);
	kf_secure_wait((struct kf_secure_block){area, 0});
	return to->first;
}
