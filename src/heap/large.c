/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Large blocks: see large.h.
 *
 * The threshold between runs and mappings follows glibc's rule: the free of a
 * mapped block of s bytes, up to 32 MiB, sets the mmap threshold to s and the
 * trim threshold to 2 s. So blocks of a size that is allocated often are not
 * mapped and unmapped each time. As in glibc, where a block has a header, s is
 * more than the bytes asked.
 */
#include "heap/large.h"

#include "heap/fast.h"

#include "pages/pages.h"
#include "sys/named.h"

#include "probes/konfiscator-probes.h"

#define THRESHOLD_MAX (32 * KF_MIB)
#define GROWN_MIN KF_MIB
#define MAPPED_MAX ((size_t)32765)

struct kf_large_conf kf_large_conf = {
	.mmap_threshold = 128 * KF_KIB,
	.mmap_max = 65536,
	.dynamic = true,
};

static size_t large_pages(size_t size)
{
	return (size >> KF_PAGE_SHIFT) + ((size & (KF_PAGE - 1)) != 0);
}

/*
 * Whether another block may be a mapping. The kernel allows a process 65530
 * mappings (vm.max_map_count), and half of them are left to the program. The
 * actual number would have to be read from a file; if it is smaller, mmap
 * fails, and the block becomes a run of a region.
 */
static bool large_mapping_is_left(void)
{
	return kf_word_get(KF_WORD_mapped_blocks) <
	       KF_MIN(kf_large_conf.mmap_max, MAPPED_MAX);
}

/* A large alignment wants a mapping too: it would fragment a region. */
static bool large_wants_mapping(size_t size, size_t align)
{
	return (align > KF_MIB ||
		size >= __atomic_load_n(&kf_large_conf.mmap_threshold,
					__ATOMIC_RELAXED)) &&
	       large_mapping_is_left();
}

/*
 * Whether a block that has to move is better mapped: such a block is likely to
 * grow again, and the kernel moves the pages of a mapping, while a run is
 * copied.
 */
static bool large_grows_best_mapped(size_t size)
{
	return size >= GROWN_MIN && kf_large_conf.dynamic &&
	       large_mapping_is_left();
}

/*
 * Take the cached run that wastes least: at most half of the pages wanted, or
 * an eighth in a process with one thread, where the pages lock is never
 * contended.
 */
static struct kf_run *large_take_cached(struct kf_heap *heap, size_t nr,
					size_t align)
{
	size_t part = kf_word_get(KF_WORD_threads) > 1 ? 2 : 8;

	return kf_runs_take(heap, nr, nr + nr / part, align, KF_RUN_LARGE);
}

/* A request for a large block. */
struct large_request {
	size_t size;  /* bytes asked */
	size_t room;  /* bytes to grow into */
	size_t align; /* bytes, power of two */
	bool grows;   /* it replaces a shorter block */
};

static struct kf_run *large_map(size_t nr, size_t align_pages, bool *zeroed)
{
	*zeroed = true;
	return kf_pages_map(nr, align_pages);
}

/*
 * Take a run for a block. The bytes asked, without the room, decide about a
 * mapping, as they do when the block is freed.
 */
static struct kf_run *large_take(struct kf_heap *heap,
				 const struct large_request *request,
				 bool *zeroed)
{
	size_t nr = large_pages(request->size + request->room);
	size_t align_pages = KF_MAX(request->align >> KF_PAGE_SHIFT, (size_t)1);
	struct kf_run *run = large_take_cached(heap, nr, request->align);
	bool grows, mapped;

	*zeroed = false;
	if (run)
		return run;
	grows = request->grows && large_grows_best_mapped(request->size);
	mapped = grows || large_wants_mapping(request->size, request->align);
	/* Free dirty pages are used before others are mapped. */
	if (mapped && !grows && kf_large_conf.dynamic)
		run = kf_runs_alloc_dirty(heap, nr, align_pages, KF_RUN_LARGE);
	if (!run && mapped)
		run = large_map(nr, align_pages, zeroed);
	/* Where addresses are scarce, only one of the two may find room. */
	if (!run)
		run = kf_runs_alloc(heap, nr, align_pages, KF_RUN_LARGE,
				    zeroed);
	if (!run && !mapped && large_mapping_is_left())
		run = large_map(nr, align_pages, zeroed);
	return run;
}

/*
 * Zero a run, but for the pages at its end that were never used. The pages of a
 * huge run go back to the kernel, as the program may never touch most of them.
 * Not inlined: the compiler would place this code with code that never runs.
 */
static void __noinline large_zero(struct kf_run *run)
{
	size_t bytes =
		kf_run_bytes(run) - ((size_t)run->fresh << KF_PAGE_SHIFT);

	if (bytes < THRESHOLD_MAX || !kf_named_purge(run->start, bytes))
		__builtin_memset(run->start, 0, bytes);
}

static void large_count_new(struct kf_run *run, size_t size)
{
	const struct kf_counters *c = kf_self.counters;

	run->asked = size;
	run->mark = 0;
	run->fresh = 0;
	kf_counters_add(c, &c->slot->class[0].mallocs, 1);
	kf_counters_stat(c, KF_SLOT_large_allocated, kf_run_bytes(run));
	kf_counters_stat(c, KF_SLOT_large_slack, kf_run_bytes(run) - size);
	kf_probe_large_alloc((uintptr_t)run->start, size);
}

/* Take a run for a block, zeroed on request, and count it. */
static struct kf_run *large_provide(struct kf_heap *heap,
				    const struct large_request *request,
				    bool zeroed)
{
	bool clean;
	struct kf_run *run = large_take(heap, request, &clean);

	if (!run)
		return NULL;
	if (zeroed && !clean)
		large_zero(run);
	large_count_new(run, request->size);
	return run;
}

/* Whether nothing is due that the slow path has to do. */
static bool large_may_be_fast(struct kf_heap *heap)
{
	return kf_process_is_current() && ++heap->refills % KF_FAST_REFILLS &&
	       !kf_heap_tick_is_due(heap);
}

struct kf_run *kf_large_reuse(struct kf_heap *heap, size_t size)
{
	int64_t bytes = (int64_t)KF_ALIGN_UP(size, KF_PAGE);
	struct kf_run *run;

	if (!heap->runs.lengths || !large_may_be_fast(heap))
		return NULL;
	if (unlikely(!kf_countdown_may_pass(&heap->countdown, bytes))) {
		/* The thread may allocate only large blocks: update here. */
		kf_countdown_update(&heap->countdown);
		return NULL;
	}
	run = large_take_cached(heap, large_pages(size), KF_PAGE);
	if (!run)
		return NULL;
	heap->countdown.left -= bytes;
	large_count_new(run, size);
	return run;
}

bool kf_large_may_free(struct kf_heap *heap, const struct kf_run *run,
		       const void *p)
{
	return run->kind == KF_RUN_LARGE && run->start == (const char *)p &&
	       !run->mark && run->nr_pages <= KF_RUNS_LONGEST &&
	       large_may_be_fast(heap);
}

void *kf_large_alloc(struct kf_heap *heap, size_t size, size_t align,
		     bool zeroed)
{
	struct large_request request = {.size = size, .align = align};
	struct kf_run *run = large_provide(heap, &request, zeroed);

	return run ? run->start : NULL;
}

/*
 * Move the thresholds after the free of a mapped block. Returns whether the
 * mmap threshold has at least doubled: then the block is the first of its size,
 * and nothing shows that another will follow, so its pages should go back. This
 * happens at most eight times.
 */
static bool large_move_thresholds(size_t bytes)
{
	size_t old = __atomic_load_n(&kf_large_conf.mmap_threshold,
				     __ATOMIC_RELAXED);

	if (!kf_large_conf.dynamic || bytes > THRESHOLD_MAX)
		return false;
	/* Of several threads that free such blocks at once, one moves it. */
	do {
		if (bytes <= old)
			return false;
	} while (!__atomic_compare_exchange_n(
		&kf_large_conf.mmap_threshold, &old, bytes, true,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	__atomic_store_n(&kf_pages_conf.trim_threshold, 2 * bytes,
			 __ATOMIC_RELAXED);
	kf_word_set(KF_WORD_mmap_threshold, bytes);
	kf_word_set(KF_WORD_trim_threshold, 2 * bytes);
	kf_probe_memory_mallopt_free_dyn_thresholds(bytes, 2 * bytes);
	return bytes / 2 >= old;
}

void kf_large_free(struct kf_heap *heap, struct kf_run *run)
{
	const struct kf_counters *c = kf_self.counters;
	size_t bytes = kf_run_bytes(run);

	kf_counters_add(c, &c->slot->class[0].frees, 1);
	kf_counters_stat(c, KF_SLOT_large_freed, bytes);
	kf_counters_stat(c, KF_SLOT_large_slack, -(bytes - run->asked));
	kf_probe_large_free((uintptr_t)run->start, run->asked);
	if (kf_runs_put(heap, run)) {
		kf_pages_release_deferred();
		return;
	}
	if (run->kind != KF_RUN_MAPPED || run->private) {
		kf_pages_free(run);
		return;
	}
	/* Keep the pages if the next block of this size will be a run. */
	if (large_move_thresholds(KF_ALIGN_UP(run->asked + 1, KF_PAGE)) ||
	    large_wants_mapping(run->asked, 1))
		kf_pages_free(run);
	else
		kf_pages_recycle(run);
}

static void large_count_resize(struct kf_run *run, size_t old, size_t size)
{
	size_t bytes = kf_run_bytes(run);

	if (bytes > old)
		kf_self_stat(KF_SLOT_large_allocated, bytes - old);
	else
		kf_self_stat(KF_SLOT_large_freed, old - bytes);
	kf_self_stat(KF_SLOT_large_slack, (bytes - size) - (old - run->asked));
	run->asked = size;
}

/*
 * A block that grows is likely to grow again. With room of an eighth, a block
 * that grows in small steps moves so rarely that all moves together cost as
 * much as one move at the end. Room that is not touched takes no memory.
 */
static bool large_grow_mapped(struct kf_run *run, size_t nr)
{
	size_t roomy = nr + nr / 8;

	return kf_pages_resize(run, roomy) || kf_pages_remap(run, roomy) ||
	       kf_pages_resize(run, nr) || kf_pages_remap(run, nr);
}

static void *large_move(struct kf_heap *heap, struct kf_run *run, size_t size)
{
	struct large_request request = {
		.size = size,
		.room = kf_resize_room(run->asked, size),
		.align = KF_PAGE,
		.grows = true,
	};
	struct kf_run *to = large_provide(heap, &request, false);

	if (!to)
		return NULL;
	__builtin_memcpy(to->start, run->start,
			 KF_MIN(kf_run_bytes(run), size));
	kf_large_free(heap, run);
	kf_self_stat(KF_SLOT_realloc_moved, 1);
	return to->start;
}

void *kf_large_resize(struct kf_heap *heap, struct kf_run *run, size_t size)
{
	size_t old = kf_run_bytes(run);
	size_t nr = large_pages(size);
	bool done = true;

	if (nr > run->nr_pages && run->kind == KF_RUN_MAPPED)
		done = large_grow_mapped(run, nr);
	else if (nr > run->nr_pages || size < run->asked)
		done = nr == run->nr_pages || kf_pages_resize(run, nr);
	if (!done && nr > run->nr_pages)
		return large_move(heap, run, size);
	if (!done)
		return NULL;
	large_count_resize(run, old, size);
	return run->start;
}
