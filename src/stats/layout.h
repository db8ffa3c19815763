/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stats file, byte for byte. This header is ABI.
 *
 *	header | identity | ending | descriptions | classes | words | control |
 *	moments | reports | slots...
 *	... a hole | tags... a hole | modules... a hole | stacks...
 *	... a hole | frames... a hole | calls... a hole | lifetimes...
 *	... a hole | map... a hole | mappings... a hole | samples... a hole |
 *	more slots...
 *
 * All sections are found through the header, never by a fixed place; all
 * integers are in the machine's order, and a file that is not of that order
 * fails the magic. The file describes itself: a reader of any version prints
 * what the descriptions say. A minor version appends sections, entries or
 * fields; a major version is refused as "incompatible", which is another
 * answer than "damaged" (a length that does not hold).
 *
 * Glossary
 *	slot	the counters of one arena: scalars, then two words a class
 *	chunk	a part of an arena's ring of events, in the place of a slot
 *	class	a size class; class 0 stands for all large blocks
 *	word	a counter of the whole process
 */
#ifndef KF_STATS_LAYOUT_H
#define KF_STATS_LAYOUT_H

#include <stdint.h>

#define KF_STATS_MAGIC 0x315441545346464bULL /* "KFFSTAT1", little endian */
#define KF_STATS_MAJOR 1
#define KF_STATS_MINOR 11

#define KF_STATS_NR_CLASSES 105
#define KF_STATS_TINY_MAX 1024 /* bytes of the largest tiny class */
#define KF_STATS_SLOT_SCALARS 42
#define KF_STATS_MAX_SLOTS 8128
#define KF_STATS_MAX_MORE (512u << 10)
#define KF_STATS_MAX_REST (192u << 20)
#define KF_STATS_MAX_FILE \
	(KF_STATS_MAX_REST + KF_STATS_MAX_MORE * sizeof(struct kf_slot))
#define KF_STATS_HEAP_NAME "konfiscator heap" /* in /proc/PID/maps */
#define KF_STATS_TAG_NAME 64
#define KF_STATS_EVENTS 84
#define KF_STATS_STACK_FRAMES 35
#define KF_STATS_STACK_MAX 1024
#define KF_STATS_SPANS 10 /* of ages and lifetimes */
#define KF_STATS_BUILD_ID 32
#define KF_STATS_MODULE_PATH 416
#define KF_STATS_MODULE_PATH_5 440 /* in minor versions 3 to 5 */
#define KF_STATS_CONTROL_TEXT 744
#define KF_STATS_CONTROL_REPLY 256
#define KF_STATS_CMDLINE 128
#define KF_STATS_CGROUP 256
#define KF_STATS_MOMENTS 64
#define KF_STATS_REPORTS 8
#define KF_STATS_CELLS 4096
#define KF_STATS_MAPPINGS 1024
#define KF_STATS_MAPPED_END (1ULL << 47) /* no address is above */

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
 * Constant once @ready is 1, except @total_size and the @nr of slots, more
 * slots, tags and all tables for samples. These grow: the file is extended,
 * then they are stored. All sections but @more are in the first
 * KF_STATS_MAX_REST bytes. Minor versions 0 to 2 end with @stacks, 3 with
 * @modules, 4 with @more, 5 with @ending, 6 with @frames, 7 with @calls, 8 with
 * @samples, 9 with @moments, 10 with @map.
 */
struct kf_stats_header {
	uint64_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t header_size;
	uint64_t total_size;
	uint32_t ready;
	uint32_t attached; /* 1: to a process that ran before; else 0 */
	struct kf_stats_section identity;
	struct kf_stats_section descs;
	struct kf_stats_section classes;
	struct kf_stats_section words;
	struct kf_stats_section control;
	struct kf_stats_section slots;
	struct kf_stats_section tags;
	struct kf_stats_section stacks;
	struct kf_stats_section modules;
	struct kf_stats_section more; /* slots, after those of @slots */
	struct kf_stats_section ending;
	struct kf_stats_section frames;
	struct kf_stats_section calls;
	uint32_t family; /* KONFISCATOR_FAMILY; 0: none */
	uint32_t reserved;
	struct kf_stats_section lifetimes; /* entry i is of stack i */
	struct kf_stats_section samples;
	struct kf_stats_section moments;
	struct kf_stats_section reports;
	struct kf_stats_section map;
	struct kf_stats_section mappings;
};

/* The process that writes the file. Strings end in NUL or fill their array. */
struct kf_stats_identity {
	int32_t pid;	   /* as the process sees itself */
	int32_t outer_pid; /* in the pid namespace that its /proc shows */
	uint32_t uid;
	uint32_t forked;       /* 1: started by fork, 0: by exec */
	uint64_t pid_ns;       /* inode of /proc/self/ns/pid, 0: unknown */
	uint64_t start_ticks;  /* field 22 of /proc/self/stat, 0: unknown */
	uint64_t created_ns;   /* CLOCK_REALTIME when the file was made */
	uint64_t created_mono; /* CLOCK_MONOTONIC when the file was made */
	char boot_id[40];
	char comm[16];
	char exe[256];
	char name[64]; /* KONFISCATOR_NAME, or "" */
	char engine[16];
	char version[16];
};

/*
 * When the process has ended, its counters are added to the ledger's row of its
 * program, see ledger-layout.h. Strings end in NUL or fill their array.
 */
struct kf_stats_ending {
	uint64_t folded; /* number of the fold that added them; 0: none */
	char cmdline[KF_STATS_CMDLINE]; /* a blank between arguments; the begin
					 */
	char cgroup[KF_STATS_CGROUP];	/* the end of the path */
	/*
	 * From minor version 8 on: 1 once the process called exit(), and the
	 * argument, of which the lowest 8 bits count. @exited is stored last.
	 */
	uint32_t exited;
	int32_t status;
};

/* A counter: its place and its meaning. */
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

/*
 * A size class; entry 0 is for all large blocks and has size 0. Minor versions
 * 0 and 1 end with @inherited. Blocks that are carved and not live are in pages
 * that cannot go back to the kernel, as other blocks of the slab are live.
 */
struct kf_stats_class {
	uint64_t bytes;
	int64_t inherited; /* live blocks at the fork that began the process */
	int64_t carved;	   /* blocks carved in slabs; atomic */
	int64_t slabs;	   /* atomic */
};

enum kf_slot_state { KF_SLOT_FREE, KF_SLOT_IN_USE, KF_SLOT_IDLE };

struct kf_stats_pair {
	uint64_t mallocs;
	uint64_t frees;
};

/*
 * The counters of one arena, written by its thread alone. A reader may see them
 * in the middle of a change: sums over slots are exact only while no thread
 * allocates, and a free may be seen before its malloc.
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
 * An event of the black box. The upper bits of @when are its kind, of
 * src/stats/box.def, the lower ones its time in nanoseconds of CLOCK_MONOTONIC.
 * @when is 0 where there is no event and while the others are written; it is
 * stored last.
 */
struct kf_stats_event {
	uint64_t when;
	uint64_t address; /* of a block or mapping, or 0 */
	uint64_t bytes;	  /* a size, or 0; a tid for events of threads */
};

#define KF_STATS_EVENT_TIME_BITS 56
#define KF_STATS_EVENT_TIME (((uint64_t)1 << KF_STATS_EVENT_TIME_BITS) - 1)

/*
 * A part of a ring of events, in the place of a slot. The chunks of one ring,
 * in the order of @index, hold the last events of its thread. A full ring
 * continues at its begin.
 */
struct kf_stats_chunk {
	uint32_t state; /* KF_SLOT_FREE, as there are no counters here */
	uint32_t slot;	/* number of the ring's slot, from 1; 0: no ring */
	uint32_t index; /* of this chunk in its ring */
	uint32_t reserved[5];
	struct kf_stats_event event[KF_STATS_EVENTS];
};

/*
 * The process' words. @seq is odd while a group of words changes; a reader that
 * needs a consistent group reads again until @seq is even and did not change.
 */
struct kf_stats_words {
	uint64_t seq;
	uint64_t word[];
};

/*
 * An order to the process. The sender writes @text, then @request; the library
 * reads them on its slow paths and writes @result and @reply, then @answer.
 * Minor version 0 has only the first 64 bytes and takes no orders.
 */
struct kf_stats_control {
	uint64_t request;  /* number of the order: one more than the last */
	uint64_t answer;   /* number of the last order that was carried out */
	uint32_t result;   /* of that order: 0, or an errno */
	uint32_t filtered; /* 1: the program began under a seccomp filter */
	char text[KF_STATS_CONTROL_TEXT]; /* NAME=VALUE, ends in NUL */
	char reply[KF_STATS_CONTROL_REPLY];
};

/*
 * What the heap was like at one moment of the process' life; entries are in no
 * order. When all are used, a new moment takes the entry whose neighbours in
 * time are closest to each other, in relation to their age: the last moments
 * are a second apart, older ones further, and the first one stays. A forked
 * child begins with none.
 */
struct kf_stats_moment {
	uint64_t time;	    /* CLOCK_MONOTONIC, ns; 0: free; stored last */
	uint64_t live;	    /* usable bytes of live blocks */
	uint64_t held;	    /* bytes held from the kernel */
	uint64_t allocated; /* usable bytes of all blocks ever */
	uint64_t blocks;    /* live blocks */
};

_Static_assert(sizeof(struct kf_stats_moment) == 40, "a moment's size is ABI");

/*
 * What was done wrong to guarded blocks: the first reports of the process, in
 * their order. Another of the same kind with the same three stacks is only
 * counted. A forked child begins with none.
 */
enum kf_report_how {
	KF_REPORT_READ = 1,
	KF_REPORT_WRITE = 2,
	KF_REPORT_LATE = 4, /* found when the block was freed */
};

enum kf_report_who { KF_REPORT_DONE, KF_REPORT_CAME, KF_REPORT_WENT };

struct kf_stats_report {
	uint64_t time;	  /* CLOCK_MONOTONIC, ns; 0: free; stored last */
	uint64_t address; /* that was accessed, or freed */
	uint64_t block;	  /* 0: none is known */
	uint64_t bytes;	  /* asked for */
	uint64_t times;	  /* with those that are only counted */
	uint32_t kind;	  /* of src/stats/faults.def */
	uint32_t how;	  /* enum kf_report_how, or-ed; 0: a free */
	/* of enum kf_report_who: the access or free, the allocation, the free
	 */
	struct {
		int32_t tid;	/* 0: unknown, or the block was not freed */
		uint32_t stack; /* entry; 0: unknown */
	} by[3];
};

_Static_assert(sizeof(struct kf_stats_report) == 72, "a report's size is ABI");

/*
 * A stretch of a region, as it was when the heap's map was noted: its bytes by
 * use, which add up to its length. Cells of one map have the same @noted; all
 * but the last of a region have the same length. A map is whole if all of its
 * @nr cells are there. A forked child begins with none.
 */
struct kf_stats_cell {
	uint64_t noted;	 /* CLOCK_MONOTONIC, ns; 0: free; stored last */
	uint64_t begin;	 /* address */
	uint64_t used;	 /* blocks in use, and those that threads keep */
	uint64_t free;	 /* free blocks of slabs, and runs that heaps keep */
	uint64_t dirty;	 /* free pages that have memory */
	uint64_t absent; /* pages without memory */
	uint32_t region; /* from 1, oldest first */
	uint32_t nr;	 /* cells of the map */
};

_Static_assert(sizeof(struct kf_stats_cell) == 56, "a cell's size is ABI");

/*
 * Private anonymous memory that the program mapped itself, past malloc, while
 * samples were taken. Entries do not overlap, are in no order, and follow
 * munmap() and mremap(). A forked child begins with its parent's.
 */
struct kf_stats_mapping {
	uint64_t begin; /* address; 0: a free entry; stored last */
	uint64_t end;
	uint32_t stack; /* entry */
	uint32_t reserved;
};

_Static_assert(sizeof(struct kf_stats_mapping) == 24,
	       "a mapping's size is ABI");

/*
 * A node of a tag tree: a tag below the tags that were pushed before it, in one
 * thread. Entry 0 stays free, so that 0 means "no tag". A node's counters are
 * written by its tree's thread alone, except those of the last cache line, to
 * which other threads add atomically. A block that realloc changes leaves its
 * node and enters the current one. A forked child's nodes begin with their live
 * blocks and bytes in @inherited and @allocated.
 */
enum kf_tag_state {
	KF_TAG_FREE,
	KF_TAG_IN_USE,
	KF_TAG_FOLDED, /* its thread has ended */
};

enum kf_tag_flags {
	KF_TAG_STACKS = 1, /* each of its blocks has its stack taken */
};

struct kf_stats_tag {
	uint32_t state;	 /* enum kf_tag_state; stored last */
	uint32_t parent; /* entry; 0: a root, whose name is its thread's */
	uint32_t root;	 /* entry of the tree's root */
	int32_t tid;	 /* of the tree's thread; 0 when folded */
	uint32_t depth;	 /* 0 for a root */
	uint32_t flags;	 /* enum kf_tag_flags */
	uint64_t failed; /* pushes that found no room for a node below */
	char name[KF_STATS_TAG_NAME]; /* ends in NUL */
	uint64_t entered;	      /* pushes */
	uint64_t left;		      /* pops */
	uint64_t mallocs;	      /* calls that returned a block */
	uint64_t callocs;
	uint64_t reallocs;
	uint64_t aligned;
	uint64_t frees;	    /* of the node's blocks, by its thread */
	uint64_t allocated; /* usable bytes */
	uint64_t freed;	    /* usable bytes, by the node's thread */
	uint64_t peak;	    /* most live bytes at an allocation */
	uint64_t resized;   /* blocks that realloc took, by the node's thread */
	uint64_t vm_size;   /* of a root: the process' when it was made, or 0 */
	/* frees and reallocs by other threads; atomic */
	uint64_t remote_frees __attribute__((aligned(64)));
	uint64_t remote_freed; /* usable bytes of these; atomic */
	uint64_t inherited;    /* live blocks at the fork of this process */
	uint64_t pinned; /* KF_STATS_PINNED_PARTS of a byte that the node's
			    blocks pinned when the word pinned was noted */
	uint64_t reserved[4];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct kf_stats_tag) == 256, "a tag's size is ABI");

/* Usable bytes of a node's live blocks. */
static inline uint64_t kf_stats_tag_live(const struct kf_stats_tag *t)
{
	return t->allocated - t->freed - t->remote_freed;
}

/* Live blocks of a node. */
static inline uint64_t kf_stats_tag_blocks(const struct kf_stats_tag *t)
{
	return t->inherited + t->mallocs + t->callocs + t->reallocs +
	       t->aligned - t->frees - t->resized - t->remote_frees;
}

/*
 * A call stack that allocated sampled blocks under one tag. Estimates are sums
 * over samples: at a mean distance of R bytes a sampled block of S bytes stands
 * for weight = S / (1 - exp(-S / R)) bytes and weight / S blocks. The variance
 * of a sum of weights is the sum of weight * (weight - S). Any thread writes,
 * atomically.
 *
 * A stack of more than KF_STATS_STACK_FRAMES frames has KF_STACK_CUT in @flags,
 * and the upper bits of @flags, from KF_STACK_OUTER_SHIFT on, are the entry of
 * the next frame in the table of frames; 0: there is none. Minor versions 0 to
 * 5 have no such table. KF_STACK_OUTER_CUT: the frames there are cut, too.
 *
 * Code may be unmapped and other code be mapped at its addresses. The lowest
 * bits of @hash, from kf_stats_generation(), say which code a stack has passed
 * through: of the modules at an address the last one whose number, counted from
 * 1, is at most this; the first one if there is none. With KF_GENERATION_UNSURE
 * only modules with KF_MODULE_STAYS are known. In minor versions 0 to 5 these
 * bits have no meaning.
 */
struct kf_stats_stack {
	uint64_t hash;	    /* 0: a free entry; see above; stored last */
	uint32_t nr_frames; /* in @frame; 0: the stack could not be taken */
	uint32_t tag;	    /* entry of the tag table; 0: none */
	uint64_t samples;   /* sampled blocks, ever */
	uint64_t freed_samples;
	uint64_t allocated;	   /* estimate of bytes, ever */
	uint64_t freed;		   /* bytes of @allocated that were freed */
	uint64_t allocated_blocks; /* estimate of blocks, in parts, ever */
	uint64_t freed_blocks;	   /* blocks of these that were freed */
	uint64_t peak;		   /* largest allocated - freed */
	uint64_t peak_blocks;	   /* largest difference of blocks, in parts */
	uint64_t variance;	   /* of @allocated, in its unit */
	uint64_t freed_variance;   /* the part of it that was freed */
	uint32_t flags; /* enum kf_stack_flags, and the outer frames */
	int32_t tid;	/* the thread that took the first sample */
	/* return addresses, innermost first */
	uint64_t frame[KF_STATS_STACK_FRAMES];
} __attribute__((aligned(64)));

#define KF_STATS_BLOCK_PARTS 256	  /* parts of a block in estimates */
#define KF_STATS_VARIANCE_UNIT (1u << 20) /* bytes^2 */

enum kf_stack_flags {
	KF_STACK_CUT = 1,	 /* there were more frames than are here */
	KF_STACK_OVERFLOW = 2,	 /* for all stacks that found no free entry */
	KF_STACK_OUTER_CUT = 4,	 /* there were more than in the other table */
	KF_STACK_NO_TABLES = 8,	 /* it follows frame pointers only */
	KF_STACK_NO_OUTER = 16,	 /* its outer frames found no free entry */
	KF_STACK_NO_CALLS = 32,	 /* it lacks calls of an interpreter */
	KF_STACK_INHERITED = 64, /* its blocks were live at the fork that began
				    the process: its own are in other entries */
	/*
	 * Of calls in real-time mode: @samples of them, each as a sample of a
	 * byte that was freed at once; @tag is enum kf_realtime_why <<
	 * KF_REALTIME_SHIFT, the thread's id << 3, and the function, as the
	 * probe realtime_violation has it.
	 */
	KF_STACK_REALTIME = 128,
};

/*
 * What an allowed call in real-time mode took, or 0: calls are not allowed.
 * Minor versions 0 to 9 have 0.
 */
enum kf_realtime_why {
	KF_REALTIME_WAITED = 1, /* it waited for a lock of the library */
	KF_REALTIME_SYSTEM_CALL = 2,
	KF_REALTIME_FAULT = 4, /* it had page faults */
	KF_REALTIME_WHYS = 8,
};

#define KF_REALTIME_SHIFT 28

#define KF_STACK_OUTER_SHIFT 8

#define KF_GENERATION_BITS 12
#define KF_GENERATION_UNSURE ((1u << KF_GENERATION_BITS) - 1)
#define KF_GENERATION_LAST (KF_GENERATION_UNSURE - 1) /* of older files */

/* Which code a stack has passed through. */
static inline uint32_t kf_stats_generation(const struct kf_stats_stack *s)
{
	return (uint32_t)s->hash & KF_GENERATION_UNSURE;
}

_Static_assert(sizeof(struct kf_stats_stack) == 384, "a stack's size is ABI");

/*
 * How long the sampled blocks of a stack lived that were freed. Span 0 is below
 * 1 ms, each further one ends ten times later, and the last one never ends. Any
 * thread writes, atomically. The units are those of struct kf_stats_stack; a
 * forked child begins at 0.
 */
struct kf_stats_lifetimes {
	uint64_t bytes[KF_STATS_SPANS]; /* estimate of freed bytes */
	uint64_t variance[KF_STATS_SPANS];
	uint64_t foreign; /* of all @bytes, those freed by another thread than
			     the one that allocated them */
	uint64_t foreign_variance;
};

_Static_assert(sizeof(struct kf_stats_lifetimes) == 176,
	       "the size of lifetimes is ABI");

#define KF_STATS_SPAN_FIRST 1000000ULL /* ns: the end of span 0 */

/* The span of an age or a lifetime. */
static inline unsigned int kf_stats_span(uint64_t ns)
{
	unsigned int i = 0;

	for (uint64_t end = KF_STATS_SPAN_FIRST;
	     i < KF_STATS_SPANS - 1 && ns >= end; end *= 10)
		i++;
	return i;
}

/*
 * A live sampled block whose stack was to be taken. Entries are used again. A
 * forked child begins with its parent's.
 */
struct kf_stats_sample {
	uint64_t address; /* 0: a free entry; stored last */
	uint64_t bytes;
	uint64_t weight; /* bytes that it stands for */
	uint64_t born;	 /* CLOCK_MONOTONIC when it was allocated, ns */
	uint32_t stack;	 /* entry */
	/*
	 * KF_STATS_PINNED_PARTS of a byte that each block pins for which the
	 * sample stands, when the word pinned was noted last.
	 */
	uint32_t pinned;
};

#define KF_STATS_PINNED_PARTS 256
#define KF_STATS_PINNED_UNKNOWN UINT32_MAX

_Static_assert(sizeof(struct kf_stats_sample) == 40, "a sample's size is ABI");

/*
 * A frame of deep stacks, and through @parent all frames outside of it. Stacks
 * with the same callers share these. @parent is less than the entry itself, so
 * that each chain ends. Entry 0 is none.
 */
struct kf_stats_frame {
	uint64_t address; /* return address; 0: a free entry; stored last */
	uint32_t parent;  /* entry of the caller; 0: the outermost frame */
	uint32_t reserved;
};

_Static_assert(sizeof(struct kf_stats_frame) == 16, "a frame's size is ABI");

/*
 * A call of code that an interpreter runs, such as a function of Python. Among
 * the return addresses of a stack it is KF_STATS_CALL and its entry, where the
 * frame of the interpreter's evaluator would be. Strings are UTF-8 as far as
 * the program's are, and end in NUL; a longer one has KF_STATS_CALL_MORE in
 * place of its end (@function) or its begin (@file).
 */
struct kf_stats_call {
	uint64_t key;  /* 0: a free entry; what it stands for; stored last */
	uint32_t line; /* 0: unknown */
	uint32_t reserved;
	char function[112];
	char file[128];
};

_Static_assert(sizeof(struct kf_stats_call) == 256, "a call's size is ABI");

#define KF_STATS_CALL (1ULL << 63)
#define KF_STATS_CALL_MORE "..."

/*
 * An executable mapping of a file with return addresses of stacks. The entry of
 * a file that is unmapped stays; where entries overlap, a stack's generation
 * tells which one is meant. One thread writes at a time.
 */
struct kf_stats_module {
	uint64_t begin; /* first address; 0: a free entry; stored last */
	uint64_t end;
	uint64_t offset;	/* of @begin in the file */
	uint64_t base;		/* first address of the file's first mapping */
	uint32_t flags;		/* enum kf_module_flags */
	uint32_t build_id_size; /* 0: unknown */
	uint8_t build_id[KF_STATS_BUILD_ID];
	char path[KF_STATS_MODULE_PATH]; /* raw, ends in NUL */
	/* of the file, 0: unknown; minor versions 3 to 5 have more path here */
	uint64_t inode;
	uint64_t size;
	uint64_t modified; /* CLOCK_REALTIME, ns */
} __attribute__((aligned(64)));

enum kf_module_flags {
	KF_MODULE_DELETED = 1, /* the file at the path was deleted */
	KF_MODULE_CUT = 2,     /* @path is the end of a longer path */
	KF_MODULE_STAYS = 4,   /* loaded at the start, and never unmapped */
};

_Static_assert(sizeof(struct kf_stats_module) == 512, "a module's size is ABI");

#endif
