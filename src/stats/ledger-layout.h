/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ledger, byte for byte: the counters of ended processes, added up. This
 * header is ABI.
 *
 *	header | journal | descriptions | classes | keys | folds | rows
 *	... a hole | files
 *
 * There is one ledger for each directory, user and description. Its name is
 * ".ledger.UID.HASH"; HASH is 16 hexadecimal digits, a hash of the version and
 * of the names of the counters and the sizes of the classes. So a library with
 * other counters has a ledger of its own. The ledger is a plain file of UID;
 * another file, or one whose header differs from the library's, is never used.
 * All integers are in the machine's order. Readers find sections by the header,
 * as in layout.h, and print what the descriptions say; a minor version appends.
 *
 * Glossary
 *	row	the counters of all processes with one key; row 0 has no key and
 *		is for processes that found no row of their own
 *	value	one counter of a row; src/stats/stats.def without its gauges
 *	fold	the addition of a stats file's counters to a row
 *	file	a note of a stats file that the user's processes sweep
 *
 * Rules of writers
 *	1. A write lock on the whole file (fcntl, F_SETLK) is held from the read
 *	   of the header to the end of a fold.
 *	2. Folds are numbered from 1. Fold N is made in this order:
 *	   - the journal is written, then @committed becomes N;
 *	   - the row, its entry in the keys, the fold's entry and @nr_rows
 *	     are written from the journal;
 *	   - the stats file is marked (struct kf_stats_ending, folded), or its
 *	     name is removed;
 *	   - @applied becomes N.
 *	3. A writer that finds @applied one less than @committed first repeats
 *	   all steps of 2 behind the commit, from the journal. The journal has
 *	   new values, not differences, so a repetition changes nothing.
 *	4. A stats file is folded only if it is not marked, no entry of the
 *	   folds has its @created_ns and @pid, it belongs to UID, and its
 *	   process has ended or is the one that folds. For its own file a
 *	   process does not search the folds, as nobody else folds it.
 *
 * Rules of readers
 *	1. No lock is needed. @committed and @applied are read, then the rest,
 *	   then both again; if either has changed, everything is read again.
 *	2. Where @applied is one less than @committed, the journal's row and
 *	   fold stand for what is in their places: that fold counts.
 *	3. A stats file's counters are part of the ledger where the file is
 *	   marked, or the folds have its @created_ns and @pid. The ledger is
 *	   read after the stats files, so that a file that is folded meanwhile
 *	   is found among the folds, unless KF_LEDGER_FOLDS more folds were made
 *	   since.
 *	4. Values, and the pairs of classes, only grow; rows stay where they are
 *	   and keep their key. A row whose key_hash is 0 is not in use.
 */
#ifndef KF_STATS_LEDGER_LAYOUT_H
#define KF_STATS_LEDGER_LAYOUT_H

#include "stats/layout.h"

#define KF_LEDGER_MAGIC 0x314447444c46464bULL /* "KFFLDGD1", little endian */
#define KF_LEDGER_MAJOR 1
#define KF_LEDGER_MINOR 0
#define KF_LEDGER_PREFIX ".ledger."

#define KF_LEDGER_ROWS 256   /* at most; fewer on a small file system */
#define KF_LEDGER_FOLDS 512  /* the last ones */
#define KF_LEDGER_FILES 2048 /* that are watched over */
#define KF_LEDGER_NAME 48    /* of a stats file, with its NUL */
#define KF_LEDGER_CMDLINES 8 /* rows of a program that differ by no more */
#define KF_LEDGER_VALUES 64  /* of which as many are used as described */

/*
 * Constant, except @committed, @applied and @nr_rows. The entries of @descs
 * have KF_SCOPE_WORD and the number of their value; those of @classes are
 * usable bytes, 8 bytes each, 0 for large blocks.
 */
struct kf_ledger_header {
	uint64_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t header_size;
	uint64_t described; /* the file name's HASH */
	uint32_t uid;
	uint32_t ready; /* 1 once all else is written */
	struct kf_stats_section journal;
	struct kf_stats_section descs;
	struct kf_stats_section classes;
	struct kf_stats_section keys;
	struct kf_stats_section folds;
	struct kf_stats_section rows; /* nr: the most there can be */
	struct kf_stats_section files;
	uint64_t room[6]; /* 0; a cache line begins behind it */
	uint64_t committed;
	uint64_t applied;
	uint32_t nr_rows; /* used ones are below */
	uint32_t reserved;
	uint64_t more_room[5]; /* 0 */
};

/*
 * The key of a row, from the identity and the ending of a stats file. Each
 * string ends in NUL (a full one loses its last character) and is padded with
 * zeroes. A new key gets a row of its own. Where its program has
 * KF_LEDGER_CMDLINES rows with command lines already, the command line of the
 * key becomes empty; where no row is free, the key gets row 0.
 */
struct kf_ledger_key {
	char comm[16];
	char name[64]; /* KONFISCATOR_NAME, or "" */
	char exe[256];
	char cmdline[KF_STATS_CMDLINE];
	char cgroup[KF_STATS_CGROUP];
};

struct kf_ledger_row {
	uint64_t key_hash; /* kf_ledger_hash() of @key; 0: not in use */
	struct kf_ledger_key key;
	uint64_t exits;	   /* processes that ended, by exit or a signal */
	uint64_t execs;	   /* programs that ended with an exec */
	uint64_t first_ns; /* CLOCK_REALTIME of the first fold */
	uint64_t last_ns;  /* CLOCK_REALTIME of the last fold */
	uint64_t value[KF_LEDGER_VALUES];
	struct kf_stats_pair class[KF_STATS_NR_CLASSES];
	uint64_t reserved[7]; /* 0 */
} __attribute__((aligned(64)));

/* The hashes of a row's key: a search reads these in place of all keys. */
struct kf_ledger_index {
	uint64_t key_hash;     /* as the row's */
	uint64_t program_hash; /* of the key with an empty command line */
};

enum kf_ledger_reason { KF_LEDGER_EXIT = 1, KF_LEDGER_EXEC = 2 };

/* Fold @number is entry @number % KF_LEDGER_FOLDS. */
struct kf_ledger_fold {
	uint64_t number;     /* 0: free */
	uint64_t created_ns; /* of the stats file's identity */
	int32_t pid;	     /* of the stats file's identity */
	uint32_t row;
	uint32_t reason; /* enum kf_ledger_reason */
	uint32_t reserved;
};

enum kf_ledger_file_state {
	KF_LEDGER_FILE_FREE,
	KF_LEDGER_FILE_LIVE,
	KF_LEDGER_FILE_KEPT, /* folded, of a process that did not end well */
};

/*
 * A note of a stats file in the directory. It is a hint: a process reads the
 * file itself before it acts. The name is made of @comm, @pid and @random.
 */
struct kf_ledger_file {
	uint32_t state; /* enum kf_ledger_file_state */
	int32_t pid;
	uint64_t pid_ns;
	uint64_t start_ticks;
	uint64_t since_ns; /* CLOCK_REALTIME of its begin; kept: of its end */
	uint64_t bytes;	   /* of the file system, about */
	uint64_t random;
	char comm[16]; /* made safe for the name */
};

/* The fold that is being made. */
struct kf_ledger_journal {
	struct kf_ledger_fold fold;
	uint64_t dev; /* of the stats file; 0: there is none to mark */
	uint64_t ino;
	uint32_t keep; /* 1: the stats file is marked; 0: its name is removed */
	uint32_t reserved;
	char name[KF_LEDGER_NAME];
	uint64_t room[3];	  /* 0 */
	struct kf_ledger_row row; /* the new content of the row */
};

/* FNV-1a, continued from @h; begin with KF_LEDGER_HASH. */
#define KF_LEDGER_HASH 0xcbf29ce484222325ULL

static inline uint64_t kf_ledger_hash_more(uint64_t h, const void *p,
					   uint64_t bytes)
{
	const unsigned char *c = (const unsigned char *)p;

	while (bytes--)
		h = (h ^ *c++) * 0x100000001b3ULL;
	return h;
}

static inline void kf_ledger_string(char *to, const char *from, uint64_t size)
{
	uint64_t i = 0;

	for (; i + 1 < size && from[i]; i++)
		to[i] = from[i];
	for (; i < size; i++)
		to[i] = '\0';
}

/* The key of a process. */
static inline void kf_ledger_key_of(struct kf_ledger_key *key,
				    const struct kf_stats_identity *id,
				    const struct kf_stats_ending *end)
{
	kf_ledger_string(key->comm, id->comm, sizeof(key->comm));
	kf_ledger_string(key->name, id->name, sizeof(key->name));
	kf_ledger_string(key->exe, id->exe, sizeof(key->exe));
	kf_ledger_string(key->cmdline, end->cmdline, sizeof(key->cmdline));
	kf_ledger_string(key->cgroup, end->cgroup, sizeof(key->cgroup));
}

/* The hash of a key; never 0. */
static inline uint64_t kf_ledger_hash(const struct kf_ledger_key *key)
{
	uint64_t h = kf_ledger_hash_more(KF_LEDGER_HASH, key, sizeof(*key));

	return h ? h : 1;
}

_Static_assert(sizeof(struct kf_ledger_fold) == 32, "a fold's size is ABI");
_Static_assert(sizeof(struct kf_ledger_file) == 64, "a file's size is ABI");
_Static_assert(sizeof(struct kf_ledger_row) == 3008, "a row's size is ABI");

#endif
