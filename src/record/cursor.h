/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fast path of recording: malloc that finds a block in its bin, free of a
 * block of the thread's own heap. The first event in each page takes the slow
 * path (writer.c), which does all that is not needed for each event.
 *
 * Usual numbers fit in fields of fixed widths: two bytes for the time, three
 * for the block, two for the size. These are varints that may end in zeroes;
 * with the kind they make one word.
 */
#ifndef KF_RECORD_CURSOR_H
#define KF_RECORD_CURSOR_H

#include "base/compiler.h"
#include "record/event.h"
#include "sys/clock.h"
#include "sys/thread.h"

#include <string.h>

/* The bits of numbers that fit in two and in three bytes. */
#define KF_CURSOR_TWO 14
#define KF_CURSOR_THREE 21

/*
 * The position of a writer. Only its thread uses it, and the thread's signal
 * handlers, which find @end NULL in the middle of an event.
 */
struct kf_write_cursor {
	uint8_t *at;	  /* place of the next event */
	uint8_t *end;	  /* events begin before it; NULL: none may begin */
	uint32_t *used;	  /* @used of the chunk */
	uint64_t time;	  /* of the last event, ticks */
	uint64_t address; /* of the last event that had one */
	uint32_t state;	  /* of the process in which the cursor may be used */
};

/* In place of a state: the fast path is closed. */
#define KF_CURSOR_CLOSED KF_STATE_NONE

/* The calling thread's, or NULL. */
extern __thread struct kf_write_cursor *kf_write_cursor __kf_hidden
	__attribute__((tls_model("initial-exec")));

/**
 * kf_record_open() - open or close the fast path of the calling thread
 * @state:	the state of the process for which it is open, or
 *		KF_CURSOR_CLOSED
 *
 * Context: any thread.
 */
static inline void kf_record_open(uint32_t state)
{
	struct kf_write_cursor *cursor = kf_write_cursor;

	/* The fast path has no room for the lowest bits of odd addresses. */
	if (likely(cursor))
		cursor->state = cursor->address & 15 ? KF_CURSOR_CLOSED : state;
}

/**
 * kf_cursor_reserve() - begin an event, and keep signal handlers out
 * @cursor:	kf_write_cursor
 * @end:	out: the argument of kf_cursor_commit()
 *
 * Context: any thread.
 * Return: false: nothing changed, take the slow path.
 */
static __always_inline_kf bool kf_cursor_reserve(struct kf_write_cursor *cursor,
						 uint8_t **end)
{
	if (unlikely(!cursor))
		return false;
	*end = cursor->end;
	/* From here on signal handlers find no @end and write nothing. */
	*(uint8_t *volatile *)&cursor->end = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (likely(cursor->at < *end) &&
	    likely(cursor->state == kf_load(kf_process_state)))
		return true;
	cursor->end = *end;
	return false;
}

/* End an event: signal handlers may use the cursor again. */
static __always_inline_kf void kf_cursor_commit(struct kf_write_cursor *cursor,
						uint8_t *end)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	cursor->end = end;
}

/* Varints without their continuation bits, see KF_CURSOR_MORE(). */
static __always_inline_kf uint64_t kf_cursor_two(uint64_t n)
{
	return n + (n & 0x3f80);
}

static __always_inline_kf uint64_t kf_cursor_three(uint64_t n)
{
	return n + (n & 0x1fff80) + 2 * (n & 0x1fc000);
}

/* The continuation bits of a varint of so many bytes at a byte of a word. */
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
	/* Chunks are aligned to their size; no event ends at a chunk's end. */
	kf_store_release(cursor->used, (uint32_t)((uintptr_t)at &
						  (KF_RECORD_CHUNK_SIZE - 1)));
}

/**
 * kf_cursor_write() - write an event whose numbers fit the fixed fields
 * kf_cursor_write_far() - write an event of any numbers
 * @cursor:	reserved, so kf_clock_is_cheap(); committed unless the result is
 *		false
 * @end:	of kf_cursor_reserve()
 * @kind:	KF_RECORD_MALLOC_QUICK or KF_RECORD_FREE_QUICK
 * @between:	read the clock as kf_clock_stamp() does, as another thread may
 *		have passed on the block a moment ago; doubles the cost
 * @address:	of the block, a multiple of 16
 * @size:	bytes asked of malloc, of KF_CURSOR_TWO bits; 0 of free
 * @now:	ticks; out of kf_cursor_write()
 *
 * The event is in the file when the function returns.
 *
 * Context: the cursor's thread.
 * Return: false: nothing was written, call kf_cursor_write_far().
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
		       "the shift is positive");
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
