/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Known mappings and their entries in the stats file: modules.c knows what is
 * mapped, modules-table.c writes the entries.
 */
#ifndef KF_SAMPLE_MODULES_H
#define KF_SAMPLE_MODULES_H

#include "stats/layout.h"
#include "sys/maps.h"

#define NR_KNOWN 2048

_Static_assert(NR_KNOWN < KF_GENERATION_LAST, "a generation fits");

/* A known mapping. Constant once @nr_known counts it, unless atomic. */
struct kf_known {
	uint64_t begin;
	uint64_t end;
	uint64_t inode; /* 0: not of a file */
	uint64_t offset;
	uint64_t stamp;	 /* of the file's contents, 0: unknown or not needed */
	uint32_t module; /* the newest entry, from 1; 0: none; atomic */
	uint32_t seen;	 /* number of the last read; guarded by @reading */
	bool stays;	 /* is never unmapped */
	bool current;	 /* atomic */
	bool doubtful;	 /* atomic */
};

static inline bool kf_known_has(const struct kf_known *k, uint64_t pc)
{
	return pc - k->begin < k->end - k->begin;
}

/* Whether a name at an address is right for both. */
static inline bool kf_known_is_alike(const struct kf_known *a,
				     const struct kf_known *b)
{
	return a == b || (a && b && a->inode && a->inode == b->inode &&
			  a->stamp == b->stamp &&
			  a->begin - a->offset == b->begin - b->offset);
}

/**
 * kf_module_put() - write the entry of a mapping
 * @k:		the mapping; its @module is set
 * @m:		the same
 * @base:	where the file's first mapping begins
 *
 * Context: with the right to read the mappings.
 */
void kf_module_put(struct kf_known *k, const struct kf_mapping *m,
		   uint64_t base);

/**
 * kf_module_repeat() - write the entry of a mapping once more, as the last one
 * @k:		the mapping, with an entry
 *
 * Context: with the right to read the mappings.
 * Return: false if there is no room.
 */
bool kf_module_repeat(struct kf_known *k) __must_check;

/**
 * kf_module_stamp() - what tells the contents of files apart
 * @m:		the mapping
 * @base:	where the file's first mapping begins
 *
 * Files that follow each other at the same addresses may have the same inode
 * number, such as two versions of an object.
 *
 * Context: with the right to read the mappings.
 * Return: the stamp, 0: unknown.
 */
uint64_t kf_module_stamp(const struct kf_mapping *m, uint64_t base);

/**
 * kf_module_of() - the mapping that readers take for an address
 * @pc:		the address
 * @generation:	of its stack, see struct kf_stats_stack
 *
 * Context: any.
 * Return: the mapping, or NULL.
 */
const struct kf_known *kf_module_of(uint64_t pc, uint32_t generation);

/**
 * kf_module_last() - the number of the last entry
 *
 * Context: any.
 * Return: the number, 0: there is none.
 */
uint32_t kf_module_last(void);

/**
 * kf_module_fork_child() - leave out entries that the child's table lacks
 *
 * Context: the child's only thread.
 * Return: the number of the last entry.
 */
uint32_t kf_module_fork_child(void);

#endif
