/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The events of one stream, chunk after chunk, read through a window on the
 * file that is allocated only while a chunk is open.
 */
#include "reader/history-internal.h"
#include "reader/internal.h"

#include <stdlib.h>
#include <string.h>

/* Larger than any event: all fields with varints of full length. */
#define MAX_EVENT 96

static void close_chunk(struct kf_history *h, struct kf_history_stream *s)
{
	free(s->window);
	s->window = NULL;
	h->done_chunks++;
}

bool kf_stream_ready(struct kf_history *h, struct kf_history_stream *s)
{
	struct kf_record_chunk head;

	while (s->nr_chunks) {
		if (kf_history_head(h, s->first_chunk, &head)) {
			s->ticks = KF_MAX(s->ticks, head.base);
			return true;
		}
		kf_history_lose(h);
		s->first_chunk++;
		s->nr_chunks--;
	}
	return false;
}

/* Events of a chunk are not later than the begin of the stream's next chunk. */
static uint64_t stream_limit(struct kf_history *h,
			     const struct kf_history_stream *s)
{
	struct kf_record_chunk next;

	if (s->nr_chunks && kf_history_head(h, s->first_chunk, &next))
		return next.base;
	return h->head.begin.ticks + KF_HISTORY_MAX_TICKS;
}

static int open_chunk(struct kf_history *h, struct kf_history_stream *s)
{
	struct kf_record_chunk head;

	s->chunk = s->first_chunk++;
	s->nr_chunks--;
	if (!kf_history_head(h, s->chunk, &head)) {
		kf_history_lose(h);
		return 0;
	}
	s->window = malloc(h->window);
	if (!s->window)
		return -1;
	s->offset = sizeof(head);
	s->end = head.used;
	s->pos = s->len = 0;
	s->limit = stream_limit(h, s);
	kf_record_cursor_init(&s->cursor, &h->head, &head);
	return 1;
}

/* Reads a part of the open chunk, which may be moved meanwhile. */
static bool read_part(struct kf_history *h, const struct kf_history_stream *s,
		      void *to, size_t size)
{
	const struct kf_history_chunk *chunk = &h->chunks[s->chunk];
	struct kf_record_chunk head;
	uint64_t number;

	do {
		number = chunk->number;
		if (!kf_read_at(h->fd, to, size,
				h->head.data_offset +
					number * h->head.chunk_size +
					s->offset))
			return false;
		if (!kf_history_head(h, s->chunk, &head))
			return false;
	} while (chunk->number != number);
	return true;
}

/* Fills the window with at least one whole event, or the rest of the chunk. */
static bool stream_refill(struct kf_history *h, struct kf_history_stream *s)
{
	size_t left = s->len - s->pos;
	size_t more;

	if (left >= MAX_EVENT || s->offset == s->end)
		return true;
	memmove(s->window, s->window + s->pos, left);
	more = (size_t)KF_MIN(s->end - s->offset, h->window - left);
	s->pos = 0;
	s->len = left;
	if (!read_part(h, s, s->window + left, more))
		return false;
	s->len += more;
	s->offset += more;
	return true;
}

static bool event_is_known(const struct kf_record_event *e)
{
	return e->kind >= KF_RECORD_MALLOC && e->kind <= KF_RECORD_THREAD_END;
}

/*
 * The thread changes at an event, or, if that was lost, at the head of a chunk.
 */
static void follow_thread(struct kf_history_stream *s)
{
	if (s->event.kind == KF_RECORD_THREAD || s->event.tid != s->tid)
		s->thread = KF_HISTORY_NO_THREAD;
	s->tid = s->event.tid;
}

/* The file is shorter now, or a ring has used the place again. */
static void lose_rest(struct kf_history *h)
{
	if (h->head.flags & KF_RECORD_RING)
		h->damage.gone++;
	else
		h->damage.cut_chunks++;
}

static int next_in_chunk(struct kf_history *h, struct kf_history_stream *s)
{
	const uint8_t *p, *end;

	for (;;) {
		if (!stream_refill(h, s)) {
			lose_rest(h);
			return 0;
		}
		if (s->pos == s->len)
			return 0;
		p = s->window + s->pos;
		end = s->window + s->len;
		p = kf_record_unpack(&s->cursor, p, end, &s->event);
		if (!p || s->event.time < s->ticks ||
		    s->event.time > s->limit) {
			h->damage.cut_chunks++;
			return 0;
		}
		s->pos = (size_t)(p - s->window);
		follow_thread(s);
		if (!event_is_known(&s->event))
			continue;
		s->ticks = s->event.time;
		return 1;
	}
}

int kf_stream_fill(struct kf_history *h, struct kf_history_stream *s)
{
	int rc = 1;

	if (!s->window)
		rc = open_chunk(h, s);
	if (rc > 0) {
		rc = next_in_chunk(h, s);
		if (!rc)
			close_chunk(h, s);
	}
	s->open = rc > 0;
	return rc;
}

/* The last thread with an id. */
struct entry {
	uint64_t key; /* the id plus 1 */
	uint64_t index;
};

static uint32_t append_thread(struct kf_history *h,
			      const struct kf_record_event *e)
{
	struct kf_history_thread *t;

	if (!(h->nr_threads & (h->nr_threads - 1))) {
		t = realloc(h->threads, 2 * (h->nr_threads + 1) * sizeof(*t));
		if (!t)
			return KF_HISTORY_NO_THREAD;
		h->threads = t;
	}
	t = &h->threads[h->nr_threads];
	memset(t, 0, sizeof(*t));
	if (h->nr_threads == KF_HISTORY_MAX_THREADS - 1) {
		memcpy(t->name, "(others)", 9);
	} else {
		t->tid = e->tid;
		memcpy(t->name, e->comm, sizeof(e->comm));
	}
	return h->nr_threads++;
}

/* The last events of a thread may be in another stream. */
static uint32_t history_add_thread(struct kf_history *h,
				   const struct kf_record_event *e)
{
	uint32_t index = KF_HISTORY_MAX_THREADS - 1;
	struct entry *entry;
	uint64_t nr;

	h->by_tid.entry_size = sizeof(*entry);
	nr = h->by_tid.nr;
	entry = kf_map_add(&h->by_tid, (uint64_t)(uint32_t)e->tid + 1);
	if (!entry)
		return KF_HISTORY_NO_THREAD;
	if (h->by_tid.nr == nr &&
	    !strncmp(h->threads[entry->index].name, e->comm, sizeof(e->comm)))
		return (uint32_t)entry->index;
	if (h->nr_threads <= index)
		index = append_thread(h, e);
	entry->index = index;
	return index;
}

uint32_t kf_stream_thread(struct kf_history *h, struct kf_history_stream *s)
{
	if (s->thread == KF_HISTORY_NO_THREAD)
		s->thread = history_add_thread(h, &s->event);
	return s->thread;
}
