/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of the history reader: the index of chunks (history.c), the events
 * of a stream in order (history-stream.c), and the merge of the streams by time
 * (history-merge.c).
 */
#ifndef KF_READER_HISTORY_INTERNAL_H
#define KF_READER_HISTORY_INTERNAL_H

#include "reader/history.h"

/* Longer than any recording: a year and a half at 3 GHz. */
#define KF_HISTORY_MAX_TICKS (1ULL << 57)

/* A chunk with a valid head. Sorted by stream, then sequence. */
struct kf_history_chunk {
	uint64_t number; /* its place in the file when it was read last */
	uint64_t sequence;
	uint64_t base; /* ticks */
	uint32_t stream;
	uint32_t dropped; /* bytes used, by its head */
};

/* The position of the reader in a stream. */
struct kf_history_stream {
	uint64_t ticks; /* of @event, or the chunk's base before it is open */
	uint32_t index;
	bool open;	      /* @event holds the next event */
	uint32_t thread;      /* index, or KF_HISTORY_NO_THREAD */
	int32_t tid;	      /* of @thread */
	uint64_t first_chunk; /* the next one, in the index */
	uint64_t nr_chunks;   /* left */
	uint64_t chunk;	      /* the open one, in the index */
	uint64_t offset;      /* in the chunk, of what follows the window */
	uint64_t end;	      /* in the chunk, of its used bytes */
	uint64_t limit;	      /* no event of the chunk is later */
	uint8_t *window;      /* NULL while no chunk is open */
	size_t pos;	      /* in the window */
	size_t len;	      /* bytes in the window */
	struct kf_record_cursor cursor;
	struct kf_record_event event;
};

/**
 * kf_history_head() - read and check the head of a chunk, wherever it is now
 * @h:		the recording
 * @i:		the chunk, in the index
 * @head:	out: the head; @used is limited to the chunk and the file
 *
 * Return: 1, or 0 if the chunk is no longer in the file.
 */
int kf_history_head(struct kf_history *h, uint64_t i,
		    struct kf_record_chunk *head);

/**
 * kf_history_lose() - count a chunk that is no longer in the file
 * @h:		the recording
 */
void kf_history_lose(struct kf_history *h);

/**
 * kf_stream_ready() - find a stream's next time, without opening a chunk
 * @h:		the recording
 * @s:		the stream; between two chunks
 *
 * Return: whether it has one.
 */
bool kf_stream_ready(struct kf_history *h, struct kf_history_stream *s);

/**
 * kf_stream_fill() - read a stream's next event into its @event
 * @h:		the recording
 * @s:		the stream
 *
 * Return: 1, or 0 if the chunk has no more (see kf_stream_ready()), -1 with
 *	   errno.
 */
int kf_stream_fill(struct kf_history *h, struct kf_history_stream *s);

/**
 * kf_stream_thread() - the thread of a stream's event
 * @h:		the recording
 * @s:		the stream
 *
 * Return: its index; KF_HISTORY_NO_THREAD when out of memory.
 */
uint32_t kf_stream_thread(struct kf_history *h, struct kf_history_stream *s);

/**
 * kf_merge_init() - put all streams on the heap
 * @h:		the recording
 *
 * Return: whether there was memory.
 */
bool kf_merge_init(struct kf_history *h);

/**
 * kf_merge_skip() - leave out the first events
 * @h:		the recording; its @head gets the bytes held after them
 * @ticks:	the time of the last one
 *
 * Return: whether there was memory.
 */
bool kf_merge_skip(struct kf_history *h, uint64_t ticks);

#endif
