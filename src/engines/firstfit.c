/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The default engine: slabs and thread heaps over page runs, first fit.
 *
 * A small size goes to its class: the thread's bin, filled from a slab of the
 * thread's heap. A large one takes a run of pages, lowest address first, or
 * from the dynamic threshold on a mapping of its own. The fast paths of
 * heap/fast.h come before these functions, so this engine counts its blocks
 * itself.
 */
#include "engines/engine.h"

#include "heap/audit.h"
#include "heap/fast.h"
#include "heap/guarded.h"
#include "heap/large.h"
#include "heap/marked.h"
#include "heap/reclaim.h"
#include "heap/remote.h"
#include "pages/pages.h"
#include "stats/stats.h"

#include "probes/konfiscator-probes.h"

#include <string.h>

static const char *firstfit_init(const struct konf_host *host)
{
	kf_pages_init();
	kf_heap_init();
	kf_word_set(KF_WORD_mmap_threshold, kf_large_conf.mmap_threshold);
	kf_word_set(KF_WORD_trim_threshold, kf_pages_conf.trim_threshold);
	return NULL;
}

static void *firstfit_alloc_shared(unsigned int class, size_t size, bool near,
				   bool *zeroed)
{
	struct kf_heap *heap = kf_heap_shared_lock();
	void *p;

	if (!heap) {
		/* A fork holds the lock: use a run of its own instead. */
		*zeroed = true;
		return kf_large_alloc(NULL, size, KF_PAGE, true);
	}
	p = kf_heap_alloc(heap, class, size, near, zeroed);
	kf_heap_shared_unlock();
	return p;
}

static void *firstfit_alloc_small(size_t size, size_t align, bool *zeroed)
{
	unsigned int class = kf_class_of(kf_class_request(size, align));
	struct kf_heap *heap = kf_heap_get();
	bool near = align <= 16;
	void *p;

	kf_heap_tick();
	p = heap ? kf_heap_alloc(heap, class, size, near, zeroed)
		 : firstfit_alloc_shared(class, size, near, zeroed);
	kf_pages_release_deferred();
	return p;
}

static void *firstfit_provide(size_t size, size_t align, bool zeroed)
{
	bool clean = false;
	size_t rounded = kf_class_request(size, align);
	void *p;

	if (rounded > KF_SMALL_MAX || align > KF_PAGE) {
		struct kf_heap *heap = kf_heap_get();

		kf_heap_tick();
		return kf_large_alloc(heap, size, align, zeroed);
	}
	p = firstfit_alloc_small(size, align, &clean);
	if (p && zeroed) {
		/* A fresh block is zero but for the link in its first word. */
		const struct kf_slab *slab = kf_slab_at(p);

		memset(p, 0, clean || !slab ? sizeof(void *) : slab->size);
	}
	return p;
}

/* The run that starts at @p; or NULL, and @wrong is set. */
static struct kf_run *run_at(const void *p, enum konf_misuse *wrong)
{
	struct kf_run *run = kf_map_find(p);

	*wrong = KONF_FINE;
	if (run && run->start == (const char *)p &&
	    (run->kind == KF_RUN_LARGE || run->kind == KF_RUN_MAPPED))
		return run;
	if (run && run->start == (const char *)p &&
	    (run->kind == KF_RUN_FREE || run->kind == KF_RUN_CACHED))
		*wrong = KONF_DOUBLE_FREE;
	else if (!run && kf_pages_was_mapped(p))
		*wrong = KONF_DOUBLE_FREE;
	else
		*wrong = KONF_INVALID_POINTER;
	return NULL;
}

/* Whether a block of a slab that is in a run cache by now was at @p. */
static bool was_block(const struct kf_slab *slab, const void *p)
{
	uint64_t offset = (uint64_t)((const char *)p - kf_slab_blocks(slab));

	return !kf_slab_owner(slab) &&
	       offset < (uint64_t)slab->capacity * slab->size &&
	       offset * slab->inverse < slab->inverse;
}

/* KONF_FINE for a live small block. */
static enum konf_misuse block_at(const struct kf_slab *slab, const void *p)
{
	const struct kf_heap *heap = kf_heap_self();

	if (!kf_slab_is_block(slab, p))
		return was_block(slab, p) ? KONF_DOUBLE_FREE
					  : KONF_INVALID_POINTER;
	if (kf_is_sent(p))
		return KONF_DOUBLE_FREE;
	if (likely(!kf_slab_looks_free(slab, p)))
		return KONF_FINE;
	return (heap && kf_slab_has_free(heap, slab, p)) ||
			       kf_audit_shared_has(slab, p)
		       ? KONF_DOUBLE_FREE
		       : KONF_FINE;
}

static enum konf_misuse release_small(struct kf_slab *slab, void *p)
{
	enum konf_misuse wrong = block_at(slab, p);
	struct kf_heap *self, *owner;
	bool is_own;

	if (unlikely(wrong))
		return wrong;
	if (kf_slab_has_marks(slab))
		kf_mark_leave(slab, p);
	/* A thread that only frees gets a heap too, for its outboxes. */
	self = kf_heap_get();
	owner = kf_slab_owner(slab);
	is_own = self && (owner == self || owner == self->marked);
	kf_counters_add(
		kf_self.counters,
		&kf_slot_pair(kf_self.counters->slot, kf_slab_bin_offset(slab))
			 ->frees,
		1);
	if (unlikely(kf_slab_looks_free(slab, p)) && !is_own &&
	    kf_audit_suspect(owner, p))
		return KONF_FINE;
	if (!self) {
		kf_remote_free(NULL, slab, p);
		kf_heap_tick();
		return KONF_FINE;
	}
	kf_heap_enter(self);
	if (is_own)
		kf_slab_return(owner, slab, p);
	else
		kf_remote_free(self, slab, p);
	kf_heap_leave(self);
	kf_heap_tick();
	return KONF_FINE;
}

static enum konf_misuse firstfit_release(void *p)
{
	struct kf_slab *slab = kf_slab_at(p);
	enum konf_misuse wrong;
	struct kf_run *run;

	if (slab)
		return release_small(slab, p);
	if (kf_guarded_holds(p))
		return kf_guarded_free(p);
	run = run_at(p, &wrong);
	if (run) {
		if (run->mark)
			kf_mark_leave_large(run);
		kf_large_free(kf_heap_self(), run);
		kf_heap_tick();
	}
	return wrong;
}

static size_t firstfit_usable(const void *p)
{
	struct kf_slab *slab = kf_slab_at(p);
	enum konf_misuse wrong;
	struct kf_run *run;

	if (slab)
		return block_at(slab, p) ? 0 : slab->size;
	if (kf_guarded_holds(p))
		return kf_guarded_usable(p);
	run = run_at(p, &wrong);
	return run ? kf_run_bytes(run) : 0;
}

static void *firstfit_alloc(size_t size, size_t align, bool zeroed,
			    uint32_t mark, size_t *bytes)
{
	const struct kf_slab *slab;
	void *p;

	if (mark)
		return kf_marked_alloc(size, align, zeroed, mark, bytes);
	p = firstfit_provide(size, align, zeroed);
	if (unlikely(!p))
		return NULL;
	slab = kf_slab_at(p);
	*bytes = likely(slab) ? slab->size : firstfit_usable(p);
	return p;
}

/* After realloc: unbill the old mark, bill the new one. */
static void change_mark(void *p, size_t have, uint32_t old, void *to,
			uint32_t mark)
{
	if (old)
		kf_mark_hooks.gone(p, have, old, false);
	if (old || mark)
		kf_mark_set(to, mark);
	if (mark)
		kf_mark_hooks.came(to, firstfit_usable(to), mark);
}

static void *copy_to(void *p, size_t have, size_t size, uint32_t mark)
{
	uint32_t old = kf_mark_of(p);
	size_t room = kf_resize_with_room(have, size);
	void *to;

	to = mark ? kf_marked_alloc(room, 16, false, mark, &room)
		  : firstfit_provide(room, 16, false);
	if (!to)
		return NULL;
	memcpy(to, p, KF_MIN(have, size));
	change_mark(p, have, old, to, mark);
	/* realloc has unbilled the block: the free must not do it again. */
	if (old)
		kf_mark_set(p, 0);
	firstfit_release(p);
	kf_self_stat(KF_SLOT_realloc_moved, 1);
	return to;
}

/* Whether a block that is no run stays: a guarded one at its size alone. */
static bool firstfit_stays(const void *p, size_t have, size_t size)
{
	return kf_guarded_holds(p) ? size == have : kf_resize_stays(have, size);
}

/* In place, or by mremap; NULL: the caller must copy. */
static void *firstfit_resize_in_place(struct kf_run *run, void *p, size_t have,
				      size_t size, uint32_t mark)
{
	if (run && size > KF_SMALL_MAX)
		p = kf_large_resize(kf_heap_self(), run, size);
	else if (run || !firstfit_stays(p, have, size) || !kf_mark_may(p, mark))
		p = NULL;
	return p;
}

/* Bytes that a sample counts for the block after realloc. */
static size_t bytes_after(const struct kf_run *run, const void *p, size_t have,
			  size_t size)
{
	if (size > KF_SMALL_MAX)
		return KF_ALIGN_UP(size, KF_PAGE);
	if (!run && firstfit_stays(p, have, size))
		return have;
	return kf_class_bytes(kf_class_of(kf_resize_with_room(have, size)));
}

static void *firstfit_resize(void *p, size_t size, enum konf_misuse *wrong)
{
	size_t have = firstfit_usable(p);
	struct kf_run *run = NULL;
	size_t before, after;
	uint32_t mark, old;
	void *to;

	*wrong = KONF_FINE;
	if (kf_guarded_holds(p))
		*wrong = kf_guarded_check(p);
	else if (!kf_slab_at(p))
		run = run_at(p, wrong);
	else if (!have)
		*wrong = block_at(kf_slab_at(p), p);
	if (*wrong)
		return NULL;
	kf_heap_get();
	old = kf_mark_of(p);
	before = run ? KF_ALIGN_UP(run->asked, KF_PAGE) : have;
	after = bytes_after(run, p, have, size);
	mark = kf_mark_next(old, before, after);
	to = firstfit_resize_in_place(run, p, have, size, mark);
	if (to)
		change_mark(p, have, old, to, mark);
	else
		to = copy_to(p, have, size, mark);
	/* A sample came due meanwhile: the block becomes this sample. */
	if (!to && !mark) {
		mark = kf_mark_next(old, before, after);
		to = copy_to(p, have, size, mark);
	}
	if (!to && mark)
		kf_mark_hooks.lost(mark);
	/* A shrink never fails: the old block is large enough. */
	if (!to && size <= have)
		to = p;
	kf_heap_tick();
	return to;
}

static size_t firstfit_trim(size_t pad)
{
	if (kf_heap_self())
		kf_heap_flush(kf_heap_self());
	kf_heap_scavenge();
	kf_heap_reclaim();
	return kf_pages_trim(pad);
}

static void firstfit_info(struct konf_engine_info *out)
{
	struct kf_pages_sums sums;

	out->free = kf_word_get(KF_WORD_free_runs);
	if (kf_pages_check(&sums))
		return;
	out->free_blocks = sums.free_runs;
	out->top = sums.top;
}

const struct kf_engine kf_engine_firstfit = {
	.base =
		{
			KF_ENGINE_HEAD,
			.flags = KONF_ENGINE_THREADS | KONF_ENGINE_ERRNO,
			.name = "firstfit",
			.usable_size = firstfit_usable,
			.init = firstfit_init,
			.trim = firstfit_trim,
			.info = firstfit_info,
		},
	.counted_alloc = firstfit_alloc,
	.counted_free = firstfit_release,
	.counted_realloc = firstfit_resize,
};
