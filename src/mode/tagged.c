// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The tagged mode: the thread is inside a tag, and nothing else observes its
 * calls. Blocks come from the slabs with marks of the thread's heap
 * (heap/marked.h), get the tag's mark and are billed to the tag.
 *
 * With a recording, a sample of every block or another engine a thread inside a
 * tag is in the observed mode.
 */
#include "mode/mode.h"

#include "heap/marked.h"
#include "tags/tags.h"

#include <string.h>

static __noinline void *rise(struct kf_tag_node *node, void *p)
{
	kf_tags_rise(node);
	return p;
}

/*
 * Let a block be the current tag's. @p is of the bin at @offset: all blocks of
 * a bin are of one slab, as those with marks are never cached.
 */
static __always_inline_kf void *bill(const struct kf_tag_self *self,
				     size_t offset, void *p, size_t size,
				     size_t usable, enum kf_tag_call call)
{
	const struct kf_front *front = &self->blocks->front;
	const struct kf_bin *bin =
		(const void *)((const char *)front->bin + offset);
	struct kf_tag_node *node = self->at;
	bool rises;
	void *given;

	*kf_slab_mark(kf_bin_source(bin), p) = node->quick;
	rises = kf_tags_came(node, usable, call);
	if (call == KF_TAG_CALLOC) {
		front->slot->scalar[KF_SLOT_calloc_calls]++;
		memset(p, 0,
		       bin->source & KF_BIN_ZEROED ? sizeof(void *) : usable);
	}
	kf_probe_alloc((uintptr_t)p, size, usable);
	if (unlikely(rises))
		return rise(node, p);
	kf_copy_to_result(given, p);
	return given;
}

/* A small block of any size; NULL: take the slow path. */
static void *tagged_small(size_t size, enum kf_tag_call call)
{
	const struct kf_tag_self *self = kf_tag_self;
	unsigned int class = kf_class_of(size);
	size_t offset = class * sizeof(struct kf_bin);
	void *p = kf_fast_alloc(&self->blocks->front, offset);

	if (unlikely(!p))
		p = kf_heap_refill(self->blocks, offset, size, false);
	return p ? bill(self, offset, p, size, kf_class_bytes(class), call)
		 : NULL;
}

static __noinline void *tagged_alloc_long(size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);
	uint32_t mark = kf_tag_mark_now(kf_tag_self);

	if (other || !mark)
		return kf_front_malloc(other ? other : kf_self.inner, size);
	return kf_call_malloc(size, mark);
}

static __noinline void *tagged_alloc_more(size_t size, struct kf_front *front)
{
	void *p = NULL;

	if (likely(size <= KF_SMALL_MAX))
		p = tagged_small(size, KF_TAG_MALLOC);
	return likely(p) ? p : tagged_alloc_long(size, front);
}

static KF_LEAF void *tagged_alloc(size_t size, struct kf_front *front)
{
	const struct kf_tag_self *self = kf_tag_self;
	size_t offset;
	void *p;

	if (unlikely(size > KF_TINY_MAX))
		return tagged_alloc_more(size, front);
	offset = kf_class_offset(size);
	p = kf_fast_alloc(&self->blocks->front, offset);
	return likely(p) ? bill(self, offset, p, size, offset, KF_TAG_MALLOC)
			 : tagged_alloc_more(size, front);
}

static void *tagged_zeroed(size_t size, struct kf_front *front)
{
	struct kf_front *other;
	uint32_t mark;
	void *p = NULL;

	if (likely(size <= KF_SMALL_MAX))
		p = tagged_small(size, KF_TAG_CALLOC);
	if (likely(p))
		return p;
	other = kf_mode_renew(front);
	mark = kf_tag_mark_now(kf_tag_self);
	if (other || !mark) {
		other = other ? other : kf_self.inner;
		return other->mode->zeroed(size, other);
	}
	return kf_call_calloc(size, mark);
}

static void *tagged_resize(void *p, size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);
	uint32_t mark = kf_tag_mark_now(kf_tag_self);

	if (other || !mark) {
		other = other ? other : kf_self.inner;
		return other->mode->resize(p, size, other);
	}
	return kf_call_realloc(p, size, mark);
}

static void *tagged_aligned(size_t align, size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);
	uint32_t mark = kf_tag_mark_now(kf_tag_self);

	if (other || !mark) {
		other = other ? other : kf_self.inner;
		return other->mode->aligned(align, size, other);
	}
	return kf_call_aligned(align, size, mark);
}

static __always_inline_kf void tagged_push(struct kf_heap *heap,
					   struct kf_slab *slab, void *p)
{
	kf_probe_release((uintptr_t)p, slab->size);
	kf_fast_push(&heap->front, slab, p);
	if (kf_slab_unuse(slab))
		kf_slab_emptied_alone(heap, slab);
}

/* The tag of a mark, if it is of the calling thread's tree; or NULL. */
static inline struct kf_stats_tag *tagged_tag_of(const struct kf_tag_self *self,
						 uint32_t mark)
{
	if (unlikely(mark >> KF_TAG_TREE_SHIFT != self->tree))
		return NULL;
	return kf_tags_at(kf_tag_of_mark(mark));
}

/* A block of a slab with marks of the thread's; false: nothing was done. */
static __always_inline_kf bool free_marked(const struct kf_tag_self *self,
					   struct kf_slab *slab, void *p)
{
	const struct kf_tag_node *node = self->at;
	struct kf_stats_tag *tag = node->tag;
	uint32_t *marks, mark;
	size_t i;

	kf_slab_place(slab, p, &i);
	marks = kf_slab_marks(slab);
	mark = marks[i];
	/* Neither a sample, nor freed already, nor another tree's. */
	if (unlikely(mark != node->quick)) {
		tag = tagged_tag_of(self, mark);
		if (!tag)
			return false;
	}
	marks[i] = 0;
	tag->frees++;
	tag->freed += slab->size;
	tagged_push(self->blocks, slab, p);
	return true;
}

static __noinline void tagged_free_other(void *p, struct kf_slab *slab)
{
	struct kf_heap *heap = kf_heap_self();

	if (KF_READ_ONCE(&slab->owner) == (uintptr_t)heap &&
	    !kf_slab_looks_free(slab, p))
		tagged_push(heap, slab, p);
	else
		kf_self.inner->mode->free(p, slab, kf_self.inner);
}

static KF_LEAF void tagged_free(void *p, struct kf_slab *slab,
				struct kf_front *front)
{
	const struct kf_tag_self *self = kf_tag_self;

	if (unlikely(KF_READ_ONCE(&slab->owner) !=
		     ((uintptr_t)self->blocks | KF_SLAB_MARKED)) ||
	    unlikely(!free_marked(self, slab, p)))
		tagged_free_other(p, slab);
}

static const struct kf_mode tagged = {
	.alloc = tagged_alloc,
	.zeroed = tagged_zeroed,
	.resize = tagged_resize,
	.aligned = tagged_aligned,
	.free = tagged_free,
};

struct kf_front kf_front_tagged = {.mode = &tagged};
