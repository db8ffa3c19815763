/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records of samples: see sample.h.
 *
 * Records are in chunks that are mapped on demand and stay mapped. Free records
 * are on a lock-free stack (Treiber, 1986) whose head has a change counter, so
 * that a compare and swap fails where a head has come back (ABA). Records that
 * were never used are taken in order.
 */
#include "sample/sample.h"

#include "sample/countdown.h"
#include "sample/distance.h"
#include "sample/internal.h"
#include "sample/mappings.h"
#include "sample/trace.h"
#include "sample/walk.h"
#include "stats/stats.h"
#include "sys/process.h"
#include "sys/thread.h"
#include "sys/vm.h"

#include "probes/konfiscator-probes.h"

#include <string.h>

#define CHUNK_RECORDS 8192
#define NR_CHUNKS 4096

/* Written by the owner of the marked block; of free records @next, atomically.
 */
struct record {
	uint64_t bytes;
	uint64_t weight;
	uint64_t mean;
	uint64_t born;	/* CLOCK_MONOTONIC, ns */
	uint32_t stack; /* entry, or KF_TABLE_NONE */
	uint32_t tag;
	uint32_t next;	 /* next free record, counted from 1; 0: the last */
	uint32_t thread; /* that allocated: of sample_thread() */
	struct kf_place place;
};

/* Freed samples, so that a report of a double free has the call site. */
#define FREED_BITS 20
#define FREED_STACKS (((uint64_t)1 << FREED_BITS) - 1)

_Static_assert(KF_ADDRESS_BITS - 4 + FREED_BITS <= 64,
	       "address and stack fit in a word");

static uint64_t freed[256]; /* atomic */

static struct kf_sample_conf conf;

/* Low half: the first free record, counted from 1; high half: changes. */
static uint64_t free_head;		 /* atomic */
static uint32_t nr_used;		 /* records used ever; atomic */
static struct record *chunks[NR_CHUNKS]; /* atomic */

void kf_sample_init(const struct kf_sample_conf *from)
{
	conf = *from;
}

void kf_sample_restart(void)
{
	kf_store(&free_head, 0);
	kf_store(&nr_used, 0);
	kf_mappings_restart();
}

void kf_sample_fork_child(void)
{
	kf_walk_fork_child();
	kf_modules_fork_child();
	kf_mappings_fork_child();
}

void kf_sample_load(void)
{
	kf_modules_load(conf.stacks && kf_countdown_mean());
}

static struct record *sample_chunk_at(uint32_t i)
{
	size_t bytes = CHUNK_RECORDS * sizeof(struct record);
	struct record *chunk = kf_load_acquire(&chunks[i]);
	struct record *other = NULL;

	if (likely(chunk))
		return chunk;
	chunk = kf_vm_map(bytes, KF_PAGE);
	if (!chunk || kf_cas(&chunks[i], &other, chunk))
		return chunk;
	kf_vm_drop(chunk, bytes);
	return other;
}

/*
 * A number of the calling thread, counted from 1, that no later thread gets. In
 * a forked child its thread keeps the number.
 */
static uint32_t sample_thread(void)
{
	static uint32_t threads; /* atomic */
	static __thread uint32_t self;

	if (unlikely(!self))
		self = kf_fetch_add(&threads, 1) + 1;
	return self;
}

/* Only the coarse clock never needs a system call. */
static uint64_t sample_now(void)
{
	return kf_process_is_barred() ? kf_now_coarse_ns() : kf_now_ns();
}

/* The record of a number in use or on the stack of free records. */
static struct record *record_at(uint32_t nr)
{
	return &chunks[nr / CHUNK_RECORDS][nr % CHUNK_RECORDS];
}

static struct record *record_of(uint32_t mark)
{
	return record_at(mark & ~KF_SAMPLE_MARK);
}

static bool sample_pop(uint32_t *nr)
{
	uint64_t head = kf_load_acquire(&free_head);
	uint64_t rest;

	do {
		if (!(uint32_t)head)
			return false;
		*nr = (uint32_t)head - 1;
		rest = kf_load(&record_at(*nr)->next);
		rest |= ((head >> 32) + 1) << 32;
	} while (!kf_cas(&free_head, &head, rest));
	return true;
}

static void sample_push(uint32_t nr)
{
	struct record *r = record_at(nr);
	uint64_t head = kf_load(&free_head);
	uint64_t first;

	do {
		kf_store(&r->next, (uint32_t)head);
		first = ((head >> 32) + 1) << 32 | (nr + 1);
	} while (!kf_cas(&free_head, &head, first));
}

static bool take_record(uint32_t *nr)
{
	uint32_t used = kf_load(&nr_used);

	if (sample_pop(nr))
		return true;
	do {
		if (used == NR_CHUNKS * CHUNK_RECORDS ||
		    !sample_chunk_at(used / CHUNK_RECORDS))
			return false;
	} while (!kf_cas(&nr_used, &used, used + 1));
	*nr = used;
	return true;
}

static uint32_t take_stack(uint32_t tag, uint32_t flags)
{
	static const struct kf_walked none;
	struct kf_walked *stack;
	uint32_t entry;

	if (!conf.stacks)
		return KF_TABLE_NONE;
	kf_modules_begin();
	stack = kf_walk(conf.max_frames);
	if (!stack || !stack->nr)
		kf_word_add_atomic(KF_WORD_stacks_failed, 1);
	if (stack)
		stack->flags |= flags;
	else if (flags)
		return KF_TABLE_NONE;
	entry = kf_table_find(stack ? stack : &none, tag, conf.max_stacks);
	if (stack)
		kf_walk_done(stack);
	return entry;
}

/* A record for a block; NULL, which is counted: there is none. */
static struct record *sample_record(uint64_t bytes, uint64_t mean, uint32_t tag,
				    uint32_t *nr)
{
	struct record *r;

	if (!take_record(nr)) {
		kf_word_add_atomic(KF_WORD_sample_lost, 1);
		return NULL;
	}
	r = record_at(*nr);
	r->bytes = bytes;
	r->mean = mean;
	r->weight = mean ? kf_distance_weight(bytes, mean) : bytes;
	r->tag = tag;
	r->place = (struct kf_place){0};
	return r;
}

uint32_t kf_sample_take(uint64_t bytes, uint64_t mean, uint32_t tag)
{
	uint32_t nr;
	struct record *r = sample_record(bytes, mean, tag, &nr);

	if (!r)
		return 0;
	r->stack = take_stack(tag, 0);
	return nr | KF_SAMPLE_MARK;
}

uint32_t kf_sample_take_again(uint32_t old, uint64_t bytes, uint32_t tag)
{
	const struct record *from = record_of(old);
	uint32_t nr;
	struct record *r = sample_record(bytes, from->mean, tag, &nr);

	if (!r)
		return 0;
	r->stack = from->tag == tag ? from->stack : take_stack(tag, 0);
	return nr | KF_SAMPLE_MARK;
}

uint64_t kf_sample_realtime(uint32_t function, uint32_t why)
{
	uint32_t tag = why << KF_REALTIME_SHIFT |
		       (uint32_t)kf_process_tid() << 3 | function;
	uint32_t entry = take_stack(tag, KF_STACK_REALTIME);

	/* Entry 0 is of samples alone: what it would count is left out. */
	if (!entry || entry == KF_TABLE_NONE)
		return 0;
	kf_table_add(entry, 1, 1);
	kf_table_sub(entry, 1, 1);
	return kf_table_caller(entry);
}

uint32_t kf_sample_trace(const struct kf_trace *trace)
{
	static struct kf_walked stack; /* too large for a signal's stack */
	uint32_t entry;

	if (!trace->nr)
		return 0;
	stack.nr = trace->nr;
	stack.flags = trace->nr == KF_TRACE_FRAMES ? KF_STACK_CUT : 0;
	memcpy(stack.frame, trace->frame, trace->nr * sizeof(stack.frame[0]));
	kf_modules_begin();
	entry = kf_table_find(&stack, 0, conf.max_stacks);
	return entry == KF_TABLE_NONE ? 0 : entry;
}

/* The walk finds nothing below a signal handler, where nothing may wait. */
bool kf_sample_mapper(uint32_t *entry)
{
	struct kf_walked *stack;
	bool inside;

	*entry = 0;
	if (!conf.stacks)
		return true;
	kf_modules_begin();
	stack = kf_walk(conf.max_frames);
	if (!stack)
		return true;
	inside = kf_walk_is_inside(stack);
	if (stack->nr && !inside)
		*entry = kf_table_find_sparing(stack, conf.max_stacks);
	if (*entry == KF_TABLE_NONE)
		*entry = 0;
	kf_walk_done(stack);
	return !inside;
}

void kf_sample_drop(uint32_t mark)
{
	sample_push(mark & ~KF_SAMPLE_MARK);
}

/* What the stats file has of a sample. */
static struct kf_stats_sample sample_entry(const struct record *r,
					   const void *p)
{
	return (struct kf_stats_sample){
		.address = (uintptr_t)p,
		.bytes = r->bytes,
		.weight = r->weight,
		.born = r->born,
		.stack = r->stack,
	};
}

static void sample_came(uint32_t nr, struct record *r, const void *p)
{
	struct kf_stats_sample s;

	if (r->stack == KF_TABLE_NONE)
		return;
	r->born = sample_now();
	r->thread = sample_thread();
	s = sample_entry(r, p);
	kf_ages_came(nr, &s);
}

static void sample_gone(uint32_t nr, const struct record *r, const void *p)
{
	const struct kf_stats_sample s = sample_entry(r, p);

	if (r->stack != KF_TABLE_NONE)
		kf_ages_gone(nr, &s, sample_now(),
			     r->thread != sample_thread());
}

void kf_sample_gave(uint32_t mark, const void *p, size_t usable)
{
	struct record *r = record_of(mark);

	if (!r->mean)
		r->bytes = r->weight = usable;
	kf_word_add_atomic(KF_WORD_samples, 1);
	kf_word_add_atomic(KF_WORD_sample_live, r->weight);
	kf_word_add_atomic(KF_WORD_sample_variance,
			   kf_sample_variance(r->bytes, r->weight));
	kf_table_add(r->stack, r->bytes, r->weight);
	sample_came(mark & ~KF_SAMPLE_MARK, r, p);
	kf_probe_sample_alloc((uintptr_t)p, r->bytes, r->weight, r->tag);
	kf_probe_otel_memory_alloc((uintptr_t)p, r->bytes, r->weight);
}

/*
 * The word of a freed block: its address without the lowest four bits in the
 * upper part, and its stack, counted from 1, in the lower part.
 */
static uint64_t *freed_at(const void *p)
{
	return &freed[((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15 >> 56];
}

static void keep_freed(const void *p, uint32_t stack)
{
	if (stack < FREED_STACKS)
		kf_store(freed_at(p),
			 (uintptr_t)p >> 4 << FREED_BITS | (stack + 1));
}

static uint32_t find_freed(const void *p)
{
	uint64_t word = kf_load(freed_at(p));

	return word >> FREED_BITS == (uintptr_t)p >> 4
		       ? (uint32_t)(word & FREED_STACKS) - 1
		       : KF_TABLE_NONE;
}

void kf_sample_forget(uint32_t mark, const void *p)
{
	const struct record *r = record_of(mark);

	kf_probe_sample_free((uintptr_t)p, r->bytes, r->weight);
	kf_probe_otel_memory_free((uintptr_t)p);
	kf_word_add_atomic(KF_WORD_sample_live, -r->weight);
	kf_word_add_atomic(KF_WORD_sample_variance,
			   -kf_sample_variance(r->bytes, r->weight));
	kf_table_sub(r->stack, r->bytes, r->weight);
	sample_gone(mark & ~KF_SAMPLE_MARK, r, p);
	keep_freed(p, r->stack);
	sample_push(mark & ~KF_SAMPLE_MARK);
}

uint32_t kf_sample_tag(uint32_t mark)
{
	return record_of(mark)->tag;
}

uint64_t kf_sample_mean(uint32_t mark)
{
	return record_of(mark)->mean;
}

void kf_sample_set_place(uint32_t mark, const struct kf_place *place)
{
	record_of(mark)->place = *place;
}

const struct kf_place *kf_sample_place(uint32_t mark)
{
	uint32_t nr = mark & ~KF_SAMPLE_MARK;

	return nr < kf_load(&nr_used) ? &record_at(nr)->place : NULL;
}

void kf_sample_set_pinned(uint32_t mark, uint64_t parts)
{
	kf_ages_pinned(
		mark & ~KF_SAMPLE_MARK,
		(uint32_t)KF_MIN(parts, (uint64_t)KF_STATS_PINNED_UNKNOWN));
}

uint64_t kf_sample_site(uint32_t mark, const void *p)
{
	return kf_table_caller(mark & KF_SAMPLE_MARK ? record_of(mark)->stack
						     : find_freed(p));
}
