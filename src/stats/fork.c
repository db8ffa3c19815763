/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A forked child leaves its parent's file at once.
 *
 * The mapping is shared with a parent that goes on counting, so the child's
 * start is copied before the fork, by the thread that forks: the copy is the
 * child's own by the time it runs, and takes the mapping's place in one step.
 * A fork that ran no handlers has no copy; it takes what the file says now.
 */
#include "stats/internal.h"

#include "sys/vm.h"
#include "sys/process.h"
#include "sys/thread.h"

#include <string.h>

/*
 * What a child starts with, from prepare to child or parent. The copy is made
 * only where a file stands behind the image.
 */
static struct {
	uintptr_t owner; /* the thread that forks; atomic, 0 none */
	int32_t tid;	 /* the owner's, as its parent knows it */
	char *image;	 /* the owner's; a copy, or NULL */
	size_t nr_slots; /* the owner's; in the copy */
	struct kf_area area[KF_NR_AREAS]; /* likewise */
} spare;

static char *copy_image(size_t nr_slots)
{
	size_t size = kf_image_size(nr_slots);
	char *image = kf_vm_put_memory(NULL, size);

	if (!image)
		return NULL;
	/* The texts between are in no image. */
	memcpy(image, kf_stats.base, KF_AT_DESCS);
	memcpy(image + KF_AT_CLASSES, kf_stats.base + KF_AT_CLASSES,
	       size - KF_AT_CLASSES);
	return image;
}

static size_t slots_now(void)
{
	return kf_load_acquire(&kf_stats.nr_slots);
}

void kf_stats_prepare_fork(void)
{
	uintptr_t none = 0;

	/* Another thread forks as well: then one of the two has no copy. */
	if (!kf_cas(&spare.owner, &none, kf_thread_self()))
		return;
	spare.tid = kf_process_tid();
	if (!kf_load(&kf_stats.on_file))
		return;
	spare.nr_slots = slots_now();
	spare.image = copy_image(spare.nr_slots);
	kf_area_copy(spare.area);
}

static void forget_spare(void)
{
	spare.image = NULL;
	kf_store_release(&spare.owner, 0);
}

void kf_stats_parent_fork(void)
{
	if (kf_load(&spare.owner) != kf_thread_self())
		return;
	if (spare.image)
		kf_vm_drop(spare.image, kf_image_size(spare.nr_slots));
	kf_area_drop(spare.area);
	forget_spare();
}

static char *take_copy(size_t *nr_slots)
{
	char *image = spare.image;

	spare.image = NULL;
	*nr_slots = spare.nr_slots;
	if (image && spare.owner == kf_thread_self())
		return image;
	if (image)
		kf_vm_drop(image, kf_image_size(spare.nr_slots));
	*nr_slots = kf_stats.nr_slots;
	return copy_image(*nr_slots);
}

/* The areas of a copy that is not ours are of another moment. */
static bool leave_areas(void)
{
	if (spare.owner != kf_thread_self()) {
		kf_area_drop(spare.area);
		kf_area_copy(spare.area);
	}
	return kf_area_leave(spare.area, &kf_stats.torn);
}

static bool fork_put_memory(size_t from_slot, size_t nr_slots)
{
	/* Slot 0 stands for all of the image, its head included. */
	size_t from = from_slot ? kf_image_size(from_slot) : 0;
	size_t to = kf_image_size(nr_slots);

	return from == to || kf_vm_put_memory(kf_stats.base + from, to - from);
}

/*
 * Where there is no memory even for the copy, the counts start anew, and a
 * file with half the truth is not made. Where the kernel has no memory at all
 * the child has to stay, as the addresses are in use; it tries again when it
 * is to be published.
 */
static void leave_file(void)
{
	size_t nr;
	char *image = take_copy(&nr);

	if (image &&
	    !kf_vm_put_mapping(kf_stats.base, kf_image_size(nr), image)) {
		kf_vm_drop(image, kf_image_size(nr));
		image = NULL;
	}
	if (!image) {
		kf_stats.torn = true;
		nr = 0;
	}
	kf_stats.stranded =
		!leave_areas() || !fork_put_memory(nr, kf_stats.nr_slots);
}

void kf_stats_fork_child(void)
{
	kf_growth_reset();
	if (kf_stats.on_file || kf_stats.stranded)
		leave_file();
	kf_stats.on_file = false;
	kf_stats.note = 0;
	kf_stats.error = 0;
	kf_stats.nr_shown = kf_stats.nr_slots;
	if (!kf_stats.stranded)
		kf_area_inherit();
	if (!kf_stats.stranded)
		kf_image_inherit(kf_stats.base, kf_stats.nr_slots,
				 spare.owner == kf_thread_self() ? spare.tid
								 : 0);
	forget_spare();
}
