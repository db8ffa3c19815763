/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The smallest engine: it hands out memory from one end of a piece to the
 * other and takes nothing back but the last block. Built as a shared object
 * for the tests; copy it to begin an engine of your own:
 *
 *	cc -shared -fPIC -o engine.so example.c
 *	KONFISCATOR_ENGINE=$PWD/engine.so konfiscator run -- PROG
 *
 * One thread at a time is in it, as it does not say KONF_ENGINE_THREADS: so it
 * needs no lock and no thought of forks.
 */
#include "konfiscator-engine.h"

#define PIECE ((size_t)4 << 20)
#define PAGE ((size_t)4096)

/* Before each block; as long as the least alignment. */
struct head {
	size_t usable;
	size_t unused;
};

static const struct konf_host *host;
static char *at, *end; /* what is left of the last piece */

static const char *init(const struct konf_host *services)
{
	host = services;
	return NULL;
}

static char *align_up(char *p, size_t align)
{
	return p + (-(uintptr_t)p & (align - 1));
}

/* What is left of the piece before is lost. */
static int more(size_t bytes)
{
	size_t size = (bytes + PIECE - 1) / PIECE * PIECE;
	char *piece = host->map(size, PAGE);

	if (!piece)
		return 0;
	at = piece;
	end = piece + size;
	return 1;
}

static struct head *head_of(const void *p)
{
	return (struct head *)p - 1;
}

static void *alloc(size_t size, size_t align)
{
	size_t room = (size + 15) / 16 * 16;
	char *p = align_up(at + sizeof(struct head), align);

	if (!at || p > end || room > (size_t)(end - p)) {
		if (!more(sizeof(struct head) + align + room))
			return NULL;
		p = align_up(at + sizeof(struct head), align);
	}
	at = p + room;
	head_of(p)->usable = room;
	return p;
}

static size_t usable_size(const void *p)
{
	return head_of(p)->usable;
}

static void release(void *p)
{
	if ((char *)p + usable_size(p) == at)
		at = p;
}

static void info(struct konf_engine_info *out)
{
	out->free = (size_t)(end - at);
	out->free_blocks = 1;
}

extern const struct konf_engine konf_engine;

const struct konf_engine konf_engine = {
	.version = KONF_ENGINE_VERSION,
	.size = sizeof(struct konf_engine),
	.name = "example",
	.alloc = alloc,
	.free = release,
	.usable_size = usable_size,
	.init = init,
	.info = info,
};
