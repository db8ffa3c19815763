/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The memory that the kernel has for the sockets of a process: what is in their
 * queues. It is no part of the process' resident memory.
 *
 * Promises a figure that is whole, or none: of a process in another network
 * namespace, or with descriptors that may not be read, nothing is known.
 */
#ifndef KF_READER_SOCKETS_H
#define KF_READER_SOCKETS_H

#include "base/compiler.h"

/**
 * kf_sockets_read() - add up the buffers of the sockets of a process
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @bytes:	out: their memory, of TCP, UDP and Unix sockets; a socket of
 *		several descriptors counts once, one of several processes for
 *		each
 *
 * The kernel lists all sockets of the namespace for this, if the process has
 * any.
 *
 * Return: whether it is known.
 */
bool kf_sockets_read(const char *procfs, int pid, uint64_t *bytes);

#endif
