/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The owners are found from the last range to the first: each takes what no
 * later one has. What is taken is skipped by a chain to the next free place,
 * which is shortened when it is followed.
 */
#include "reader/jit-ranges.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

static bool ranges_grow(struct kf_jit_ranges *r)
{
	size_t room = r->room ? 2 * r->room : 64;
	struct kf_jit_range *more;

	if (r->nr < r->room || r->room == KF_JIT_RANGES)
		return true;
	more = realloc(r->range, room * sizeof(*more));
	if (!more)
		return false;
	r->range = more;
	r->room = room;
	return true;
}

bool kf_jit_ranges_add(struct kf_jit_ranges *r,
		       const struct kf_jit_range *range)
{
	if (!range->begin || range->end <= range->begin)
		return true;
	if (!ranges_grow(r))
		return false;
	r->range[r->nr++ % KF_JIT_RANGES] = *range;
	return true;
}

static size_t ranges_kept(const struct kf_jit_ranges *r)
{
	return KF_MIN((size_t)r->nr, KF_JIT_RANGES);
}

static int cuts_compare(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static void ranges_cut(struct kf_jit_ranges *r)
{
	size_t nr = ranges_kept(r), kept = 0;

	for (size_t i = 0; i < nr; i++) {
		r->cut[2 * i] = r->range[i].begin;
		r->cut[2 * i + 1] = r->range[i].end;
	}
	qsort(r->cut, 2 * nr, sizeof(*r->cut), cuts_compare);
	for (size_t i = 0; i < 2 * nr; i++) {
		if (!kept || r->cut[i] != r->cut[kept - 1])
			r->cut[kept++] = r->cut[i];
	}
	r->nr_cuts = kept;
}

/* The number of cuts at or below an address. */
static size_t cuts_until(const struct kf_jit_ranges *r, uint64_t address)
{
	size_t low = 0, high = r->nr_cuts, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (r->cut[mid] <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first free place from @i on; halves the chain to it. */
static uint32_t next_free(uint32_t *next, uint32_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

static void range_take(struct kf_jit_ranges *r, uint32_t *next, uint32_t taker)
{
	const struct kf_jit_range *range = &r->range[taker];
	size_t end = cuts_until(r, range->end) - 1;
	uint32_t i = next_free(next, (uint32_t)cuts_until(r, range->begin) - 1);

	while (i < end) {
		r->owner[i] = taker;
		next[i] = i + 1;
		i = next_free(next, i + 1);
	}
}

bool kf_jit_ranges_settle(struct kf_jit_ranges *r)
{
	size_t nr = ranges_kept(r);
	uint32_t *next = calloc(2 * nr + 1, sizeof(*next));

	r->cut = calloc(2 * nr + 1, sizeof(*r->cut));
	r->owner = calloc(2 * nr + 1, sizeof(*r->owner));
	if (!next || !r->cut || !r->owner) {
		free(next);
		return false;
	}
	ranges_cut(r);
	for (uint32_t i = 0; i <= r->nr_cuts; i++) {
		next[i] = i;
		r->owner[i] = NOBODY;
	}
	for (size_t i = 0; i < nr; i++)
		range_take(r, next,
			   (uint32_t)((r->nr - 1 - i) % KF_JIT_RANGES));
	free(next);
	return true;
}

const struct kf_jit_range *kf_jit_ranges_find(const struct kf_jit_ranges *r,
					      uint64_t address)
{
	size_t i = cuts_until(r, address);

	if (!i || r->owner[i - 1] == NOBODY)
		return NULL;
	return &r->range[r->owner[i - 1]];
}

void kf_jit_ranges_release(struct kf_jit_ranges *r)
{
	free(r->range);
	free(r->cut);
	free(r->owner);
	*r = (struct kf_jit_ranges){0};
}
