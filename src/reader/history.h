/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a recording of a heap's history, in order of time.
 *
 * Promises: pread only; every length is checked; no contents of the file can do
 * harm, and damaged chunks are skipped and counted. The file is read once and
 * not kept in memory: memory is needed for an index of its chunks (32 bytes
 * each), a window for each stream (together at most 32 MiB and 1 KiB a stream),
 * and the threads.
 */
#ifndef KF_READER_HISTORY_H
#define KF_READER_HISTORY_H

#include "reader/map.h"
#include "reader/reader.h"
#include "reader/history-event.h"

#define KF_HISTORY_MAX_THREADS 65536u
#define KF_HISTORY_NO_THREAD UINT32_MAX

/* The last index is shared by all threads beyond the limit. */
struct kf_history_thread {
	int32_t tid;
	char name[17];
};

/* An event, with its thread, and its times in ns from the recording's begin. */
struct kf_history_event {
	enum kf_record_kind kind;
	bool failed;
	uint8_t align_log2;
	uint32_t thread; /* index; known for all calls */
	uint32_t stream; /* index */
	uint64_t time;
	uint64_t took; /* 0: unknown */
	uint64_t address;
	uint64_t size;
};

/* Damage, in chunks. */
struct kf_history_damage {
	uint64_t bad_chunks; /* the head is damaged */
	uint64_t cut_chunks; /* an event is incomplete */
	uint64_t missing;    /* missing sequence numbers */
	uint64_t gone;	     /* overwritten while the recording was read */
};

struct kf_history_stream;
struct kf_history_chunk;

struct kf_history {
	struct kf_record_header head; /* strings always end in NUL */
	uint64_t file_size;
	/*
	 * In a ring whose oldest chunks are lost: events begin here, in ns from
	 * the recording's begin. @head is as if the recording began here, but
	 * that the live blocks are unknown.
	 */
	uint64_t kept_from;
	uint64_t dropped; /* events not recorded, or after the first lost one */
	uint64_t nr_chunks;
	uint64_t done_chunks; /* for a progress bar */
	struct kf_history_damage damage;
	unsigned int nr_threads; /* threads seen so far */
	struct kf_history_thread *threads;
	unsigned int nr_streams;

	/*
	 * Whether an event may be next; called if several streams have events
	 * with the same tick. Optional.
	 */
	bool (*fits)(const struct kf_history_event *e, void *arg);
	void *fits_arg;

	/* Private. */
	int fd;
	uint64_t ns_per_tick; /* shifted left by 32 */
	uint64_t now;  /* tick of its opening; UINT64_MAX: it has stopped */
	size_t window; /* bytes of a stream's window */
	struct kf_map by_tid; /* the last thread with an id */
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
 * Return: the result; with KF_READ_ERROR see errno.
 */
enum kf_read_result kf_history_open(const char *path, struct kf_history *h);

/**
 * kf_history_open_fd() - open a recording by its descriptor
 * @fd:		its file, a regular one; taken over
 * @h:		out, as of kf_history_open()
 *
 * Return: as kf_history_open().
 */
enum kf_read_result kf_history_open_fd(int fd, struct kf_history *h);

/**
 * kf_history_next() - the next event
 * @h:		the recording
 * @e:		out: the event; events of unknown kinds are skipped
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
 * kf_history_close() - close a recording
 * @h:		the recording; harmless twice
 */
void kf_history_close(struct kf_history *h);

#endif
