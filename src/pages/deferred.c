/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System calls that were postponed because a lock was held: mappings wait in a
 * list until kf_pages_release_deferred() unmaps them.
 */
#include "pages/internal.h"

#include "sys/named.h"

void kf_pages_defer_unmap(struct kf_run *run)
{
	run->pending = kf_pages.unmap_later;
	kf_pages.unmap_later = run;
}

/* Returns the unused descriptors; a private run loses its own. */
static struct kf_run *unmap_list(struct kf_run *run)
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

/* Returns false when no descriptor can be had. */
static bool defer_unmap(char *start, size_t size)
{
	struct kf_run *run;

	if (size >> KF_PAGE_SHIFT > UINT32_MAX || !kf_desc_reserve(1))
		return false;
	run = kf_desc_take();
	run->start = start;
	run->nr_pages = (uint32_t)(size >> KF_PAGE_SHIFT);
	kf_pages_defer_unmap(run);
	return true;
}

void kf_pages_unmap_later(void *start, size_t size)
{
	bool done = false;

	if (kf_pages_lock()) {
		done = defer_unmap(start, size);
		kf_pages_unlock();
	}
	if (!done)
		kf_vm_drop(start, size);
}

/* Returns false when the lock could not be taken again. */
static bool unmap_deferred(void)
{
	struct kf_run *run = kf_pages.unmap_later, *next;

	kf_pages.unmap_later = NULL;
	kf_pages_unlock();
	run = unmap_list(run);
	/* Without the lock the descriptors are lost. */
	if (!kf_pages_lock())
		return false;
	for (; run; run = next) {
		next = run->pending;
		kf_desc_give(run);
	}
	return true;
}

void kf_pages_release_deferred(void)
{
	if (likely(!__atomic_load_n(&kf_pages.has_deferred,
				    __ATOMIC_RELAXED)) ||
	    !kf_pages_lock())
		return;
	/* A signal handler interrupted the lock's owner: leave it for later. */
	if (kf_pages.lock.depth) {
		kf_pages_unlock();
		return;
	}
	if (kf_pages.unmap_later && !unmap_deferred())
		return;
	if (kf_pages.purging)
		kf_pages_unlock();
	else
		kf_purge_release_deferred();
}
