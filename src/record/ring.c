/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The places of a file that keeps its end: once all are in use, the oldest
 * chunks make room for new ones.
 *
 * Places are taken one after another, round and round. One that is in a
 * writer's window, or is being written, is left out. Before an old chunk is
 * lost, the header says so: @kept_from is the time of its end or later. Then
 * its magic goes, the new events come, and their head last; so after a kill at
 * any moment a place has a whole chunk or none.
 */
#include "record/internal.h"

#include "sys/clock.h"
#include "sys/file.h"
#include "sys/vm.h"

#include <errno.h>

/* In place of a time: a window's, or a thread writes to it. */
#define IN_USE UINT64_MAX

/* A writer's window has at most this share of the places. */
#define WINDOW_SHARE 16

/* Windows grow until all of them have this share. */
#define GROWTH_SHARE 8

static struct {
	uint64_t *place; /* its last event, ticks; 0: no chunk yet; atomic */
	uint64_t nr;
	uint64_t next;	     /* atomic */
	uint64_t in_windows; /* atomic */
} ring;

static size_t ring_bytes(uint64_t nr)
{
	return (size_t)nr * sizeof(*ring.place);
}

int kf_ring_begin(uint64_t max_size)
{
	uint64_t nr = max_size / KF_RECORD_CHUNK_SIZE;

	/* the first has the header */
	nr = KF_MIN(nr ? nr - 1 : 0, (uint64_t)UINT32_MAX);
	if (!nr)
		return -EFBIG;
	ring.place = kf_vm_put_memory(NULL, ring_bytes(nr));
	if (!ring.place)
		return -ENOMEM;
	ring.nr = nr;
	ring.next = 0;
	ring.in_windows = 0;
	return 0;
}

void kf_ring_end(void)
{
	if (ring.place)
		kf_vm_drop(ring.place, ring_bytes(ring.nr));
	ring.place = NULL;
}

bool kf_ring_is_on(void)
{
	return ring.place;
}

/* The chunk of a place will be lost. */
static void ring_lose(uint64_t until)
{
	uint64_t *at = &kf_record_header->kept_from;
	uint64_t old = kf_load(at);

	while (old < until && !kf_cas(at, &old, until))
		;
}

/* Take the next place; @fresh: there was no chunk yet. */
static bool ring_claim(uint32_t *place, bool *fresh)
{
	for (uint64_t i = 0; i < ring.nr; i++) {
		uint64_t nr = kf_fetch_add(&ring.next, 1) % ring.nr;
		uint64_t old = kf_load(&ring.place[nr]);

		if (old == IN_USE ||
		    !kf_cas(&ring.place[nr], &old, (uint64_t)IN_USE))
			continue;
		ring_lose(old);
		*place = (uint32_t)nr;
		*fresh = !old;
		return true;
	}
	return false;
}

/* The place has a whole chunk, with no event after @end, which may be lost. */
static void ring_release(uint32_t place, uint64_t end)
{
	kf_store_release(&ring.place[place], end);
}

/* When the last event of a filled chunk was. */
static uint64_t ring_end_of(const struct kf_writer *w, uint32_t i)
{
	return i + 1 < kf_window_filled(w) ? kf_window_chunk(w, i + 1)->base
					   : w->cursor.time;
}

/* Take the next place, and clear it; @fill: it will be mapped. */
static int ring_take(int fd, uint32_t *place, bool fill)
{
	const uint32_t no_magic = 0;
	uint64_t from, to;
	bool fresh;
	int r;

	if (!ring_claim(place, &fresh))
		return -EFBIG;
	from = kf_record_place(*place);
	to = from + KF_RECORD_CHUNK_SIZE;
	if (fresh)
		r = kf_file_extend(fd, from, to);
	else if (!kf_file_is_allowed(to))
		r = -EFBIG;
	else
		r = kf_file_write(fd, &no_magic, sizeof(no_magic), from);
	if (!r && kf_record_was_truncated(fd))
		r = -ESTALE;
	if (r)
		ring_release(*place, kf_clock_stamp());
	else if (fresh && fill)
		kf_file_fill(fd, from, to);
	return r;
}

static int ring_copy_chunk(const struct kf_writer *w, uint32_t i, int fd)
{
	struct kf_record_chunk *chunk = kf_window_chunk(w, i);
	size_t head = sizeof(*chunk);
	uint64_t end = ring_end_of(w, i);
	uint32_t place;
	uint64_t at;
	int r = ring_take(fd, &place, false);

	if (r)
		return r;
	at = kf_record_place(place);
	r = kf_file_write(fd, chunk + 1, KF_RECORD_CHUNK_SIZE - head,
			  at + head);
	if (!r)
		r = kf_file_write(fd, chunk, head, at);
	/* until the magic goes the chunk is there twice, and the same */
	if (!r)
		kf_store_release(&chunk->magic, 0);
	ring_release(place, end);
	return r;
}

static int ring_copy(const struct kf_writer *w, int fd)
{
	int r = 0;

	kf_store(&kf_record_copying, 1);
	for (uint32_t i = 0; !r && i < kf_window_filled(w); i++)
		r = ring_copy_chunk(w, i, fd);
	kf_store(&kf_record_copying, 0);
	return r;
}

static uint32_t ring_window_most(void)
{
	uint64_t n = KF_MIN(ring.nr / WINDOW_SHARE, (uint64_t)KF_WINDOW_CHUNKS);

	return (uint32_t)KF_MAX(n, (uint64_t)1);
}

bool kf_ring_has_window(const struct kf_writer *w)
{
	return w->mapped &&
	       (w->mapped >= ring_window_most() ||
		GROWTH_SHARE * kf_load(&ring.in_windows) >= ring.nr);
}

static int ring_map_chunk(struct kf_writer *w, uint32_t i, int fd)
{
	uint64_t end = i < w->mapped ? ring_end_of(w, i) : 0;
	uint32_t place;
	int r = ring_take(fd, &place, true);

	if (r)
		return r;
	r = kf_vm_put_file((char *)kf_window_chunk(w, i), KF_RECORD_CHUNK_SIZE,
			   fd, kf_record_place(place));
	if (r) {
		ring_release(place, kf_clock_stamp());
		return r;
	}
	/* the chunk that the window had stays where it is */
	if (i < w->mapped)
		ring_release(w->place[i], end);
	else
		kf_fetch_add(&ring.in_windows, 1);
	w->place[i] = place;
	return 0;
}

/* Map other places; fewer than wanted will do. */
static int ring_map(struct kf_writer *w, int fd)
{
	uint32_t n = KF_MIN(kf_chunks_for(w), ring_window_most());
	uint32_t i;
	int r = 0;

	n = KF_MAX(n, w->mapped);
	for (i = 0; i < n; i++) {
		r = ring_map_chunk(w, i, fd);
		if (r)
			break;
	}
	if (i < w->mapped || !i)
		return r;
	w->mapped = i;
	return 0;
}

int kf_ring_next_part(struct kf_writer *w)
{
	int fd = kf_record_reopen();
	int r;

	if (fd < 0)
		return fd;
	r = kf_ring_has_window(w) ? ring_copy(w, fd) : ring_map(w, fd);
	kf_file_close(fd);
	return r;
}
