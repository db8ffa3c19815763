/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The script of `konfiscator record --ebpf` for one process: the file with its
 * malloc, and which of the script's functions that file has.
 */
#ifndef KF_CLI_EBPF_H
#define KF_CLI_EBPF_H

#include "base/compiler.h"

/* A script that bpftrace can run. */
struct kf_ebpf_script {
	char *text;   /* to free() */
	char *malloc; /* the file with malloc, as the process has it; free() */
};

/**
 * kf_ebpf_script() - the script for a process
 * @pid:	the process
 * @s:		out
 *
 * malloc is that of the first file, in the order in which the process' loader
 * has them, that defines the function. The script names files by
 * /proc/PID/map_files, so that a replaced file, or one of another mount
 * namespace, is the one that the process has.
 *
 * Return: NULL, or the reason why there is none, to free().
 */
char *kf_ebpf_script(int32_t pid, struct kf_ebpf_script *s);

/**
 * kf_ebpf_script_release() - free a script
 * @s:		the script
 */
void kf_ebpf_script_release(struct kf_ebpf_script *s);

#endif
