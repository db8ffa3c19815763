/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Guarded blocks: see guarded.h.
 *
 * Pages 0, 2, 4 and so on of the pool are between slots, page 2 i + 1 is that
 * of slot i.
 */
#include "heap/guarded.h"

#include "heap/marked.h"
#include "pages/pages.h"
#include "stats/stats.h"
#include "sys/process.h"

#include "probes/konfiscator-probes.h"

#include <string.h>

#define PATTERN 0xdb
#define MOST_PATTERN ((size_t)32) /* bytes behind a block */

struct kf_run kf_guarded_pool[2];

/* Constant once the pool is there, but for atomic members. */
static struct {
	unsigned int live; /* most at a time */
	unsigned int nr;   /* slots */
	void (*report)(struct kf_guarded_slot *slot, const void *at);
	uint64_t seed;
	uint64_t nr_drawn; /* atomic */
	uint64_t nr_freed; /* atomic */
	bool closed;	   /* freed pages are closed; atomic */
	bool admitted[2 * KF_GUARDED_MAX + 1]; /* pages; atomic */
} pool;

static struct kf_guarded_slot slots[KF_GUARDED_MAX];

_Static_assert(KF_RUN_BYTES == sizeof(kf_guarded_pool), "no slab's owner");

static char *page_at(unsigned int page)
{
	return kf_guarded_pool[0].start + ((size_t)page << KF_PAGE_SHIFT);
}

static unsigned int page_of(const void *p)
{
	size_t offset = (size_t)((const char *)p - kf_guarded_pool[0].start);

	return (unsigned int)(offset >> KF_PAGE_SHIFT);
}

static char *slot_page(const struct kf_guarded_slot *slot)
{
	return page_at(2 * (unsigned int)(slot - slots) + 1);
}

/* The slot of a page, or NULL: the page is between slots. */
static struct kf_guarded_slot *guarded_at(const void *p)
{
	unsigned int page = page_of(p);

	return page % 2 ? &slots[page / 2] : NULL;
}

static uint32_t slot_state(const struct kf_guarded_slot *slot)
{
	return kf_load_acquire(&slot->state);
}

bool kf_guarded_start(unsigned int live,
		      void (*report)(struct kf_guarded_slot *slot,
				     const void *at))
{
	struct kf_run *run = &kf_guarded_pool[0];
	size_t pages = 2 * (size_t)live * KF_GUARDED_SLOTS_EACH + 1;
	char *start = kf_vm_reserve(pages << KF_PAGE_SHIFT, KF_PAGE);

	if (!start)
		return false;
	pool.live = live;
	pool.nr = live * KF_GUARDED_SLOTS_EACH;
	pool.report = report;
	pool.seed = kf_process_random();
	run->kind = KF_RUN_GUARDED;
	run->nr_pages = (uint32_t)pages;
	/* pairs with the acquire of kf_guarded_holds() */
	kf_store_release(&run->start, start);
	if (kf_pages_enter_guarded(run))
		return true;
	kf_store(&run->start, NULL);
	kf_vm_drop(start, pages << KF_PAGE_SHIFT);
	return false;
}

unsigned int kf_guarded_nr_live(void)
{
	unsigned int live = 0;

	for (unsigned int i = 0; i < pool.nr; i++) {
		uint32_t state = slot_state(&slots[i]);

		live += state == KF_GUARDED_LIVE || state == KF_GUARDED_BUSY;
	}
	return live;
}

/*
 * Claim a slot that no block has used, or the one that was freed first. Another
 * thread may claim it before: then this block is not guarded.
 */
static struct kf_guarded_slot *slot_take(uint32_t *was)
{
	struct kf_guarded_slot *oldest = NULL;

	if (kf_guarded_nr_live() >= pool.live)
		return NULL;
	for (unsigned int i = 0; i < pool.nr; i++) {
		struct kf_guarded_slot *slot = &slots[i];
		uint32_t state = slot_state(slot);

		if (kf_load(&slot->told) ||
		    (state != KF_GUARDED_UNUSED && state != KF_GUARDED_FREED))
			continue;
		if (!oldest ||
		    kf_load(&slot->freed) < kf_load(&oldest->freed)) {
			oldest = slot;
			*was = state;
		}
	}
	return oldest && kf_cas(&oldest->state, was, KF_GUARDED_BUSY) ? oldest
								      : NULL;
}

/* A random bit: the generator is splitmix64 (Steele and others, 2014). */
static bool is_right(void)
{
	uint64_t x = pool.seed +
		     kf_fetch_add(&pool.nr_drawn, 1) * 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x >> 63;
}

/* The bytes behind a block that have the pattern. */
static size_t pattern_bytes(const struct kf_guarded_slot *slot)
{
	const char *end = slot->block + slot->asked;

	return KF_MIN((size_t)(slot_page(slot) + KF_PAGE - end), MOST_PATTERN);
}

/* The first byte behind a block that was written, or NULL. */
static const char *find_written(const struct kf_guarded_slot *slot)
{
	const char *end = slot->block + slot->asked;
	size_t nr = pattern_bytes(slot);

	for (size_t i = 0; i < nr; i++) {
		if ((unsigned char)end[i] != PATTERN)
			return end + i;
	}
	return NULL;
}

static void guarded_count(const struct kf_guarded_slot *slot, bool fresh)
{
	const struct kf_counters *c;

	/* A thread that only frees gets its counters with its heap. */
	kf_heap_get();
	c = kf_self.counters;
	kf_counters_add(c, &c->slot->class[0].mallocs, 1);
	kf_counters_stat(c, KF_SLOT_large_allocated, slot->asked);
	kf_pages_count_guarded(fresh ? slot_page(slot) : NULL, slot->asked);
	kf_probe_large_alloc((uintptr_t)slot->block, slot->asked);
}

void *kf_guarded_alloc(size_t size, size_t align, bool zeroed, uint32_t mark)
{
	uint32_t was;
	struct kf_guarded_slot *slot = slot_take(&was);
	char *page;

	if (!slot)
		return NULL;
	page = slot_page(slot);
	if (!kf_vm_commit(page, KF_PAGE)) {
		kf_store_release(&slot->state, was);
		return NULL;
	}
	slot->asked = size;
	slot->mark = mark;
	slot->block = page;
	if (is_right())
		slot->block += KF_ALIGN_DOWN(KF_PAGE - size, align);
	if (zeroed && was == KF_GUARDED_FREED)
		memset(slot->block, 0, size);
	memset(slot->block + size, PATTERN, pattern_bytes(slot));
	kf_trace_take(&slot->came, NULL);
	guarded_count(slot, was == KF_GUARDED_UNUSED);
	kf_store_release(&slot->state, KF_GUARDED_LIVE);
	return slot->block;
}

enum konf_misuse kf_guarded_check(const void *p)
{
	const struct kf_guarded_slot *slot = guarded_at(p);

	if (!slot || slot->block != p)
		return KONF_INVALID_POINTER;
	return slot_state(slot) == KF_GUARDED_LIVE ? KONF_FINE
						   : KONF_DOUBLE_FREE;
}

/* Close pages, unless the pool was opened meanwhile. */
static void hide_pages(char *from, size_t bytes)
{
	if (!kf_vm_hide(from, bytes))
		return;
	/* pairs with kf_guarded_open(): one of the two sees the other */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!kf_load(&pool.closed) && !kf_vm_commit(from, bytes))
		return;
}

/* Pages that are open after a fault stay so. */
static void slot_close(struct kf_guarded_slot *slot)
{
	if (!kf_load(&slot->told) && kf_load(&pool.closed))
		hide_pages(slot_page(slot), KF_PAGE);
}

static void guarded_uncount(const struct kf_guarded_slot *slot)
{
	const struct kf_counters *c;

	/* A thread that only frees gets its counters with its heap. */
	kf_heap_get();
	c = kf_self.counters;
	kf_counters_add(c, &c->slot->class[0].frees, 1);
	kf_counters_stat(c, KF_SLOT_large_freed, slot->asked);
	kf_pages_count_guarded(NULL, -slot->asked);
	kf_probe_large_free((uintptr_t)slot->block, slot->asked);
}

enum konf_misuse kf_guarded_free(void *p)
{
	struct kf_guarded_slot *slot = guarded_at(p);
	uint32_t live = KF_GUARDED_LIVE, mark;
	const char *written;

	if (!slot || slot->block != p)
		return KONF_INVALID_POINTER;
	if (!kf_cas(&slot->state, &live, KF_GUARDED_BUSY))
		return KONF_DOUBLE_FREE;
	mark = slot->mark;
	slot->mark = 0;
	if (mark)
		kf_mark_hooks.gone(p, slot->asked, mark, true);
	kf_trace_take(&slot->went, NULL);
	written = find_written(slot);
	guarded_uncount(slot);
	kf_store(&slot->freed, kf_fetch_add(&pool.nr_freed, 1) + 1);
	slot_close(slot);
	kf_store_release(&slot->state, KF_GUARDED_FREED);
	if (unlikely(written))
		pool.report(slot, written);
	return KONF_FINE;
}

size_t kf_guarded_usable(const void *p)
{
	return kf_guarded_check(p) ? 0 : guarded_at(p)->asked;
}

uint32_t *kf_guarded_mark(const void *p)
{
	return kf_guarded_check(p) ? NULL : &guarded_at(p)->mark;
}

void kf_guarded_each(void (*each)(uint32_t mark, uint64_t parts))
{
	for (unsigned int i = 0; i < KF_ARRAY_SIZE(slots); i++) {
		uint32_t mark = kf_load(&slots[i].mark);

		if (slot_state(&slots[i]) == KF_GUARDED_LIVE && mark)
			each(mark, 0);
	}
}

static bool slot_is(const struct kf_guarded_slot *slot, uint32_t state)
{
	return slot && slot_state(slot) == state;
}

/* Of two slots beside a page the nearer one that is in a state, or NULL. */
static struct kf_guarded_slot *nearer(const void *at, uint32_t state)
{
	unsigned int page = page_of(at);
	struct kf_guarded_slot *left = page ? &slots[page / 2 - 1] : NULL;
	struct kf_guarded_slot *right =
		page / 2 < pool.nr ? &slots[page / 2] : NULL;
	bool is_left = (uintptr_t)at % KF_PAGE < KF_PAGE / 2;

	left = slot_is(left, state) ? left : NULL;
	right = slot_is(right, state) ? right : NULL;
	if (left && right)
		return is_left ? left : right;
	return left ? left : right;
}

enum kf_guarded_fault kf_guarded_judge(const void *at,
				       struct kf_guarded_slot **slot)
{
	struct kf_guarded_slot *own = guarded_at(at);

	*slot = own;
	if (own)
		return own->block ? KF_GUARDED_AFTER_FREE : KF_GUARDED_WILD;
	*slot = nearer(at, KF_GUARDED_LIVE);
	if (*slot)
		return (const char *)at < (*slot)->block ? KF_GUARDED_UNDERFLOW
							 : KF_GUARDED_OVERFLOW;
	*slot = nearer(at, KF_GUARDED_FREED);
	return *slot ? KF_GUARDED_AFTER_FREE : KF_GUARDED_WILD;
}

struct kf_guarded_slot *kf_guarded_slot_of(const void *p)
{
	struct kf_guarded_slot *slot = guarded_at(p);

	return slot && slot_state(slot) != KF_GUARDED_UNUSED ? slot : NULL;
}

bool kf_guarded_tell(struct kf_guarded_slot *slot)
{
	return !__atomic_exchange_n(&slot->told, true, __ATOMIC_RELAXED);
}

bool kf_guarded_admit(const void *at, bool *first)
{
	unsigned int page = page_of(at);

	/* Another thread may have taken the slot since the access. */
	*first = !slot_is(guarded_at(at), KF_GUARDED_LIVE) &&
		 !__atomic_exchange_n(&pool.admitted[page], true,
				      __ATOMIC_RELAXED);
	return kf_vm_commit(page_at(page), KF_PAGE);
}

void kf_guarded_open(void)
{
	char *start = kf_guarded_pool[0].start;

	kf_store(&pool.closed, false);
	/* pairs with hide_pages() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!start || kf_vm_commit(start, kf_run_bytes(&kf_guarded_pool[0])))
		return;
	/* A kernel without memory for all of it may have enough for a part. */
	for (unsigned int i = 0; i < 2 * pool.nr + 1; i++) {
		if (!kf_vm_commit(page_at(i), KF_PAGE))
			continue;
	}
}

/* Whether to close a page. Its slot is claimed, so that no block gets it. */
static bool claim_page(unsigned int page)
{
	struct kf_guarded_slot *slot = page % 2 ? &slots[page / 2] : NULL;
	uint32_t state;

	if (kf_load(&pool.admitted[page]))
		return false;
	if (!slot)
		return true;
	state = slot_state(slot);
	return (state == KF_GUARDED_UNUSED || state == KF_GUARDED_FREED) &&
	       !kf_load(&slot->told) &&
	       kf_cas(&slot->state, &state, KF_GUARDED_BUSY);
}

/* Close pages from @first to before @end, which are claimed. */
static void close_pages(unsigned int first, unsigned int end)
{
	if (first < end)
		hide_pages(page_at(first), (size_t)(end - first)
						   << KF_PAGE_SHIFT);
	for (unsigned int i = first; i < end; i++) {
		struct kf_guarded_slot *slot = &slots[i / 2];

		if (i % 2)
			kf_store_release(&slot->state,
					 slot->block ? KF_GUARDED_FREED
						     : KF_GUARDED_UNUSED);
	}
}

void kf_guarded_close(void)
{
	unsigned int first = 0, end = 2 * pool.nr + 1;

	kf_store(&pool.closed, true);
	for (unsigned int i = 0; i < end; i++) {
		if (claim_page(i))
			continue;
		close_pages(first, i);
		first = i + 1;
	}
	close_pages(first, end);
}
