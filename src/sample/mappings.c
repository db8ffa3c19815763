/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that the program mapped past malloc: see mappings.h.
 *
 * The entries are private; the stats file has a copy, from which nothing is
 * read. Of a change that a fork or a kill cuts short, a part of the addresses
 * may be in no entry, but none is in two.
 */
#include "sample/mappings.h"

#include "sample/countdown.h"
#include "sample/sample.h"
#include "stats/stats.h"
#include "sys/thread.h"
#include "sys/vm.h"

#include <string.h>

#define SECOND 1000000000
#define MOST_YIELDS 100
#define NONE UINT32_MAX

struct addresses {
	uint64_t begin;
	uint64_t end;
};

static struct {
	uint64_t owner; /* kf_thread_self() of the thread that has the entries,
			   or 0; atomic */
	bool forget;	/* a change was missed; atomic */
	uint32_t nr;	/* entries that were ever used; the owner's, atomic */
	uint32_t walks; /* stacks taken; atomic */
	uint64_t since; /* ns: of the first; atomic */
	struct kf_stats_mapping entry[KF_STATS_MAPPINGS]; /* the owner's */
} noted;

static void mappings_missed(void)
{
	kf_word_add_atomic(KF_WORD_mappings_missed, 1);
}

static void mapping_show(uint32_t i)
{
	const struct kf_stats_mapping *e = &noted.entry[i];
	struct kf_stats_mapping *to;
	uint32_t nr;

	to = kf_stats_area(KF_AREA_MAPPINGS, &nr);
	if (i >= nr)
		return;
	kf_store(&to[i].begin, 0);
	/* A reader of a half-written entry finds it free or changed. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	kf_store(&to[i].end, e->end);
	kf_store(&to[i].stack, e->stack);
	kf_store_release(&to[i].begin, e->begin);
}

static void mapping_set(uint32_t i, uint64_t begin, uint64_t end,
			uint32_t stack)
{
	noted.entry[i] = (struct kf_stats_mapping){begin, end, stack, 0};
	mapping_show(i);
}

static void mappings_forget(void)
{
	kf_store(&noted.forget, false);
	for (uint32_t i = 0; i < noted.nr; i++) {
		if (noted.entry[i].begin)
			mappings_missed();
		mapping_set(i, 0, 0, 0);
	}
	kf_store(&noted.nr, 0);
}

/*
 * Where the thread that has the entries never comes back, as it was cancelled
 * or left a signal handler by a jump, only the first one waits for it.
 */
static bool mappings_enter(void)
{
	int tries = kf_load(&noted.forget) ? 1 : MOST_YIELDS;

	for (int i = 0; i < tries; i++) {
		if (kf_claim(&noted.owner, kf_thread_self())) {
			if (unlikely(kf_load(&noted.forget)))
				mappings_forget();
			return true;
		}
		if (kf_load(&noted.owner) == kf_thread_self())
			break;
		kf_thread_yield();
	}
	kf_store(&noted.forget, true);
	return false;
}

static void mappings_leave(void)
{
	if (unlikely(kf_load(&noted.forget)))
		mappings_forget();
	kf_store_release(&noted.owner, 0);
}

static uint64_t mapping_length(uint32_t i)
{
	return noted.entry[i].end - noted.entry[i].begin;
}

/* An entry to use, or to use again for more bytes; NONE: all have more. */
static uint32_t mappings_find(uint64_t bytes)
{
	uint32_t least = 0;

	for (uint32_t i = 0; i < noted.nr; i++) {
		if (!noted.entry[i].begin)
			return i;
		if (mapping_length(i) < mapping_length(least))
			least = i;
	}
	if (noted.nr < KF_STATS_MAPPINGS) {
		kf_store(&noted.nr, noted.nr + 1);
		return noted.nr - 1;
	}
	mappings_missed();
	return mapping_length(least) < bytes ? least : NONE;
}

/* Joins the addresses, which no entry has, to a neighbour of the same stack. */
static bool mappings_join(const struct addresses *a, uint32_t stack)
{
	for (uint32_t i = 0; i < noted.nr; i++) {
		const struct kf_stats_mapping *e = &noted.entry[i];

		if (!e->begin || e->stack != stack)
			continue;
		if (e->end == a->begin) {
			mapping_set(i, e->begin, a->end, stack);
			return true;
		}
		if (e->begin == a->end) {
			mapping_set(i, a->begin, e->end, stack);
			return true;
		}
	}
	return false;
}

static void mappings_add(const struct addresses *a, uint32_t stack)
{
	uint32_t i;

	if (mappings_join(a, stack))
		return;
	i = mappings_find(a->end - a->begin);
	if (i != NONE)
		mapping_set(i, a->begin, a->end, stack);
}

/* What is left of an entry in front of the addresses, and behind them. */
static void mapping_cut(uint32_t i, const struct addresses *a)
{
	const struct kf_stats_mapping e = noted.entry[i];
	const struct addresses behind = {a->end, e.end};

	if (e.begin < a->begin)
		mapping_set(i, e.begin, a->begin, e.stack);
	else
		mapping_set(i, 0, 0, 0);
	if (e.end > a->end)
		mappings_add(&behind, e.stack);
}

/* Returns the stack of the entry that had most of the addresses; 0: none. */
static uint32_t mappings_cut(const struct addresses *a)
{
	uint32_t stack = 0;
	uint64_t most = 0;

	for (uint32_t i = 0; i < noted.nr; i++) {
		const struct kf_stats_mapping e = noted.entry[i];
		uint64_t begin = KF_MAX(e.begin, a->begin);
		uint64_t end = KF_MIN(e.end, a->end);

		if (!e.begin || begin >= end)
			continue;
		if (end - begin > most) {
			most = end - begin;
			stack = e.stack;
		}
		mapping_cut(i, a);
	}
	return stack;
}

/* Addresses that the kernel refuses are none. */
static bool mappings_range(const void *addr, size_t size, struct addresses *a)
{
	uint64_t top = KF_STATS_MAPPED_END;
	size_t page = kf_vm_page();

	a->begin = (uintptr_t)addr;
	if (!size || size > top || a->begin > top - KF_ALIGN_UP(size, page) ||
	    a->begin % page)
		return false;
	a->end = a->begin + KF_ALIGN_UP(size, page);
	return true;
}

/* Counts the walk, and tells whether there were few enough. */
static bool mappings_may_walk(void)
{
	uint64_t now = kf_now_coarse_ns(), since = kf_load(&noted.since);

	if (!since && kf_claim(&noted.since, now))
		since = now;
	return kf_fetch_add(&noted.walks, 1) <
	       KF_MAPPINGS_FIRST +
		       (now - KF_MIN(since, now)) / SECOND * KF_MAPPINGS_RATE;
}

uint32_t kf_mappings_stack(size_t size)
{
	uint32_t stack = 0;

	if (size < KF_MAPPINGS_LEAST || !kf_countdown_mean() ||
	    !kf_process_is_known())
		return 0;
	if (mappings_may_walk() && !kf_sample_mapper(&stack))
		return 0;
	if (stack)
		kf_stats_area_grow(KF_AREA_MAPPINGS, KF_STATS_MAPPINGS);
	else
		mappings_missed();
	return stack;
}

/* Whether the entries can be changed. */
static bool mappings_begin(const void *addr, size_t size, struct addresses *a)
{
	if (!mappings_range(addr, size, a))
		return false;
	if (kf_process_is_known())
		return mappings_enter();
	kf_store(&noted.forget, true);
	return false;
}

void kf_mappings_put(const void *addr, size_t size, uint32_t stack)
{
	struct addresses a;

	if (!stack && likely(!kf_load(&noted.nr)))
		return;
	if (mappings_begin(addr, size, &a)) {
		mappings_cut(&a);
		if (stack)
			mappings_add(&a, stack);
		mappings_leave();
	} else if (stack) {
		mappings_missed();
	}
}

uint32_t kf_mappings_take(const void *addr, size_t size)
{
	struct addresses a;
	uint32_t stack;

	if (likely(!kf_load(&noted.nr)) || !mappings_begin(addr, size, &a))
		return 0;
	stack = mappings_cut(&a);
	mappings_leave();
	return stack;
}

void kf_mappings_restart(void)
{
	kf_store(&noted.nr, 0);
	kf_store(&noted.forget, false);
	memset(noted.entry, 0, sizeof(noted.entry));
}

/* The copy was made at another time, when other threads went on. */
void kf_mappings_fork_child(void)
{
	bool busy = kf_load(&noted.owner);

	kf_store(&noted.owner, 0);
	kf_store(&noted.walks, 0);
	kf_store(&noted.since, 0);
	if (busy || kf_load(&noted.forget))
		mappings_forget();
	for (uint32_t i = 0; i < noted.nr; i++)
		mapping_show(i);
}
