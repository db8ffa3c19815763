/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A group's key: 4 bits for the function, never 0, 16 for the thread, and 44
 * for the size.
 */
#include "config.h"

#include "cli/report/groups.h"

#include "base/bits.h"

#include <stdlib.h>

#define SIZE_BITS 44
#define ANY_THREAD 0xffffULL
#define MAX_SIZE ((1ULL << SIZE_BITS) - 1)

_Static_assert(KF_HISTORY_MAX_THREADS <= 1u << 16, "a thread fits the key");
_Static_assert(KF_RECORD_NR_KINDS <= 1u << 4, "a function fits the key");

static uint64_t group_key(const struct kf_block *b, uint64_t size)
{
	return (uint64_t)b->function << 60 |
	       (uint64_t)(b->thread & ANY_THREAD) << SIZE_BITS |
	       KF_MIN(size, MAX_SIZE);
}

struct kf_group_sums *kf_group_of(struct kf_map *groups,
				  const struct kf_block *b)
{
	struct kf_group_sums *g = kf_map_find(groups, group_key(b, b->size));
	uint64_t size = b->size, key;

	if (g)
		return g;
	if (groups->nr >= KF_GROUPS_FINE && size <= MAX_SIZE)
		size = kf_pow2_up(size);
	key = group_key(b, size);
	if (groups->nr >= 2 * KF_GROUPS_FINE)
		key |= ANY_THREAD << SIZE_BITS;
	g = kf_map_add(groups, key);
	if (!g) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	return g;
}

void kf_group_live(struct kf_map *groups, const struct kf_block *b)
{
	struct kf_group_sums *g = kf_group_of(groups, b);

	if (!g->live_blocks || b->time < g->oldest)
		g->oldest = b->time;
	g->live_blocks++;
	g->live += b->size;
}

uint32_t kf_group_thread(const struct kf_group_sums *g)
{
	return g->key >> SIZE_BITS & ANY_THREAD;
}

const char *kf_group_function(const struct kf_group_sums *g)
{
	return kf_report_function((unsigned int)(g->key >> 60));
}

uint64_t kf_group_size(const struct kf_group_sums *g)
{
	return g->key & MAX_SIZE;
}

struct found {
	const struct kf_group_sums **groups;
	size_t nr;
};

static void groups_find_longest(const void *entry, void *arg)
{
	struct found *f = arg;

	f->groups[f->nr++] = entry;
}

/* The most bytes first; the keys make the order of equal rows stable. */
static int groups_by_allocated(const void *a, const void *b)
{
	const struct kf_group_sums *x = *(void *const *)a;
	const struct kf_group_sums *y = *(void *const *)b;

	if (x->allocated != y->allocated)
		return x->allocated > y->allocated ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static int by_live(const void *a, const void *b)
{
	const struct kf_group_sums *x = *(void *const *)a;
	const struct kf_group_sums *y = *(void *const *)b;

	if (x->live != y->live)
		return x->live > y->live ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static const struct kf_group_sums **groups_sorted(const struct kf_map *groups,
						  bool live)
{
	struct found f = {
		.groups = kf_alloc(groups->nr, sizeof(*f.groups)),
	};

	kf_map_each(groups, groups_find_longest, &f);
	qsort(f.groups, f.nr, sizeof(*f.groups),
	      live ? by_live : groups_by_allocated);
	return f.groups;
}

struct live {
	const struct kf_report *report;
	struct kf_map *groups;
};

static void groups_see_live(const struct kf_block *b, void *arg)
{
	const struct live *live = arg;
	const struct kf_report *r = live->report;

	if (b->time >= r->pick.from && kf_replay_picks(&r->replay, b))
		kf_group_live(live->groups, b);
}

int kf_group_view_end(struct kf_report *r, const struct kf_group_view *view)
{
	struct live live = {r, view->groups};
	const struct kf_group_sums **g;
	struct kf_table t;

	kf_blocks_each(&r->replay.blocks, groups_see_live, &live);
	kf_table_init(&t, view->columns, view->nr_columns);
	g = groups_sorted(view->groups, view->by_live);
	for (uint64_t i = 0; i < view->groups->nr; i++)
		view->add_row(r, &t, g[i]);
	free(g);
	return kf_report_table(r, &t, -1, 20);
}
