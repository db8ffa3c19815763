/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A seccomp filter of the system calls that an exporter never makes: programs,
 * traces of other processes, namespaces, mounts, modules and the like. They
 * fail with EPERM. All others pass, so that no library can miss one.
 */
#ifndef KF_EXPORTER_SANDBOX_FILTER_H
#define KF_EXPORTER_SANDBOX_FILTER_H

#include "base/compiler.h"

/**
 * kf_filter_enter() - filter the calling thread's system calls, for ever
 * @tracers:	whether children run bpftrace, with what it needs
 *
 * Context: before there are other threads; after PR_SET_NO_NEW_PRIVS.
 * Return: 0, or -1 with errno.
 */
int kf_filter_enter(bool tracers);

#endif
