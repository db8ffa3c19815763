/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An engine outside of the library with all that the contract has: threads are
 * in it at any time, its memory is its own, it knows its blocks and refuses
 * others, and it allocates by malloc itself while it is initialised. Each
 * block is a mapping; freed ones are kept by the power of two of their size.
 *
 * As its name says what it is to do wrong, it serves for the errors too: see
 * Makemodule.am.
 */
#define _GNU_SOURCE
#include "konfiscator-engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef VERSION
#define VERSION KONF_ENGINE_VERSION
#endif
#ifndef SIZE
#define SIZE sizeof(struct konf_engine)
#endif
#ifndef NAME
#define NAME "outside"
#endif
#ifndef FLAGS
#define FLAGS 0
#endif
#ifndef WHY
#define WHY NULL
#endif

#define MARK 0x6f75747369646521 /* "outside!" */
#define NR_KINDS 48

/* Before each block, at a page's begin or behind the alignment's gap. */
struct head {
	uint64_t mark;
	size_t usable;
	char *base;  /* of the mapping */
	size_t bits; /* of its size */
	struct head *next;
	uint64_t unused[3];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct head *kept[NR_KINDS];
static size_t held;
static void *early;

static const char *init(const struct konf_host *host)
{
	if (host->version != KONF_ENGINE_VERSION)
		return "the library is of another version";
	/* The default engine serves yet, and takes it back later. */
	early = malloc(1000);
	return WHY;
}

static struct head *head_of(const void *p)
{
	return (struct head *)p - 1;
}

static struct head *take_kept(size_t bits)
{
	struct head *head;

	pthread_mutex_lock(&lock);
	head = kept[bits];
	if (head)
		kept[bits] = head->next;
	pthread_mutex_unlock(&lock);
	return head;
}

static struct head *take(size_t size)
{
	size_t bits = 12;
	struct head *head;
	void *map;

	while (bits < NR_KINDS && ((size_t)1 << bits) < size)
		bits++;
	if (bits == NR_KINDS)
		return NULL;
	head = take_kept(bits);
	if (head)
		return head;
	map = mmap(NULL, (size_t)1 << bits, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	__atomic_fetch_add(&held, (size_t)1 << bits, __ATOMIC_RELAXED);
	head = map;
	head->base = map;
	head->bits = bits;
	return head;
}

static void *alloc(size_t size, size_t align)
{
	struct head *head = take(size + align + sizeof(struct head));
	size_t bits;
	char *base, *p;

	if (!head)
		return NULL;
	base = head->base;
	bits = head->bits;
	p = base + sizeof(struct head);
	p += -(uintptr_t)p & (align - 1);
	*head_of(p) = (struct head){
		.mark = MARK,
		.usable = (size_t)(base + ((size_t)1 << bits) - p),
		.base = base,
		.bits = bits,
	};
	return p;
}

static void release(void *p)
{
	struct head *old = head_of(p), *head = (struct head *)old->base;
	size_t bits = old->bits;

	old->mark = 0;
	*head = (struct head){.base = (char *)head, .bits = bits};
	pthread_mutex_lock(&lock);
	head->next = kept[bits];
	kept[bits] = head;
	pthread_mutex_unlock(&lock);
	/* Given back by this engine's malloc to the engine that it came from */
	free(__atomic_exchange_n(&early, NULL, __ATOMIC_RELAXED));
}

static size_t usable_size(const void *p)
{
	return head_of(p)->mark == MARK ? head_of(p)->usable : 0;
}

static enum konf_misuse check(const void *p)
{
	if ((uintptr_t)p % 16)
		return KONF_INVALID_POINTER;
	return head_of(p)->mark == MARK ? KONF_FINE : KONF_DOUBLE_FREE;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

extern const struct konf_engine konf_engine;

const struct konf_engine konf_engine = {
	.version = VERSION,
	.size = SIZE,
	.flags = KONF_ENGINE_THREADS | KONF_ENGINE_ELSEWHERE | FLAGS,
	.name = NAME,
#ifndef NO_ALLOC
	.alloc = alloc,
#endif
#ifndef NO_FREE
	.free = release,
#endif
#ifndef NO_USABLE_SIZE
	.usable_size = usable_size,
#endif
	.init = init,
	.check = check,
	.fork_prepare = before_fork,
	.fork_parent = after_fork,
	.fork_child = after_fork,
};
