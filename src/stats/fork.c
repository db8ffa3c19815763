/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A forked child leaves its parent's file at once.
 *
 * The parent goes on counting in the shared mapping, so the forking thread
 * copies the image before the fork; the child moves its copy over the mapping
 * in one step. After a fork that ran no handlers the child copies the image as
 * it is then.
 */
#include "stats/internal.h"

#include "sys/vm.h"
#include "sys/process.h"
#include "sys/thread.h"

#include <string.h>

/*
 * The copy for a child, from prepare to child or parent. All but @owner is the
 * owner's. There is a copy only where a file is mapped at the image.
 */
static struct {
	uintptr_t owner; /* kf_thread_self() of the forking thread, or 0; atomic
			  */
	int32_t tid;	 /* of the owner, in the parent */
	char *image;	 /* the copy, or NULL */
	size_t nr_slots; /* in the copy */
	struct kf_area area[KF_NR_AREAS]; /* copies */
} fork_copy;

static char *copy_image(size_t nr_slots)
{
	size_t size = kf_image_size(nr_slots);
	char *image = kf_vm_put_memory(NULL, size);

	if (!image)
		return NULL;
	/* The descriptions between are in no image. */
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

	/* Of two threads that fork at once one has no copy. */
	if (!kf_claim(&fork_copy.owner, kf_thread_self()))
		return;
	fork_copy.tid = kf_process_tid();
	if (!kf_load(&kf_stats.on_file))
		return;
	fork_copy.nr_slots = slots_now();
	fork_copy.image = copy_image(fork_copy.nr_slots);
	kf_area_copy(fork_copy.area);
}

static void release_copy(void)
{
	fork_copy.image = NULL;
	kf_store_release(&fork_copy.owner, 0);
}

void kf_stats_parent_fork(void)
{
	if (kf_load(&fork_copy.owner) != kf_thread_self())
		return;
	if (fork_copy.image)
		kf_vm_drop(fork_copy.image, kf_image_size(fork_copy.nr_slots));
	kf_area_drop(fork_copy.area);
	release_copy();
}

static char *take_copy(size_t *nr_slots)
{
	char *image = fork_copy.image;

	fork_copy.image = NULL;
	*nr_slots = fork_copy.nr_slots;
	if (image && fork_copy.owner == kf_thread_self())
		return image;
	if (image)
		kf_vm_drop(image, kf_image_size(fork_copy.nr_slots));
	*nr_slots = kf_stats.nr_slots;
	return copy_image(*nr_slots);
}

/* Copies of another thread's fork were made at another moment: drop them. */
static bool leave_areas(void)
{
	if (fork_copy.owner != kf_thread_self()) {
		kf_area_drop(fork_copy.area);
		kf_area_copy(fork_copy.area);
	}
	return kf_area_leave(fork_copy.area, &kf_stats.counts_lost);
}

static bool fork_put_memory(size_t from_slot, size_t nr_slots)
{
	/* From slot 0 on means all of the image, its header too. */
	size_t from = from_slot ? kf_image_size(from_slot) : 0;
	size_t to = kf_image_size(nr_slots);

	return from == to || kf_vm_put_memory(kf_stats.base + from, to - from);
}

/*
 * Without memory for the copy the child counts from zero and makes no file, as
 * its figures would be wrong. Without memory for zeroes the child stays on its
 * parent's file, as its threads use the addresses; kf_stats_publish() tries
 * again.
 */
static void leave_file(void)
{
	size_t nr;
	char *image = take_copy(&nr);

	if (image && !kf_vm_move(image, kf_image_size(nr), kf_image_size(nr),
				 kf_stats.base)) {
		kf_vm_drop(image, kf_image_size(nr));
		image = NULL;
	}
	if (!image) {
		kf_stats.counts_lost = true;
		nr = 0;
	}
	kf_stats.on_parents_file =
		!leave_areas() || !fork_put_memory(nr, kf_stats.nr_slots);
}

void kf_stats_fork_child(void)
{
	kf_growth_reset();
	if (kf_stats.on_file || kf_stats.on_parents_file)
		leave_file();
	kf_stats.on_file = false;
	kf_stats.note = 0;
	kf_stats.error = 0;
	kf_stats.nr_shown = kf_stats.nr_slots;
	if (!kf_stats.on_parents_file) {
		kf_area_inherit();
		kf_image_inherit(fork_copy.owner == kf_thread_self()
					 ? fork_copy.tid
					 : 0);
	}
	release_copy();
}
