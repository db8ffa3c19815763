/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is to go back to the kernel waits here until no lock is held.
 */
#include "pages/floor.h"

#include "sys/named.h"

void kf_floor_push_going(struct kf_run *run)
{
	run->pending = kf_floor.going;
	kf_floor.going = run;
}

/* Returns descriptors that nobody needs any more: a private run's goes, too. */
static struct kf_run *unmap_all(struct kf_run *run)
{
	struct kf_run *left = NULL, *next;

	for (; run; run = next) {
		char *start = run->private ? (char *)run : run->start;
		bool private = run->private;

		next = run->pending;
		kf_named_drop(start, (size_t)(kf_run_end(run) - start));
		if (private)
			continue;
		run->pending = left;
		left = run;
	}
	return left;
}

/* Without a descriptor nobody hears of it. */
static bool going_put_off(char *start, size_t size)
{
	struct kf_run *run;

	if (size >> KF_PAGE_SHIFT > UINT32_MAX || !kf_desc_reserve(1))
		return false;
	run = kf_desc_take();
	run->start = start;
	run->nr_pages = (uint32_t)(size >> KF_PAGE_SHIFT);
	kf_floor_push_going(run);
	return true;
}

void kf_pages_unmap_later(void *start, size_t size)
{
	bool done = false;

	if (kf_floor_lock()) {
		done = going_put_off(start, size);
		kf_floor_unlock();
	}
	if (!done)
		kf_vm_drop(start, size);
}

/* Returns false where the lock could not be had again. */
static bool unmap_going(void)
{
	struct kf_run *run = kf_floor.going, *next;

	kf_floor.going = NULL;
	kf_floor_unlock();
	run = unmap_all(run);
	/* Without it the descriptors are lost. */
	if (!kf_floor_lock())
		return false;
	for (; run; run = next) {
		next = run->pending;
		kf_desc_give(run);
	}
	return true;
}

void kf_pages_settle(void)
{
	if (likely(!__atomic_load_n(&kf_floor.due, __ATOMIC_RELAXED)) ||
	    !kf_floor_lock())
		return;
	/* In a signal handler while the thread holds the lock: later. */
	if (kf_floor.lock.depth) {
		kf_floor_unlock();
		return;
	}
	if (kf_floor.going && !unmap_going())
		return;
	if (kf_floor.purging)
		kf_floor_unlock();
	else
		kf_purge_settle();
}
