/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tags and the allocator together: see tagging.h.
 */
#include "core/tagging.h"

#include "core/conf.h"
#include "core/core.h"
#include "core/sampling.h"
#include "heap/heap.h"
#include "record/record.h"
#include "sample/countdown.h"
#include "sample/sample.h"
#include "sys/thread.h"

#include <errno.h>

/* Other limits would be no limits, or no tree. */
#define MIN_LIMIT 2
#define MAX_LEVELS 256
#define MAX_NODES 32768

/*
 * A marked block is billed, sampled or both. The record of a sample holds the
 * block's tag.
 */
static uint32_t tagging_tag_of(uint32_t mark)
{
	return mark & KF_SAMPLE_MARK ? kf_sample_tag(mark)
				     : kf_tag_of_mark(mark);
}

static uint32_t tagging_next(uint32_t old, size_t before, size_t after)
{
	uint32_t mark = kf_tag_mark_now(kf_tag_self);
	uint32_t sample =
		kf_sampling_redraw(old, before, after, kf_tag_of_mark(mark));

	return sample ? sample : mark;
}

static void tagging_lost(uint32_t mark)
{
	if (mark & KF_SAMPLE_MARK)
		kf_sampling_drawn(mark, NULL, 0);
}

static void tagging_gone(const void *p, size_t usable, uint32_t mark,
			 bool freed)
{
	uint32_t tag = tagging_tag_of(mark);

	if (mark & KF_SAMPLE_MARK)
		kf_sample_forget(mark, p);
	if (tag)
		kf_tags_gone(tag, usable, freed);
}

static void tagging_came(const void *p, size_t usable, uint32_t mark)
{
	uint32_t tag = tagging_tag_of(mark);

	if (mark & KF_SAMPLE_MARK)
		kf_sampling_drawn(mark, p, usable);
	if (tag && kf_tags_came(&kf_tags.node[tag], usable, KF_TAG_REALLOC))
		kf_tags_rise(&kf_tags.node[tag]);
}

static uint32_t limit(uint64_t wanted, uint32_t most)
{
	return (uint32_t)KF_MIN(KF_MAX(wanted, (uint64_t)MIN_LIMIT), most);
}

void kf_tagging_init(void)
{
	kf_mark_hooks = (struct kf_mark_hooks){tagging_next, tagging_lost,
					       tagging_gone, tagging_came};
	kf_tags.limits.levels = limit(kf_conf.tag_levels, MAX_LEVELS);
	kf_tags.limits.nodes = limit(kf_conf.tag_nodes, MAX_NODES);
	kf_tags.base = kf_conf.tag;
	kf_tags.stacks = kf_conf.stacks ? kf_conf.tag_stacks : NULL;
}

/* To be told of the end of the thread may call calloc. */
static bool tagging_begin(void)
{
	if (!kf_tags_claim())
		return false;
	kf_heap_get();
	kf_thread_on_exit();
	return true;
}

bool kf_tagging_begin(void)
{
	int saved = errno;
	bool done;

	if (unlikely(kf_load(&kf_resting)))
		return kf_tag_has_tree(kf_tag_self);
	if (kf_start_is_due())
		kf_start();
	if (kf_fork_is_due())
		kf_fork_complete();
	kf_self.depth++;
	done = kf_tag_has_tree(kf_tag_self) || tagging_begin();
	kf_self.depth--;
	kf_front_choose();
	errno = saved;
	return done;
}

void kf_tagging_thread_exit(void)
{
	kf_front_self = kf_self.inner;
	kf_tags_leave();
	kf_front_choose();
}
