/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A recording of a heap's history, byte for byte. This header is ABI.
 *
 *	header | room up to data_offset | chunk 0 | chunk 1 | ...
 *
 * Chunks have one size. A thread takes the next number, fills that chunk alone
 * and takes another one, or several at once when it has filled many. The chunks
 * of a stream, in the order of their sequence numbers, hold its events in the
 * order of their times; a stream belongs to one thread at a time. A chunk that
 * was taken and not begun, or that found no space, has no magic and is skipped.
 *
 * A filled chunk may move to the file's end, and a new one take its place. If
 * the process is killed meanwhile the chunk is there twice; the first is whole.
 *
 * In a ring the place of an old chunk is used again once the file has its
 * largest size. So a chunk may move to a place before its own, and of one that
 * is there twice both are whole. @kept_from is stored before a chunk is lost.
 *
 * Behind its header a chunk has events without gaps (event.h), up to @used,
 * which is stored after each event: so all events before @used are whole at any
 * time, even after a SIGKILL. All integers are in the machine's order, and a
 * file of another order fails the magic.
 *
 * Glossary
 *	tick	the unit of all times; its length follows from the readings of
 *		both clocks in the header
 *	stream	the events of a writer: of one thread after another
 */
#ifndef KF_RECORD_LAYOUT_H
#define KF_RECORD_LAYOUT_H

#include "stats/layout.h"

#include <stdint.h>

#define KF_RECORD_MAGIC 0x315443455246464bULL /* "KFFRECT1", little endian */
#define KF_RECORD_MAJOR 1
#define KF_RECORD_MINOR 4

#define KF_RECORD_CHUNK_MAGIC 0x4b4e4843u /* "CHNK", little endian */
#define KF_RECORD_CHUNK_SIZE 65536u
#define KF_RECORD_NR_KINDS 16

enum kf_record_clock { KF_RECORD_TSC = 1, KF_RECORD_MONOTONIC = 2 };

/* The recording began before the program's first block. */
#define KF_RECORD_FROM_START 1u
/* The oldest chunks make room for new ones. */
#define KF_RECORD_RING 2u

/* The fields of an event, in this order. */
enum kf_record_field {
	KF_RECORD_TOOK = 1,    /* 2 bytes: duration, see kf_record_ticks_of() */
	KF_RECORD_BLOCK = 2,   /* varint: address, as a difference */
	KF_RECORD_SIZE = 4,    /* varint: bytes */
	KF_RECORD_ALIGN = 8,   /* 1 byte: logarithm to base 2 */
	KF_RECORD_TID = 16,    /* varint */
	KF_RECORD_COMM = 32,   /* 16 bytes */
	KF_RECORD_NUMBER = 64, /* varint: for later versions */
};

/* Readings of two clocks at one moment. */
struct kf_record_moment {
	uint64_t ticks;
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
};

/* Constant once @ready is 1, except the fields that change or grow. */
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
	struct kf_record_moment last[2]; /* changes: the last two readings */
	uint32_t last_index;		 /* changes: the whole one of @last */
	uint32_t full;	      /* changes: errno why the file cannot grow */
	uint64_t real_ns;     /* CLOCK_REALTIME at the begin */
	uint64_t held;	      /* bytes held from the kernel at the begin */
	uint64_t peak_held;   /* most bytes held before the begin */
	uint64_t live_blocks; /* at the begin */
	uint64_t live_bytes;  /* usable bytes of these */
	uint64_t dropped;     /* grows: events that found no chunk */
	uint64_t stopped;     /* changes: ticks of the stop; 0: not stopped */
	uint8_t fields[KF_RECORD_NR_KINDS]; /* of events, by kind */
	uint64_t full_at; /* changes: ticks of the first event lost by @full */
	uint64_t kept_from; /* changes: ticks; some earlier events are lost */
	struct kf_stats_identity identity;
};

/* A chunk's header; one thread writes it; @used and @dropped grow. */
struct kf_record_chunk {
	uint32_t magic;
	uint32_t stream;
	uint64_t sequence; /* in its stream, from 0 */
	uint64_t base;	   /* ticks; the first event's time is relative to it */
	uint64_t dropped;  /* events that found the writer busy, or no room */
	uint32_t used;	   /* bytes in use, with this header; atomic */
	int32_t tid;	   /* of the first event's thread */
	char comm[16];	   /* of the first event's thread */
	uint64_t reserved;
};

#endif
