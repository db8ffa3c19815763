/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The engine secure: it detects misuse of the heap, most of it at once, the
 * rest when the block is freed or the program ends.
 *
 * Up to 2 KiB a block is a slot in an area of its class, between redzones;
 * larger ones, and aligned ones, have pages of their own that end where the
 * block does, but for a slack of canaries: see secure-pages.c. Freed blocks
 * wait in quarantine, small ones full of zeroes, large ones behind addresses
 * that fault. Blocks of size 0 are addresses that fault.
 *
 * The model is hardened_malloc; the differences are that sizes are kept to the
 * byte, and that there are redzones on both sides of a slot.
 */
#include "engines/secure.h"

#include "stats/stats.h"
#include "sys/named.h"
#include "sys/vm.h"

#include <string.h>

#define LONG (64 * KF_KIB) /* blocks whose pages are purged by name */

static const char *secure_init(const struct konf_host *host)
{
	kf_secure_area_init();
	return kf_secure_wait_init() ? NULL : "there is no memory for it";
}

static bool secure_is_small(size_t size, size_t align)
{
	return size <= KF_SECURE_SMALL && align <= 16;
}

/* All blocks read as zeroes. */
static void *secure_alloc(size_t size, size_t align)
{
	if (!size)
		return align <= 16 ? kf_secure_slot_alloc(0)
				   : kf_secure_pages_alloc(size, align);
	size = KF_MAX(size, KF_SECURE_LEAST);
	return secure_is_small(size, align)
		       ? kf_secure_slot_alloc(size)
		       : kf_secure_pages_alloc(size, align);
}

/* A double free by two threads at once is detected here only. */
static void secure_free(void *p)
{
	struct kf_secure_block block;
	struct kf_secure_area *area;

	if (!kf_secure_find(p, &block) ||
	    block.area->slot[block.index].state != KF_SECURE_LIVE) {
		kf_audit_report(KONF_DOUBLE_FREE, p);
		return;
	}
	area = block.area;
	if (area->nr == 1) {
		kf_secure_pages_free(area);
	} else {
		area->slot[block.index].state = KF_SECURE_WAITING;
		memset(p, 0, area->size);
	}
	kf_secure_wait(block);
}

static size_t secure_usable_size(const void *p)
{
	struct kf_secure_block block;

	if (!kf_secure_find(p, &block) ||
	    block.area->slot[block.index].state != KF_SECURE_LIVE)
		return 0;
	return block.area->slot[block.index].asked;
}

/* In place if the class stays the same; false: the block must move. */
static bool resize_slot(struct kf_secure_block block, size_t size)
{
	struct kf_secure_slot *slot = &block.area->slot[block.index];
	char *p = kf_secure_slot_at(block);

	if (size > KF_SECURE_SMALL || kf_class_of(size) != block.area->class)
		return false;
	if (size > slot->asked)
		memset(p + slot->asked, 0, size - slot->asked);
	slot->asked = size;
	kf_secure_fill(p + size, p + block.area->size);
	return true;
}

static void *secure_resize(void *p, size_t size)
{
	size_t have = secure_usable_size(p);
	struct kf_secure_block block;
	void *to;

	if (!kf_secure_find(p, &block))
		return NULL;
	size = KF_MAX(size, KF_SECURE_LEAST);
	if (block.area->nr > 1 && resize_slot(block, size))
		return p;
	if (block.area->nr == 1 && have && size > KF_SECURE_SMALL)
		return kf_secure_pages_resize(block.area, size);
	to = secure_alloc(size, 16);
	if (!to)
		return NULL;
	memcpy(to, p, KF_MIN(have, size));
	secure_free(p);
	return to;
}

/*
 * When a long block is freed or shrinks, the engine takes its pages by calls
 * that tools do not see, as it is under a lock: so they go by name before.
 */
static void secure_give_pages(char *p, size_t bytes)
{
	uintptr_t page = kf_vm_page();
	uintptr_t from = KF_ALIGN_UP((uintptr_t)p, page);
	uintptr_t to = KF_ALIGN_DOWN((uintptr_t)p + bytes, page);

	/* Refused for locked pages: these go with their addresses. */
	if (bytes >= LONG)
		kf_named_purge((void *)from, to - from);
}

static size_t secure_trim(size_t pad)
{
	size_t held = kf_stats_held();

	kf_secure_empty();
	return held - KF_MIN(kf_stats_held(), held);
}

static void secure_finish(void)
{
	struct kf_list *pos;

	kf_list_for_each(pos, &kf_secure_areas) {
		struct kf_secure_block block = {
			kf_container_of(pos, struct kf_secure_area, link), 0};

		for (; block.index < block.area->nr; block.index++) {
			enum konf_misuse wrong = kf_secure_slot_check(block);

			if (wrong)
				kf_audit_report(wrong,
						kf_secure_slot_at(block));
		}
	}
}

const struct kf_engine kf_engine_secure = {
	.base =
		{
			KF_ENGINE_HEAD,
			.flags = KONF_ENGINE_ZERO,
			.name = "secure",
			.alloc = secure_alloc,
			.free = secure_free,
			.usable_size = secure_usable_size,
			.init = secure_init,
			.alloc_zeroed = secure_alloc,
			.realloc = secure_resize,
			.check = kf_secure_judge,
			.trim = secure_trim,
		},
	.give_pages = secure_give_pages,
	.finish = secure_finish,
	.falls_back = true,
	.is_exact = true,
};
