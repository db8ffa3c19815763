/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stats file, byte for byte. This header is ABI.
 *
 *	header | identity | descriptions | classes | words | control | slots...
 *
 * All sections are found through the header, never by a fixed place; all
 * integers are in the machine's order, and a file that is not of that order
 * fails the magic. The file describes itself: a reader of any version prints
 * what the descriptions say. A minor version appends sections, entries or
 * fields; a major version is refused as "incompatible", which is another
 * answer than "damaged" (a length that does not hold).
 *
 * Glossary
 *	slot	what one arena counts: scalars, then a pair of words a class
 *	class	a size class; class 0 stands for all large blocks
 *	word	what the process counts as a whole
 */
#ifndef KF_STATS_LAYOUT_H
#define KF_STATS_LAYOUT_H

#include <stdint.h>

#define KF_STATS_MAGIC 0x315441545346464bULL /* "KFFSTAT1", little endian */
#define KF_STATS_MAJOR 1
#define KF_STATS_MINOR 1

#define KF_STATS_NR_CLASSES 105
#define KF_STATS_SLOT_SCALARS 42
#define KF_STATS_MAX_SLOTS 4096
#define KF_STATS_MAX_FILE (64u << 20)
#define KF_STATS_CONTROL_TEXT 744
#define KF_STATS_CONTROL_REPLY 256

enum kf_stats_type { KF_TYPE_COUNTER = 1, KF_TYPE_GAUGE = 2 };
enum kf_stats_unit { KF_UNIT_NONE = 0, KF_UNIT_BYTES = 1 };
enum kf_stats_scope { KF_SCOPE_SLOT = 1, KF_SCOPE_WORD = 2 };

/* A table inside the file: @nr entries of @entry_size bytes from @offset. */
struct kf_stats_section {
	uint32_t offset;
	uint32_t entry_size;
	uint32_t nr;
	uint32_t reserved;
};

/*
 * Constant once @ready is 1, but for @total_size and @slots.nr, which grow:
 * the file is extended first, then the two are stored.
 */
struct kf_stats_header {
	uint64_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t header_size;
	uint64_t total_size;
	uint32_t ready;
	uint32_t reserved;
	struct kf_stats_section identity;
	struct kf_stats_section descs;
	struct kf_stats_section classes;
	struct kf_stats_section words;
	struct kf_stats_section control;
	struct kf_stats_section slots;
	struct kf_stats_section tags;
	struct kf_stats_section stacks;
};

/* Who writes the file. Strings end in NUL or fill their array. */
struct kf_stats_identity {
	int32_t pid;	   /* as the process sees itself */
	int32_t outer_pid; /* as its /proc shows it outermost */
	uint32_t uid;
	uint32_t forked;       /* 1: started by fork, 0: by exec */
	uint64_t pid_ns;       /* inode of /proc/self/ns/pid, 0 unknown */
	uint64_t start_ticks;  /* field 22 of /proc/self/stat, 0 unknown */
	uint64_t created_ns;   /* CLOCK_REALTIME when the file was made */
	uint64_t created_mono; /* CLOCK_MONOTONIC likewise */
	char boot_id[40];
	char comm[16];
	char exe[256];
	char name[64]; /* KONFISCATOR_NAME, or "" */
	char engine[16];
	char version[16];
};

/* One counter: where it is, and what it means. */
struct kf_stats_desc {
	char name[32];
	char metric[40];
	char labels[40];
	char help[136];
	uint8_t scope;
	uint8_t type;
	uint8_t unit;
	uint8_t reserved;
	uint32_t index; /* of its word in the slot or among the words */
};

/* One size class; entry 0 is for all large blocks and has size 0. */
struct kf_stats_class {
	uint64_t bytes;
	int64_t inherited; /* blocks a forked child found live */
};

enum kf_slot_state { KF_SLOT_FREE, KF_SLOT_IN_USE, KF_SLOT_IDLE };

struct kf_stats_pair {
	uint64_t mallocs;
	uint64_t frees;
};

/*
 * What one arena counts. Written by its thread alone; a reader may see it in
 * the middle of a change, so sums over slots are exact only when the program
 * stands still, and a free may be seen before its malloc.
 */
struct kf_slot {
	uint32_t state;
	int32_t tid;
	char name[16];
	uint64_t reserved;
	uint64_t scalar[KF_STATS_SLOT_SCALARS];
	struct kf_stats_pair class[KF_STATS_NR_CLASSES];
} __attribute__((aligned(64)));

/*
 * The process' words. @seq is odd while a group of them changes; a reader
 * that wants them to agree reads again until it is even and unmoved.
 */
struct kf_stats_words {
	uint64_t seq;
	uint64_t word[];
};

/*
 * An order to the process: who gives it writes @text, then @request. The
 * library looks on its slow paths, writes @result and @reply, then @answer.
 * Minor version 0 has the first 64 bytes, and takes no orders.
 */
struct kf_stats_control {
	uint64_t request; /* number of the order: one more than the last */
	uint64_t answer;  /* number of the last order that was carried out */
	uint32_t result;  /* of that: 0 done, else an errno */
	uint32_t reserved;
	char text[KF_STATS_CONTROL_TEXT]; /* NAME=VALUE, ends in NUL */
	char reply[KF_STATS_CONTROL_REPLY];
};

#endif
