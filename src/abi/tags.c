/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tags of include/konfiscator.h. The fast path of malloc has no test for
 * tags: a thread inside a tag points at another front (mode/tagged.c).
 */
#include "konfiscator.h"

#include "abi/abi.h"
#include "base/text.h"
#include "core/snapshot.h"
#include "core/tagging.h"
#include "mode/mode.h"

#include "probes/konfiscator-probes.h"

/* A key has a tag for each level: 64 KiB would hold the longest. */
#define KEY_SIZE 4096

static __noinline void push_slowly(const char *name)
{
	if (!kf_tagging_begin())
		return;
	kf_tags_push(name ? name : "");
	kf_front_choose();
	kf_probe_tag_push(kf_tag_current(kf_tag_self)->entry, (uintptr_t)name);
}

__kf_public KF_LEAF void konf_lib_tag_push(const char *name)
{
	struct kf_tag_self *self = kf_tag_self;

	if (unlikely(!self->blocks || !name ||
		     !kf_tags_push_again(self, name))) {
		push_slowly(name);
		return;
	}
	kf_front_self = &kf_front_tagged;
	kf_probe_tag_push(self->at->entry, (uintptr_t)name);
}

static __noinline void pop_slowly(unsigned int nr)
{
	const struct kf_tag_self *self = kf_tag_self;

	if (!kf_tag_has_tree(self))
		return;
	for (; nr; nr--) {
		kf_probe_tag_pop(kf_tag_current(self)->entry);
		kf_tags_pop();
	}
	kf_front_choose();
}

__kf_public KF_LEAF void konf_lib_tag_pop(unsigned int nr)
{
	struct kf_tag_self *self = kf_tag_self;
	struct kf_tag_node *node, *up;

	if (unlikely(nr != 1 || !self->blocks))
		return pop_slowly(nr);
	node = self->at;
	up = node->up;
	/* The root, or a tag whose blocks need the slow path. */
	if (unlikely(!up || (up->parent && !up->quick)))
		return pop_slowly(nr);
	node->tag->left++;
	self->at = up;
	if (!up->parent)
		kf_front_self = kf_self.inner;
	kf_probe_tag_pop(node->entry);
}

__kf_public void konf_lib_tag_capture(struct konf_tags *tags)
{
	const struct kf_tag_node *node = kf_tag_current(kf_tag_self);

	*tags = (struct konf_tags){
		.id = node->entry,
		.generation = node->generation,
	};
}

/* From the top: so the first below the root goes first. */
__kf_public unsigned int konf_lib_tag_adopt(const struct konf_tags *tags)
{
	/* The tag that all begin with is there already. */
	uint32_t depth = kf_tags.base ? 1 : 0, last;
	unsigned int nr = 0;

	if (!tags->id || !kf_tagging_begin() ||
	    kf_tags.node[tags->id].generation != tags->generation)
		return 0;
	for (last = kf_tags.node[tags->id].depth; depth < last; nr++)
		konf_lib_tag_push(kf_tags_above(tags->id, ++depth)->name);
	return nr;
}

__kf_public void konf_lib_tag_pause(int on)
{
	if (!kf_tagging_begin())
		return;
	kf_tags_pause(on);
	kf_front_choose();
}

__kf_public uint64_t konf_lib_tag_limit(enum konf_tag_limit which)
{
	switch (which) {
	case KONF_TAG_LEVELS:
		return kf_tags.limits.levels;
	case KONF_TAG_NODES:
		return kf_tags.limits.nodes;
	case KONF_TAG_NAME:
		return KF_STATS_TAG_NAME - 1;
	}
	return 0;
}

static void add_path(struct kf_text *key, uint32_t node, uint32_t depth)
{
	for (uint32_t d = 0; d <= depth; d++) {
		uint32_t at = node;

		while (kf_tags.node[at].depth > d)
			at = kf_tags.node[at].parent;
		kf_text_str(key, kf_tags.node[at].name);
		kf_text_char(key, '.');
	}
}

struct figure {
	const char *name;
	uint64_t value;
};

static void tags_tell(uint32_t node,
		      void (*fn)(void *arg, const char *key, uint64_t value),
		      void *arg)
{
	const struct kf_stats_tag *t = kf_tags_at(node);
	const struct figure figures[] = {
		{"nBytesSelfAllocated", t->allocated},
		{"nBytesSelfFreed", t->freed + t->remote_freed},
		{"nBytesLive", kf_stats_tag_live(t)},
		{"nBytesPeak", t->peak},
		{"nBlocksLive", kf_stats_tag_blocks(t)},
		{"nTimesEnteredAndExited", t->left},
		{"nPushNodeFailures", t->failed},
		{"nCallsTo_malloc", t->mallocs},
		{"nCallsTo_realloc", t->reallocs},
		{"nCallsTo_calloc", t->callocs},
		{"nCallsTo_aligned", t->aligned},
		{"nCallsTo_free", t->frees + t->remote_frees},
	};
	char buf[KEY_SIZE];
	struct kf_text key;
	size_t len;

	kf_text_init(&key, buf, sizeof(buf));
	kf_text_str(&key, "tid");
	kf_text_i64(&key, t->tid);
	kf_text_char(&key, ':');
	add_path(&key, node, kf_tags.node[node].depth);
	len = key.len;
	for (size_t i = 0; i < KF_ARRAY_SIZE(figures); i++) {
		key.len = len;
		kf_text_str(&key, figures[i].name);
		fn(arg, buf, figures[i].value);
	}
}

__kf_public int konf_lib_tag_query(void (*fn)(void *arg, const char *key,
					      uint64_t value),
				   void *arg)
{
	uint32_t nr = __atomic_load_n(&kf_tags.nr, __ATOMIC_ACQUIRE);

	for (uint32_t i = 1; i < nr; i++) {
		if (__atomic_load_n(&kf_tags_at(i)->state, __ATOMIC_ACQUIRE) !=
		    KF_TAG_FREE)
			tags_tell(i, fn, arg);
	}
	return 0;
}

__kf_public int konf_lib_tag_write(const char *path,
				   enum konf_tag_format format)
{
	return -kf_snapshot_write(path, format == KONF_TAG_DOT
						? KF_SNAPSHOT_DOT
						: KF_SNAPSHOT_JSON);
}

__kf_public int konf_lib_tag_snapshot(const char *prefix)
{
	int number = kf_snapshot_next(prefix, false);

	return number < 0 ? -number : 0;
}

__kf_public void konf_lib_tag_reset_peaks(void)
{
	kf_tags_reset_peaks();
}
