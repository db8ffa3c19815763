/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Landlock by its system calls. The numbers are the kernel's ABI, written here
 * since the headers of older systems lack some or all of them.
 *
 * What a kernel does not know is not restricted: each call takes the version of
 * the ABI and leaves out the rest. Nothing may be executed.
 */
#ifndef KF_EXPORTER_SANDBOX_LANDLOCK_H
#define KF_EXPORTER_SANDBOX_LANDLOCK_H

#include "base/compiler.h"

#include <stdint.h>

/* Rights of files and directories; what was added later has its version. */
#define KF_LL_EXECUTE (UINT64_C(1) << 0)
#define KF_LL_WRITE_FILE (UINT64_C(1) << 1)
#define KF_LL_READ_FILE (UINT64_C(1) << 2)
#define KF_LL_READ_DIR (UINT64_C(1) << 3)
#define KF_LL_REMOVE_FILE (UINT64_C(1) << 5)
#define KF_LL_MAKE_REG (UINT64_C(1) << 8)
#define KF_LL_MAKE_SOCK (UINT64_C(1) << 9)
#define KF_LL_TRUNCATE (UINT64_C(1) << 14)  /* 3 */
#define KF_LL_IOCTL_DEV (UINT64_C(1) << 15) /* 5 */

/* Rights of ports, from version 4 on. */
#define KF_LL_BIND_TCP (UINT64_C(1) << 0)
#define KF_LL_CONNECT_TCP (UINT64_C(1) << 1)

#define KF_LL_READ (KF_LL_READ_FILE | KF_LL_READ_DIR)
#define KF_LL_CHANGE                                                          \
	(KF_LL_READ | KF_LL_WRITE_FILE | KF_LL_REMOVE_FILE | KF_LL_MAKE_REG | \
	 KF_LL_TRUNCATE)

/**
 * kf_landlock_abi() - ask the kernel for Landlock
 *
 * Context: before there are threads: forks under a filter of system calls.
 * Return: the version of its ABI, 1 or more; or -1 with errno: ENOSYS or
 *	   EOPNOTSUPP if it has none, EPERM if a filter forbids it.
 */
int kf_landlock_abi(void);

/**
 * kf_landlock_begin() - make a set of rules that allows nothing
 * @abi:	of kf_landlock_abi()
 *
 * Return: a descriptor, or -1 with errno.
 */
int kf_landlock_begin(int abi);

/**
 * kf_landlock_path() - allow a file, or a directory and all below it
 * @rules:	of kf_landlock_begin()
 * @abi:	of kf_landlock_abi()
 * @path:	the file; links are followed, and a file that replaces it later
 *		is not allowed by this rule
 * @rights:	what is allowed; of a file, what it can have of these
 *
 * Return: 0, or -1 with errno.
 */
int kf_landlock_path(int rules, int abi, const char *path, uint64_t rights);

/**
 * kf_landlock_port() - allow a port of TCP
 * @rules:	of kf_landlock_begin()
 * @abi:	of kf_landlock_abi(); below 4 nothing is to be done
 * @port:	the port, of any address; 0 for bind: any
 * @rights:	KF_LL_BIND_TCP or KF_LL_CONNECT_TCP
 *
 * Return: 0, or -1 with errno.
 */
int kf_landlock_port(int rules, int abi, uint16_t port, uint64_t rights);

/**
 * kf_landlock_enter() - hold the calling thread to the rules, for ever
 * @rules:	of kf_landlock_begin(); stays open
 *
 * Context: before there are other threads; after PR_SET_NO_NEW_PRIVS.
 * Return: 0, or -1 with errno.
 */
int kf_landlock_enter(int rules);

#endif
