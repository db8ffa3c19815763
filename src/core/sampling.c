/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When blocks are sampled: see sampling.h.
 */
#include "core/sampling.h"

#include "base/text.h"
#include "core/conf.h"
#include "core/guarding.h"
#include "engines/host.h"
#include "engines/marks.h"
#include "core/tagging.h"
#include "heap/boundary.h"
#include "heap/marked.h"
#include "heap/pinned.h"
#include "sample/countdown.h"
#include "sample/distance.h"
#include "sample/pace.h"
#include "sample/sample.h"
#include "sample/rows.h"
#include "stats/stats.h"
#include "sys/env.h"
#include "sys/out.h"
#include "sys/thread.h"

#include <errno.h>
#include <string.h>

static bool asked; /* whether somebody asked for samples; atomic */

/* The class of a small block; 0 for a large one. */
static unsigned int class_of(size_t size, size_t align)
{
	size_t rounded = kf_class_request(size, align);

	return rounded > KF_SMALL_MAX || align > KF_PAGE ? 0
							 : kf_class_of(rounded);
}

static bool sampling_is_due(struct kf_heap *heap, unsigned int class)
{
	return heap && kf_heap_sample_is_due(heap, class);
}

bool kf_sampling_is_due(size_t size, size_t align)
{
	unsigned int class = class_of(size, align);

	return class && !kf_engine_is_hosted() &&
	       sampling_is_due(kf_heap_self(), class);
}

/*
 * Whether a sample falls on bytes that were not charged yet: the mean with
 * which it was drawn; 0: none does.
 */
static uint64_t falls_on(struct kf_heap *heap, uint64_t bytes)
{
	uint64_t mean = kf_countdown_mean();

	if (!heap)
		return mean && kf_countdown_hits(bytes, mean) ? mean : 0;
	return kf_countdown_pass(&heap->countdown, bytes, 1)
		       ? 0
		       : heap->countdown.was;
}

/* Take the sample that is due, which lets the class serve blocks again. */
static uint64_t take_due(struct kf_heap *heap, unsigned int class)
{
	if (!sampling_is_due(heap, class))
		return 0;
	heap->due[class] = 0;
	return heap->due_mean[class];
}

/* Small blocks of tags are charged in bins of their own. */
static uint64_t sampling_tagged(struct kf_heap *heap, unsigned int class,
				size_t size, size_t align)
{
	heap = kf_marked_heap(heap);
	if (heap)
		kf_heap_ready(heap, class, size, align <= 16);
	return take_due(heap, class);
}

/* The mean of a block that is a sample; 0: it is none. */
static uint64_t sampling_mean_of(size_t size, size_t align, uint64_t bytes,
				 uint32_t tag, struct kf_place *place)
{
	struct kf_heap *heap = kf_heap_get();
	unsigned int class = class_of(size, align);
	uint64_t mean;

	if (!class || !heap)
		return falls_on(heap, bytes);
	if (tag)
		return sampling_tagged(heap, class, size, align);
	mean = take_due(heap, class);
	if (mean)
		*place = kf_pinned_place(kf_load(&heap->due_at[class]));
	return mean;
}

/* After a sample was taken: the mean that the rate of samples wants. */
static void sampling_pace(void)
{
	uint64_t before = kf_countdown_mean();
	uint64_t mean = kf_pace_note(kf_now_coarse_ns());

	if (likely(!mean) || !kf_countdown_follow(before, mean))
		return;
	do {
		mean = kf_countdown_mean();
		kf_word_set(KF_WORD_sample_mean, mean);
	} while (unlikely(mean != kf_countdown_mean()));
}

static uint32_t sampling_take(uint64_t bytes, uint64_t mean, uint32_t tag)
{
	uint32_t mark;

	/* An order may have ended it meanwhile. */
	if (!mean)
		return 0;
	mark = kf_sample_take(bytes, mean, tag);
	if (kf_pace_is_on())
		sampling_pace();
	return mark;
}

/* Whether each block is a sample: of the tag, or of all. */
static bool takes_each(uint32_t tag)
{
	return kf_countdown_takes_every() || (tag && kf_tags_has_stacks(tag));
}

uint32_t kf_sampling_draw(size_t size, size_t align, uint32_t tag)
{
	unsigned int class = class_of(size, align);
	size_t bytes =
		class ? kf_class_bytes(class) : KF_ALIGN_UP(size, KF_PAGE);
	struct kf_place place = {0};
	struct kf_heap *heap;
	uint64_t mean;
	uint32_t mark;

	if (takes_each(tag))
		return kf_sample_take(bytes, 0, tag);
	if (likely(!kf_countdown_mean()))
		return 0;
	mean = sampling_mean_of(size, align, bytes, tag, &place);
	if (!mean)
		return 0;
	heap = kf_heap_get();
	mark = sampling_take(bytes, mean, tag);
	if (mark)
		kf_sample_set_place(mark, &place);
	else if (heap && !tag)
		kf_countdown_skip(&heap->countdown, KF_SMALL_MAX);
	return mark;
}

/* A sample that realloc changes, by its own mean. */
static uint32_t sampling_keep(uint32_t old, size_t before, size_t after,
			      uint32_t tag)
{
	uint64_t mean = kf_sample_mean(old);
	uint32_t mark;

	if (after < before && !kf_countdown_stays(before, after, mean))
		return 0;
	mark = kf_pace_spares(kf_now_coarse_ns())
		       ? kf_sample_take(after, mean, tag)
		       : kf_sample_take_again(old, after, tag);
	if (mark && before == after)
		kf_sample_set_place(mark, kf_sample_place(old));
	return mark;
}

uint32_t kf_sampling_redraw(uint32_t old, size_t before, size_t after,
			    uint32_t tag)
{
	struct kf_heap *heap = kf_heap_get();
	bool large = after > KF_SMALL_MAX;
	uint64_t mean;

	if (takes_each(tag))
		return kf_sample_take(after, 0, tag);
	/* One of each block of a tag says nothing of the others. */
	if (old & KF_SAMPLE_MARK && kf_sample_mean(old) &&
	    (large || before == after))
		return sampling_keep(old, before, after, tag);
	if (likely(!kf_countdown_mean()) || before == after)
		return 0;
	if (!large)
		return kf_sampling_draw(after, 1, tag);
	if (after < before)
		return 0;
	mean = falls_on(heap, after - before);
	return sampling_take(after, mean, tag);
}

void kf_sampling_drawn(uint32_t mark, const void *p, size_t usable)
{
	if (likely(p)) {
		kf_sample_gave(mark, p, usable);
	} else {
		kf_word_add_atomic(KF_WORD_sample_lost, 1);
		kf_sample_drop(mark);
	}
}

/* A block of a hosted engine, whose usable bytes decide: a sample, or not. */
static void *alloc_hosted(size_t size, size_t align, bool zeroed,
			  size_t *usable)
{
	uint64_t mean = kf_countdown_mean();
	uint32_t mark = 0;
	void *p;

	if (likely(!mean))
		return NULL;
	p = kf_host_alloc(KF_MAX(size, KF_MARKS_LEAST), align, zeroed, 0,
			  usable);
	if (p && kf_countdown_hits(*usable, mean))
		mark = kf_sample_take(*usable, mean, 0);
	if (mark)
		kf_sampling_drawn(mark, kf_host_mark(p, mark) ? p : NULL,
				  *usable);
	return p;
}

void *kf_sampling_alloc(size_t size, size_t align, bool zeroed, size_t *usable)
{
	uint32_t mark;
	void *p;

	if (kf_engine_is_hosted())
		return alloc_hosted(size, align, zeroed, usable);
	mark = kf_sampling_draw(size, align, 0);
	if (likely(!mark))
		return NULL;
	/* Where each block is a sample, figures are exact: none has a guard. */
	*usable = size;
	p = kf_sample_mean(mark) ? kf_guarding_alloc(size, align, zeroed, mark)
				 : NULL;
	if (likely(!p))
		p = kf_marked_alloc(size, align, zeroed, mark, usable);
	if (unlikely(!p) && kf_heap_self())
		kf_countdown_skip(&kf_heap_self()->countdown, KF_SMALL_MAX);
	kf_sampling_drawn(mark, p, p ? *usable : 0);
	return p;
}

static bool is_allowed(uint64_t mean)
{
	return !mean || mean == KF_SAMPLE_EVERY ||
	       (mean >= KF_SAMPLE_MEAN_MIN && mean <= KF_SAMPLE_MEAN_MAX);
}

static void sampling_put(uint64_t mean, bool by_default)
{
	kf_word_set(KF_WORD_sample_mean, mean);
	kf_word_set(KF_WORD_sample_default, by_default);
	kf_countdown_set(mean);
	kf_process_change();
}

static void sampling_set(uint64_t mean)
{
	kf_pace_end();
	sampling_put(mean, false);
	if (mean)
		kf_store(&asked, true);
}

/*
 * Whether samples are taken by default: not in set-id programs, as the stacks
 * would reveal the addresses of their code, and not with an engine that would
 * take the slow path in each call.
 */
static bool is_default_on(void)
{
	return !kf_conf_is_set(&kf_conf.sample) && kf_env_is_trusted() &&
	       kf_conf.stats && !kf_engine_is_hosted();
}

static bool sampling_may(void)
{
	return !kf_engine_is_hosted() || kf_engine->samples;
}

/* As the options say. */
static void sampling_reset(void)
{
	uint64_t mean = kf_conf.sample;

	if (is_default_on()) {
		kf_pace_begin(mean);
		sampling_put(mean, true);
	} else if (kf_conf_is_set(&kf_conf.sample) && sampling_may() &&
		   is_allowed(mean)) {
		sampling_set(mean);
	} else {
		sampling_set(0);
	}
}

bool kf_sampling_was_asked(void)
{
	return kf_load(&asked);
}

void kf_sampling_begin(uint64_t mean)
{
	if (is_allowed(mean))
		sampling_set(mean);
}

void kf_sampling_stop(void)
{
	sampling_set(0);
}

static const char not_for_engines[] =
	"only the engines firstfit and system take samples";
static const char range[] = "default, 0, 1, or 1K to 1T";

static void sampling_warn(const char *why)
{
	char buf[160];
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator: KONFISCATOR_SAMPLE=");
	kf_text_u64(&text, kf_conf.sample);
	kf_text_str(&text, ": ");
	kf_text_str(&text, why);
	kf_text_str(&text, "; no samples are taken\n");
	kf_out(&text);
}

static void sampling_check(void)
{
	if (!kf_conf_is_set(&kf_conf.sample) || !kf_conf.sample)
		return;
	if (!sampling_may())
		sampling_warn(not_for_engines);
	else if (!is_allowed(kf_conf.sample))
		sampling_warn("not a valid size: use 0, 1, or 1K to 1T");
}

static uint32_t max_frames(void)
{
	uint64_t wanted = KF_MAX(kf_conf.stack_frames, (uint64_t)1);

	return (uint32_t)KF_MIN(wanted, (uint64_t)KF_STATS_STACK_MAX);
}

void kf_sampling_start(void)
{
	const struct kf_sample_conf conf = {
		.stacks = kf_conf.stacks,
		.max_frames = max_frames(),
		.max_stacks = (uint32_t)kf_conf.sample_stacks,
	};

	kf_sample_init(&conf);
	kf_rows_start();
	kf_countdown_seed(kf_conf.sample_seed);
	kf_guarding_start();
	kf_store(&asked, kf_conf.tag_stacks != NULL);
	sampling_check();
	sampling_reset();
}

static void sampling_tell(uint64_t mean, struct kf_text *reply)
{
	if (!mean) {
		kf_text_str(reply, "no samples are taken");
		return;
	}
	if (mean == KF_SAMPLE_EVERY) {
		kf_text_str(reply, "every block");
	} else {
		kf_text_str(reply, "a sample in ");
		kf_text_u64(reply, mean);
		kf_text_str(reply,
			    kf_pace_is_on() ? " bytes or more" : " bytes");
	}
	if (kf_conf.stacks && kf_rows_lack()) {
		kf_text_str(reply, "; ");
		kf_text_str(reply, kf_rows_lack());
		kf_text_str(reply, ": stacks by frame pointers only");
	}
}

int kf_sampling_set(const char *value, struct kf_text *reply)
{
	uint64_t mean;

	if (!strcmp(value, "default")) {
		sampling_reset();
		sampling_tell(kf_countdown_mean(), reply);
		return 0;
	}
	if (!kf_parse_size(value, &mean) || !is_allowed(mean)) {
		kf_text_str(reply, "sample: not ");
		kf_text_str(reply, range);
		return EINVAL;
	}
	if (!sampling_may()) {
		kf_text_str(reply, not_for_engines);
		return ENOTSUP;
	}
	sampling_set(mean);
	sampling_tell(mean, reply);
	return 0;
}

void kf_sampling_fork_child(void)
{
	kf_sample_fork_child();
	kf_guarding_fork_child();
	kf_pace_fork_child();
	if (kf_countdown_mean())
		kf_countdown_seed(kf_conf.sample_seed);
}
