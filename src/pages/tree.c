/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tree of free runs.
 *
 * Ordered by address; each node knows the largest run of the tree below it,
 * as the kernel's tree of free vmap areas (mm/vmalloc.c) does. The lowest
 * address with at least n pages: go left while the left tree has n, else stay
 * if this run has n, else go right. O(log n) in the number of free runs. If
 * that run is not dirty, a few further ones are tried.
 */
#include "pages/internal.h"

#include "probes/konfiscator-probes.h"

/* Pages: shorter runs are purged only when dirty pages are too many. */
#define WORTH_PURGING 16

/* Candidates tried for an aligned and dirty run. */
#define TRIES 16

static struct kf_run *tree_run_of(struct kf_rb_node *node)
{
	return kf_container_of(node, struct kf_run, node);
}

static uint32_t largest_of(struct kf_rb_node *node)
{
	return node ? tree_run_of(node)->largest : 0;
}

static bool update(struct kf_rb_node *node)
{
	struct kf_run *run = tree_run_of(node);
	uint32_t largest = run->nr_pages;
	bool changed;

	largest = KF_MAX(largest, largest_of(node->left));
	largest = KF_MAX(largest, largest_of(node->right));
	changed = largest != run->largest;
	run->largest = largest;
	return changed;
}

/*
 * The rest of a split run keeps its age, so an old one goes to the list's head.
 * The age is signed because the run may have been freed after the last tick.
 */
static void enlist(struct kf_free_run *f)
{
	int32_t age = (int32_t)(kf_pages.last_tick - f->run.freed_ms);
	struct kf_list *list = f->run.nr_pages < WORTH_PURGING
				       ? &kf_pages.dirty_short
				       : &kf_pages.dirty;

	if (f->run.clean == f->run.nr_pages)
		return;
	if (age > (int32_t)(kf_pages_conf.purge_ms / 2))
		kf_list_add(&f->lru, list);
	else
		kf_list_add_tail(&f->lru, list);
}

void kf_tree_count(size_t nr_pages, size_t dirty)
{
	kf_word_add(KF_WORD_free_runs, nr_pages << KF_PAGE_SHIFT);
	kf_word_add(KF_WORD_dirty, dirty << KF_PAGE_SHIFT);
	kf_word_add(KF_WORD_purged, (nr_pages - dirty) << KF_PAGE_SHIFT);
}

void kf_tree_insert(struct kf_run *run)
{
	struct kf_free_run *f = kf_container_of(run, struct kf_free_run, run);
	struct kf_rb_node **link = &kf_pages.tree.node;
	struct kf_rb_node *parent = NULL;

	while (*link) {
		parent = *link;
		link = run->start < tree_run_of(parent)->start ? &parent->left
							       : &parent->right;
	}
	run->largest = run->nr_pages;
	kf_rb_insert(&kf_pages.tree, &run->node, parent, link, update);
	kf_list_init(&f->lru);
	enlist(f);
	kf_tree_count(run->nr_pages, run->dirty);
}

void kf_tree_resize(struct kf_run *run, char *start, size_t nr_pages,
		    size_t dirty)
{
	struct kf_free_run *f = kf_container_of(run, struct kf_free_run, run);

	kf_tree_count(nr_pages - run->nr_pages, dirty - run->dirty);
	run->start = start;
	run->nr_pages = (uint32_t)nr_pages;
	run->dirty = (uint32_t)dirty;
	kf_rb_update_up(&run->node, update);
	kf_list_del(&f->lru);
	enlist(f);
}

void kf_tree_erase(struct kf_run *run)
{
	struct kf_free_run *f = kf_container_of(run, struct kf_free_run, run);

	kf_rb_erase(&kf_pages.tree, &run->node, update);
	kf_list_del(&f->lru);
	kf_tree_count(-(size_t)run->nr_pages, -(size_t)run->dirty);
}

uint32_t kf_tree_largest(void)
{
	return largest_of(kf_pages.tree.node);
}

size_t kf_run_front_pad(const struct kf_run *run, size_t align_pages)
{
	uintptr_t start = (uintptr_t)run->start;

	return (KF_ALIGN_UP(start, align_pages << KF_PAGE_SHIFT) - start) >>
	       KF_PAGE_SHIFT;
}

/* The lowest run of at least @n pages in the tree below @node, which has one.
 */
static struct kf_rb_node *lowest(struct kf_rb_node *node, size_t n,
				 uint64_t *visited)
{
	for (;;) {
		++*visited;
		if (largest_of(node->left) >= n)
			node = node->left;
		else if (tree_run_of(node)->nr_pages >= n)
			return node;
		else
			node = node->right;
	}
}

/* The next run of at least @n pages behind @node, or NULL. */
static struct kf_rb_node *next_fit(struct kf_rb_node *node, size_t n,
				   uint64_t *visited)
{
	struct kf_rb_node *parent;

	if (largest_of(node->right) >= n)
		return lowest(node->right, n, visited);
	for (; (parent = kf_rb_parent(node)) != NULL; node = parent) {
		++*visited;
		if (node != parent->left)
			continue;
		if (tree_run_of(parent)->nr_pages >= n)
			return parent;
		if (largest_of(parent->right) >= n)
			return lowest(parent->right, n, visited);
	}
	return NULL;
}

/*
 * Runs with fresh pages are the last resort: younger regions lie at lower
 * addresses and have fresh pages at their ends while older regions have dirty
 * ones.
 */
static struct kf_run *tree_find(size_t n, size_t align, uint64_t *visited)
{
	struct kf_rb_node *node = kf_pages.tree.node;
	struct kf_run *fresh = NULL;

	if (largest_of(node) < n)
		return NULL;
	node = lowest(node, n, visited);
	for (int i = 0; node && i < TRIES; i++) {
		struct kf_run *run = tree_run_of(node);
		bool fits = kf_run_front_pad(run, align) + n <= run->nr_pages;

		if (fits && run->dirty >= n)
			return run;
		if (fits && !fresh)
			fresh = run;
		node = next_fit(node, n, visited);
	}
	if (fresh)
		return fresh;
	n += align - 1;
	if (!node || largest_of(kf_pages.tree.node) < n)
		return NULL;
	return tree_run_of(lowest(kf_pages.tree.node, n, visited));
}

struct kf_run *kf_tree_find(size_t nr_pages, size_t align_pages)
{
	uint64_t visited = 0;
	struct kf_run *run = tree_find(nr_pages, align_pages, &visited);

	kf_word_add(KF_WORD_searches, 1);
	kf_word_add(KF_WORD_visited, visited);
	kf_probe_free_list_search(nr_pages << KF_PAGE_SHIFT,
				  run ? kf_run_bytes(run) : 0, visited);
	return run;
}
