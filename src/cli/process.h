/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What /proc tells of a stats file's process beside what the file says.
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
 * Return: the pid as /proc here has it where that is known, else as the
 *	   process saw itself.
 */
int32_t kf_process_id(const struct kf_file *f);

/**
 * kf_process_name() - what to call a file's process
 * @f:		the file
 * @name:	out: KONFISCATOR_NAME if it had one, else its command name now,
 *		else the one it began with; not escaped
 */
void kf_process_name(const struct kf_file *f, char name[KF_PROCESS_NAME]);

/**
 * kf_process_container() - the container of a file's process
 * @f:		the file
 * @id:		out: its id by the cgroup's name, or ""
 */
void kf_process_container(const struct kf_file *f, char id[KF_CONTAINER_ID]);

/**
 * kf_process_resident() - how much memory a file's process has in all
 * @f:		the file
 *
 * Return: bytes, 0 where the process is not here.
 */
uint64_t kf_process_resident(const struct kf_file *f);

/**
 * kf_process_virtual() - how much address space a file's process has in use
 * @f:		the file
 *
 * Return: bytes, 0 where the process is not here.
 */
uint64_t kf_process_virtual(const struct kf_file *f);

#endif
