/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small look-ups in /proc. A process may end between any two of them: each
 * then gives nothing, which is no error.
 */
#include "config.h"

#include "cli/process.h"

#include <stdio.h>
#include <unistd.h>

int32_t kf_process_pid(const struct kf_file *f)
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
	id[0] = '\0';
	if (f->pid)
		kf_proc_container("/proc", f->pid, id);
}

/*
 * A size in pages. Of statm's fields the first is all, the second resident, the
 * third resident and not anonymous.
 */
static uint64_t size_of(const struct kf_file *f, unsigned int field)
{
	unsigned long long pages[3];
	char text[128];

	if (!f->pid)
		return 0;
	kf_proc_text("/proc", f->pid, "statm", text, sizeof(text));
	if (sscanf(text, "%llu %llu %llu", &pages[0], &pages[1], &pages[2]) !=
	    3)
		return 0;
	return pages[field] * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t kf_process_resident(const struct kf_file *f)
{
	return size_of(f, 1);
}

uint64_t kf_process_shared(const struct kf_file *f)
{
	return size_of(f, 2);
}

uint64_t kf_process_virtual(const struct kf_file *f)
{
	return size_of(f, 0);
}
