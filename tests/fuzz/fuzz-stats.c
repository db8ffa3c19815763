/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A stats file of any bytes: all that is read of it can be looked at.
 */
#include "config.h"

#include "reader/ages.h"
#include "reader/heap-map.h"
#include "reader/reader.h"
#include "reader/verdict.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

static void check_tables(const struct kf_snapshot *s)
{
	static uint64_t frame[KF_STATS_STACK_MAX];
	struct kf_ages *ages;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < s->nr_counters; i++) {
		const struct kf_counter *c = &s->counters[i];

		fuzz_require(ends(c->name, sizeof(c->name)) &&
				     ends(c->help, sizeof(c->help)),
			     "a counter's text has no end");
		sum += c->value;
	}
	for (unsigned int i = 0; i < s->nr_classes; i++)
		sum += s->classes[i].mallocs;
	for (unsigned int i = 0; i < s->nr_threads; i++)
		fuzz_require(
			ends(s->threads[i].name, sizeof(s->threads[i].name)),
			"a thread's name has no end");
	for (unsigned int i = 0; i < s->nr_tags; i++)
		fuzz_require(ends(s->tags[i].name, KF_STATS_TAG_NAME),
			     "a tag's name has no end");
	for (unsigned int i = 0; i < s->nr_stacks; i++) {
		const struct kf_stats_stack *k = &s->stacks[i];

		fuzz_require(k->nr_frames <= KF_ARRAY_SIZE(k->frame),
			     "a stack has more frames than it has room for");
		sum += kf_snapshot_frames(s, k, frame);
		sum += k->samples;
	}
	ages = kf_ages_of(s, kf_ages_now(s, false));
	fuzz_require(ages, "no memory");
	for (unsigned int i = 0; i < s->nr_stacks; i++)
		sum += kf_ages_kind(&ages[i]);
	free(ages);
	/* Only to have looked at all. */
	__asm__ volatile("" ::"r"(sum));
}

static void check_history(const struct kf_snapshot *s)
{
	const struct kf_case c = {
		.snap = s, .procfs = "/nowhere", .ended = true};
	struct kf_explained e;

	for (uint32_t i = 1; i < s->nr_moments; i++)
		fuzz_require(s->moments[i - 1].time < s->moments[i].time,
			     "moments are not by time");
	kf_explain_case(&c, &e);
	fuzz_require(e.why, "no verdict");
	fuzz_require(!e.facts.remembered ||
			     e.facts.used.least <= e.facts.used.most,
		     "a history without figures");
	kf_explained_release(&e);
}

static void check_map(const struct kf_snapshot *s)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < s->nr_cells;) {
		struct kf_cell_span r = kf_heap_map_region(s, i);

		fuzz_require(r.nr && r.begin >= end && r.end > r.begin,
			     "regions are not by address");
		fuzz_require(kf_cell_memory(&r.sums) + r.sums.absent ==
				     r.end - r.begin,
			     "a region is not the sum of its cells");
		end = r.end;
		i += r.nr;
	}
}

static void check_mappings(const struct kf_snapshot *s)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < s->nr_mappings; i++) {
		const struct kf_stats_mapping *m = &s->mappings[i];

		fuzz_require(m->begin >= end && m->end > m->begin &&
				     m->end <= KF_STATS_MAPPED_END,
			     "mappings are not by address");
		fuzz_require(m->stack < s->nr_stacks &&
				     s->stacks[m->stack].hash,
			     "a mapping without a stack");
		end = m->end;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_snapshot s;
	enum kf_read_result result;

	result = kf_snapshot_read_with(
		AT_FDCWD, fuzz_sparse(data, size),
		KF_TABLE_TAGS | KF_TABLE_STACKS | KF_TABLE_AGES |
			KF_TABLE_MOMENTS | KF_TABLE_MAP | KF_TABLE_MAPPINGS,
		&s);
	fuzz_require(result == s.result, "two answers");
	fuzz_require(kf_read_result_name(result), "no name for the answer");
	if (result == KF_READ_OK) {
		check_tables(&s);
		check_history(&s);
		check_map(&s);
		check_mappings(&s);
		kf_snapshot_value(&s, "live_bytes");
	}
	kf_snapshot_release(&s);
	return 0;
}
