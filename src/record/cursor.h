/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The short way to write a call down: malloc that had a block ready, free of a
 * block of the thread's own heap. Nothing is looked after here; the first event
 * in each page goes the long way (writer.c).
 *
 * Usual numbers have room in fields of fixed widths: two bytes for the time,
 * three for the block, two for the size. These are varints that may end in
 * zeroes, and with the kind they make one word.
 */
#ifndef KF_RECORD_CURSOR_H
#define KF_RECORD_CURSOR_H

#include "base/compiler.h"
#include "record/event.h"
#include "sys/clock.h"
#include "sys/thread.h"

#include <string.h>

/* Numbers of fewer bits have room in that many bytes. */
#define KF_CURSOR_TWO 14
#define KF_CURSOR_THREE 21

/*
 * What an event needs. Only the thread touches it whose it is, and its signal
 * handlers, which find no @end in the middle of an event.
 */
struct kf_write_cursor {
	uint8_t *at;	  /* where the next event goes */
	uint8_t *end;	  /* events may begin before it; NULL: none may now */
	uint32_t *used;	  /* of the chunk */
	uint64_t time;	  /* ticks, of the last event */
	uint64_t address; /* that the last event had */
	uint32_t state;	  /* of the process while this may be used */
};

/* In place of a state: this may not be used. */
#define KF_CURSOR_CLOSED KF_STATE_NONE

/* The calling thread's, or NULL. */
extern __thread struct kf_write_cursor *kf_write_cursor __kf_hidden
	__attribute__((tls_model("initial-exec")));

/**
 * kf_record_open() - let the calling thread go the short way, or not
 * @state:	KF_CURSOR_CLOSED: not; else as long as it is the state of the
 *		process
 *
 * Context: any thread.
 */
static inline void kf_record_open(uint32_t state)
{
	struct kf_write_cursor *cursor = kf_write_cursor;

	/* A difference to an odd address has no room for its lowest bits. */
	if (likely(cursor))
		cursor->state = cursor->address & 15 ? KF_CURSOR_CLOSED : state;
}

/**
 * kf_cursor_reserve() - have the cursor in hand
 * @cursor:	kf_write_cursor
 * @end:	out: what kf_cursor_commit() is to be given
 *
 * Context: any thread.
 * Return: false: it is as it was, take the long way.
 */
static __always_inline_kf bool kf_cursor_reserve(struct kf_write_cursor *cursor,
						 uint8_t **end)
{
	if (unlikely(!cursor))
		return false;
	*end = cursor->end;
	/* Handlers write before this or not at all. */
	*(uint8_t *volatile *)&cursor->end = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (likely(cursor->at < *end) &&
	    likely(cursor->state == kf_load(kf_process_state)))
		return true;
	cursor->end = *end;
	return false;
}

/* Let handlers use it again. */
static __always_inline_kf void kf_cursor_commit(struct kf_write_cursor *cursor,
						uint8_t *end)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	cursor->end = end;
}

/* Varints without the bits that say where they end, KF_CURSOR_MORE(). */
static __always_inline_kf uint64_t kf_cursor_two(uint64_t n)
{
	return n + (n & 0x3f80);
}

static __always_inline_kf uint64_t kf_cursor_three(uint64_t n)
{
	return n + (n & 0x1fff80) + 2 * (n & 0x1fc000);
}

/* Those bits of a varint of so many bytes that begins at a byte of a word. */
#define KF_CURSOR_MORE(bytes, at) \
	((0x8080808080808080 >> 8 * (9 - (bytes))) << 8 * (at))

/* The event is in the file from here on. */
static __always_inline_kf void kf_cursor_done(struct kf_write_cursor *cursor,
					      uint8_t *at, uint64_t now,
					      uint64_t address)
{
	cursor->at = at;
	cursor->time = now;
	cursor->address = address;
	/* Chunks are aligned to their size, and no event ends where they do. */
	kf_store_release(cursor->used, (uint32_t)((uintptr_t)at &
						  (KF_RECORD_CHUNK_SIZE - 1)));
}

/**
 * kf_cursor_write() - write an event of the usual numbers
 * kf_cursor_write_far() - write one of any
 * @cursor:	in hand, so kf_clock_is_cheap(); lowered unless the answer is
 *		false
 * @end:	of kf_cursor_reserve()
 * @kind:	KF_RECORD_MALLOC_QUICK or KF_RECORD_FREE_QUICK
 * @between:	whether the clock waits for the block's address, as
 *		kf_clock_stamp() does: another thread may have given the block
 *		a moment ago; it costs as much as the rest
 * @address:	of the block, a multiple of 16
 * @size:	bytes asked of malloc, of KF_CURSOR_TWO bits; 0 of free
 * @now:	ticks; out: by kf_cursor_write(), where the answer is false
 *
 * The event is in the file when these return.
 *
 * Context: the thread.
 * Return: false: nothing was written, the other one has to.
 */
static __always_inline_kf bool kf_cursor_write(struct kf_write_cursor *cursor,
					       uint8_t *end,
					       enum kf_record_kind kind,
					       bool between, uint64_t address,
					       uint64_t size, uint64_t *now)
{
	int64_t step = (int64_t)(address - cursor->address);
	/* In units of 16 bytes, with the sign at the bottom. */
	uint64_t block = (uint64_t)(step >> 3 ^ step >> 63);
	uint64_t ticks =
		unlikely(between) ? kf_clock_read_between() : kf_clock_read();
	uint64_t since = ticks - cursor->time;
	uint8_t *at = cursor->at;
	uint64_t word;

	*now = ticks;
	_Static_assert(KF_CURSOR_THREE > KF_CURSOR_TWO,
		       "else the shift is none");
	if (unlikely((since | block >> (KF_CURSOR_THREE - KF_CURSOR_TWO)) >>
		     KF_CURSOR_TWO))
		return false;
	word = kind + (kf_cursor_two(since) << 8) +
	       (kf_cursor_three(block) << 24) + (kf_cursor_two(size) << 48) +
	       KF_CURSOR_MORE(2, 1) + KF_CURSOR_MORE(3, 3) +
	       KF_CURSOR_MORE(2, 6);
	memcpy(at, &word, sizeof(word));
	kf_cursor_done(cursor, at + (kind == KF_RECORD_MALLOC_QUICK ? 8 : 6),
		       ticks, address);
	kf_cursor_commit(cursor, end);
	return true;
}

void kf_cursor_write_far(struct kf_write_cursor *cursor, uint8_t *end,
			 enum kf_record_kind kind, uint64_t address,
			 uint64_t size, uint64_t now) __kf_hidden;

#endif
