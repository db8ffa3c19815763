/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Distinct stacks: the stats file's table, and a private index for the search.
 *
 * Entries are taken in order and stay; entry 0 is for all stacks that find no
 * free entry. The index uses open addressing, with at least twice as many words
 * as entries. It has two parts: the first few hundred stacks are in the first,
 * so that a program with few writes to one page. An entry that another process
 * damaged in the file is only not found again. A thread fills an entry before
 * it stores it in the index with one compare and swap; of two threads that make
 * the same entry at once, the loser leaves its entry for the next stack.
 *
 * An entry has the innermost frames. The others are a path in the tree of
 * frames.c; that two deep stacks are the same is told by their hashes.
 */
#include "sample/internal.h"

#include "base/bits.h"
#include "stats/stats.h"
#include "sys/process.h"
#include "sys/vm.h"

#include <string.h>

/* Words of the index's first part, half of which are used. */
#define FIRST_WORDS 1024

/* The index; @word is stored last. */
static struct {
	uint32_t *word; /* entries; 0: none; each atomic */
	uint32_t nr;	/* of words of the second part, a power of two; constant
			   once set; atomic */
	uint32_t taken; /* entries taken, without entry 0; atomic */
	uint32_t spare; /* an entry that was given back, or 0; atomic */
} table;

/* The lowest bits are the generation. */
static uint64_t table_hash_of(const struct kf_walked *stack, uint32_t tag,
			      uint32_t generation)
{
	uint64_t hash = ((uint64_t)tag << 8 | stack->flags) + stack->nr;

	for (uint32_t i = 0; i < stack->nr; i++) {
		hash = (hash ^ stack->frame[i]) * 0xff51afd7ed558ccdULL;
		hash ^= hash >> 32;
	}
	hash >>= KF_GENERATION_BITS;
	/* 0 is the hash of a free entry, 1 that of entry 0. */
	return KF_MAX(hash, (uint64_t)1) << KF_GENERATION_BITS | generation;
}

static struct kf_stats_stack *entry_at(uint32_t i)
{
	uint32_t nr;
	struct kf_stats_stack *base = kf_stats_area(KF_AREA_STACKS, &nr);

	return i < nr ? &base[i] : NULL;
}

static uint32_t *make_index(uint32_t max)
{
	size_t nr = kf_pow2_up(2 * ((size_t)max + 1));
	size_t bytes =
		KF_ALIGN_UP((FIRST_WORDS + nr) * sizeof(uint32_t), KF_PAGE);
	struct kf_stats_stack *all = kf_stats_area_grow(KF_AREA_STACKS, 1);
	uint32_t *word, *other = NULL;

	word = all ? kf_vm_map(bytes, KF_PAGE) : NULL;
	if (!word)
		return NULL;
	/* each thread stores the same number */
	kf_store(&table.nr, (uint32_t)nr);
	kf_store(&all->flags, KF_STACK_OVERFLOW);
	kf_store_release(&all->hash, 1);
	if (kf_cas(&table.word, &other, word))
		return word;
	kf_vm_drop(word, bytes);
	return other;
}

/* The frames of a stack that are in its entry. */
static uint32_t table_nr_inner(const struct kf_walked *stack)
{
	return KF_MIN(stack->nr, (uint32_t)KF_STATS_STACK_FRAMES);
}

static bool table_is_same(const struct kf_stats_stack *e, uint64_t hash,
			  const struct kf_walked *stack, uint32_t tag)
{
	return kf_load(&e->hash) == hash && e->tag == tag &&
	       !(kf_load(&e->flags) & KF_STACK_INHERITED) &&
	       e->nr_frames == table_nr_inner(stack) &&
	       !memcmp(e->frame, stack->frame,
		       e->nr_frames * sizeof(stack->frame[0]));
}

/* A free entry; 0: all are taken. */
static uint32_t table_take_entry(uint32_t max)
{
	uint32_t i = __atomic_exchange_n(&table.spare, 0, __ATOMIC_ACQUIRE);

	if (i)
		return i;
	i = kf_load(&table.taken);
	do {
		if (i == max || !kf_stats_area_grow(KF_AREA_STACKS, i + 2))
			return 0;
	} while (!kf_cas(&table.taken, &i, i + 1));
	return i + 1;
}

/* Where there is a spare entry already, that one is lost. */
static void table_give_back(uint32_t i)
{
	kf_store(&entry_at(i)->hash, 0);
	kf_store_release(&table.spare, i);
}

static uint32_t table_flags(const struct kf_walked *stack, uint32_t max)
{
	uint32_t inner = table_nr_inner(stack);
	uint32_t outer;

	if (inner == stack->nr)
		return stack->flags;
	outer = kf_frames_intern(&stack->frame[inner], stack->nr - inner, max);
	return KF_STACK_CUT | outer << KF_STACK_OUTER_SHIFT |
	       (outer ? 0 : KF_STACK_NO_OUTER) |
	       (stack->flags & KF_STACK_CUT ? KF_STACK_OUTER_CUT : 0) |
	       (stack->flags &
		(KF_STACK_NO_TABLES | KF_STACK_NO_CALLS | KF_STACK_REALTIME));
}

static void table_fill(uint32_t i, uint64_t hash, const struct kf_walked *stack,
		       uint32_t tag, uint32_t max)
{
	struct kf_stats_stack *e = entry_at(i);
	uint32_t inner = table_nr_inner(stack);

	e->nr_frames = inner;
	e->flags = table_flags(stack, max);
	e->tag = tag;
	e->tid = kf_process_tid();
	memcpy(e->frame, stack->frame, inner * sizeof(stack->frame[0]));
	/* readers in other processes: an entry with a hash is whole */
	kf_store_release(&e->hash, hash);
}

static uint32_t *table_probe(uint32_t *word, uint32_t nr, uint64_t hash,
			     const struct kf_walked *stack, uint32_t tag,
			     uint32_t *found)
{
	uint32_t mask = nr - 1;

	for (uint64_t i = hash >> KF_GENERATION_BITS;; i++) {
		uint32_t *w = &word[i & mask];

		*found = kf_load_acquire(w);
		if (!*found ||
		    table_is_same(entry_at(*found), hash, stack, tag))
			return w;
	}
}

/* The word of a stack in the index, or the free word for it. */
static uint32_t *place_of(uint32_t *word, uint64_t hash,
			  const struct kf_walked *stack, uint32_t tag,
			  uint32_t *found)
{
	uint32_t *w = table_probe(word, FIRST_WORDS, hash, stack, tag, found);

	if (*found || kf_load(&table.taken) < FIRST_WORDS / 2)
		return w;
	return table_probe(word + FIRST_WORDS, kf_load(&table.nr), hash, stack,
			   tag, found);
}

/* @new: new entries are made until so many are taken; @max at most */
static uint32_t search(uint32_t *word, const struct kf_walked *stack,
		       uint32_t tag, uint32_t max, uint32_t new)
{
	uint32_t mine, found, generation = kf_modules_generation(stack);
	uint64_t hash = table_hash_of(stack, tag, generation);
	uint32_t *w = place_of(word, hash, stack, tag, &found);

	if (found) {
		kf_modules_retry();
		return found;
	}
	/* Its modules come first: they may have others' addresses. */
	kf_modules_note(stack);
	generation = kf_modules_generation(stack);
	hash = table_hash_of(stack, tag, generation);
	w = place_of(word, hash, stack, tag, &found);
	if (found)
		return found;
	mine = kf_load(&table.taken) <= new ? table_take_entry(max) : 0;
	if (!mine)
		return 0;
	table_fill(mine, hash, stack, tag, max);
	while (!found && !kf_claim(w, mine))
		w = place_of(word, hash, stack, tag, &found);
	if (!found)
		return mine;
	table_give_back(mine);
	return found;
}

static uint32_t table_find(const struct kf_walked *stack, uint32_t tag,
			   uint32_t max, uint32_t new)
{
	uint32_t *word = kf_load_acquire(&table.word);

	if (unlikely(!word))
		word = make_index(max);
	if (unlikely(!word))
		return KF_TABLE_NONE;
	return search(word, stack, tag, max, new);
}

uint32_t kf_table_find(const struct kf_walked *stack, uint32_t tag,
		       uint32_t max)
{
	return table_find(stack, tag, max, max);
}

uint32_t kf_table_find_sparing(const struct kf_walked *stack, uint32_t max)
{
	return table_find(stack, 0, max, max / 2);
}

uint64_t kf_sample_blocks(uint64_t bytes, uint64_t weight)
{
	return (weight * KF_STATS_BLOCK_PARTS + bytes / 2) / bytes;
}

uint64_t kf_sample_variance(uint64_t bytes, uint64_t weight)
{
	return (uint64_t)((double)weight * (double)(weight - bytes) /
				  KF_STATS_VARIANCE_UNIT +
			  0.5);
}

static uint64_t table_add(uint64_t *word, uint64_t n)
{
	return __atomic_add_fetch(word, n, __ATOMIC_RELAXED);
}

static void raise(uint64_t *peak, uint64_t level)
{
	uint64_t old = kf_load(peak);

	while (level > old && !kf_cas(peak, &old, level))
		;
}

void kf_table_add(uint32_t entry, uint64_t bytes, uint64_t weight)
{
	struct kf_stats_stack *e = entry_at(entry);
	uint64_t has;

	if (!e)
		return;
	table_add(&e->samples, 1);
	table_add(&e->variance, kf_sample_variance(bytes, weight));
	has = table_add(&e->allocated, weight);
	raise(&e->peak, has - kf_load(&e->freed));
	has = table_add(&e->allocated_blocks, kf_sample_blocks(bytes, weight));
	raise(&e->peak_blocks, has - kf_load(&e->freed_blocks));
}

void kf_table_sub(uint32_t entry, uint64_t bytes, uint64_t weight)
{
	struct kf_stats_stack *e = entry_at(entry);

	if (!e)
		return;
	table_add(&e->freed_samples, 1);
	table_add(&e->freed_variance, kf_sample_variance(bytes, weight));
	table_add(&e->freed, weight);
	table_add(&e->freed_blocks, kf_sample_blocks(bytes, weight));
}

uint64_t kf_table_caller(uint32_t entry)
{
	const struct kf_stats_stack *e = entry_at(entry);

	return e && e->nr_frames && !(e->frame[0] & KF_STATS_CALL) ? e->frame[0]
								   : 0;
}
