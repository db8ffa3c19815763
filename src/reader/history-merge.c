/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Merges the streams by time: a binary heap with the earliest on top. A stream
 * whose chunk is not open yet has the chunk's base time, so that chunks are
 * open only while they are needed.
 */
#include "reader/history-internal.h"

#include <errno.h>
#include <stdlib.h>

static void streams_sink(struct kf_history *h, unsigned int i)
{
	struct kf_history_stream *s = h->heap[i];

	for (;;) {
		unsigned int c = 2 * i + 1;

		if (c >= h->nr_heap)
			break;
		if (c + 1 < h->nr_heap &&
		    h->heap[c + 1]->ticks < h->heap[c]->ticks)
			c++;
		if (s->ticks <= h->heap[c]->ticks)
			break;
		h->heap[i] = h->heap[c];
		i = c;
	}
	h->heap[i] = s;
}

static void streams_push(struct kf_history *h, struct kf_history_stream *s)
{
	unsigned int i = h->nr_heap++;

	while (i && s->ticks < h->heap[(i - 1) / 2]->ticks) {
		h->heap[i] = h->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->heap[i] = s;
}

static struct kf_history_stream *streams_pop(struct kf_history *h)
{
	struct kf_history_stream *s = h->heap[0];

	h->heap[0] = h->heap[--h->nr_heap];
	if (h->nr_heap)
		streams_sink(h, 0);
	return s;
}

bool kf_merge_init(struct kf_history *h)
{
	size_t nr = (size_t)h->nr_streams + 1;

	h->heap = calloc(nr, sizeof(struct kf_history_stream *));
	h->tied = calloc(nr, sizeof(struct kf_history_stream *));
	if (!h->heap || !h->tied)
		return false;
	for (unsigned int i = 0; i < h->nr_streams; i++) {
		if (kf_stream_ready(h, &h->streams[i]))
			streams_push(h, &h->streams[i]);
	}
	return true;
}

/* After the top's next event was read, moves the top down, or removes it. */
static int step_top(struct kf_history *h)
{
	struct kf_history_stream *s = h->heap[0];
	int rc = kf_stream_fill(h, s);

	if (rc < 0)
		return -1;
	if (!rc && !kf_stream_ready(h, s))
		streams_pop(h);
	else
		streams_sink(h, 0);
	return 0;
}

/* Opens chunks until the top is a stream with an event. */
static int open_top(struct kf_history *h)
{
	while (h->nr_heap && !h->heap[0]->open) {
		if (step_top(h))
			return -1;
	}
	return h->nr_heap > 0;
}

static bool event_is_call(const struct kf_record_event *e)
{
	return e->kind >= KF_RECORD_MALLOC && e->kind <= KF_RECORD_FREE;
}

static int fill_event(struct kf_history *h, struct kf_history_stream *s,
		      struct kf_history_event *e)
{
	const struct kf_record_event *r = &s->event;
	uint64_t begin = h->head.begin.ticks;

	*e = (struct kf_history_event){
		.kind = r->kind,
		.failed = r->failed,
		.align_log2 = r->align,
		.thread = event_is_call(r) ? kf_stream_thread(h, s) : s->thread,
		.stream = s->index,
		.time = kf_history_ns(h, r->time > begin ? r->time - begin : 0),
		.took = kf_history_ns(h, r->took),
		.address = r->address,
		.size = r->size,
	};
	return event_is_call(r) && e->thread == KF_HISTORY_NO_THREAD ? -1 : 0;
}

/*
 * Removes the streams whose events have the top's tick from the heap. Returns
 * their number, or -1; @best is the index of the first that fits, or 0.
 */
static int take_tied(struct kf_history *h, int *best)
{
	uint64_t ticks = h->heap[0]->ticks;
	struct kf_history_event e;
	bool found = false;
	int nr = 0;

	*best = 0;
	for (;;) {
		if (open_top(h) < 0)
			return -1;
		if (!h->nr_heap || h->heap[0]->ticks != ticks)
			return nr;
		if (!found && fill_event(h, h->heap[0], &e))
			return -1;
		if (!found && h->fits(&e, h->fits_arg)) {
			found = true;
			*best = nr;
		}
		h->tied[nr++] = streams_pop(h);
	}
}

/* Of the streams with the top's tick, puts one whose event fits on top. */
static int choose_top(struct kf_history *h)
{
	int best;
	int nr = take_tied(h, &best);

	if (nr < 0)
		return -1;
	/* of equal entries the first one pushed stays on top */
	streams_push(h, h->tied[best]);
	for (int i = 0; i < nr; i++) {
		if (i != best)
			streams_push(h, h->tied[i]);
	}
	return 0;
}

static bool is_tied(const struct kf_history *h)
{
	for (unsigned int c = 1; c < 3 && c < h->nr_heap; c++) {
		if (h->heap[c]->ticks == h->heap[0]->ticks)
			return true;
	}
	return false;
}

/*
 * Some threads go on recording in a full file after others had to stop. Events
 * after the first dropped one are left out: among them are frees of blocks
 * whose allocation was dropped.
 */
static bool is_behind_the_end(const struct kf_history *h)
{
	return h->head.full_at && h->heap[0]->ticks >= h->head.full_at;
}

/*
 * Events before @kept_from are left out, as some of the same time are lost; of
 * those of the bytes held the last one tells what is held at that moment.
 */
bool kf_merge_skip(struct kf_history *h, uint64_t ticks)
{
	const struct kf_history_stream *s;
	int rc;

	while ((rc = open_top(h)) > 0 && h->heap[0]->ticks <= ticks) {
		s = h->heap[0];
		if (s->event.kind == KF_RECORD_HELD)
			h->head.held = s->event.size;
		h->heap[0]->open = false;
		if (step_top(h))
			return false;
	}
	return rc >= 0;
}

/*
 * The next event is on top. In a recording that is still being written, the
 * events of some threads are read long after others', so events later than its
 * opening are left out.
 */
static int find_next(struct kf_history *h)
{
	int rc;

	while ((rc = open_top(h)) > 0 && is_behind_the_end(h)) {
		h->dropped++;
		h->heap[0]->open = false;
		if (step_top(h))
			return -1;
	}
	if (rc > 0 && h->heap[0]->ticks > h->now)
		return 0;
	if (rc > 0 && h->fits && is_tied(h) && choose_top(h))
		return -1;
	return rc;
}

int kf_history_next(struct kf_history *h, struct kf_history_event *e)
{
	int rc = find_next(h);

	if (rc > 0 && fill_event(h, h->heap[0], e))
		rc = -1;
	if (rc > 0) {
		h->heap[0]->open = false;
		if (step_top(h))
			rc = -1;
	}
	if (rc < 0)
		errno = ENOMEM;
	return rc;
}
