/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A walk of all runs that tests every invariant of run.h, for the unit tests.
 * mallinfo reports its sums.
 */
#include "pages/internal.h"

static const char *check_free(const struct kf_run *run, bool after_free)
{
	if (after_free)
		return "two free runs are neighbours";
	if (run->dirty > run->nr_pages)
		return "a run is dirtier than it is long";
	if (run->clean > run->nr_pages - run->dirty)
		return "a dirty page of a run is said to be clean";
	if (run->largest < run->nr_pages)
		return "a node forgets its own run";
	return NULL;
}

static void check_add(struct kf_pages_sums *sums, const struct kf_run *run)
{
	size_t bytes = kf_run_bytes(run);

	sums->runs++;
	if (run->kind == KF_RUN_SLAB)
		sums->slabs += bytes;
	else if (run->kind == KF_RUN_LARGE || run->kind == KF_RUN_CACHED)
		sums->large += bytes;
	if (run->kind != KF_RUN_FREE)
		return;
	sums->free += bytes;
	sums->free_runs++;
	sums->dirty += (size_t)run->dirty << KF_PAGE_SHIFT;
	if (run->purging)
		return;
	sums->largest = KF_MAX(sums->largest, bytes);
}

static const char *check_region(struct kf_region *region,
				struct kf_pages_sums *sums)
{
	bool after_free = false;
	const char *wrong = NULL;
	uint32_t i = 0;

	while (i < region->committed && !wrong) {
		struct kf_run *run = region->page[i];

		if (!run || run->region != region ||
		    kf_page_index(region, run->start) != i || !run->nr_pages)
			return "a page is in no run";
		if (i + run->nr_pages > region->committed)
			return "a run leaves its region";
		if (region->page[i + run->nr_pages - 1] != run)
			return "a run's last page names another";
		if (kf_run_is_in_tree(run))
			wrong = check_free(run, after_free);
		after_free = kf_run_is_in_tree(run);
		check_add(sums, run);
		i += run->nr_pages;
	}
	if (after_free)
		sums->top += kf_run_bytes(region->page[region->committed - 1]);
	sums->committed += (size_t)region->committed << KF_PAGE_SHIFT;
	return wrong;
}

static const char *check_tree(const struct kf_pages_sums *sums)
{
	struct kf_rb_node *node = kf_rb_first(&kf_pages.tree);
	const char *last = NULL;
	size_t free = kf_pages.purging ? kf_run_bytes(kf_pages.purging) : 0;

	for (; node; node = kf_rb_next(node)) {
		struct kf_run *run = kf_container_of(node, struct kf_run, node);

		if (!kf_run_is_in_tree(run))
			return "the tree has a run that is not free";
		if (run->start <= last)
			return "the tree is out of order";
		last = run->start;
		free += kf_run_bytes(run);
	}
	if (free != sums->free)
		return "the tree and the regions disagree on free pages";
	if ((size_t)kf_tree_largest() << KF_PAGE_SHIFT != sums->largest)
		return "the tree does not know its largest run";
	return NULL;
}

static const char *check_words(const struct kf_pages_sums *sums)
{
	uint64_t sum = kf_word_get(KF_WORD_free_runs) +
		       kf_word_get(KF_WORD_slabs) + kf_word_get(KF_WORD_large) +
		       kf_word_get(KF_WORD_metadata);

	if (kf_word_get(KF_WORD_free_runs) != sums->free)
		return "the word free_runs is wrong";
	if (kf_word_get(KF_WORD_dirty) != sums->dirty)
		return "the word dirty is wrong";
	if (kf_word_get(KF_WORD_purged) != sums->free - sums->dirty)
		return "the word purged is wrong";
	if (sums->free + sums->slabs + sums->large != sums->committed)
		return "a byte is lost between the runs";
	if (sum != kf_word_get(KF_WORD_mapped))
		return "what is held is not the sum of its parts";
	return NULL;
}

const char *kf_pages_check(struct kf_pages_sums *sums)
{
	const char *wrong = NULL;
	struct kf_list *pos;

	*sums = (struct kf_pages_sums){0};
	if (!kf_pages_lock())
		return "a fork is on";
	kf_list_for_each(pos, &kf_pages.regions) {
		struct kf_region *region =
			kf_container_of(pos, struct kf_region, link);

		if (!wrong)
			wrong = check_region(region, sums);
	}
	if (!wrong)
		wrong = check_tree(sums);
	if (!wrong)
		wrong = check_words(sums);
	kf_pages_unlock();
	return wrong;
}

static void check_each(const struct kf_region *region,
		       void (*each)(const struct kf_run *run, void *data),
		       void *data)
{
	for (uint32_t i = 0; i < region->committed;
	     i += region->page[i]->nr_pages)
		each(region->page[i], data);
}

bool kf_pages_each_region(void (*each)(const struct kf_region *region,
				       void *data),
			  void *data)
{
	struct kf_list *pos;

	if (!kf_pages_lock())
		return false;
	kf_list_for_each(pos, &kf_pages.regions)
		each(kf_container_of(pos, struct kf_region, link), data);
	kf_pages_unlock();
	return true;
}

bool kf_pages_each(void (*each)(const struct kf_run *run, void *data),
		   void *data)
{
	struct kf_list *pos;

	if (!kf_pages_lock())
		return false;
	kf_list_for_each(pos, &kf_pages.regions)
		check_each(kf_container_of(pos, struct kf_region, link), each,
			   data);
	kf_pages_unlock();
	return true;
}
