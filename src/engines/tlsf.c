/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The engine tlsf: blocks in bounded time, from pools that stay.
 *
 * How blocks are found, split and merged is tlsf-pool.h's. Here are the pools:
 * the first is taken at start; where none serves a request more are added, each
 * twice the one before, until one does. malloc_trim() gives those of them back
 * that are empty, and of the first one the pages.
 *
 * One call at a time is in here (the host sees to it) but for tlsf_check() and
 * tlsf_usable_size(), which find a block's pool by the address map.
 */
#include "engines/tlsf.h"

#include "base/list.h"
#include "base/text.h"
#include "engines/engine.h"
#include "engines/tlsf-pool.h"
#include "pages/map.h"
#include "stats/stats.h"

#include "probes/konfiscator-probes.h"

#include <string.h>

#define SMALLEST_POOL ((size_t)64 * KF_KIB) /* that is tried at start */
#define LARGEST_POOL (KF_GIB << 10) /* as the address map grows with it */
#define HEADS_AT_ONCE 512	    /* blocks; see count_heads() */

/*
 * The head of a pool, before its first block. @run is what the address map
 * has for the pool's granules; the line behind it stays zero, so that no heap
 * ever owns it. All but @fresh and @link is constant.
 */
struct pool {
	struct kf_run run;
	uint64_t engine_part[KF_CACHE_LINE / 8];
	struct kf_tlsf_pool bounds;
	char *fresh; /* no block ever went beyond, nor a head of ours */
	size_t mapped;
	struct kf_list link;
};

_Static_assert(sizeof(struct pool) % KF_TLSF_ALIGN == 0, "blocks are aligned");

struct kf_tlsf_conf kf_tlsf_conf = {
	.initial = 100 * KF_MIB,
	.additional = 100 * KF_MIB,
};

static struct {
	struct kf_tlsf tlsf;
	const struct konf_host *host;
	struct kf_list pools; /* oldest first */
	struct pool *first;   /* that stays, or NULL */
	int heads;	      /* blocks that count_heads() has not counted */
	bool told_unlocked;   /* that pools could not be locked */
} state = {
	.pools = KF_LIST_INIT(state.pools),
};

/* A line of words and numbers. */
static void tlsf_say(const char *before, size_t bytes, const char *after)
{
	char buf[160];
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf));
	kf_text_str(&text, "tlsf ");
	kf_text_str(&text, before);
	kf_text_u64(&text, bytes);
	kf_text_str(&text, after);
	state.host->say(buf);
}

static struct pool *pool_of(const void *p)
{
	struct kf_run *run = kf_map_get(p);

	return run->kind == KF_RUN_POOL ? kf_container_of(run, struct pool, run)
					: NULL;
}

static size_t mapping_bytes(size_t bytes)
{
	return KF_ALIGN_UP(sizeof(struct pool) + bytes, kf_vm_page());
}

static struct pool *map_pool(size_t bytes)
{
	size_t mapped = mapping_bytes(bytes);
	struct pool *pool;

	if (bytes > LARGEST_POOL)
		return NULL;
	pool = kf_engine_map(mapped, KF_GRANULE);
	if (!pool)
		return NULL;
	pool->run.start = (char *)pool;
	pool->run.kind = KF_RUN_POOL;
	pool->mapped = mapped;
	if (!kf_map_set(pool, mapped, &pool->run)) {
		kf_engine_unmap(pool, mapped);
		return NULL;
	}
	return pool;
}

/* Bytes of a pool's mapping that are in no block. */
static size_t own_bytes(const struct pool *pool)
{
	return pool->mapped - (size_t)(pool->bounds.end - pool->bounds.start);
}

static void prefault(struct pool *pool, size_t bytes)
{
	size_t mapped = mapping_bytes(bytes);

	if (kf_vm_lock(pool, mapped) == 0)
		return;
	if (!state.told_unlocked)
		tlsf_say(
			"pool of ", bytes,
			" bytes: cannot be locked in memory, ulimit -l allows less");
	state.told_unlocked = true;
	if (!kf_vm_populate(pool, mapped))
		tlsf_say("pool of ", bytes,
			 " bytes: only a part of it has memory");
}

static void unmap_pool(struct pool *pool)
{
	size_t mapped = pool->mapped;

	kf_map_clear(pool, mapped);
	kf_engine_unmap(pool, mapped);
}

/* Returns false if @bytes are too few or too many; the memory is unmapped. */
static bool add_pool(struct pool *pool, size_t bytes)
{
	if (!kf_tlsf_add(&state.tlsf, pool + 1, bytes, &pool->bounds)) {
		unmap_pool(pool);
		return false;
	}
	if (kf_tlsf_conf.prefault)
		prefault(pool, bytes);
	pool->fresh = pool->bounds.start + KF_TLSF_BLOCK_MIN;
	kf_list_add_tail(&pool->link, &state.pools);
	kf_word_add_atomic(KF_WORD_heaps, 1);
	kf_word_add_atomic(KF_WORD_metadata, own_bytes(pool));
	return true;
}

static void tlsf_drop(struct pool *pool)
{
	kf_tlsf_remove(&state.tlsf, &pool->bounds);
	kf_list_del(&pool->link);
	kf_word_add_atomic(KF_WORD_heaps, -1);
	kf_word_add_atomic(KF_WORD_metadata, -own_bytes(pool));
	unmap_pool(pool);
}

/* Give back the pages of a pool that stays, but for its only block's ends. */
static size_t tlsf_purge(struct pool *pool)
{
	uintptr_t start = (uintptr_t)pool->bounds.start + KF_TLSF_BLOCK_MIN;
	char *from = (char *)KF_ALIGN_UP(start, KF_PAGE);
	char *end = pool->bounds.end;
	char *to = (char *)KF_ALIGN_DOWN((uintptr_t)end, KF_PAGE);

	if (kf_tlsf_conf.prefault || pool->fresh <= from || from >= to ||
	    !kf_vm_purge(from, (size_t)(to - from)))
		return 0;
	memset(to, 0, (size_t)(end - to));
	pool->fresh = from;
	return (size_t)(to - from);
}

/* Pools without a block in use go back. */
static size_t tlsf_trim(size_t pad)
{
	struct kf_list *pos, *next;
	size_t bytes = 0;

	kf_list_for_each_safe(pos, next, &state.pools) {
		struct pool *pool = kf_container_of(pos, struct pool, link);

		if (!kf_tlsf_is_empty(&pool->bounds))
			continue;
		if (pool == state.first) {
			bytes += tlsf_purge(pool);
			continue;
		}
		bytes += pool->mapped;
		tlsf_drop(pool);
	}
	return bytes;
}

static bool add_more(struct pool *pool, size_t bytes, size_t wanted)
{
	if (!add_pool(pool, bytes))
		return false;
	tlsf_say("pools exhausted: ", bytes, " bytes added");
	kf_probe_pool_grow((uintptr_t)pool, bytes, wanted);
	return true;
}

/* The largest pool that the kernel gives, of halves down to @least. */
static struct pool *map_some(size_t *bytes, size_t least)
{
	struct pool *pool = map_pool(*bytes);

	while (!pool && *bytes > least) {
		*bytes = KF_MAX(*bytes / 2, least);
		pool = map_pool(*bytes);
	}
	return pool;
}

/*
 * Double until a pool serves the request. That last one is mapped first: where
 * the kernel refuses it the others would help nobody.
 */
static bool tlsf_grow(size_t size, size_t align)
{
	size_t need = kf_tlsf_need(size, align);
	size_t step = KF_MAX(kf_tlsf_conf.additional, KF_TLSF_POOL_MIN);
	size_t last = step, got;
	struct pool *pool, *smaller;

	if (!kf_tlsf_conf.additional || need > LARGEST_POOL)
		return false;
	while (last < need)
		last *= 2;
	got = last;
	pool = map_some(&got, need);
	if (!pool)
		return false;
	for (; got == last && step < last; step *= 2) {
		smaller = map_pool(step);
		if (smaller)
			add_more(smaller, step, size);
	}
	return add_more(pool, got, size);
}

/*
 * A block in use has a word of ours. Counted many at a time, as it is written
 * by every call.
 */
static void count_heads(int blocks)
{
	state.heads += blocks;
	if (state.heads > -HEADS_AT_ONCE && state.heads < HEADS_AT_ONCE)
		return;
	kf_word_add_atomic(KF_WORD_metadata,
			   (uint64_t)state.heads * sizeof(size_t));
	state.heads = 0;
}

static void count_splits(const struct kf_tlsf_did *did)
{
	if (!did->splits)
		return;
	kf_word_add_atomic(KF_WORD_splits, did->splits);
	for (uint32_t i = 0; i < did->splits; i++)
		kf_probe_free_list_split((uintptr_t)did->split[i].run,
					 did->split[i].kept,
					 did->split[i].left_over);
}

static void count_merges(const struct kf_tlsf_did *did)
{
	if (!did->merged)
		return;
	kf_word_add_atomic(KF_WORD_coalesces, 1);
	kf_word_add_atomic(KF_WORD_defrags, did->merged);
	kf_probe_defrag_coalesce((uintptr_t)did->run, did->had, did->has,
				 did->merged);
}

/* Fresh memory begins behind the block and the next header. */
static char *use(const struct pool *pool, char *p)
{
	char *end = p + kf_tlsf_usable(p) - sizeof(size_t) + KF_TLSF_BLOCK_MIN;

	return KF_MAX(pool->fresh, end);
}

static void *tlsf_take(size_t size, size_t align, bool may_grow)
{
	void *p = kf_tlsf_alloc(&state.tlsf, size, align);

	if (unlikely(!p) && may_grow && tlsf_grow(size, align))
		p = kf_tlsf_alloc(&state.tlsf, size, align);
	if (unlikely(!p))
		return NULL;
	count_splits(&state.tlsf.did);
	count_heads(1);
	return p;
}

static void *note_use(char *p)
{
	struct pool *pool;

	if (unlikely(!p))
		return NULL;
	pool = pool_of(p);
	pool->fresh = use(pool, p);
	return p;
}

static void *tlsf_alloc(size_t size, size_t align)
{
	return note_use(tlsf_take(size, align, true));
}

/*
 * Of a fresh part only what a free block has at its two ends was written: the
 * links, and the word that leads back to it.
 */
static void *tlsf_alloc_zeroed(size_t size, size_t align)
{
	char *p = tlsf_take(size, align, true);
	char *end, *dirty;
	struct pool *pool;

	if (unlikely(!p))
		return NULL;
	pool = pool_of(p);
	end = p + kf_tlsf_usable(p);
	dirty = KF_MAX(pool->fresh, p + KF_TLSF_BLOCK_MIN);
	pool->fresh = use(pool, p);
	memset(p, 0, (size_t)(KF_MIN(dirty, end) - p));
	memset(end - sizeof(void *), 0, sizeof(void *));
	return p;
}

static void tlsf_release(void *p)
{
	kf_tlsf_free(&state.tlsf, p);
	count_merges(&state.tlsf.did);
	count_heads(-1);
}

static size_t tlsf_usable_size(const void *p)
{
	const struct pool *pool = pool_of(p);

	if (!pool || kf_tlsf_look(&pool->bounds, p) != KF_TLSF_IS_USED)
		return 0;
	return kf_tlsf_usable(p);
}

static enum konf_misuse tlsf_check(const void *p)
{
	const struct pool *pool = pool_of(p);

	switch (pool ? kf_tlsf_look(&pool->bounds, p) : KF_TLSF_IS_NONE) {
	case KF_TLSF_IS_USED:
		return KONF_FINE;
	case KF_TLSF_IS_FREE:
		return KONF_DOUBLE_FREE;
	default:
		return KONF_INVALID_POINTER;
	}
}

/* A block that grew will grow again: ask for an eighth more first. */
static void *tlsf_take_more(size_t size)
{
	void *p = tlsf_take(size + size / 8, KF_TLSF_ALIGN, false);

	return note_use(p ? p : tlsf_take(size, KF_TLSF_ALIGN, true));
}

static void *tlsf_resize(void *p, size_t size)
{
	size_t have;
	void *to;

	if (kf_tlsf_resize(&state.tlsf, p, size)) {
		count_splits(&state.tlsf.did);
		count_merges(&state.tlsf.did);
		return note_use(p);
	}
	have = kf_tlsf_usable(p);
	to = tlsf_take_more(size);
	if (!to)
		return NULL;
	/* The block did not fit in place: the new one is larger. */
	memcpy(to, p, have);
	tlsf_release(p);
	return to;
}

static void tlsf_info(struct konf_engine_info *out)
{
	out->free = state.tlsf.free;
	out->free_blocks = state.tlsf.nr_free;
}

static const char *tlsf_init(const struct konf_host *host)
{
	size_t wanted = kf_tlsf_conf.initial;
	size_t bytes = KF_MAX(wanted, KF_TLSF_POOL_MIN);
	struct pool *pool;

	state.host = host;
	if (!wanted)
		return kf_tlsf_conf.additional ? NULL : "both pool sizes are 0";
	pool = map_some(&bytes, KF_MIN(bytes, SMALLEST_POOL));
	if (!pool)
		return "the kernel has no memory for a pool";
	if (!add_pool(pool, bytes))
		return "the pool is too small or too large";
	state.first = pool;
	if (bytes < wanted)
		tlsf_say("pool: the kernel has only ", bytes, " bytes for it");
	return NULL;
}

const struct kf_engine kf_engine_tlsf = {
	.base =
		{
			KF_ENGINE_HEAD,
			.name = "tlsf",
			.init = tlsf_init,
			.alloc = tlsf_alloc,
			.alloc_zeroed = tlsf_alloc_zeroed,
			.free = tlsf_release,
			.realloc = tlsf_resize,
			.usable_size = tlsf_usable_size,
			.check = tlsf_check,
			.trim = tlsf_trim,
			.info = tlsf_info,
		},
};
