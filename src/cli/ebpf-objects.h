/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that a process' loader has, in its order, and their functions.
 */
#ifndef KF_CLI_EBPF_OBJECTS_H
#define KF_CLI_EBPF_OBJECTS_H

#include "base/compiler.h"

struct kf_object {
	uint64_t device;
	uint64_t inode;
	char *file; /* a path by which we can open it */
	char *path; /* as the process has it, raw */
};

/* The program comes first; a function is that of the first file with it. */
struct kf_objects {
	size_t nr;
	struct kf_object *object;
};

/**
 * kf_objects_read() - the files that a process' loader has
 * @pid:	the process
 * @o:		out: none where its memory may not be read; to be released
 */
void kf_objects_read(int32_t pid, struct kf_objects *o);

/**
 * kf_objects_release() - free what kf_objects_read() gave
 * @o:		the files; harmless twice
 */
void kf_objects_release(struct kf_objects *o);

/**
 * kf_object_function() - whether a file defines a function
 * @o:		the file
 * @is_program:	functions that it keeps to itself count too
 * @name:	the function
 * @address:	out: in the file
 *
 * Return: whether.
 */
bool kf_object_function(const struct kf_object *o, bool is_program,
			const char *name, uint64_t *address);

#endif
