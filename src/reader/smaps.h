/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the resident memory of a running process consists of, by its mappings
 * in procfs.
 *
 * Promises that the parts add up to what the kernel reports. Which anonymous
 * mappings are an allocator's is not known here.
 */
#ifndef KF_READER_SMAPS_H
#define KF_READER_SMAPS_H

#include "base/compiler.h"

/* Runtimes that have a heap of their own, known by a file. */
enum kf_runtime {
	KF_RUNTIME_PYTHON = 1,
	KF_RUNTIME_JAVA = 2,
	KF_RUNTIME_NODE = 4,
};

/*
 * Resident bytes, unless noted: files + shared + stacks + code + program_break
 * + anonymous = resident.
 */
struct kf_smaps {
	uint64_t resident;
	uint64_t files;	 /* code and data of mapped files, private copies too */
	uint64_t shared; /* shared memory, memfd files */
	uint64_t stacks; /* of the main thread, and of those that are known */
	uint64_t code;	 /* anonymous, executable or with a name of others */
	uint64_t program_break; /* what brk() gave: [heap] */
	uint64_t anonymous;	/* all other memory; allocators use this */
	uint64_t huge;		/* the part of @anonymous in huge pages */
	uint64_t tables; /* the kernel's page tables; no part of @resident */
	unsigned int runtimes; /* enum kf_runtime, or-ed */
};

/**
 * kf_runtime_of() - the runtime that a file belongs to
 * @path:	path of a program or library
 *
 * Return: enum kf_runtime, or 0.
 */
unsigned int kf_runtime_of(const char *path);

/**
 * kf_smaps_read() - read the mappings of a process
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @m:		out: the sums; all 0 if they cannot be read
 *
 * The kernel walks all pages of the process for this: with many GiB it takes a
 * moment, in which the process waits if it maps memory. The process may change
 * its mappings meanwhile.
 *
 * Return: whether they could be read.
 */
bool kf_smaps_read(const char *procfs, int pid, struct kf_smaps *m);

#endif
