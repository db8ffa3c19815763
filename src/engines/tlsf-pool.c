/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two-level segregated fit: see tlsf-pool.h.
 */
#include "engines/tlsf-pool.h"

#include "base/bits.h"

/* Sizes below this have a list for each multiple of KF_TLSF_ALIGN. */
#define LINEAR_LOG2 9

_Static_assert(KF_TLSF_ALIGN *KF_TLSF_STEPS == (size_t)1 << LINEAR_LOG2,
	       "a step is not below the alignment");
_Static_assert(KF_TLSF_BLOCK_HEAD == KF_TLSF_ALIGN, "contents are aligned");
_Static_assert(2 * KF_TLSF_MAX == (size_t)1
					  << (KF_TLSF_POWERS + LINEAR_LOG2 - 1),
	       "every size has a list");

/*
 * The owners of two neighbours look at each other's flags without a lock,
 * where these do not change.
 */
static inline size_t get_head(const struct kf_tlsf_block *b)
{
	return __atomic_load_n(&b->head, __ATOMIC_RELAXED);
}

static inline void set_head(struct kf_tlsf_block *b, size_t head)
{
	__atomic_store_n(&b->head, head, __ATOMIC_RELAXED);
}

static inline size_t tlsf_pool_bytes_of(const struct kf_tlsf_block *b)
{
	return get_head(b) & ~KF_TLSF_FLAGS;
}

static inline struct kf_tlsf_block *behind(const struct kf_tlsf_block *b)
{
	return (struct kf_tlsf_block *)((uintptr_t)b + tlsf_pool_bytes_of(b));
}

static inline struct kf_tlsf_block *block_of(const void *p)
{
	return (struct kf_tlsf_block *)((uintptr_t)p - KF_TLSF_BLOCK_HEAD);
}

static inline void *contents(struct kf_tlsf_block *b)
{
	return &b->next;
}

/* Bytes of the block for a request; SIZE_MAX: none is as large. */
static inline size_t block_bytes(size_t size)
{
	size_t bytes = KF_ALIGN_UP(size + sizeof(void *), KF_TLSF_ALIGN);

	if (size > KF_TLSF_MAX)
		return SIZE_MAX;
	return KF_MAX(bytes, KF_TLSF_BLOCK_MIN);
}

/*
 * Bytes of a free block that surely holds it: what is before the aligned
 * place must be nothing or a block.
 */
static inline size_t wanted_bytes(size_t size, size_t align)
{
	size_t bytes = block_bytes(size);

	if (bytes == SIZE_MAX || align > KF_TLSF_MAX)
		return SIZE_MAX;
	return align <= KF_TLSF_ALIGN ? bytes : bytes + align + KF_TLSF_ALIGN;
}

/* A size up to the first one of a list, so that all of its blocks fit. */
static inline size_t list_bytes(size_t bytes)
{
	size_t step;

	if (bytes >> LINEAR_LOG2 == 0)
		return bytes;
	step = (size_t)1 << (kf_ilog2(bytes) - KF_TLSF_STEPS_LOG2);
	return KF_ALIGN_UP(bytes, step);
}

/* The list of a size: its power and its step. */
static inline unsigned int power_of(size_t bytes, unsigned int *step)
{
	unsigned int log2 = kf_ilog2(bytes | 1);

	if (log2 < LINEAR_LOG2) {
		*step = (unsigned int)(bytes / KF_TLSF_ALIGN);
		return 0;
	}
	*step = (unsigned int)(bytes >> (log2 - KF_TLSF_STEPS_LOG2)) &
		(KF_TLSF_STEPS - 1);
	return log2 - LINEAR_LOG2 + 1;
}

static void link_block(struct kf_tlsf *t, struct kf_tlsf_block *b)
{
	unsigned int step, power = power_of(tlsf_pool_bytes_of(b), &step);
	struct kf_tlsf_block **list = &t->list[power][step];

	b->prev = NULL;
	b->next = *list;
	if (*list)
		(*list)->prev = b;
	*list = b;
	t->powers |= (uint64_t)1 << power;
	t->steps[power] |= (uint32_t)1 << step;
	t->free += tlsf_pool_bytes_of(b);
	t->nr_free++;
}

static void unlink_block(struct kf_tlsf *t, struct kf_tlsf_block *b)
{
	unsigned int step, power = power_of(tlsf_pool_bytes_of(b), &step);

	if (b->next)
		b->next->prev = b->prev;
	if (b->prev)
		b->prev->next = b->next;
	else
		t->list[power][step] = b->next;
	if (!t->list[power][step])
		t->steps[power] &= ~((uint32_t)1 << step);
	if (!t->steps[power])
		t->powers &= ~((uint64_t)1 << power);
	t->free -= tlsf_pool_bytes_of(b);
	t->nr_free--;
}

/* The first block of the first list whose blocks are all large enough. */
static struct kf_tlsf_block *tlsf_pool_find(const struct kf_tlsf *t,
					    size_t bytes)
{
	unsigned int step, power = power_of(list_bytes(bytes), &step);
	uint64_t powers;
	uint32_t steps;

	if (power >= KF_TLSF_POWERS)
		return NULL;
	steps = t->steps[power] & (UINT32_MAX << step);
	if (!steps) {
		powers = t->powers & (UINT64_MAX << (power + 1));
		if (!powers)
			return NULL;
		power = (unsigned int)__builtin_ctzll(powers);
		steps = t->steps[power];
	}
	return t->list[power][__builtin_ctz(steps)];
}

/* Free what is in no list, with its neighbours. */
static void tlsf_pool_give(struct kf_tlsf *t, struct kf_tlsf_block *b)
{
	struct kf_tlsf_block *next = behind(b);
	size_t bytes = tlsf_pool_bytes_of(b);

	t->did.had = bytes;
	/* It stays in memory: a second free of the block finds it. */
	set_head(b, get_head(b) | KF_TLSF_FREE);
	if (get_head(next) & KF_TLSF_FREE) {
		unlink_block(t, next);
		bytes += tlsf_pool_bytes_of(next);
		t->did.merged++;
	}
	if (get_head(b) & KF_TLSF_BEFORE_FREE) {
		b = b->before;
		unlink_block(t, b);
		bytes += tlsf_pool_bytes_of(b);
		t->did.merged++;
	}
	set_head(b, bytes | KF_TLSF_FREE);
	next = behind(b);
	next->before = b;
	set_head(next, get_head(next) | KF_TLSF_BEFORE_FREE);
	link_block(t, b);
	t->did.run = b;
	t->did.has = bytes;
}

static void note_split(struct kf_tlsf *t, struct kf_tlsf_block *b, size_t kept,
		       size_t left_over)
{
	t->did.split[t->did.splits].run = b;
	t->did.split[t->did.splits].kept = kept;
	t->did.split[t->did.splits].left_over = left_over;
	t->did.splits++;
}

/* Free the end of a block in use, if it is enough for one. */
static void cut_end(struct kf_tlsf *t, struct kf_tlsf_block *b, size_t bytes)
{
	size_t rest = tlsf_pool_bytes_of(b) - bytes;
	struct kf_tlsf_block *end;

	if (rest < KF_TLSF_BLOCK_MIN)
		return;
	set_head(b, get_head(b) - rest);
	end = behind(b);
	set_head(end, rest);
	note_split(t, b, bytes, rest);
	tlsf_pool_give(t, end);
}

/* Free what is before the aligned place in a block that is in no list. */
static struct kf_tlsf_block *cut_front(struct kf_tlsf *t,
				       struct kf_tlsf_block *b, size_t align)
{
	uintptr_t first = (uintptr_t)contents(b);
	size_t front = KF_ALIGN_UP(first, align) - first;
	struct kf_tlsf_block *rest;

	if (!front)
		return b;
	if (front < KF_TLSF_BLOCK_MIN)
		front += align;
	rest = (struct kf_tlsf_block *)((char *)b + front);
	set_head(rest, tlsf_pool_bytes_of(b) - front);
	set_head(b, front);
	note_split(t, b, tlsf_pool_bytes_of(rest), front);
	tlsf_pool_give(t, b);
	return rest;
}

static void tlsf_pool_begin(struct kf_tlsf *t)
{
	t->did.splits = 0;
	t->did.merged = 0;
}

void *kf_tlsf_alloc(struct kf_tlsf *t, size_t size, size_t align)
{
	size_t bytes = wanted_bytes(size, align);
	struct kf_tlsf_block *b;

	tlsf_pool_begin(t);
	b = bytes == SIZE_MAX ? NULL : tlsf_pool_find(t, bytes);
	if (!b)
		return NULL;
	unlink_block(t, b);
	set_head(b, tlsf_pool_bytes_of(b));
	set_head(behind(b), get_head(behind(b)) & ~KF_TLSF_BEFORE_FREE);
	if (align > KF_TLSF_ALIGN)
		b = cut_front(t, b, align);
	cut_end(t, b, block_bytes(size));
	return contents(b);
}

void kf_tlsf_free(struct kf_tlsf *t, void *p)
{
	tlsf_pool_begin(t);
	tlsf_pool_give(t, block_of(p));
}

bool kf_tlsf_resize(struct kf_tlsf *t, void *p, size_t size)
{
	struct kf_tlsf_block *b = block_of(p);
	struct kf_tlsf_block *next = behind(b);
	size_t bytes = block_bytes(size);

	tlsf_pool_begin(t);
	if (bytes > tlsf_pool_bytes_of(b)) {
		if (!(get_head(next) & KF_TLSF_FREE) ||
		    bytes > tlsf_pool_bytes_of(b) + tlsf_pool_bytes_of(next))
			return false;
		unlink_block(t, next);
		set_head(b, get_head(b) + tlsf_pool_bytes_of(next));
		next = behind(b);
		set_head(next, get_head(next) & ~KF_TLSF_BEFORE_FREE);
	}
	cut_end(t, b, bytes);
	return true;
}

size_t kf_tlsf_usable(const void *p)
{
	return tlsf_pool_bytes_of(block_of(p)) - sizeof(void *);
}

static struct kf_tlsf_block *first_of(const struct kf_tlsf_pool *pool)
{
	return (struct kf_tlsf_block *)pool->start;
}

void *kf_tlsf_make(void *mem, size_t bytes, struct kf_tlsf_pool *pool)
{
	struct kf_tlsf_block *b, *last;

	bytes = KF_ALIGN_DOWN(bytes, KF_TLSF_ALIGN);
	pool->start = mem;
	pool->end = pool->start + bytes - KF_TLSF_BLOCK_HEAD;
	b = first_of(pool);
	last = (struct kf_tlsf_block *)pool->end;
	set_head(b, bytes - KF_TLSF_BLOCK_HEAD);
	set_head(last, 0);
	return contents(b);
}

void kf_tlsf_adopt(struct kf_tlsf *t, const struct kf_tlsf_pool *pool)
{
	t->bytes += (size_t)(pool->end - pool->start);
}

bool kf_tlsf_add(struct kf_tlsf *t, void *mem, size_t bytes,
		 struct kf_tlsf_pool *pool)
{
	uintptr_t start = KF_ALIGN_UP((uintptr_t)mem, KF_TLSF_ALIGN);
	size_t lost = start - (uintptr_t)mem;

	if (bytes < lost + KF_TLSF_POOL_MIN || bytes >= 2 * KF_TLSF_MAX)
		return false;
	tlsf_pool_begin(t);
	kf_tlsf_make((void *)start, bytes - lost, pool);
	kf_tlsf_adopt(t, pool);
	tlsf_pool_give(t, first_of(pool));
	return true;
}

bool kf_tlsf_is_empty(const struct kf_tlsf_pool *pool)
{
	const struct kf_tlsf_block *b = first_of(pool);

	return get_head(b) & KF_TLSF_FREE &&
	       (const char *)behind(b) == pool->end;
}

void kf_tlsf_remove(struct kf_tlsf *t, const struct kf_tlsf_pool *pool)
{
	unlink_block(t, first_of(pool));
	t->bytes -= (size_t)(pool->end - pool->start);
}

size_t kf_tlsf_need(size_t size, size_t align)
{
	size_t bytes = wanted_bytes(size, align);

	if (bytes >= 2 * KF_TLSF_MAX)
		return SIZE_MAX;
	return list_bytes(bytes) + KF_TLSF_BLOCK_HEAD;
}

enum kf_tlsf_is kf_tlsf_look(const struct kf_tlsf_pool *pool, const void *p)
{
	uintptr_t first = (uintptr_t)pool->start + KF_TLSF_BLOCK_HEAD;
	uintptr_t end = (uintptr_t)pool->end;
	uintptr_t here = (uintptr_t)p;
	const struct kf_tlsf_block *b;

	if (here % KF_TLSF_ALIGN || here < first || here >= end)
		return KF_TLSF_IS_NONE;
	b = block_of(p);
	if (tlsf_pool_bytes_of(b) < KF_TLSF_BLOCK_MIN ||
	    tlsf_pool_bytes_of(b) > end - (uintptr_t)b ||
	    (get_head(b) & KF_TLSF_FLAGS &
	     ~(KF_TLSF_FREE | KF_TLSF_BEFORE_FREE)))
		return KF_TLSF_IS_NONE;
	if (get_head(b) & KF_TLSF_FREE)
		return KF_TLSF_IS_FREE;
	if (get_head(behind(b)) & KF_TLSF_BEFORE_FREE)
		return KF_TLSF_IS_NONE;
	return KF_TLSF_IS_USED;
}
