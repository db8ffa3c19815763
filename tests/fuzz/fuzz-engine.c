/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations on an engine, with an oracle that knows what must be where.
 *
 * The bytes are a program of allocations, sizes and frees. All blocks have a
 * pattern of their own, no two may overlap, a size does not change between
 * the calls that make it, and what is no block has to be refused. With the
 * default engine the program also changes threads: several take turns in one,
 * so that blocks are freed by others than their owner, threads end with blocks
 * of theirs on the way home, and others adopt what they left.
 */
#include "config.h"

#include "engines/host.h"
#include "engines/engine.h"
#include "heap/heap.h"
#include "stats/stats.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/pattern.h"

#define NR_BLOCKS 96
#define NR_THREADS 4
#define MOST_LIVE (64 * KF_MIB) /* bytes; none is asked for beyond it */
#define EXIT_ROUNDS 4		/* as in heap/arenas.c */

struct block {
	unsigned char *at; /* NULL: none */
	size_t usable;
	uint64_t key;
};

enum operation {
	OP_ALLOC,
	OP_ZEROED,
	OP_ALIGNED,
	OP_FREE,
	OP_RESIZE,
	OP_WRONG,
	OP_TRIM,
	OP_SCAVENGE,
	OP_THREAD,
	OP_END_THREAD,
	NR_OPS
};

static struct block blocks[NR_BLOCKS];
static size_t live;
static uint64_t last_key;
static struct kf_self selves[NR_THREADS]; /* of those that do not run */
static unsigned int thread;
static bool threads; /* the engine has heaps of threads */

/* A thread ends as often as its destructors may run. */
static void end_thread(void)
{
	for (int i = 0; i < EXIT_ROUNDS; i++)
		kf_heap_detach();
	kf_self = (struct kf_self)KF_SELF_NEW;
}

static void start(void)
{
	const struct kf_engine *engine = kf_engine_find(FUZZ_ENGINE);
	size_t usable;
	void *p;

	fuzz_require(engine, "no such engine");
	kf_stats_init();
	kf_host_init();
	threads = engine == kf_engine_find(NULL);
	if (!threads)
		fuzz_require(!kf_host_install(engine), "it does not stand");
	/* The first heap is its maker's whatever comes: nobody's here. */
	p = kf_host_alloc(1, 16, false, 0, &usable);
	fuzz_require(!kf_host_free(p, usable), "the first block is no block");
	if (threads)
		end_thread();
	for (int i = 0; i < NR_THREADS; i++)
		selves[i] = kf_self;
}

static void check(const struct block *b)
{
	fuzz_require(kf_host_usable(b->at) == b->usable,
		     "a block's size has changed");
	fuzz_require(pattern_holds(b->at, b->usable, b->key),
		     "a block's contents are damaged");
}

static void check_place(const struct block *b)
{
	for (int i = 0; i < NR_BLOCKS; i++) {
		const struct block *o = &blocks[i];

		fuzz_require(o == b || !o->at || o->at >= b->at + b->usable ||
				     b->at >= o->at + o->usable,
			     "two blocks overlap");
	}
}

static void fill(struct block *b)
{
	check_place(b);
	b->key = last_key += PATTERN_STEP;
	pattern_fill(b->at, b->usable, b->key);
	live += b->usable;
}

static void take(struct block *b, size_t size, size_t align, bool zeroed)
{
	size_t usable;

	if (live + size + align > MOST_LIVE)
		return;
	b->at = kf_host_alloc(size, align, zeroed, 0, &usable);
	fuzz_require(b->at, "there is no memory");
	b->usable = usable;
	fuzz_require(usable >= size, "a block is too small");
	fuzz_require((uintptr_t)b->at % align == 0, "a block is not aligned");
	fuzz_require(!zeroed || pattern_is_zero(b->at, size),
		     "a block is not zeroed");
	fill(b);
}

static void drop(struct block *b)
{
	check(b);
	fuzz_require(kf_host_free(b->at, b->usable) == KONF_FINE,
		     "a block is refused");
	live -= b->usable;
	b->at = NULL;
}

static void resize(struct block *b, size_t size)
{
	size_t kept = KF_MIN(size, b->usable) & ~(size_t)7;
	enum konf_misuse wrong = KONF_FINE;
	unsigned char *to;

	if (live + size > MOST_LIVE)
		return;
	check(b);
	to = kf_host_realloc(b->at, size, &wrong);
	fuzz_require(to && wrong == KONF_FINE, "a block is not resized");
	live -= b->usable;
	b->at = to;
	b->usable = kf_host_usable(to);
	fuzz_require(b->usable >= size, "a resized block is too small");
	fuzz_require(pattern_holds(to, kept, b->key),
		     "a resized block lost its contents");
	fill(b);
}

/* Inside of a block: never the begin of one. */
static void give_wrong(const struct block *b, size_t offset)
{
	unsigned char *p = b->at + 1 + offset % (b->usable - 1);
	enum konf_misuse wrong = KONF_FINE;
	size_t usable = kf_host_usable(p);

	fuzz_require(!usable, "what is inside a block has a size");
	fuzz_require(kf_host_free(p, usable) != KONF_FINE,
		     "what is inside a block is freed");
	fuzz_require(!kf_host_realloc(p, 100, &wrong) && wrong != KONF_FINE,
		     "what is inside a block is resized");
	check(b);
}

static void change_thread(unsigned int to)
{
	selves[thread] = kf_self;
	thread = to % NR_THREADS;
	kf_self = selves[thread];
}

/* Up to a bound that is any power of two; seldom a large one. */
static size_t size_of(struct fuzz_in *in)
{
	size_t bits = fuzz_number(in, 1);

	bits = bits < 240 ? 1 + bits % 12 : 1 + bits % 20;
	return 1 + fuzz_number(in, 3) % ((size_t)1 << bits);
}

static void on_none(struct block *b, struct fuzz_in *in, enum operation op)
{
	size_t size = size_of(in);
	size_t align = 16;

	if (op == OP_ALIGNED)
		align <<= fuzz_number(in, 1) % 10;
	take(b, size, align, op == OP_ZEROED);
}

static void on_block(struct block *b, struct fuzz_in *in, enum operation op)
{
	if (op == OP_RESIZE)
		resize(b, size_of(in));
	else if (op == OP_WRONG)
		give_wrong(b, fuzz_number(in, 3));
	else
		drop(b);
}

static void step(struct fuzz_in *in)
{
	enum operation op = (enum operation)(fuzz_number(in, 1) % NR_OPS);
	unsigned int which = (unsigned int)fuzz_number(in, 1);
	struct block *b = &blocks[which % NR_BLOCKS];

	/* Seldom: it gives back what the others are to find again. */
	if (op == OP_TRIM && which < 16)
		kf_host_trim(which);
	else if (op == OP_SCAVENGE)
		kf_heap_scavenge();
	else if (op == OP_THREAD && threads)
		change_thread(which);
	else if (op == OP_END_THREAD && threads)
		end_thread();
	else if (b->at)
		on_block(b, in, op);
	else
		on_none(b, in, op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;
	struct fuzz_in in = {data, size};

	if (!started)
		start();
	started = true;
	while (in.left)
		step(&in);
	for (int i = 0; i < NR_BLOCKS; i++) {
		if (blocks[i].at)
			drop(&blocks[i]);
	}
	fuzz_require(!live, "bytes are live that no block has");
	return 0;
}
