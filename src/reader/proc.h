/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about a process from procfs. A process may end at any time, and its
 * name is untrusted: raw bytes, which callers have to escape.
 */
#ifndef KF_READER_PROC_H
#define KF_READER_PROC_H

#include "base/compiler.h"

#include <sys/types.h>

#define KF_PROC_COMM 64

/* The number of digits of a container's id that are used, of 64. */
#define KF_CONTAINER_ID 65
#define KF_CONTAINER_SHORT 13

/**
 * kf_proc_read() - read a small file whole
 * @dirfd:	directory @name is relative to
 * @name:	the file
 * @buf:	out: its text, "" on error; ends with a null byte
 * @size:	bytes of @buf; a longer text is cut
 *
 * Return: bytes read, or -1.
 */
ssize_t kf_proc_read(int dirfd, const char *name, char *buf, size_t size);

/**
 * kf_proc_text() - read a small file of a process
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @name:	the file
 * @buf:	out: as kf_proc_read()
 * @size:	bytes of @buf
 *
 * Return: bytes read, or -1.
 */
ssize_t kf_proc_text(const char *procfs, int pid, const char *name, char *buf,
		     size_t size);

/**
 * kf_proc_line() - read a file that the kernel writes in one piece
 * @procfd:	procfs' mount point
 * @pid:	the process
 * @name:	"stat", "statm" and such
 * @buf:	out: as kf_proc_read(); a longer text may be cut
 * @size:	bytes of @buf
 *
 * Return: bytes read, or -1.
 */
ssize_t kf_proc_line(int procfd, int pid, const char *name, char *buf,
		     size_t size);

/**
 * kf_proc_read_once() - read a file of procfs that has a single line
 * @dirfd:	directory the name is relative to
 * @name:	the file
 * @buf:	out: the result of one read() and a NUL; "" if empty
 * @size:	room in @buf, more than 1
 *
 * Return: bytes in @buf, or -1.
 */
ssize_t kf_proc_read_once(int dirfd, const char *name, char *buf, size_t size);

/**
 * kf_proc_open() - open the directory of a process
 * @procfd:	procfs, open
 * @pid:	the process
 *
 * Return: a descriptor, or -1.
 */
int kf_proc_open(int procfd, int pid);

/**
 * kf_proc_comm() - the current name of a process
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @comm:	out: its name, raw; unchanged if it cannot be read
 *
 * Return: whether there is such a process.
 */
bool kf_proc_comm(const char *procfs, int pid, char comm[KF_PROC_COMM]);

/* The memory of a process by the kernel, in bytes. */
struct kf_proc_memory {
	uint64_t all; /* mapped address space */
	uint64_t resident;
	uint64_t shared; /* resident pages of files and shared memory */
};

/**
 * kf_proc_memory() - the memory of a process
 * @procfs:	procfs' mount point
 * @pid:	the process, or 0
 * @m:		out: all 0 if it cannot be read
 */
void kf_proc_memory(const char *procfs, int pid, struct kf_proc_memory *m);

/**
 * kf_container_in() - the container id in the path of a cgroup
 * @text:	paths of cgroups
 * @id:		out: the id, or "" on the host
 *
 * Knows the paths of docker, containerd, cri-o, podman and kubernetes: a
 * component of a cgroup path that ends in 64 hexadecimal digits, with or
 * without a prefix and ".scope". The last one, the innermost, is used.
 */
void kf_container_in(const char *text, char id[KF_CONTAINER_ID]);

/**
 * kf_proc_container() - the id of the container a process runs in
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @id:		out: as kf_container_in()
 */
void kf_proc_container(const char *procfs, int pid, char id[KF_CONTAINER_ID]);

#endif
