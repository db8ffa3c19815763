// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which front a thread points at: see heap/front.h and mode.h.
 *
 * The inputs of the choice change rarely. Code that changes one calls
 * kf_process_change(), and each thread chooses again in its next call that
 * leaves the fast path. Between the start of a recording and that call, a
 * thread must not free a block unrecorded that another allocated recorded: see
 * kf_cache_barred.
 */
#include "mode/mode.h"

#include "core/core.h"
#include "engines/host.h"
#include "core/realtime.h"
#include "core/recorder.h"
#include "core/tagging.h"
#include "heap/marked.h"
#include "heap/remote.h"
#include "sample/countdown.h"

static struct kf_front *inner_front(const struct kf_self *self)
{
	struct kf_heap *heap = self->counters->heap;

	if (unlikely(kf_load(&kf_resting)))
		return &kf_front_passing;
	/* Each call takes the slow path, which samples the block. */
	if (kf_countdown_takes_every())
		return &kf_front_guest;
	if (!kf_engine_is_hosted())
		return heap ? &heap->front : &kf_front_guest;
	return kf_host_is_direct() && !self->counters->shared &&
			       !kf_mode_elsewhere && !kf_countdown_mean()
		       ? &kf_front_hosted
		       : &kf_front_guest;
}

/*
 * The heap with marks, if a push or a pop of a tag only has to change the tag;
 * else NULL.
 */
static struct kf_heap *heap_for_tags(const struct kf_self *self,
				     const struct kf_tag_self *tags,
				     bool tagged)
{
	struct kf_heap *heap = self->counters->heap;

	return heap && !self->forked && !kf_realtime_is_on() &&
			       !kf_recorder_is_on() &&
			       !kf_countdown_takes_every() &&
			       tags->at != &kf_tag_blank &&
			       tagged == !!tags->at->quick
		       ? kf_marked_heap(heap)
		       : NULL;
}

/* Whether the thread has yet to enter the tag of all threads. */
static bool is_to_begin(const struct kf_tag_self *tags)
{
	return unlikely(kf_tags.base) && !kf_tag_has_tree(tags);
}

void kf_front_choose(void)
{
	struct kf_self *self = &kf_self;
	struct kf_tag_self *tags = kf_tag_self;
	bool tagged = kf_tag_mark_now(tags) != 0;
	bool recorded = kf_recorder_is_on();

	/* A signal handler must not find the tagged front with old blocks. */
	self->inner = inner_front(self);
	kf_front_self = self->inner;
	if (unlikely(self->inner == &kf_front_passing))
		return;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (kf_tag_has_tree(tags))
		tags->blocks = heap_for_tags(self, tags, tagged);
	self->recorded = recorded && !tagged && !self->forked &&
			 self->counters->heap && !kf_countdown_takes_every();
	if (tagged && tags->blocks)
		kf_front_self = &kf_front_tagged;
	else if (tagged || recorded || self->forked || is_to_begin(tags))
		kf_front_self = &kf_front_observed;
	if (!kf_realtime_is_on())
		return;
	self->watched = kf_front_self;
	kf_front_self = &kf_front_realtime;
}

struct kf_front *kf_front_renew(void)
{
	if (unlikely(kf_load(&kf_resting))) {
		kf_process_see();
		kf_front_choose();
		return kf_front_self;
	}
	if (unlikely(kf_start_is_due()))
		kf_start();
	if (unlikely(!kf_self.forked && kf_fork_is_due()))
		kf_fork_complete();
	kf_process_see();
	if (kf_engine_is_hosted())
		kf_counters_get();
	else
		kf_heap_get();
	kf_realtime_look();
	kf_front_choose();
	/* Cached blocks of other heaps go home before calls are recorded. */
	if (__atomic_load_n(&kf_cache_barred, __ATOMIC_RELAXED) &&
	    kf_heap_self())
		kf_remote_send_cached(kf_heap_self());
	return kf_self.depth ? kf_self.inner : kf_front_self;
}

uint16_t kf_front_step_out(void)
{
	uint16_t depth = kf_self.depth;

	if (!depth || !kf_recorder_is_on())
		return 0;
	kf_self.depth = 0;
	return depth;
}

void kf_front_step_in(uint16_t depth)
{
	if (depth)
		kf_self.depth = depth;
}
