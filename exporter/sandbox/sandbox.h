/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the exporter may do from its start on: Landlock for files and ports,
 * seccomp for system calls. An attacker who takes over an exporter by
 * other users' files or by the network gets no further than these let.
 *
 * Landlock takes away every look into other processes that the kernel guards as
 * it does ptrace(2): /proc/PID/exe, root, maps and smaps_rollup. So it is left
 * out where the exporter has, and may need, the right to that.
 */
#ifndef KF_EXPORTER_SANDBOX_H
#define KF_EXPORTER_SANDBOX_H

#include "exporter/config/options.h"

/**
 * kf_sandbox_enter() - give up what is not needed
 * @o:		the flags
 * @state_file:	the state file, or NULL
 *
 * Context: once, before there are threads.
 * Return: false if a flag asks for what cannot be; the reason was printed on
 *	   stderr.
 */
bool kf_sandbox_enter(const struct kf_options *o, const char *state_file);

/**
 * kf_sandbox_log() - log what is in force
 *
 * Context: after kf_sandbox_enter().
 */
void kf_sandbox_log(void);

#endif
