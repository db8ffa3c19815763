/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An event of a recording, unpacked: see record/event.h for its format.
 */
#ifndef KF_READER_HISTORY_EVENT_H
#define KF_READER_HISTORY_EVENT_H

#include "record/event.h"

/*
 * An event. Fields that its kind does not have are 0; tid and comm are those of
 * the stream. Readers get a MALLOC for a MALLOC_QUICK, with @took 0, and a FREE
 * for a FREE_QUICK.
 */
struct kf_record_event {
	uint8_t kind;
	bool failed;   /* the call returned no block: @address is 0 */
	uint8_t align; /* logarithm to base 2 */
	uint64_t time; /* ticks: end of an allocation, begin of a free */
	uint64_t took; /* ticks; 0: unknown */
	uint64_t address;
	uint64_t size;
	uint64_t number;
	int32_t tid;
	char comm[16];
};

/* A reader's state between the events of a chunk. */
struct kf_record_cursor {
	const uint8_t *fields; /* of the file's header */
	uint64_t time;	       /* of the last event */
	uint64_t address;      /* of the last event that had one */
	int32_t tid;
	char comm[16];
};

/* The duration in two bytes: rounded down by less than 1/1024. */
static inline uint64_t kf_record_ticks_of(uint16_t packed)
{
	return (uint64_t)(packed & 2047) << (packed >> 11);
}

/* Returns what follows, or NULL where the bytes end before the number does. */
static inline const uint8_t *
kf_record_get_varint(const uint8_t *p, const uint8_t *end, uint64_t *n)
{
	*n = 0;
	for (unsigned int shift = 0; p < end && shift < 64; shift += 7) {
		*n |= (uint64_t)(*p & 127) << shift;
		if (!(*p++ & 128))
			return p;
	}
	return NULL;
}

static inline uint64_t kf_record_unzigzag(uint64_t n)
{
	return n >> 1 ^ -(n & 1);
}

/* A kind as readers see it. */
static inline uint8_t kf_record_kind_read(unsigned int kind)
{
	switch (kind) {
	case KF_RECORD_MALLOC_QUICK:
		return KF_RECORD_MALLOC;
	case KF_RECORD_FREE_QUICK:
		return KF_RECORD_FREE;
	default:
		return (uint8_t)kind;
	}
}

/* Begin to read a chunk's events. */
static inline void kf_record_cursor_init(struct kf_record_cursor *c,
					 const struct kf_record_header *h,
					 const struct kf_record_chunk *chunk)
{
	c->fields = h->fields;
	c->time = chunk->base;
	c->address = 0;
	c->tid = chunk->tid;
	memcpy(c->comm, chunk->comm, sizeof(c->comm));
}

static inline const uint8_t *kf_record_unpack_block(struct kf_record_cursor *c,
						    unsigned int head,
						    const uint8_t *p,
						    const uint8_t *end,
						    struct kf_record_event *e)
{
	uint64_t n;

	if (e->failed)
		return p;
	p = kf_record_get_varint(p, end, &n);
	if (!p)
		return NULL;
	n = kf_record_unzigzag(n);
	c->address += head & KF_RECORD_ODD ? n : n << 4;
	e->address = c->address;
	return p;
}

static inline const uint8_t *kf_record_unpack_tail(struct kf_record_cursor *c,
						   unsigned int fields,
						   const uint8_t *p,
						   const uint8_t *end,
						   struct kf_record_event *e)
{
	uint64_t n;

	if (p && fields & KF_RECORD_SIZE)
		p = kf_record_get_varint(p, end, &e->size);
	if (p && fields & KF_RECORD_ALIGN) {
		if (p == end)
			return NULL;
		e->align = *p++;
	}
	if (p && fields & KF_RECORD_TID) {
		p = kf_record_get_varint(p, end, &n);
		c->tid = (int32_t)n;
	}
	if (p && fields & KF_RECORD_COMM) {
		if ((size_t)(end - p) < sizeof(c->comm))
			return NULL;
		memcpy(c->comm, p, sizeof(c->comm));
		p += sizeof(c->comm);
	}
	if (p && fields & KF_RECORD_NUMBER)
		p = kf_record_get_varint(p, end, &e->number);
	return p;
}

/*
 * kf_record_unpack() - read the next event of a chunk
 * @c:		the cursor
 * @p:		where the event begins
 * @end:	where the chunk's used bytes end
 * @e:		out: the event
 *
 * Any bytes are safe to read. Return: the begin of the next event; NULL at
 * @end, and where the event is not whole.
 */
static inline const uint8_t *kf_record_unpack(struct kf_record_cursor *c,
					      const uint8_t *p,
					      const uint8_t *end,
					      struct kf_record_event *e)
{
	unsigned int head, fields;
	uint64_t n;

	if (p >= end)
		return NULL;
	*e = (struct kf_record_event){0};
	head = *p++;
	e->kind = kf_record_kind_read(head & KF_RECORD_KIND);
	e->failed = head & KF_RECORD_FAILED;
	fields = c->fields[head & KF_RECORD_KIND];
	p = kf_record_get_varint(p, end, &n);
	if (!e->kind || !p)
		return NULL;
	c->time += n;
	e->time = c->time;
	if (fields & KF_RECORD_TOOK) {
		if (end - p < 2)
			return NULL;
		e->took = kf_record_ticks_of((uint16_t)(p[0] | p[1] << 8));
		p += 2;
	}
	if (fields & KF_RECORD_BLOCK)
		p = kf_record_unpack_block(c, head, p, end, e);
	p = kf_record_unpack_tail(c, fields, p, end, e);
	e->tid = c->tid;
	memcpy(e->comm, c->comm, sizeof(e->comm));
	return p;
}

#endif
