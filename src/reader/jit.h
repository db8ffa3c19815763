/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of code that a runtime made while it ran, as Java, node and .NET do.
 * Such code is in no file; the runtime writes its names to a map
 * (/tmp/perf-PID.map) or a jitdump file, if it is told to.
 *
 * Promises:
 *
 * - The map is looked for in the mount namespace of the process, under its
 *   innermost pid, then in ours under ours. The jitdump files are those that
 *   the process has mapped.
 *
 * - A file may be anyone's. It is read only if it is regular and no link, and
 *   belongs to root or a user of the process; a map also only if it was written
 *   to since the process started. Of a map above 256 MiB the end is read, a
 *   larger jitdump file is not. Waiting, memory and time are bounded.
 *
 * - Files that changed are read again, but not much more often than it takes:
 *   at most a tenth of the time is spent on it.
 */
#ifndef KF_READER_JIT_H
#define KF_READER_JIT_H

#include "reader/code.h"

#define KF_JIT_LIBRARY "[jit]"

struct kf_jit;

/* Is told a file that is not used, raw, and why: "the file has WHY". */
typedef void kf_jit_refused(const char *path, const char *why);

/* What is known of an address. The strings live until the next look-up. */
struct kf_jit_place {
	const char *function; /* raw */
	const char *file;     /* raw; NULL: unknown */
	unsigned int line;    /* 0: unknown */
};

/**
 * kf_jit_open() - begin to look up addresses
 * @procfs:	procfs' mount point; outlives the names
 * @pid:	the process, alive
 * @codes:	its code; outlives the names
 * @refused:	called once for each reason; NULL: not called
 *
 * Context: one thread at a time for each struct. Reads nothing yet.
 * Return: the names; NULL when out of memory.
 */
struct kf_jit *kf_jit_open(const char *procfs, int pid,
			   const struct kf_codes *codes,
			   kf_jit_refused *refused);

/**
 * kf_jit_find() - look up an address
 * @jit:	the names
 * @address:	the address, in no file or one that was deleted
 * @lines:	whether source lines are read
 * @out:	out: what is known
 *
 * Context: as kf_jit_open(); opens and reads files, allocates.
 * Return: whether it has a name.
 */
bool kf_jit_find(struct kf_jit *jit, uint64_t address, bool lines,
		 struct kf_jit_place *out);

/**
 * kf_jit_close() - free the names
 * @jit:	the names, or NULL
 *
 * Context: as kf_jit_open().
 */
void kf_jit_close(struct kf_jit *jit);

#endif
