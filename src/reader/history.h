/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a recording of a heap's history, in the order of its times.
 *
 * Promises: pread only; every length is checked; no bytes in the file can do
 * harm, and what is damaged is skipped and counted. The file is read once and
 * never held: memory is for an index of its chunks (24 bytes each), a window
 * on each stream (together 32 MiB and a KiB a stream at most), and the threads.
 */
#ifndef KF_READER_HISTORY_H
#define KF_READER_HISTORY_H

#include "reader/map.h"
#include "reader/reader.h"
#include "record/event.h"

#define KF_HISTORY_MAX_THREADS 65536u
#define KF_HISTORY_NO_THREAD UINT32_MAX

/* The last index stands for all threads beyond the limit. */
struct kf_history_thread {
	int32_t tid;
	char name[17];
};

/* An event, with its thread, and its times in ns from the recording's begin. */
struct kf_history_event {
	enum kf_record_kind kind;
	bool failed;
	uint8_t align_log2;
	uint32_t thread; /* index; of a call always */
	uint32_t stream; /* index */
	uint64_t time;
	uint64_t took; /* 0: not known */
	uint64_t address;
	uint64_t size;
};

/* What was found wrong, in chunks. */
struct kf_history_damage {
	uint64_t bad_chunks; /* not readable from their head on */
	uint64_t cut_chunks; /* an event in them is not whole */
	uint64_t missing;    /* sequence numbers that no chunk has */
};

struct kf_history_stream;
struct kf_history_chunk;

struct kf_history {
	struct kf_record_header head; /* strings always end in NUL */
	uint64_t file_size;
	uint64_t
		dropped; /* events not recorded, or behind the first of these */
	uint64_t nr_chunks;
	uint64_t done_chunks; /* for a progress bar */
	struct kf_history_damage damage;
	unsigned int nr_threads; /* seen so far */
	struct kf_history_thread *threads;
	unsigned int nr_streams;

	/*
	 * Whether an event may come now; asked where streams have events of
	 * the same tick. Set it, or leave it NULL.
	 */
	bool (*fits)(const struct kf_history_event *e, void *arg);
	void *fits_arg;

	/* Private. */
	int fd;
	uint64_t ns_per_tick; /* shifted left by 32 */
	uint64_t now;  /* tick of its opening; UINT64_MAX: it has stopped */
	size_t window; /* bytes of a stream's window */
	struct kf_map by_tid; /* the last thread of an id */
	struct kf_history_chunk *chunks;
	struct kf_history_stream *streams;
	struct kf_history_stream **heap; /* by time, the first on top */
	unsigned int nr_heap;
	struct kf_history_stream **tied; /* room for as many */
};

/**
 * kf_history_open() - open a recording
 * @path:	its file; anything but a regular file is KF_READ_FOREIGN
 * @h:		out: the recording; close it whatever the result
 *
 * Return: how it went; with KF_READ_ERROR errno tells.
 */
enum kf_read_result kf_history_open(const char *path, struct kf_history *h);

/**
 * kf_history_next() - the next event
 * @h:		the recording
 * @e:		out: the event; never one of a kind that this version does not
 *		know
 *
 * Return: 1, or 0 at the end, or -1 with errno.
 */
int kf_history_next(struct kf_history *h, struct kf_history_event *e);

/**
 * kf_history_ns() - ticks since the recording's begin in ns
 * @h:		the recording
 * @ticks:	the ticks
 *
 * Return: the ns.
 */
uint64_t kf_history_ns(const struct kf_history *h, uint64_t ticks);

/**
 * kf_history_close() - let a recording go
 * @h:		the recording; harmless twice
 */
void kf_history_close(struct kf_history *h);

#endif
