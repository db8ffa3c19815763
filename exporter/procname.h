/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a process is called, and in which container it runs.
 */
#ifndef KF_EXPORTER_PROCNAME_H
#define KF_EXPORTER_PROCNAME_H

#include "base/compiler.h"

/* 16 bytes of comm or 64 of a given name, each byte at worst three. */
#define KF_NAME_SIZE 200
#define KF_CONTAINER_SIZE 72

/**
 * kf_proc_comm() - what a process is called now
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @comm:	out: its name, raw; unchanged where it is not to be seen
 *
 * Context: any thread.
 * Return: whether there is such a process.
 */
bool kf_proc_comm(const char *procfs, int pid, char comm[64]);

/**
 * kf_proc_container() - the id of the container a process runs in
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @out:	out: the first 12 digits of the id, or "" on the host
 *
 * Known are the paths of docker, containerd, cri-o, podman, kubernetes: any
 * part of a cgroup path that ends in 64 hexadecimal digits, with or without a
 * prefix and ".scope".
 *
 * Context: any thread.
 */
void kf_proc_container(const char *procfs, int pid,
		       char out[KF_CONTAINER_SIZE]);

/**
 * kf_container_id() - the container id in the text of a cgroup file
 * @text:	the text, as /proc/PID/cgroup has it
 * @out:	out: as kf_proc_container()
 *
 * Context: any thread.
 */
void kf_container_id(const char *text, char out[KF_CONTAINER_SIZE]);

#endif
