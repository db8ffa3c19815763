/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes profiles in the format of pprof: messages by protobuf-c, packed by
 * zlib. The four values of a sample are those of Go's heap profiles, as its
 * tools expect.
 *
 * Viewers begin with live memory, or with all allocations if none is live. The
 * flags of a mapping tell which names its locations have; a location without a
 * name has none here either, so that a viewer can look for it.
 *
 * Names may be any bytes; they are escaped. When memory runs out,
 * kf_pprof_end() fails.
 */
#ifndef KF_READER_PPROF_H
#define KF_READER_PPROF_H

#include "reader/symbols.h"

enum kf_pprof_value {
	KF_PPROF_ALLOC_OBJECTS,
	KF_PPROF_ALLOC_SPACE,
	KF_PPROF_INUSE_OBJECTS,
	KF_PPROF_INUSE_SPACE,
	KF_PPROF_NR_VALUES
};

struct kf_pprof;

/* A mapping of a file. */
struct kf_pprof_mapping {
	uint64_t begin;
	uint64_t end;
	uint64_t offset;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size;
};

/* The counts of a stack, as in struct kf_stats_stack. */
struct kf_pprof_count {
	uint64_t allocated;
	uint64_t freed;
	uint64_t allocated_blocks; /* an estimate, with fractions */
	uint64_t freed_blocks;
};

/**
 * kf_pprof_begin() - begin a profile
 * @real_ns:	CLOCK_REALTIME of the profile
 * @duration_ns:	its duration, or 0
 *
 * Context: one thread for a profile; allocates.
 * Return: the profile, or NULL when out of memory.
 */
struct kf_pprof *kf_pprof_begin(uint64_t real_ns, uint64_t duration_ns);

/**
 * kf_pprof_process() - begin the next process, with its own addresses
 * @p:		the profile
 *
 * Context: as kf_pprof_begin().
 */
void kf_pprof_process(struct kf_pprof *p);

/**
 * kf_pprof_mapping() - add mapped code
 * @p:		the profile
 * @m:		the mapping
 *
 * Context: as kf_pprof_begin().
 * Return: its id, counted from 1.
 */
uint64_t kf_pprof_mapping(struct kf_pprof *p, const struct kf_pprof_mapping *m);

/**
 * kf_pprof_known() - the location of calls that were added before
 * @p:		the profile
 * @frame:	the calls at an address, the inmost first, each but the last
 *		inlined into the next; they live as long as @p, or until
 *		kf_pprof_process()
 * @nr:		how many, up to KF_PROFILE_CALLS; calls may be left out
 *
 * Context: as kf_pprof_begin().
 * Return: its id, or 0 if they are new.
 */
uint64_t kf_pprof_known(const struct kf_pprof *p, const struct kf_frame *frame,
			size_t nr);

/**
 * kf_pprof_location() - add calls
 * @p:		the profile
 * @frame:	as kf_pprof_known()
 * @nr:		likewise
 * @mapping:	the id of their mapping, or 0
 *
 * Context: as kf_pprof_begin().
 * Return: its id.
 */
uint64_t kf_pprof_location(struct kf_pprof *p, const struct kf_frame *frame,
			   size_t nr, uint64_t mapping);

/**
 * kf_pprof_sample() - add a stack
 * @p:		the profile
 * @location:	ids, the inmost call first
 * @nr:		how many
 * @c:		its counts
 *
 * Context: as kf_pprof_begin().
 */
void kf_pprof_sample(struct kf_pprof *p, const uint64_t *location, size_t nr,
		     const struct kf_pprof_count *c);

/**
 * kf_pprof_label() - add a label to the last sample
 * @p:		the profile
 * @key:	what
 * @str:	a text; NULL: @num is the value
 * @num:	a number
 *
 * Context: as kf_pprof_begin().
 */
void kf_pprof_label(struct kf_pprof *p, const char *key, const char *str,
		    int64_t num);

/**
 * kf_pprof_comment() - add a comment to the profile
 * @p:		the profile
 * @text:	what
 *
 * Context: as kf_pprof_begin().
 */
void kf_pprof_comment(struct kf_pprof *p, const char *text);

/**
 * kf_pprof_end() - pack a profile, and free what it holds
 * @p:		the profile
 * @size:	out: bytes of it
 *
 * Context: as kf_pprof_begin().
 * Return: its bytes, to be freed; or NULL when out of memory.
 */
char *kf_pprof_end(struct kf_pprof *p, size_t *size);

#endif
