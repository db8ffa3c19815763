/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Events of several processors come in any order, so a sample may be freed
 * before it is known; an id stands for one sample only. A return address counts
 * if it is in an executable mapping: what follows it in a stack is by chance.
 */
#include "config.h"

#include "cli/profile/traced.h"

#include "cli/cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_FRAMES 65 /* the return address of the call, and 16 lines of 4 */
#define MAX_STACKS 65536u /* as many as the script's map has samples */

/* Mappings are read again for an address in none, but not more often. */
#define RANGES_NS 200000000u

#define MAX_BYTES ((uint64_t)1 << 47) /* no block is larger */

/* A stack of which more lines may come. */
struct traced_stack {
	int32_t tid;
	uint32_t nr;
	uint64_t frame[MAX_FRAMES];
};

struct traced_sample {
	uint64_t id;
	uint64_t bytes;
	struct traced_stack *stack; /* NULL: it is complete, or not begun */
	uint32_t entry;
	bool counted;
	bool freed;
};

struct traced_entry {
	uint64_t hash;
	uint32_t entry;
};

static uint64_t traced_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void traced_ranges(struct kf_traced *t)
{
	char *name = kf_format("/proc/%d/maps", t->pid);
	FILE *maps = fopen(name, "re");
	struct kf_traced_range *list = NULL;
	size_t size = 0, room = 0, nr = 0;
	char *line = NULL;

	free(name);
	t->ranges_ns = traced_now();
	while (maps && getline(&line, &size, maps) > 0) {
		struct kf_traced_range r;
		char mode[5];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &r.begin,
			   &r.end, mode) != 3 ||
		    mode[2] != 'x')
			continue;
		if (nr == room) {
			struct kf_traced_range *more =
				kf_alloc(2 * room + 64, sizeof(*more));

			if (nr)
				memcpy(more, list, nr * sizeof(*more));
			free(list);
			list = more;
			room = 2 * room + 64;
		}
		list[nr++] = r;
	}
	free(line);
	if (maps)
		fclose(maps);
	/* a process that has ended has the mappings that it had */
	if (nr) {
		free(t->range);
		t->range = list;
		t->nr_ranges = nr;
	} else {
		free(list);
	}
}

static bool traced_in_range(const struct kf_traced *t, uint64_t address)
{
	for (size_t i = 0; i < t->nr_ranges; i++) {
		if (address >= t->range[i].begin && address < t->range[i].end)
			return true;
	}
	return false;
}

static bool traced_is_code(struct kf_traced *t, uint64_t address)
{
	if (traced_in_range(t, address))
		return true;
	if (address < 4096 || traced_now() - t->ranges_ns < RANGES_NS)
		return false;
	traced_ranges(t);
	return traced_in_range(t, address);
}

/* Makes room for one more in an array of the snapshot. */
static void *traced_grow(void *array, uint32_t nr, uint32_t *room, size_t size)
{
	void *more;

	if (nr < *room)
		return array;
	more = kf_alloc(2 * (size_t)*room + 64, size);
	if (nr)
		memcpy(more, array, nr * size);
	free(array);
	*room = 2 * *room + 64;
	return more;
}

/* Returns the entry of the frames from the given one on, as a chain. */
static uint32_t traced_outer(struct kf_snapshot *s, struct kf_traced *t,
			     const struct traced_stack *from)
{
	uint32_t parent = 0;

	for (uint32_t i = from->nr; i > KF_STATS_STACK_FRAMES; i--) {
		s->frames = traced_grow(s->frames, s->nr_frames,
					&t->room_frames, sizeof(*s->frames));
		/* entry 0 stands for none */
		s->nr_frames = KF_MAX(s->nr_frames, 1u);
		s->frames[s->nr_frames] = (struct kf_stats_frame){
			.address = from->frame[i - 1],
			.parent = parent,
		};
		parent = s->nr_frames++;
	}
	return parent;
}

static uint32_t traced_add(struct kf_traced *t, const struct traced_stack *from,
			   uint64_t hash)
{
	struct kf_snapshot *s = &t->snapshot;
	struct kf_stats_stack *e;
	uint32_t nr = from->nr;

	s->stacks = traced_grow(s->stacks, s->nr_stacks, &t->room_stacks,
				sizeof(*s->stacks));
	e = &s->stacks[s->nr_stacks];
	*e = (struct kf_stats_stack){
		/* its generation is that of no module */
		.hash = (hash | 1) << KF_GENERATION_BITS,
		.nr_frames = KF_MIN(nr, (uint32_t)KF_STATS_STACK_FRAMES),
		.flags = KF_STACK_NO_TABLES | traced_outer(s, t, from)
						      << KF_STACK_OUTER_SHIFT,
		.tid = from->tid,
	};
	memcpy(e->frame, from->frame, e->nr_frames * sizeof(*e->frame));
	if (nr == MAX_FRAMES)
		e->flags |= KF_STACK_CUT;
	return s->nr_stacks++;
}

/* The entry of a stack; the first one is for all that have no room. */
static uint32_t traced_find(struct kf_traced *t,
			    const struct traced_stack *stack)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	struct traced_entry e;
	bool is_new;
	void *at;

	if (!t->snapshot.nr_stacks) {
		traced_add(t, &(struct traced_stack){0}, 1);
		t->snapshot.stacks[0].flags = KF_STACK_OVERFLOW;
	}
	for (uint32_t i = 0; i < stack->nr; i++) {
		hash = (hash ^ stack->frame[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	hash |= 1;
	t->stacks.entry_size = sizeof(e);
	if (!kf_map_find(&t->stacks, hash) && t->stacks.nr >= MAX_STACKS)
		return 0;
	at = kf_entry(&t->stacks, hash, &is_new);
	memcpy(&e, at, sizeof(e));
	if (is_new) {
		e.entry = traced_add(t, stack, hash);
		memcpy(at, &e, sizeof(e));
	}
	return e.entry;
}

static void traced_raise(uint64_t *peak, uint64_t level)
{
	if (level > *peak)
		*peak = level;
}

/* The arithmetic is that of the library: doc/profiles.md. */
static void traced_count(struct kf_traced *t, const struct traced_sample *s,
			 bool freed)
{
	struct kf_stats_stack *e = &t->snapshot.stacks[s->entry];
	double bytes = (double)s->bytes;
	double weight = bytes / -expm1(-bytes / (double)t->mean);
	uint64_t sum = (uint64_t)(weight + 0.5);
	uint64_t blocks =
		(uint64_t)(weight / bytes * KF_STATS_BLOCK_PARTS + 0.5);
	uint64_t variance =
		(uint64_t)(weight * (weight - bytes) / KF_STATS_VARIANCE_UNIT +
			   0.5);

	t->snapshot.totals.live += freed ? -sum : sum;
	t->blocks += freed ? -blocks : blocks;
	t->snapshot.totals.live_blocks = t->blocks / KF_STATS_BLOCK_PARTS;
	if (freed) {
		e->freed_samples++;
		e->freed += sum;
		e->freed_blocks += blocks;
		e->freed_variance += variance;
		return;
	}
	e->samples++;
	e->allocated += sum;
	e->allocated_blocks += blocks;
	e->variance += variance;
	traced_raise(&e->peak, e->allocated - e->freed);
	traced_raise(&e->peak_blocks, e->allocated_blocks - e->freed_blocks);
}

/* Takes the next number of a line. */
static bool traced_number(const char **line, uint64_t *n)
{
	char *end;

	*n = strtoull(*line, &end, 16);
	if (end == *line)
		return false;
	*line = end;
	return true;
}

static void traced_begin(struct traced_sample *s, const char *line)
{
	uint64_t bytes, tid, address;

	if (s->stack || s->counted || !traced_number(&line, &bytes) ||
	    !traced_number(&line, &tid) || !traced_number(&line, &address) ||
	    !bytes || bytes > MAX_BYTES)
		return;
	s->bytes = bytes;
	s->stack = kf_alloc(1, sizeof(*s->stack));
	s->stack->tid = (int32_t)tid;
	s->stack->frame[s->stack->nr++] = address;
}

static void traced_more(struct traced_sample *s, const char *line)
{
	uint64_t address;

	while (s->stack && s->stack->nr < MAX_FRAMES &&
	       traced_number(&line, &address) && address)
		s->stack->frame[s->stack->nr++] = address;
}

static void traced_end(struct kf_traced *t, struct traced_sample *s)
{
	uint32_t nr = 0;

	if (!s->stack)
		return;
	while (nr < s->stack->nr && traced_is_code(t, s->stack->frame[nr]))
		nr++;
	s->stack->nr = nr;
	s->entry = traced_find(t, s->stack);
	free(s->stack);
	s->stack = NULL;
	s->counted = true;
	traced_count(t, s, false);
}

static void traced_event(struct kf_traced *t, char kind, uint64_t id,
			 const char *line)
{
	struct traced_sample s;
	bool is_new;
	void *at;

	t->samples.entry_size = sizeof(s);
	/* what a lost line began is not known */
	if ((kind == 's' || kind == 'e') && !kf_map_find(&t->samples, id))
		return;
	at = kf_entry(&t->samples, id, &is_new);
	memcpy(&s, at, sizeof(s));
	if (kind == 'a')
		traced_begin(&s, line);
	else if (kind == 's')
		traced_more(&s, line);
	else if (kind == 'e')
		traced_end(t, &s);
	else
		s.freed = true;
	memcpy(at, &s, sizeof(s));
	if (!s.counted || !s.freed)
		return;
	traced_count(t, &s, true);
	kf_map_remove(&t->samples, id);
}

void kf_traced_line(struct kf_traced *t, const char *line)
{
	const char *rest = line + 2;
	unsigned long long lost;
	uint64_t id;

	if (sscanf(line, "Lost %llu events", &lost) == 1)
		t->lost += lost;
	else if (!strcmp(line, "n\n"))
		t->no_room++;
	else if (line[0] && strchr("asef", line[0]) && line[1] == ' ' &&
		 traced_number(&rest, &id) && id)
		traced_event(t, line[0], id, rest);
}

static void traced_drop(const void *entry, void *unused)
{
	struct traced_sample s;

	(void)unused;
	memcpy(&s, entry, sizeof(s));
	free(s.stack);
}

void kf_traced_release(struct kf_traced *t)
{
	kf_map_each(&t->samples, traced_drop, NULL);
	kf_map_release(&t->samples);
	kf_map_release(&t->stacks);
	free(t->snapshot.stacks);
	free(t->snapshot.frames);
	free(t->range);
	*t = (struct kf_traced){0};
}
