/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The event rings of a stats file, which are in chunks between the slots,
 * merged into one list by time.
 *
 * Threads write meanwhile. An event that is being written has no time, or
 * differs when it is read again, and is left out. The thread of an event
 * follows from the start and end events in its ring.
 */
#include "reader/internal.h"

#include "stats/box.h"

#include <stdlib.h>
#include <string.h>

struct chunk {
	uint32_t slot;
	uint32_t index;
	struct kf_stats_event event[KF_STATS_EVENTS];
};

/* The events of a file while they are read. */
struct gather {
	const struct kf_source *src;
	const struct kf_stats_section *slots;
	uint32_t nr_chunks;
	struct chunk *chunks;
	struct kf_snapshot *s;
};

static uint64_t event_place(const struct gather *g, uint32_t i)
{
	return g->slots->offset + (uint64_t)i * g->slots->entry_size;
}

static bool is_chunk(const struct kf_stats_chunk *c)
{
	return c->state == KF_SLOT_FREE && c->slot;
}

/* Keeps the events of a chunk that are equal in both reads. */
static void take_chunk(struct gather *g, const struct kf_stats_chunk *a,
		       const struct kf_stats_chunk *b)
{
	struct chunk *chunk = &g->chunks[g->nr_chunks++];

	chunk->slot = a->slot;
	chunk->index = a->index;
	for (unsigned int i = 0; i < KF_STATS_EVENTS; i++) {
		if (!memcmp(&a->event[i], &b->event[i], sizeof(a->event[i])))
			chunk->event[i] = a->event[i];
	}
}

static bool read_chunks(struct gather *g)
{
	struct kf_stats_chunk a, b;

	g->chunks = calloc((size_t)g->slots->nr + 1, sizeof(*g->chunks));
	if (!g->chunks)
		return false;
	for (uint32_t i = 0; i < g->slots->nr; i++) {
		const size_t head = offsetof(struct kf_stats_chunk, event);

		if (kf_late(g->src->until_ns) ||
		    !kf_read_at(g->src->fd, &a, head, event_place(g, i)))
			return false;
		if (!is_chunk(&a))
			continue;
		if (!kf_read_at(g->src->fd, &a, sizeof(a), event_place(g, i)) ||
		    !kf_read_at(g->src->fd, &b, sizeof(b), event_place(g, i)))
			return false;
		if (is_chunk(&a) && a.slot <= g->slots->nr)
			take_chunk(g, &a, &b);
	}
	return true;
}

static int by_ring(const void *va, const void *vb)
{
	const struct chunk *a = va, *b = vb;

	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static uint64_t event_time(const struct kf_stats_event *e)
{
	return e->when & KF_STATS_EVENT_TIME;
}

static void events_take(struct kf_snapshot *s, const struct kf_stats_event *e)
{
	if (e->when)
		s->events[s->nr_events++] = (struct kf_event){
			.time_ns = event_time(e),
			.kind = (uint32_t)(e->when >> KF_STATS_EVENT_TIME_BITS),
			.address = e->address,
			.bytes = e->bytes,
		};
}

/* A full ring begins where the time decreases. */
static void events_unroll(struct kf_event *event, uint32_t nr)
{
	uint32_t from = 1;
	struct kf_event *copy;

	while (from < nr && event[from].time_ns >= event[from - 1].time_ns)
		from++;
	if (from >= nr)
		return;
	copy = malloc(nr * sizeof(*copy));
	if (!copy)
		return;
	memcpy(copy, event + from, (nr - from) * sizeof(*copy));
	memcpy(copy + nr - from, event, from * sizeof(*copy));
	memcpy(event, copy, nr * sizeof(*copy));
	free(copy);
}

/*
 * Backwards: events before an end event belong to the ending thread. Before a
 * start event is the end of another thread, or events of this thread from
 * before it had the heap.
 */
static void name_threads(struct kf_event *event, uint32_t nr,
			 const struct kf_slot *slot)
{
	int32_t tid = slot->tid;

	for (uint32_t i = nr; i-- > 0;) {
		struct kf_event *e = &event[i];

		if (e->kind == KF_BOX_thread_end)
			tid = (int32_t)e->bytes;
		if (e->kind == KF_BOX_thread_start)
			tid = (int32_t)e->bytes;
		e->tid = tid;
		if (e->tid == slot->tid)
			memcpy(e->thread, slot->name, sizeof(slot->name));
	}
}

static bool take_ring(struct gather *g, const struct chunk *first,
		      const struct chunk *end)
{
	struct kf_snapshot *s = g->s;
	uint32_t begin = s->nr_events;
	struct kf_slot slot = {0};

	for (const struct chunk *c = first; c < end; c++) {
		for (unsigned int i = 0; i < KF_STATS_EVENTS; i++)
			events_take(s, &c->event[i]);
	}
	if (!kf_read_at(g->src->fd, &slot, offsetof(struct kf_slot, scalar),
			event_place(g, first->slot - 1)))
		return false;
	events_unroll(s->events + begin, s->nr_events - begin);
	name_threads(s->events + begin, s->nr_events - begin, &slot);
	return true;
}

static bool take_rings(struct gather *g)
{
	const struct chunk *c = g->chunks, *end = c + g->nr_chunks, *next;

	qsort(g->chunks, g->nr_chunks, sizeof(*c), by_ring);
	for (; c < end; c = next) {
		for (next = c; next < end && next->slot == c->slot; next++)
			;
		if (!take_ring(g, c, next))
			return false;
	}
	return true;
}

static void events_merge(struct kf_event *to, const struct kf_event *a,
			 uint32_t nr_a, const struct kf_event *b, uint32_t nr_b)
{
	while (nr_a || nr_b) {
		bool first = nr_a && (!nr_b || a->time_ns <= b->time_ns);

		*to++ = first ? *a : *b;
		if (first)
			a++, nr_a--;
		else
			b++, nr_b--;
	}
}

/* The order of events with equal times is kept, which qsort() would not do. */
static void events_sort(struct kf_event *event, struct kf_event *room,
			uint32_t nr)
{
	uint32_t half = nr / 2;

	if (nr < 2)
		return;
	events_sort(event, room, half);
	events_sort(event + half, room, nr - half);
	events_merge(room, event, half, event + half, nr - half);
	memcpy(event, room, nr * sizeof(*event));
}

bool kf_events_read(const struct kf_source *src, struct kf_snapshot *s)
{
	const struct kf_stats_section *slots = &src->h.slots;
	struct gather g = {.src = src, .slots = slots, .s = s};
	struct kf_event *room = NULL;
	bool ok = true;

	/* Older and damaged files have no events. */
	if (slots->nr && slots->entry_size >= sizeof(struct kf_stats_chunk))
		ok = read_chunks(&g);
	if (ok && g.nr_chunks) {
		size_t most = (size_t)g.nr_chunks * KF_STATS_EVENTS;

		s->events = calloc(most, sizeof(*s->events));
		room = calloc(most, sizeof(*room));
		ok = s->events && room && take_rings(&g);
		if (ok)
			events_sort(s->events, room, s->nr_events);
	}
	free(room);
	free(g.chunks);
	return ok;
}
