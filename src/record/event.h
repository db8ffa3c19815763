/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An event of a recording, as the writer packs it. Readers unpack events with
 * src/reader/history-event.h.
 *
 * An event is a byte, a varint and its fields. The byte's low half is the kind,
 * KF_RECORD_FAILED and KF_RECORD_ODD are flags. The varint is the time in ticks
 * since the last event, or since the chunk's base. The kind's entry in the
 * header's table has the fields; a failed call has no block.
 *
 * A varint has seven bits a byte, the lowest first, and the eighth set in all
 * bytes but the last, which may be zero. A block's address is the difference to
 * the last address in the chunk (0 at its begin), zigzag (0, -1, 1, -2 are 0,
 * 1, 2, 3), in units of 16 bytes, or of one where KF_RECORD_ODD is set.
 */
#ifndef KF_RECORD_EVENT_H
#define KF_RECORD_EVENT_H

#include "base/bits.h"
#include "base/compiler.h"
#include "record/layout.h"

#include <string.h>

#define KF_RECORD_KIND 0x0fu
#define KF_RECORD_FAILED 0x10u /* the call gave no block */
#define KF_RECORD_ODD 0x20u    /* the address is no multiple of 16 */

/* The most bytes of an event. */
#define KF_RECORD_EVENT_MAX 64

enum kf_record_kind {
#define KF_EVENT(id, number, fields, name, effect, help) \
	KF_RECORD_##id = (number),
#include "record/events.def"
#undef KF_EVENT
};

/* The effect of an event on its block. */
enum kf_record_effect {
	KF_RECORD_NOTHING,
	KF_RECORD_ACQUIRES,
	KF_RECORD_RELEASES
};

/* A duration in two bytes: 11 bits, shifted by the 5 above them. */
static inline uint16_t kf_record_ticks_pack(uint64_t ticks)
{
	unsigned int shift;

	if (ticks < 2048)
		return (uint16_t)ticks;
	shift = kf_ilog2(ticks) - 10;
	if (shift > 31)
		return UINT16_MAX;
	return (uint16_t)(shift << 11 | ticks >> shift);
}

static inline uint8_t *kf_record_put_varint(uint8_t *p, uint64_t n)
{
	while (n >= 128) {
		*p++ = (uint8_t)(n | 128);
		n >>= 7;
	}
	*p++ = (uint8_t)n;
	return p;
}

static inline uint64_t kf_record_zigzag(uint64_t n)
{
	return n << 1 ^ (uint64_t)((int64_t)n >> 63);
}

/* The fields of a kind, for the header of a file that is written. */
static inline uint8_t kf_record_fields(unsigned int kind)
{
	enum {
		NONE = 0,
		TOOK = KF_RECORD_TOOK,
		BLOCK = KF_RECORD_BLOCK,
		SIZE = KF_RECORD_SIZE,
		ALIGN = KF_RECORD_ALIGN,
		TID = KF_RECORD_TID,
		COMM = KF_RECORD_COMM
	};

	switch (kind) {
#define KF_EVENT(id, number, fields, name, effect, help) \
	case number:                                     \
		return fields;
#include "record/events.def"
#undef KF_EVENT
	default:
		return 0;
	}
}

#endif
