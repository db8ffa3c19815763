/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bytes of the stats file, filled in from stats.def.
 *
 * Promises the layout of layout.h in memory. Whether a file or private memory
 * is mapped there is not known here.
 */
#include "stats/internal.h"

#include "stats/report.h"

#include "sys/process.h"

#include <string.h>

static const struct kf_stats_desc descs[] = {
#define KF_STAT(id, t, u, m, l, h, s, i) \
	{.name = #id,                    \
	 .metric = m,                    \
	 .labels = l,                    \
	 .help = h,                      \
	 .scope = s,                     \
	 .type = KF_TYPE_##t,            \
	 .unit = KF_UNIT_##u,            \
	 .index = i},
#define KF_STAT_SLOT(id, t, u, m, l, h) \
	KF_STAT(id, t, u, m, l, h, KF_SCOPE_SLOT, KF_SLOT_##id)
#define KF_STAT_WORD(id, t, u, m, l, h) \
	KF_STAT(id, t, u, m, l, h, KF_SCOPE_WORD, KF_WORD_##id)
#include "stats/stats.def"
#undef KF_STAT_WORD
#undef KF_STAT_SLOT
#undef KF_STAT
};

static const uint8_t slot_types[KF_STATS_SLOT_SCALARS] = {
#define KF_STAT_SLOT(id, t, u, m, l, h) [KF_SLOT_##id] = KF_TYPE_##t,
#include "stats/stats.def"
#undef KF_STAT_SLOT
};

static const uint8_t word_types[KF_NR_WORD_STATS] = {
#define KF_STAT_WORD(id, t, u, m, l, h) [KF_WORD_##id] = KF_TYPE_##t,
#include "stats/stats.def"
#undef KF_STAT_WORD
};

static struct kf_stats_section image_section(uint32_t offset, size_t entry_size,
					     size_t nr)
{
	return (struct kf_stats_section){offset, (uint32_t)entry_size,
					 (uint32_t)nr, 0};
}

static struct kf_stats_header *image_header(void)
{
	return (struct kf_stats_header *)(void *)kf_stats.base;
}

void kf_image_fill(void)
{
	struct kf_stats_header *h = image_header();

	*h = (struct kf_stats_header){
		.magic = KF_STATS_MAGIC,
		.major = KF_STATS_MAJOR,
		.minor = KF_STATS_MINOR,
		.header_size = sizeof(*h),
		.total_size = kf_image_size(kf_stats.nr_slots),
		.identity = image_section(KF_AT_IDENTITY,
					  sizeof(struct kf_stats_identity), 1),
		.ending = image_section(KF_AT_ENDING,
					sizeof(struct kf_stats_ending), 1),
		.descs =
			image_section(KF_AT_DESCS, sizeof(struct kf_stats_desc),
				      KF_ARRAY_SIZE(descs)),
		.classes = image_section(KF_AT_CLASSES,
					 sizeof(struct kf_stats_class),
					 KF_STATS_NR_CLASSES),
		/* The first word is the sequence number. */
		.words = image_section(KF_AT_WORDS, sizeof(uint64_t),
				       1 + KF_NR_WORD_STATS),
		.control = image_section(KF_AT_CONTROL,
					 sizeof(struct kf_stats_control), 1),
		.moments = image_section(KF_AT_MOMENTS,
					 sizeof(struct kf_stats_moment),
					 KF_STATS_MOMENTS),
		.reports = image_section(KF_AT_REPORTS,
					 sizeof(struct kf_stats_report),
					 KF_STATS_REPORTS),
		.slots = image_section(KF_AT_SLOTS, sizeof(struct kf_slot),
				       kf_stats.nr_slots),
		.tags = kf_area_section(KF_AREA_TAGS),
		.stacks = kf_area_section(KF_AREA_STACKS),
		.frames = kf_area_section(KF_AREA_FRAMES),
		.calls = kf_area_section(KF_AREA_CALLS),
		.lifetimes = kf_area_section(KF_AREA_LIFETIMES),
		.samples = kf_area_section(KF_AREA_SAMPLES),
		.map = kf_area_section(KF_AREA_MAP),
		.mappings = kf_area_section(KF_AREA_MAPPINGS),
		.modules = kf_area_section(KF_AREA_MODULES),
		.more = kf_area_section(KF_AREA_SLOTS),
	};
}

const struct kf_stats_desc *kf_image_descs(size_t *bytes)
{
	*bytes = sizeof(descs);
	return descs;
}

void kf_image_show(void)
{
	struct kf_stats_header *h = image_header();
	uint32_t *const area_nr[KF_NR_AREAS] = {
		[KF_AREA_TAGS] = &h->tags.nr,
		[KF_AREA_STACKS] = &h->stacks.nr,
		[KF_AREA_FRAMES] = &h->frames.nr,
		[KF_AREA_CALLS] = &h->calls.nr,
		[KF_AREA_LIFETIMES] = &h->lifetimes.nr,
		[KF_AREA_SAMPLES] = &h->samples.nr,
		[KF_AREA_MAP] = &h->map.nr,
		[KF_AREA_MAPPINGS] = &h->mappings.nr,
		[KF_AREA_MODULES] = &h->modules.nr,
		[KF_AREA_SLOTS] = &h->more.nr,
	};
	size_t nr_slots = kf_stats.nr_shown;
	uint64_t total = kf_image_size(nr_slots);
	struct kf_stats_section s[KF_NR_AREAS];

	for (int i = 0; i < KF_NR_AREAS; i++) {
		s[i] = kf_area_section((enum kf_stats_area)i);
		if (s[i].nr)
			total = KF_MAX(total,
				       s[i].offset + (uint64_t)s[i].entry_size *
							     s[i].nr);
	}
	if (kf_load(&kf_stats.nr_taken) <= KF_FEW_SLOTS)
		nr_slots = KF_MIN(nr_slots, (size_t)KF_FEW_SLOTS);
	kf_store_release(&h->total_size, total);
	/* A reader that sees a new number finds the file's new size as well. */
	kf_store_release(&h->slots.nr, (uint32_t)nr_slots);
	for (int i = 0; i < KF_NR_AREAS; i++)
		kf_store_release(area_nr[i], s[i].nr);
}

struct kf_stats_control *kf_stats_control(void)
{
	return (void *)(kf_stats.base + KF_AT_CONTROL);
}

static void sum_slot(const struct kf_slot *slot, struct kf_stats_moment *m)
{
	uint64_t allocated;

	for (size_t i = 0; i < KF_STATS_NR_CLASSES; i++) {
		const struct kf_stats_pair *c = &slot->class[i];
		uint64_t mallocs = kf_counter_read(&c->mallocs);
		uint64_t nr = mallocs - kf_counter_read(&c->frees);

		m->blocks += nr;
		m->live += nr * kf_stats_classes[i].bytes;
		m->allocated += mallocs * kf_stats_classes[i].bytes;
	}
	allocated = kf_counter_read(&slot->scalar[KF_SLOT_large_allocated]);
	m->allocated += allocated;
	m->live += allocated -
		   kf_counter_read(&slot->scalar[KF_SLOT_large_freed]) -
		   kf_counter_read(&slot->scalar[KF_SLOT_class_slack]);
}

static void sum_slots(const struct kf_slot *slots, size_t nr,
		      struct kf_stats_moment *m)
{
	for (size_t i = 0; i < nr; i++) {
		if (kf_load(&slots[i].state) != KF_SLOT_FREE)
			sum_slot(&slots[i], m);
	}
}

void kf_image_sum(struct kf_stats_moment *m)
{
	const struct kf_stats_class *class = kf_stats_classes;
	size_t nr = kf_load_acquire(&kf_stats.nr_slots);
	uint32_t nr_more;
	const struct kf_slot *more = kf_stats_area(KF_AREA_SLOTS, &nr_more);

	m->blocks = m->allocated = 0;
	m->live = kf_word_get(KF_WORD_inherited_large);
	for (size_t i = 0; i < KF_STATS_NR_CLASSES; i++) {
		m->blocks += (uint64_t) class[i].inherited;
		m->live += (uint64_t) class[i].inherited * class[i].bytes;
	}
	sum_slots(kf_image_slot(kf_stats.base, 0), nr, m);
	sum_slots(more, nr_more, m);
}

void kf_stats_live(uint64_t *blocks, uint64_t *bytes)
{
	struct kf_stats_moment m;

	kf_image_sum(&m);
	*blocks = m.blocks;
	*bytes = m.live;
}

static void inherit_classes(const struct kf_slot *slot)
{
	for (size_t i = 0; i < KF_STATS_NR_CLASSES; i++)
		kf_stats_classes[i].inherited +=
			(int64_t)(slot->class[i].mallocs -
				  slot->class[i].frees);
}

/* Bytes of tiny blocks that were handed out; a child no longer counts them. */
static uint64_t tiny_bytes(const struct kf_slot *slot)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < KF_STATS_NR_CLASSES &&
			   kf_stats_classes[i].bytes <= KF_STATS_TINY_MAX;
	     i++)
		bytes += slot->class[i].mallocs * kf_stats_classes[i].bytes;
	return bytes;
}

static void restart_slot(struct kf_slot *slot, int32_t forker)
{
	bool lives_on = forker && slot->tid == forker;

	slot->scalar[KF_SLOT_taken] -= tiny_bytes(slot);
	for (uint32_t i = 0; i < KF_STATS_SLOT_SCALARS; i++) {
		if (slot_types[i] != KF_TYPE_GAUGE)
			slot->scalar[i] = 0;
	}
	memset(slot->class, 0, sizeof(slot->class));
	if (slot->state == KF_SLOT_IN_USE && !lives_on)
		slot->state = KF_SLOT_IDLE;
	slot->tid = lives_on ? kf_process_tid() : 0;
}

/* The child's rings stay in their chunks, without the parent's events. */
static void clear_events(struct kf_stats_chunk *chunk)
{
	if (chunk->slot)
		memset(chunk->event, 0, sizeof(chunk->event));
}

/* Returns the bytes of live large blocks in the slots. */
static uint64_t inherit_slots(struct kf_slot *slot, size_t nr, int32_t forker)
{
	uint64_t large = 0;

	for (; nr; nr--, slot++) {
		if (slot->state == KF_SLOT_FREE) {
			clear_events((void *)slot);
			continue;
		}
		large += slot->scalar[KF_SLOT_large_allocated] -
			 slot->scalar[KF_SLOT_large_freed];
		inherit_classes(slot);
		restart_slot(slot, forker);
	}
	return large;
}

void kf_image_inherit(int32_t forker)
{
	struct kf_stats_words *words = kf_stats_words;
	uint64_t large = words->word[KF_WORD_inherited_large];
	uint32_t nr_more;
	struct kf_slot *more = kf_stats_area(KF_AREA_SLOTS, &nr_more);

	image_header()->ready = 0;
	kf_image_show();
	kf_moments_restart();
	kf_reports_restart();
	large += inherit_slots(kf_image_slot(kf_stats.base, 0),
			       kf_stats.nr_slots, forker);
	large += inherit_slots(more, nr_more, forker);
	words->seq = 0;
	for (uint32_t i = 0; i < KF_NR_WORD_STATS; i++) {
		if (word_types[i] != KF_TYPE_GAUGE)
			words->word[i] = 0;
	}
	words->word[KF_WORD_inherited_large] = large;
}

static void restart_slots(struct kf_slot *slot, size_t nr)
{
	for (; nr; nr--, slot++) {
		if (slot->state == KF_SLOT_FREE) {
			clear_events((void *)slot);
			continue;
		}
		memset(slot->scalar, 0, sizeof(slot->scalar));
		memset(slot->class, 0, sizeof(slot->class));
	}
}

void kf_image_restart(void)
{
	static const enum kf_word_stat of_blocks[] = {
		KF_WORD_inherited_large, KF_WORD_sample_mean,
		KF_WORD_sample_default,	 KF_WORD_sample_live,
		KF_WORD_sample_variance, KF_WORD_grown_to,
		KF_WORD_grown_at,
	};
	struct kf_stats_words *words = kf_stats_words;
	uint32_t nr_more;
	struct kf_slot *more = kf_stats_area(KF_AREA_SLOTS, &nr_more);

	image_header()->ready = 0;
	kf_image_show();
	kf_moments_restart();
	kf_reports_restart();
	restart_slots(kf_image_slot(kf_stats.base, 0), kf_stats.nr_slots);
	restart_slots(more, nr_more);
	for (size_t i = 0; i < KF_STATS_NR_CLASSES; i++)
		kf_stats_classes[i].inherited = 0;
	for (uint32_t i = 0; i < KF_NR_WORD_STATS; i++) {
		if (word_types[i] != KF_TYPE_GAUGE)
			words->word[i] = 0;
	}
	for (size_t i = 0; i < KF_ARRAY_SIZE(of_blocks); i++)
		words->word[of_blocks[i]] = 0;
}
