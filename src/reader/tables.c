/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tables of tags, call stacks and code in a stats file.
 *
 * The writer may change them meanwhile, and they may be damaged: an entry with
 * an invalid reference is left out, so that walks of the trees end. Holes
 * between the tables are not read.
 */
#include "reader/internal.h"

#include "base/saturate.h"
#include "reader/heap-map.h"
#include "stats/report.h"

#include <stdlib.h>
#include <string.h>

#define MINOR_GENERATIONS 6

/* The coarse clock, of moments, is at most so far behind that of the file. */
#define COARSE_NS ((uint64_t)20000000)

/* Longer entries of a later version are cut to the known part. */
static void *copy_table(const struct kf_source *src,
			const struct kf_stats_section *sec, size_t entry_size)
{
	char *table = kf_late(src->until_ns)
			      ? NULL
			      : calloc((size_t)sec->nr + 1, entry_size);
	bool ok = table != NULL;

	if (ok && sec->entry_size == entry_size)
		ok = kf_read_at(src->fd, table, sec->nr * entry_size,
				sec->offset);
	else
		for (uint32_t i = 0; ok && i < sec->nr; i++)
			ok = !kf_late(src->until_ns) &&
			     kf_read_at(src->fd, table + i * entry_size,
					entry_size,
					sec->offset +
						(uint64_t)i * sec->entry_size);
	if (ok)
		return table;
	free(table);
	return NULL;
}

static bool is_whole(const struct kf_snapshot *s, const struct kf_stats_tag *t)
{
	const struct kf_stats_tag *parent;

	if (t->state == KF_TAG_FREE || t->parent >= s->nr_tags ||
	    t->root >= s->nr_tags)
		return false;
	parent = &s->tags[t->parent];
	return t->parent ? parent->state != KF_TAG_FREE &&
				   parent->depth + 1 == t->depth
			 : t->depth == 0;
}

void kf_tag_bound(struct kf_stats_tag *t)
{
	uint64_t *const blocks[] = {
		&t->mallocs, &t->callocs, &t->reallocs,	 &t->aligned,
		&t->frees,   &t->resized, &t->inherited, &t->remote_frees};
	uint64_t *const others[] = {&t->failed,	   &t->entered,	    &t->left,
				    &t->allocated, &t->freed,	    &t->peak,
				    &t->vm_size,   &t->remote_freed};

	/* the sum of all kinds of calls is bounded too */
	for (size_t i = 0; i < KF_ARRAY_SIZE(blocks); i++)
		*blocks[i] =
			KF_MIN(*blocks[i], KF_MOST / KF_ARRAY_SIZE(blocks));
	for (size_t i = 0; i < KF_ARRAY_SIZE(others); i++)
		*others[i] = KF_MIN(*others[i], KF_MOST);
}

/* Depths were checked, so there is no loop of parents. */
static void settle_tags(struct kf_snapshot *s)
{
	if (s->nr_tags)
		s->tags[0].state = KF_TAG_FREE;
	for (uint32_t i = 1; i < s->nr_tags; i++) {
		struct kf_stats_tag *t = &s->tags[i];

		t->name[sizeof(t->name) - 1] = '\0';
		kf_tag_bound(t);
		if (!is_whole(s, t))
			t->state = KF_TAG_FREE;
	}
}

static bool read_tags(const struct kf_source *src,
		      const struct kf_stats_section *sec, struct kf_snapshot *s)
{
	s->tags = copy_table(src, sec, sizeof(*s->tags));
	if (!s->tags)
		return false;
	s->nr_tags = sec->nr;
	settle_tags(s);
	return true;
}

/* Entry of the first frame outside of those in the stack's own entry, or 0. */
static uint32_t stack_outer(const struct kf_stats_stack *stack)
{
	return stack->flags >> KF_STACK_OUTER_SHIFT;
}

/* A frame that was added after the header was read is missing. */
static bool outer_is_whole(const struct kf_snapshot *s,
			   const struct kf_stats_stack *stack)
{
	uint32_t nr = stack->nr_frames;
	uint32_t at = stack_outer(stack);

	while (at) {
		const struct kf_stats_frame *f;

		if (at >= s->nr_frames || nr++ == KF_STATS_STACK_MAX)
			return false;
		f = &s->frames[at];
		if (!f->address || f->parent >= at)
			return false;
		at = f->parent;
	}
	return stack_outer(stack);
}

static void settle_stack(const struct kf_snapshot *s,
			 struct kf_stats_stack *stack)
{
	stack->nr_frames =
		KF_MIN(stack->nr_frames, (uint32_t)KF_STATS_STACK_FRAMES);
	if (!outer_is_whole(s, stack))
		stack->flags &= (1u << KF_STACK_OUTER_SHIFT) - 1;
	else if (!(stack->flags & KF_STACK_OUTER_CUT))
		stack->flags &= ~(uint32_t)KF_STACK_CUT;
}

/* Of these files the last module at an address is the best guess. */
static void put_generation(struct kf_stats_stack *stack)
{
	if (stack->hash)
		stack->hash = (stack->hash | KF_GENERATION_UNSURE) - 1;
}

/* Also after the stacks. */
static bool read_calls(const struct kf_source *src, struct kf_snapshot *s)
{
	const struct kf_stats_section *calls = &src->h.calls;

	if (!calls->nr)
		return true;
	s->calls = copy_table(src, calls, sizeof(*s->calls));
	if (!s->calls)
		return false;
	s->nr_calls = calls->nr;
	for (uint32_t i = 0; i < s->nr_calls; i++) {
		struct kf_stats_call *call = &s->calls[i];

		call->function[sizeof(call->function) - 1] = '\0';
		call->file[sizeof(call->file) - 1] = '\0';
	}
	return true;
}

static bool read_stacks(const struct kf_source *src, unsigned int tables,
			const struct kf_stats_section *sec,
			struct kf_snapshot *s)
{
	uint32_t kind = tables & KF_TABLE_REALTIME ? KF_STACK_REALTIME : 0;
	const struct kf_stats_section *frames = &src->h.frames;

	s->stacks = copy_table(src, sec, sizeof(*s->stacks));
	if (!s->stacks)
		return false;
	s->nr_stacks = sec->nr;
	/* After the stacks, so that their frames are there. */
	if (frames->nr)
		s->frames = copy_table(src, frames, sizeof(*s->frames));
	if (frames->nr && !s->frames)
		return false;
	s->nr_frames = frames->nr;
	if (!read_calls(src, s))
		return false;
	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		if (kf_late(src->until_ns))
			return false;
		settle_stack(s, &s->stacks[i]);
		if ((s->stacks[i].flags & KF_STACK_REALTIME) != kind)
			s->stacks[i].hash = 0;
		if (src->h.minor < MINOR_GENERATIONS)
			put_generation(&s->stacks[i]);
	}
	return true;
}

const struct kf_stats_call *kf_snapshot_call(const struct kf_snapshot *s,
					     uint64_t address)
{
	uint64_t entry = address & ~KF_STATS_CALL;

	return address & KF_STATS_CALL && entry < s->nr_calls &&
			       s->calls[entry].key
		       ? &s->calls[entry]
		       : NULL;
}

uint32_t kf_snapshot_frames(const struct kf_snapshot *s,
			    const struct kf_stats_stack *stack,
			    uint64_t frame[KF_STATS_STACK_MAX])
{
	uint32_t nr = stack->nr_frames;

	memcpy(frame, stack->frame, nr * sizeof(*frame));
	for (uint32_t at = stack_outer(stack); at; at = s->frames[at].parent)
		frame[nr++] = s->frames[at].address;
	return nr;
}

/* A module of minor versions 3 to 5 has more path, and nothing after it. */
static void settle_module(struct kf_stats_module *m)
{
	char path[KF_STATS_MODULE_PATH_5];
	size_t len, room = sizeof(m->path);

	memcpy(path, m->path, sizeof(path));
	path[sizeof(path) - 1] = '\0';
	len = strlen(path);
	memset(m->path, 0, sizeof(path));
	if (len >= room)
		m->flags |= KF_MODULE_CUT;
	memcpy(m->path, path + (len < room ? 0 : len - room + 1),
	       KF_MIN(len, room - 1));
}

static bool read_modules(const struct kf_source *src,
			 const struct kf_stats_section *sec,
			 struct kf_snapshot *s)
{
	s->modules = copy_table(src, sec, sizeof(*s->modules));
	if (!s->modules)
		return false;
	s->nr_modules = sec->nr;
	for (uint32_t i = 0; i < s->nr_modules; i++) {
		struct kf_stats_module *m = &s->modules[i];

		if (src->h.minor < MINOR_GENERATIONS)
			settle_module(m);
		m->path[sizeof(m->path) - 1] = '\0';
		if (m->build_id_size > sizeof(m->build_id))
			m->build_id_size = 0;
		if (m->begin >= m->end || m->base > m->begin || !m->path[0])
			m->begin = 0;
	}
	return true;
}

static bool sample_is_whole(const struct kf_snapshot *s,
			    const struct kf_stats_sample *e)
{
	return e->stack < s->nr_stacks && s->stacks[e->stack].hash &&
	       e->bytes && e->bytes <= e->weight && e->weight <= KF_MOST;
}

/* Also after the stacks. */
static bool read_ages(const struct kf_source *src, struct kf_snapshot *s)
{
	const struct kf_stats_section *lifetimes = &src->h.lifetimes;
	const struct kf_stats_section *samples = &src->h.samples;

	if (lifetimes->nr) {
		s->lifetimes =
			copy_table(src, lifetimes, sizeof(*s->lifetimes));
		if (!s->lifetimes)
			return false;
		s->nr_lifetimes = lifetimes->nr;
	}
	if (!samples->nr)
		return true;
	s->samples = copy_table(src, samples, sizeof(*s->samples));
	if (!s->samples)
		return false;
	s->nr_samples = samples->nr;
	for (uint32_t i = 0; i < s->nr_samples; i++) {
		if (!sample_is_whole(s, &s->samples[i]))
			s->samples[i].address = 0;
	}
	return true;
}

static int moments_by_time(const void *va, const void *vb)
{
	const struct kf_stats_moment *a = va, *b = vb;

	return (a->time > b->time) - (a->time < b->time);
}

/* Keeps the moments that are possible, by time. */
static void settle_moments(struct kf_snapshot *s)
{
	uint64_t from =
		s->id.created_mono - KF_MIN(s->id.created_mono, COARSE_NS);
	uint32_t nr = 0;

	qsort(s->moments, s->nr_moments, sizeof(*s->moments), moments_by_time);
	for (uint32_t i = 0; i < s->nr_moments; i++) {
		struct kf_stats_moment m = s->moments[i];

		if (!m.time || m.time < from || m.time > KF_MOST ||
		    (nr && s->moments[nr - 1].time == m.time))
			continue;
		m.live = KF_MIN(m.live, KF_MOST);
		m.held = KF_MIN(m.held, KF_MOST);
		m.allocated = KF_MIN(m.allocated, KF_MOST);
		m.blocks = KF_MIN(m.blocks, KF_MOST);
		s->moments[nr++] = m;
	}
	s->nr_moments = nr;
}

/* A moment that changes between two reads is being written. */
static bool read_moments(const struct kf_source *src,
			 const struct kf_stats_section *sec,
			 struct kf_snapshot *s)
{
	struct kf_stats_moment *again;

	s->moments = copy_table(src, sec, sizeof(*s->moments));
	again = copy_table(src, sec, sizeof(*again));
	if (!s->moments || !again) {
		free(again);
		return false;
	}
	s->nr_moments = sec->nr;
	for (uint32_t i = 0; i < sec->nr; i++) {
		if (memcmp(&s->moments[i], &again[i], sizeof(*again)))
			s->moments[i].time = 0;
	}
	free(again);
	settle_moments(s);
	return true;
}

/* Keeps the reports that are possible. */
static void settle_reports(struct kf_snapshot *s)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->nr_reports; i++) {
		struct kf_stats_report r = s->reports[i];

		if (!r.time || r.time > KF_MOST || !kf_report_words(r.kind))
			continue;
		for (size_t k = 0; k < KF_ARRAY_SIZE(r.by); k++) {
			if (r.by[k].stack >= s->nr_stacks ||
			    !s->stacks[r.by[k].stack].hash)
				r.by[k].stack = 0;
		}
		r.times = KF_MIN(r.times, KF_MOST);
		s->reports[nr++] = r;
	}
	s->nr_reports = nr;
}

/* Before the stacks, so that its stacks are there. */
static bool read_reports(const struct kf_source *src,
			 const struct kf_stats_section *sec,
			 struct kf_snapshot *s)
{
	s->reports = copy_table(src, sec, sizeof(*s->reports));
	s->nr_reports = s->reports ? sec->nr : 0;
	return s->reports != NULL;
}

static bool read_map(const struct kf_source *src,
		     const struct kf_stats_section *sec, struct kf_snapshot *s)
{
	s->cells = copy_table(src, sec, sizeof(*s->cells));
	if (!s->cells)
		return false;
	s->nr_cells = kf_heap_map_settle(s->cells, sec->nr);
	return true;
}

static int mappings_by_address(const void *va, const void *vb)
{
	const struct kf_stats_mapping *a = va, *b = vb;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

static bool mapping_is_whole(const struct kf_snapshot *s,
			     const struct kf_stats_mapping *m)
{
	return m->begin && m->begin < m->end && m->end <= KF_STATS_MAPPED_END &&
	       m->stack && m->stack < s->nr_stacks && s->stacks[m->stack].hash;
}

/* Keeps the mappings that are possible, by address. */
static void settle_mappings(struct kf_snapshot *s)
{
	uint32_t nr = 0;

	qsort(s->mappings, s->nr_mappings, sizeof(*s->mappings),
	      mappings_by_address);
	for (uint32_t i = 0; i < s->nr_mappings; i++) {
		const struct kf_stats_mapping m = s->mappings[i];

		if (mapping_is_whole(s, &m) &&
		    (!nr || s->mappings[nr - 1].end <= m.begin))
			s->mappings[nr++] = m;
	}
	s->nr_mappings = nr;
}

/* Before the stacks, as reports. */
static bool read_mappings(const struct kf_source *src,
			  const struct kf_stats_section *sec,
			  struct kf_snapshot *s)
{
	s->mappings = copy_table(src, sec, sizeof(*s->mappings));
	s->nr_mappings = s->mappings ? sec->nr : 0;
	return s->mappings != NULL;
}

bool kf_tables_read(const struct kf_source *src, unsigned int tables,
		    struct kf_snapshot *s)
{
	const struct kf_stats_header *h = &src->h;

	if (tables & KF_TABLE_TAGS && h->tags.nr &&
	    !read_tags(src, &h->tags, s))
		return false;
	if (tables & KF_TABLE_EVENTS && !kf_events_read(src, s))
		return false;
	if (tables & KF_TABLE_MOMENTS && h->moments.nr &&
	    !read_moments(src, &h->moments, s))
		return false;
	if (tables & KF_TABLE_MAP && h->map.nr && !read_map(src, &h->map, s))
		return false;
	if (!(tables & KF_TABLE_STACKS))
		return true;
	if (tables & KF_TABLE_REPORTS && h->reports.nr &&
	    !read_reports(src, &h->reports, s))
		return false;
	if (tables & KF_TABLE_MAPPINGS && h->mappings.nr &&
	    !read_mappings(src, &h->mappings, s))
		return false;
	/*
	 * read the modules after the stacks, so that the stacks' code is there
	 */
	if ((h->stacks.nr && !read_stacks(src, tables, &h->stacks, s)) ||
	    (tables & KF_TABLE_AGES && !read_ages(src, s)) ||
	    (h->modules.nr && !read_modules(src, &h->modules, s)))
		return false;
	settle_reports(s);
	if (s->nr_mappings)
		settle_mappings(s);
	return true;
}
