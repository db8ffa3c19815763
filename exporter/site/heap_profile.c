/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Profiles for scrapers. Functions have the names of symbol tables; servers
 * find other names by build id.
 */
#include "config.h"

#include "exporter/site/flame.h"
#include "exporter/site/names.h"
#include "exporter/site/sites.h"
#include "reader/pprof.h"
#include "reader/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_SAMPLES 50000 /* beyond it no further process is added */

/* The process whose samples are being added. */
struct source {
	struct kf_pprof *p;
	struct kf_name_cache *cache;
	const struct kf_subject *subject;
	const struct kf_snapshot *s;
	struct kf_symbols *symbols;
	uint64_t *mapping; /* ids of its mappings in the profile; 0: not added
			      yet */
	bool failed;	   /* out of memory */
};

static uint64_t heap_profile_mapping(struct source *from, size_t i)
{
	uint64_t *id = &from->mapping[i];
	struct kf_code *code = &kf_symbols_codes(from->symbols)->code[i];

	if (*id)
		return *id;
	kf_code_identify(from->cache->procfs, from->subject->pid, code);
	*id = kf_pprof_mapping(from->p,
			       &(struct kf_pprof_mapping){
				       .begin = code->begin,
				       .end = code->end,
				       .offset = code->offset,
				       .path = code->path,
				       .build_id = code->build_id,
				       .build_id_size = code->build_id_size,
			       });
	return *id;
}

static uint64_t heap_profile_location(struct source *from,
				      const struct kf_frame *frame)
{
	uint64_t mapping = 0, id = kf_pprof_known(from->p, frame, 1);

	if (id)
		return id;
	if (frame->code)
		mapping = heap_profile_mapping(
			from, (size_t)(frame->code -
				       kf_symbols_codes(from->symbols)->code));
	return kf_pprof_location(from->p, frame, 1, mapping);
}

static void heap_profile_add_labels(struct source *from,
				    const struct kf_stats_stack *st)
{
	const struct kf_subject *subject = from->subject;
	char path[256];

	kf_pprof_label(from->p, "comm", subject->name, 0);
	if (subject->pid)
		kf_pprof_label(from->p, "pid", NULL, subject->pid);
	if (subject->container[0])
		kf_pprof_label(from->p, "container", subject->container, 0);
	if (st->tid)
		kf_pprof_label(from->p, "tid", NULL, st->tid);
	kf_sites_tag_path(from->s, st->tag, path, sizeof(path));
	if (path[0])
		kf_pprof_label(from->p, "tag", path, 0);
}

static size_t heap_profile_add_samples(struct source *from)
{
	uint64_t ids[KF_STATS_STACK_MAX];
	struct kf_calls calls;
	size_t nr = 0;

	for (uint32_t i = 0; i < from->s->nr_stacks; i++) {
		const struct kf_stats_stack *st = &from->s->stacks[i];

		if (!st->hash)
			continue;
		if (!kf_names_calls(from->symbols, from->s, st, &calls)) {
			from->failed = true;
			break;
		}
		for (size_t k = 0; k < calls.nr; k++)
			ids[k] = heap_profile_location(from, calls.frame[k]);
		kf_pprof_sample(
			from->p, ids, calls.nr,
			&(struct kf_pprof_count){
				.allocated = st->allocated,
				.freed = st->freed,
				.allocated_blocks = st->allocated_blocks,
				.freed_blocks = st->freed_blocks,
			});
		heap_profile_add_labels(from, st);
		nr++;
	}
	return nr;
}

/* Return the number of samples; 0 for a process that has ended. */
static size_t heap_profile_add_process(struct kf_pprof *p,
				       struct kf_name_cache *cache,
				       const struct kf_subject *subject,
				       bool *failed)
{
	struct source from = {.p = p, .cache = cache, .subject = subject};
	struct kf_snapshot s = {0};
	size_t nr = 0;

	if (kf_subject_read(subject, KF_TABLE_TAGS | KF_TABLE_STACKS, &s) &&
	    s.nr_stacks) {
		from.s = &s;
		from.symbols = kf_names_open(cache, subject->pid, &s);
		if (from.symbols)
			from.mapping =
				calloc(kf_symbols_codes(from.symbols)->nr + 1,
				       sizeof(*from.mapping));
		if (from.mapping)
			nr = heap_profile_add_samples(&from);
		*failed |= !from.mapping || from.failed;
		free(from.mapping);
		kf_names_close(from.symbols);
		kf_pprof_process(p);
	}
	kf_snapshot_release(&s);
	return nr;
}

size_t kf_heap_profile(struct kf_name_cache *cache,
		       const struct kf_subjects *subjects, struct kf_buf *out)
{
	struct kf_pprof *p;
	struct timespec now;
	size_t i, nr = 0, size;
	char text[80], *bytes;

	clock_gettime(CLOCK_REALTIME, &now);
	p = kf_pprof_begin(
		(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, 0);
	if (!p) {
		out->failed = true;
		return 0;
	}
	for (i = 0; i < subjects->nr && nr < MAX_SAMPLES; i++)
		nr += heap_profile_add_process(p, cache, &subjects->subject[i],
					       &out->failed);
	if (i < subjects->nr) {
		snprintf(text, sizeof(text),
			 "%zu processes that hold less are left out",
			 subjects->nr - i);
		kf_pprof_comment(p, text);
	}
	bytes = kf_pprof_end(p, &size);
	if (bytes)
		kf_buf_add(out, bytes, size);
	else
		out->failed = true;
	free(bytes);
	return nr;
}
