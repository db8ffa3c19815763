/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small look-ups in /proc. A process may end between any two of them: each
 * then gives nothing, which is no error.
 */
#include "config.h"

#include "cli/process.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ID_DIGITS 64

static size_t read_proc(const struct kf_file *f, const char *what, char *buf,
			size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *file;

	buf[0] = '\0';
	if (!f->pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", f->pid, what);
	file = fopen(path, "re");
	if (file) {
		n = fread(buf, 1, size - 1, file);
		fclose(file);
	}
	buf[n] = '\0';
	return n;
}

int32_t kf_process_pid(const struct kf_file *f)
{
	return f->pid ? f->pid : f->snap.id.pid;
}

void kf_process_name(const struct kf_file *f, char name[KF_PROCESS_NAME])
{
	char comm[32];
	size_t n;

	if (f->snap.id.name[0]) {
		snprintf(name, KF_PROCESS_NAME, "%s", f->snap.id.name);
		return;
	}
	/* a command name may itself hold a newline: only the last one goes */
	n = read_proc(f, "comm", comm, sizeof(comm));
	if (n > 0 && comm[n - 1] == '\n')
		comm[n - 1] = '\0';
	snprintf(name, KF_PROCESS_NAME, "%s", n > 1 ? comm : f->snap.id.comm);
}

/*
 * Container engines put the id, 64 hexadecimal digits, into the cgroup's name:
 * .../docker/ID, docker-ID.scope, cri-containerd-ID.scope, libpod-ID.
 */
void kf_process_container(const struct kf_file *f, char id[KF_CONTAINER_ID])
{
	char text[8192];
	size_t run = 0;

	id[0] = '\0';
	read_proc(f, "cgroup", text, sizeof(text));
	for (char *p = text; *p; p++) {
		run = isxdigit((unsigned char)*p) ? run + 1 : 0;
		if (run == ID_DIGITS && !isxdigit((unsigned char)p[1])) {
			/* the last one is the innermost */
			memcpy(id, p + 1 - ID_DIGITS, ID_DIGITS);
			id[ID_DIGITS] = '\0';
		}
	}
}

uint64_t kf_process_resident(const struct kf_file *f)
{
	unsigned long long pages;
	char text[128];

	read_proc(f, "statm", text, sizeof(text));
	if (sscanf(text, "%*s %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
