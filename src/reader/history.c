/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opens a recording: its header, and the index of its chunks by stream and
 * sequence. The heads of all chunks are read once for it, their events later.
 */
#include "reader/history-internal.h"
#include "reader/internal.h"
#include "reader/regular.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Most passes over a growing recording, until its length stays the same. */
#define ROUNDS 16
/* Most passes over the whole file, until no moving chunk is missing. */
#define LOOKS 4

#define MIN_CHUNK 1024u
#define MAX_CHUNK (64u << 20)
#define MIN_WINDOW 1024u
#define ALL_WINDOWS (32u << 20)

/* The length of a tick, by two time stamps; unknown with only one. */
static uint64_t scale_of(const struct kf_record_header *head)
{
	const struct kf_record_moment *a = &head->begin;
	const struct kf_record_moment *b = &head->last[head->last_index & 1];
	unsigned __int128 scale;

	if (b->ticks <= a->ticks || b->mono_ns <= a->mono_ns)
		return 1ULL << 32;
	scale = (unsigned __int128)(b->mono_ns - a->mono_ns) << 32;
	scale /= b->ticks - a->ticks;
	return scale && scale < 1ULL << 48 ? (uint64_t)scale : 1ULL << 32;
}

/* The current tick, by the later time stamp; see find_next(). */
static uint64_t ticks_now(const struct kf_history *h)
{
	const struct kf_record_header *head = &h->head;
	const struct kf_record_moment *last = &head->last[head->last_index & 1];
	struct timespec now;
	uint64_t ns, now_ticks;

	if (head->stopped || clock_gettime(CLOCK_MONOTONIC, &now))
		return UINT64_MAX;
	ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	/* Recorded on another machine, or before the last boot. */
	if (ns < last->mono_ns)
		return UINT64_MAX;
	ns -= last->mono_ns;
	now_ticks = last->ticks +
		    (uint64_t)(((unsigned __int128)ns << 32) / h->ns_per_tick);
	/* The header may be damaged. */
	return now_ticks < last->ticks ? UINT64_MAX : now_ticks;
}

uint64_t kf_history_ns(const struct kf_history *h, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * h->ns_per_tick >> 32);
}

/*
 * Whether the recording has no chunk. Both time stamps are that of the begin at
 * first, and are written in turn, beginning with the second, at each chunk and
 * at the stop. Without a chunk the file has only the header.
 */
static bool header_is_empty(const struct kf_record_header *head)
{
	return head->last[0].ticks == head->begin.ticks &&
	       (!(head->last_index & 1) || head->stopped);
}

static enum kf_read_result history_read_header(struct kf_history *h)
{
	struct kf_record_header *head = &h->head;

	if (h->file_size == 0)
		return KF_READ_NOT_READY;
	if (h->file_size < sizeof(head->magic))
		return KF_READ_FOREIGN;
	if (!kf_read_at(h->fd, &head->magic, sizeof(head->magic), 0))
		return KF_READ_DAMAGED;
	if (head->magic != KF_RECORD_MAGIC)
		return head->magic ? KF_READ_FOREIGN : KF_READ_NOT_READY;
	if (!kf_read_at(h->fd, head,
			offsetof(struct kf_record_header, header_size), 0))
		return KF_READ_DAMAGED;
	if (head->major != KF_RECORD_MAJOR)
		return KF_READ_INCOMPATIBLE;
	if (!kf_read_at(h->fd, head, sizeof(*head), 0))
		return KF_READ_DAMAGED;
	if (head->ready != 1)
		return head->ready ? KF_READ_DAMAGED : KF_READ_NOT_READY;
	if (head->header_size < sizeof(*head) || head->chunk_size < MIN_CHUNK ||
	    head->chunk_size > MAX_CHUNK ||
	    head->data_offset < head->header_size ||
	    (head->data_offset > h->file_size && !header_is_empty(head)))
		return KF_READ_DAMAGED;
	kf_identity_end(&head->identity);
	h->ns_per_tick = scale_of(head);
	h->now = ticks_now(h);
	h->dropped = head->dropped;
	return KF_READ_OK;
}

/*
 * For a recording that is still being written; cut chunks are found when read.
 */
static void look_at_size(struct kf_history *h)
{
	struct stat st;

	if (!fstat(h->fd, &st) && (uint64_t)st.st_size > h->file_size)
		h->file_size = (uint64_t)st.st_size;
}

static uint64_t nr_places(const struct kf_history *h)
{
	uint64_t bytes = h->file_size - h->head.data_offset;

	if (h->file_size < h->head.data_offset)
		return 0;
	return (bytes + h->head.chunk_size - 1) / h->head.chunk_size;
}

/* The next place from @n on that may have a chunk, else nr_places(). */
static uint64_t next_place(const struct kf_history *h, uint64_t n)
{
	uint64_t begin = h->head.data_offset + n * h->head.chunk_size, end;

	if (!kf_data_find(h->fd, &begin, &end))
		return nr_places(h);
	n = (begin - h->head.data_offset) / h->head.chunk_size;
	return KF_MIN(n, nr_places(h));
}

/*
 * Returns 1, 0 if there is no chunk, -1 if it is damaged; limits @used to the
 * file.
 */
static int history_read_head(const struct kf_history *h, uint64_t number,
			     struct kf_record_chunk *chunk)
{
	uint64_t offset = h->head.data_offset + number * h->head.chunk_size;
	uint64_t room = h->file_size - offset;

	if (room < sizeof(*chunk) ||
	    !kf_read_at(h->fd, chunk, sizeof(*chunk), offset))
		return -1;
	if (chunk->magic != KF_RECORD_CHUNK_MAGIC)
		return chunk->magic ? -1 : 0;
	if (chunk->used < sizeof(*chunk) || chunk->used > h->head.chunk_size ||
	    chunk->base < h->head.begin.ticks ||
	    chunk->base - h->head.begin.ticks > KF_HISTORY_MAX_TICKS)
		return -1;
	if (chunk->used > room)
		chunk->used = (uint32_t)room;
	return 1;
}

static bool is_head_of(const struct kf_record_chunk *head,
		       const struct kf_history_chunk *chunk)
{
	return head->stream == chunk->stream &&
	       head->sequence == chunk->sequence;
}

/* Looks for a chunk in the places from @n to before @end. */
static bool find_head(struct kf_history *h, struct kf_history_chunk *chunk,
		      uint64_t n, uint64_t end, struct kf_record_chunk *head)
{
	for (; n < end; n++) {
		int rc = history_read_head(h, n, head);

		if (rc > 0 && is_head_of(head, chunk)) {
			chunk->number = n;
			return true;
		}
		if (!rc)
			n = next_place(h, n + 1) - 1;
	}
	return false;
}

static bool history_is_ring(const struct kf_history *h)
{
	return h->head.flags & KF_RECORD_RING;
}

/*
 * A chunk is moved once, from its writer's window to a later place, in a ring
 * to any.
 */
int kf_history_head(struct kf_history *h, uint64_t i,
		    struct kf_record_chunk *head)
{
	struct kf_history_chunk *chunk = &h->chunks[i];
	uint64_t number = chunk->number;

	if (history_read_head(h, number, head) > 0 && is_head_of(head, chunk))
		return 1;
	look_at_size(h);
	if (find_head(h, chunk, number + 1, nr_places(h), head))
		return 1;
	return history_is_ring(h) && find_head(h, chunk, 0, number, head);
}

void kf_history_lose(struct kf_history *h)
{
	if (history_is_ring(h))
		h->damage.gone++;
	else
		h->damage.bad_chunks++;
	h->done_chunks++;
}

static int by_stream(const void *a, const void *b)
{
	const struct kf_history_chunk *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The room doubles: it is full whenever the number is a power of 2. */
static bool history_make_room(struct kf_history *h)
{
	struct kf_history_chunk *chunks;

	if (h->nr_chunks & (h->nr_chunks - 1))
		return true;
	chunks = realloc(h->chunks, 2 * (h->nr_chunks + 1) * sizeof(*chunks));
	if (!chunks)
		return false;
	h->chunks = chunks;
	return true;
}

/* Returns 1, 0 if the place is empty, -1 when out of memory. */
static int add_chunk(struct kf_history *h, uint64_t number)
{
	struct kf_record_chunk head;
	int rc = history_read_head(h, number, &head);

	if (rc < 0)
		h->damage.bad_chunks++;
	if (rc <= 0)
		return rc < 0;
	if (!history_make_room(h))
		return -1;
	h->chunks[h->nr_chunks++] = (struct kf_history_chunk){
		.number = number,
		.sequence = head.sequence,
		.base = head.base,
		.stream = head.stream,
		.dropped = (uint32_t)KF_MIN(head.dropped, UINT32_MAX),
	};
	return 1;
}

/* The chunks from @first to before @end; holes of the file are skipped. */
static bool add_chunks(struct kf_history *h, uint64_t first, uint64_t end)
{
	for (uint64_t n = first; n < end; n++) {
		int rc = add_chunk(h, n);

		if (rc < 0)
			return false;
		if (!rc)
			n = next_place(h, n + 1) - 1;
	}
	return true;
}

static bool are_twins(const struct kf_history_chunk *a,
		      const struct kf_history_chunk *b)
{
	return a->stream == b->stream && a->sequence == b->sequence;
}

/* If a chunk is found twice, the first copy is complete. */
static void leave_out_twins(struct kf_history *h)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < h->nr_chunks; i++) {
		if (kept && are_twins(&h->chunks[i], &h->chunks[kept - 1]))
			continue;
		h->chunks[kept++] = h->chunks[i];
	}
	h->nr_chunks = kept;
}

/* Chunks may move beyond the old end of the file while it is read. */
static bool list_chunks(struct kf_history *h)
{
	uint64_t done = 0;

	h->nr_chunks = 0;
	h->damage.bad_chunks = 0;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t nr = nr_places(h);

		if (!add_chunks(h, done, nr))
			return false;
		done = nr;
		look_at_size(h);
		if (nr_places(h) == nr)
			break;
	}
	if (h->nr_chunks)
		qsort(h->chunks, h->nr_chunks, sizeof(*h->chunks), by_stream);
	leave_out_twins(h);
	return true;
}

/* 0: nothing is lost. A writer may have moved it on since the header was read.
 */
static uint64_t history_kept_from(const struct kf_history *h)
{
	uint64_t ticks = 0;

	if (history_is_ring(h) &&
	    !kf_read_at(h->fd, &ticks, sizeof(ticks),
			offsetof(struct kf_record_header, kept_from)))
		return 0;
	return ticks;
}

static bool same_stream(const struct kf_history *h, uint64_t i)
{
	return i && h->chunks[i].stream == h->chunks[i - 1].stream;
}

/* The number of sequence numbers missing before a chunk. */
static uint64_t missing_before(const struct kf_history *h, uint64_t i)
{
	uint64_t next = same_stream(h, i) ? h->chunks[i - 1].sequence + 1 : 0;

	return h->chunks[i].sequence > next ? h->chunks[i].sequence - next : 0;
}

/*
 * Whether what is missing before a chunk was overwritten: in a ring whose
 * events are all there from a time on, the stream's chunk before is older.
 */
static bool was_overwritten(const struct kf_history *h, uint64_t i,
			    uint64_t kept_from)
{
	return kept_from &&
	       (!same_stream(h, i) || h->chunks[i - 1].base <= kept_from);
}

static void count_missing(struct kf_history *h)
{
	uint64_t kept_from = history_kept_from(h);

	h->damage.missing = 0;
	for (uint64_t i = 0; i < h->nr_chunks; i++) {
		if (!was_overwritten(h, i, kept_from))
			h->damage.missing += missing_before(h, i);
	}
}

/*
 * A place that was empty when it was read may have been filled before places
 * that were read later; so a chunk may be missing although a newer one is
 * listed.
 */
static bool index_chunks(struct kf_history *h)
{
	for (int look = 0; look < LOOKS; look++) {
		if (!list_chunks(h))
			return false;
		count_missing(h);
		if (!h->damage.missing)
			break;
	}
	for (uint64_t i = 0; i < h->nr_chunks; i++)
		h->dropped += h->chunks[i].dropped;
	return true;
}

static bool index_streams(struct kf_history *h)
{
	struct kf_history_stream *s = NULL;

	for (uint64_t i = 0; i < h->nr_chunks; i++)
		h->nr_streams += !same_stream(h, i);
	h->streams = calloc((size_t)h->nr_streams + 1, sizeof(*h->streams));
	if (!h->streams)
		return false;
	h->nr_streams = 0;
	for (uint64_t i = 0; i < h->nr_chunks; i++) {
		if (!same_stream(h, i)) {
			s = &h->streams[h->nr_streams];
			s->index = h->nr_streams++;
			s->first_chunk = i;
			s->thread = KF_HISTORY_NO_THREAD;
		}
		s->nr_chunks++;
	}
	h->window = ALL_WINDOWS / KF_MAX(h->nr_streams, 1u);
	h->window = KF_MAX(h->window, (size_t)MIN_WINDOW);
	h->window = KF_MIN(h->window, (size_t)h->head.chunk_size);
	return true;
}

/* In a ring whose oldest chunks are lost: begin behind them. */
static bool skip_lost(struct kf_history *h)
{
	struct kf_record_header *head = &h->head;
	uint64_t ticks = history_kept_from(h);

	if (ticks <= head->begin.ticks)
		return true;
	h->kept_from = kf_history_ns(h, ticks - head->begin.ticks);
	head->flags &= ~KF_RECORD_FROM_START;
	head->live_blocks = head->live_bytes = 0;
	if (!kf_merge_skip(h, ticks))
		return false;
	head->peak_held = head->held;
	return true;
}

enum kf_read_result kf_history_open_fd(int fd, struct kf_history *h)
{
	enum kf_read_result result;
	struct stat st;

	memset(h, 0, sizeof(*h));
	h->fd = fd;
	if (fstat(h->fd, &st))
		return KF_READ_ERROR;
	h->file_size = (uint64_t)st.st_size;
	result = history_read_header(h);
	if (result != KF_READ_OK)
		return result;
	if (!index_chunks(h) || !index_streams(h) || !kf_merge_init(h) ||
	    !skip_lost(h)) {
		errno = ENOMEM;
		return KF_READ_ERROR;
	}
	return KF_READ_OK;
}

enum kf_read_result kf_history_open(const char *path, struct kf_history *h)
{
	int fd = kf_regular_open(path);

	if (fd >= 0)
		return kf_history_open_fd(fd, h);
	memset(h, 0, sizeof(*h));
	h->fd = -1;
	return errno == ENOTSUP ? KF_READ_FOREIGN : KF_READ_ERROR;
}

void kf_history_close(struct kf_history *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
	for (unsigned int i = 0; h->streams && i < h->nr_streams; i++)
		free(h->streams[i].window);
	free(h->chunks);
	free(h->streams);
	free(h->heap);
	free(h->tied);
	free(h->threads);
	kf_map_release(&h->by_tid);
	h->chunks = NULL;
	h->streams = NULL;
	h->heap = h->tied = NULL;
	h->threads = NULL;
}
