/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about a stats file's process that come from /proc.
 */
#ifndef KF_CLI_PROCESS_H
#define KF_CLI_PROCESS_H

#include "reader/proc.h"
#include "reader/reader.h"

#define KF_PROCESS_NAME 65

/**
 * kf_process_id() - the pid to show for a file
 * @f:		the file
 *
 * Return: the pid in our /proc if it is known, else the pid in the process' own
 *	   namespace.
 */
int32_t kf_process_id(const struct kf_file *f);

/**
 * kf_process_name() - the name of a file's process
 * @f:		the file
 * @name:	out: KONFISCATOR_NAME if set, else its current command name,
 *		else its first one; not escaped
 */
void kf_process_name(const struct kf_file *f, char name[KF_PROCESS_NAME]);

/**
 * kf_process_container() - the container of a file's process
 * @f:		the file
 * @id:		out: its id by the cgroup's name, or ""; of a process that has
 *		ended the file has that name
 */
void kf_process_container(const struct kf_file *f, char id[KF_CONTAINER_ID]);

/**
 * kf_process_resident() - the resident memory of a file's process
 * @f:		the file
 *
 * Return: bytes, 0 where the process is not here.
 */
uint64_t kf_process_resident(const struct kf_file *f);

/**
 * kf_process_virtual() - the mapped address space of a file's process
 * @f:		the file
 *
 * Return: bytes, 0 where the process is not here.
 */
uint64_t kf_process_virtual(const struct kf_file *f);

#endif
