/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small look-ups in /proc. A process may end between any two of them: a look-up
 * that finds no process is not an error.
 */
#include "config.h"

#include "cli/process.h"

#include <stdio.h>

int32_t kf_process_id(const struct kf_file *f)
{
	return f->pid ? f->pid : f->snap.id.pid;
}

void kf_process_name(const struct kf_file *f, char name[KF_PROCESS_NAME])
{
	char comm[KF_PROC_COMM];
	const char *called = f->snap.id.comm;

	if (f->snap.id.name[0])
		called = f->snap.id.name;
	else if (f->pid && kf_proc_comm("/proc", f->pid, comm) && comm[0])
		called = comm;
	snprintf(name, KF_PROCESS_NAME, "%s", called);
}

void kf_process_container(const struct kf_file *f, char id[KF_CONTAINER_ID])
{
	if (f->pid)
		kf_proc_container("/proc", f->pid, id);
	else
		kf_container_in(f->snap.ending.cgroup, id);
}

static struct kf_proc_memory memory_of(const struct kf_file *f)
{
	struct kf_proc_memory m;

	kf_proc_memory("/proc", f->pid, &m);
	return m;
}

uint64_t kf_process_resident(const struct kf_file *f)
{
	return memory_of(f).resident;
}

uint64_t kf_process_virtual(const struct kf_file *f)
{
	return memory_of(f).all;
}
