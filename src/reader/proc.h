/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What procfs tells of a process. All of it may be gone at the next look, and
 * the name of a process is whatever the process says: raw bytes, to be cleaned
 * by others.
 */
#ifndef KF_READER_PROC_H
#define KF_READER_PROC_H

#include "base/compiler.h"

#include <sys/types.h>

#define KF_PROC_COMM 64

/* Of a container's id, 64 digits; so many are enough to tell it by. */
#define KF_CONTAINER_ID 65
#define KF_CONTAINER_SHORT 13

/**
 * kf_proc_read() - read a small file whole
 * @dirfd:	directory @name is relative to
 * @name:	the file
 * @buf:	out: its text, "" on error; ends with a null byte
 * @size:	bytes of @buf; what does not fit is left out
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
 * @buf:	out: as kf_proc_read(); what is beyond @size may be cut off
 * @size:	bytes of @buf
 *
 * Return: bytes read, or -1.
 */
ssize_t kf_proc_line(int procfd, int pid, const char *name, char *buf,
		     size_t size);

/**
 * kf_proc_read_once() - a file of procfs that is no more than a line
 * @dirfd:	directory the name is relative to
 * @name:	the file
 * @buf:	out: what one read() gives, and a NUL; "" where nothing is
 * @size:	room in @buf, more than 1
 *
 * Return: bytes in @buf, or -1.
 */
ssize_t kf_proc_read_once(int dirfd, const char *name, char *buf, size_t size);

/**
 * kf_proc_open() - a process' directory, to open files in it
 * @procfd:	procfs, open
 * @pid:	the process
 *
 * Return: a descriptor, or -1.
 */
int kf_proc_open(int procfd, int pid);

/**
 * kf_proc_comm() - what a process is called now
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @comm:	out: its name, raw; unchanged where it is not to be seen
 *
 * Return: whether there is such a process.
 */
bool kf_proc_comm(const char *procfs, int pid, char comm[KF_PROC_COMM]);

/* What the kernel counts of a process, in bytes. */
struct kf_proc_memory {
	uint64_t all; /* addresses */
	uint64_t resident;
	uint64_t shared; /* resident, and of files or shared memory */
};

/**
 * kf_proc_memory() - how much memory a process has
 * @procfs:	procfs' mount point
 * @pid:	the process, or 0
 * @m:		out: all 0 where it is not to be seen
 */
void kf_proc_memory(const char *procfs, int pid, struct kf_proc_memory *m);

/**
 * kf_container_in() - the id of the container that a cgroup is of
 * @text:	paths of cgroups
 * @id:		out: the id, or "" on the host
 *
 * Known are the paths of docker, containerd, cri-o, podman, kubernetes: any
 * part of a cgroup path that ends in 64 hexadecimal digits, with or without a
 * prefix and ".scope". The last one is the innermost.
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
