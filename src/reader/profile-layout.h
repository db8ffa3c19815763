/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The format of a profile: a program's table of sampled stacks at several
 * times. This header is ABI.
 *
 *	header | record | record | ...
 *
 * A record begins with its kind and its size, a multiple of 8 bytes, and is
 * never changed: a later record of the same thing replaces it from there on.
 * Things are described before a snapshot counts them. A file that ends in the
 * middle of a record is valid up to that record. Readers skip records of
 * unknown kinds. Integers have the machine's byte order; the magic number tells
 * a file of another order.
 */
#ifndef KF_READER_PROFILE_LAYOUT_H
#define KF_READER_PROFILE_LAYOUT_H

#include "stats/layout.h"

#include <stdint.h>

#define KF_PROFILE_MAGIC 0x314c464f5250464bULL /* "KFPROFL1" */
#define KF_PROFILE_MAJOR 1
#define KF_PROFILE_MINOR 2

#define KF_PROFILE_BUILD_ID 32
#define KF_PROFILE_CALLS 64
#define KF_PROFILE_PROCESSES (1u << 20) /* most other processes */

enum kf_profile_kind {
	KF_PROFILE_MODULE = 1,
	KF_PROFILE_TAG = 2,
	KF_PROFILE_THREAD = 3,
	KF_PROFILE_STACK = 4,
	KF_PROFILE_SNAPSHOT = 5,
	KF_PROFILE_END = 6, /* only the head: the recorder stopped regularly */
	KF_PROFILE_OUTER = 7,
	KF_PROFILE_NAME = 8,
	KF_PROFILE_PROCESS = 9,
	KF_PROFILE_PART = 10,
	KF_PROFILE_AGES = 11,
};

struct kf_profile_header {
	uint64_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t header_size;
	uint64_t real_ns;     /* CLOCK_REALTIME at the begin */
	uint64_t interval_ns; /* between two snapshots; 0: there is only one */
	uint64_t reserved[2];
	struct kf_stats_identity identity;
};

struct kf_profile_record {
	uint32_t kind; /* enum kf_profile_kind */
	uint32_t size; /* bytes, this head included */
};

/*
 * Mapped code of a file; its path follows and ends in NUL. With
 * KF_PROFILE_HAS_FILE the record ends with a struct kf_profile_file. In minor
 * version 0 @number and @flags are 0.
 */
struct kf_profile_module {
	struct kf_profile_record record;
	uint64_t begin; /* begin of the executable mapping */
	uint64_t end;
	uint64_t offset;	/* offset of @begin in the file */
	uint64_t base;		/* where the file's first mapping begins */
	uint32_t build_id_size; /* 0: not known */
	uint16_t number; /* of the module in the stats file; 0: not there */
	uint16_t flags;	 /* enum kf_profile_module_flags */
	uint8_t build_id[KF_PROFILE_BUILD_ID];
};

enum kf_profile_module_flags {
	KF_PROFILE_STAYS = 1, /* as KF_MODULE_STAYS */
	KF_PROFILE_HAS_FILE = 2,
};

/* The state of a file, which tells it from others without a build id. */
struct kf_profile_file {
	uint64_t inode;
	uint64_t size;	   /* 0: unknown */
	uint64_t modified; /* CLOCK_REALTIME, ns; 0: unknown */
};

/* A node of a tag tree; the fields are those of struct kf_stats_tag. */
struct kf_profile_tag {
	struct kf_profile_record record;
	uint32_t entry;
	uint32_t parent;
	int32_t tid;
	uint32_t depth;
	char name[KF_STATS_TAG_NAME];
};

struct kf_profile_thread {
	struct kf_profile_record record;
	int32_t tid;
	uint32_t reserved;
	char name[16]; /* ends in NUL or fills its array */
};

/* A stack; @nr_frames return addresses of 8 bytes follow, inmost first. */
struct kf_profile_stack {
	struct kf_profile_record record;
	uint32_t entry; /* index in the table */
	uint32_t nr_frames;
	uint32_t tag;	     /* entry of a tag, 0 none */
	uint32_t flags;	     /* enum kf_stack_flags */
	int32_t tid;	     /* the thread that took the first sample */
	uint32_t generation; /* kf_stats_generation(); 0 in minor version 0 */
};

/*
 * The outer frames of a stack that was described before; @nr_frames return
 * addresses of 8 bytes follow, innermost first. The stack itself has
 * KF_STACK_CUT in its flags. Minor version 0 has no such records.
 */
struct kf_profile_outer {
	struct kf_profile_record record;
	uint32_t entry;
	uint32_t nr_frames;
	uint32_t flags; /* KF_STACK_CUT: there were even more frames */
	uint32_t reserved;
};

/*
 * The calls at a return address, named while the process ran: their files may
 * be gone or others later. @nr struct kf_profile_call follow, innermost first,
 * then their strings, which end in NUL. Minor version 0 has no such records.
 */
struct kf_profile_name {
	struct kf_profile_record record;
	uint64_t address;
	uint32_t nr;	 /* 1 to KF_PROFILE_CALLS */
	uint32_t number; /* of the module that the address is in, or 0 */
};

/* All calls but the last are inlined into the next one. */
struct kf_profile_call {
	uint32_t function; /* bytes from the record to its name; 0: unknown */
	uint32_t file;	   /* bytes from the record to the source file; 0 */
	uint32_t line;	   /* 0: unknown */
	uint32_t reserved;
};

/* The counts of a stack at that time; see struct kf_stats_stack. */
struct kf_profile_count {
	uint32_t entry;
	uint32_t reserved;
	uint64_t samples;
	uint64_t freed_samples;
	uint64_t allocated;
	uint64_t freed;
	uint64_t allocated_blocks;
	uint64_t freed_blocks;
	uint64_t peak;
	uint64_t peak_blocks;
	uint64_t variance;
	uint64_t freed_variance;
};

/*
 * A snapshot of the process; @nr counts follow, of the stacks that changed
 * since the snapshot before.
 */
struct kf_profile_snapshot {
	struct kf_profile_record record;
	uint64_t time_ns; /* since the begin */
	uint64_t live; /* bytes by state, see struct kf_totals, or estimate */
	uint64_t rounding;
	uint64_t cached;
	uint64_t free;
	uint64_t metadata;
	uint64_t held;	   /* 0: only @live and @live_blocks are known */
	uint64_t resident; /* bytes of the whole process; 0: unknown */
	uint64_t live_blocks;
	uint64_t nr;
};

/*
 * Another process of the program: the header and all records outside of parts
 * are of the first one. The number is one more than that of the process before,
 * from 1 on. Minor versions 0 and 1 have no such records, and their readers
 * show the first process alone.
 */
struct kf_profile_process {
	struct kf_profile_record record;
	uint32_t number;
	int32_t pid;	   /* in the recorder's pid namespace, if it was seen */
	uint64_t begin_ns; /* when it was seen first, since the begin */
	struct kf_stats_identity identity;
};

/*
 * What was found about another process at one look; its records follow, of any
 * kind but KF_PROFILE_PROCESS and KF_PROFILE_PART. Its entries, modules, tags
 * and threads are its own. Times are since the begin of the profile.
 */
struct kf_profile_part {
	struct kf_profile_record record;
	uint32_t number; /* of the process */
	uint32_t reserved;
};

/*
 * How old the live blocks of a stack are at the time of the snapshot before,
 * and how long those lived that were freed. @nr struct kf_profile_span follow,
 * those that are not all 0. A later record replaces an earlier one; it is there
 * when more has changed than the time. Until then @oldest_ns and @mean_ns grow
 * with the time of the snapshots. A stack without a record has no live sample
 * with an age and no freed one. The units are those of struct kf_stats_stack.
 */
struct kf_profile_ages {
	struct kf_profile_record record;
	uint32_t entry;
	uint32_t nr;
	uint64_t samples;   /* live ones that have an age */
	uint64_t oldest_ns; /* age of the oldest of these */
	uint64_t mean_ns;   /* mean age of the bytes that they stand for */
	uint64_t foreign;   /* freed by another thread than allocated */
	uint64_t foreign_variance;
};

/* A span of time, see struct kf_stats_lifetimes; @span is its number. */
struct kf_profile_span {
	uint32_t span;
	uint32_t reserved;
	uint64_t live; /* bytes of live blocks of this age */
	uint64_t live_variance;
	uint64_t freed; /* bytes of blocks that lived so long */
	uint64_t freed_variance;
};

#endif
