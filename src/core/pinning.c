/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the blocks of tags and of stacks pin: see pinning.h.
 */
#include "core/pinning.h"

#include "base/text.h"
#include "engines/host.h"
#include "heap/pinned.h"
#include "sample/sample.h"
#include "stats/stats.h"
#include "sys/clock.h"
#include "tags/tags.h"

#include <errno.h>

static void pinning_add_tag(uint32_t node, uint64_t parts)
{
	if (node < kf_load(&kf_tags.nr))
		kf_tags_at(node)->pinned += parts;
}

/*
 * Blocks of a tag are in slabs with each other, and so are blocks that are all
 * sampled. Other samples stand for blocks of other slabs.
 */
static void pinning_add_sample(uint32_t mark, uint64_t parts)
{
	const struct kf_place *place = kf_sample_place(mark);
	uint32_t tag;

	if (!place)
		return;
	tag = kf_sample_tag(mark);
	if (tag)
		pinning_add_tag(tag, parts);
	if (!tag && kf_sample_mean(mark))
		parts = place->at ? kf_pinned_at(place)
				  : KF_STATS_PINNED_UNKNOWN;
	kf_sample_set_pinned(mark, parts);
}

static void pinning_add(uint32_t mark, uint64_t parts)
{
	if (mark & KF_SAMPLE_MARK)
		pinning_add_sample(mark, parts);
	else
		pinning_add_tag(kf_tag_of_mark(mark), parts);
}

static void pinning_clear_tags(void)
{
	for (uint32_t i = 0; i < kf_load(&kf_tags.nr); i++)
		kf_tags_at(i)->pinned = 0;
}

int kf_pinning_note(struct kf_text *reply)
{
	uint64_t total;

	if (kf_engine_is_hosted()) {
		kf_text_str(
			reply,
			"only the engine firstfit knows which blocks pin slabs");
		return ENOTSUP;
	}
	pinning_clear_tags();
	if (!kf_pinned_each(pinning_add, &total)) {
		kf_text_str(reply, "the process is forking: try again");
		return EAGAIN;
	}
	kf_word_set(KF_WORD_pinned, total);
	kf_word_set(KF_WORD_pinned_at, kf_now_ns() / 1000000);
	kf_text_u64(reply, total);
	kf_text_str(reply, " bytes of free blocks are pinned");
	return 0;
}
