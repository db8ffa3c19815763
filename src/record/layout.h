/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A recording of a heap's history, byte for byte. This header is ABI.
 *
 *	header | room up to data_offset | chunk 0 | chunk 1 | ...
 *
 * Chunks are of one size. A thread takes the next number, fills that chunk
 * alone and takes another, or several at once when it has filled many. The
 * chunks of one stream, in the order of their sequence numbers, are its events
 * in the order of their times; a stream belongs to one thread at a time. A
 * chunk that no space was found for, or that was taken and not begun, has no
 * magic and is skipped.
 *
 * What a thread has filled may move to the file's end, and others take its
 * place. Where the thread was killed meanwhile a chunk is there twice: the
 * first is whole.
 *
 * Behind its header a chunk holds events without gaps (event.h), as far as
 * @used says: it is stored after each event, so what is read up to there is
 * whole at any time, after a SIGKILL too. All integers are in the machine's
 * order, and a file that is not of that order fails the magic.
 *
 * Glossary
 *	tick	the unit of all times; two readings of both clocks in the
 *		header say what it is in nanoseconds
 *	stream	events of one thread, and then perhaps of another
 */
#ifndef KF_RECORD_LAYOUT_H
#define KF_RECORD_LAYOUT_H

#include "stats/layout.h"

#include <stdint.h>

#define KF_RECORD_MAGIC 0x315443455246464bULL /* "KFFRECT1", little endian */
#define KF_RECORD_MAJOR 1
#define KF_RECORD_MINOR 3

#define KF_RECORD_CHUNK_MAGIC 0x4b4e4843u /* "CHNK", little endian */
#define KF_RECORD_CHUNK_SIZE 65536u
#define KF_RECORD_NR_KINDS 16

enum kf_record_clock { KF_RECORD_TSC = 1, KF_RECORD_MONOTONIC = 2 };

/* The recording began before the program's first block. */
#define KF_RECORD_FROM_START 1u

/* What follows the kind of an event, in this order. */
enum kf_record_field {
	KF_RECORD_TOOK = 1,    /* 2 bytes: duration, see kf_record_ticks_of() */
	KF_RECORD_BLOCK = 2,   /* varint: address, as a difference */
	KF_RECORD_SIZE = 4,    /* varint: bytes */
	KF_RECORD_ALIGN = 8,   /* 1 byte: logarithm to base 2 */
	KF_RECORD_TID = 16,    /* varint */
	KF_RECORD_COMM = 32,   /* 16 bytes */
	KF_RECORD_NUMBER = 64, /* varint: for what later versions add */
};

/* One moment by two clocks. */
struct kf_record_moment {
	uint64_t ticks;
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
};

/* Constant once @ready is 1, but for what is said to change. */
struct kf_record_header {
	uint64_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t header_size;
	uint32_t chunk_size;
	uint32_t ready;
	uint64_t data_offset; /* of chunk 0; a multiple of chunk_size */
	uint64_t max_size;    /* the file grows no further */
	uint32_t flags;
	uint32_t clock;			 /* enum kf_record_clock */
	struct kf_record_moment begin;	 /* of the recording */
	struct kf_record_moment last[2]; /* changes: two readings lately */
	uint32_t last_index;		 /* changes: which of @last is whole */
	uint32_t full;	      /* changes: errno why it grows no more */
	uint64_t real_ns;     /* CLOCK_REALTIME at the begin */
	uint64_t held;	      /* bytes held from the kernel then */
	uint64_t peak_held;   /* most bytes held until then */
	uint64_t live_blocks; /* that were live then */
	uint64_t live_bytes;  /* usable bytes of these */
	uint64_t dropped;     /* grows: events that found no chunk */
	uint64_t stopped;     /* changes: ticks of its stop, 0: not stopped */
	uint8_t fields[KF_RECORD_NR_KINDS]; /* of events, by kind */
	uint64_t
		full_at; /* changes: ticks of the first event that @full cost */
	uint64_t reserved;
	struct kf_stats_identity identity;
};

/* One thread writes it; @used and @dropped grow. */
struct kf_record_chunk {
	uint32_t magic;
	uint32_t stream;
	uint64_t sequence; /* in its stream, from 0 */
	uint64_t base;	   /* ticks from which the first event's time counts */
	uint64_t dropped;  /* events that found this chunk full, or in use */
	uint32_t used;	   /* bytes in use, this header included; atomic */
	int32_t tid;	   /* whose events come first */
	char comm[16];	   /* likewise */
	uint64_t reserved;
};

#endif
