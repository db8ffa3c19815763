/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sums over /proc/PID/smaps: see smaps.h.
 *
 * The kernel does not tell which mappings are stacks of threads. One is if it
 * follows a guard page and a thread's stack pointer is in it, or it has the
 * default size of stacks, or the kernel noted MAP_STACK ("nh", from 6.7 on).
 */
#include "config.h"

#include "reader/smaps.h"

#include "reader/proc.h"
#include "stats/layout.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 4096
#define POINTER_TEXT 256
#define BSS_MAX (256u << 10)  /* bytes, of a library */
#define GUARD_MAX (64u << 10) /* bytes; reserved addresses are larger */

enum kind { FILES, SHARED, STACK, CODE, BREAK, ANONYMOUS };

struct mapping {
	uint64_t begin, end;
	char perms[5];
	enum kind kind;
	bool guarded; /* the mapping below is a guard */
	bool data;    /* of a file, writable */
	bool of_exe;  /* of the file that is mapped first */
	uint64_t rss, huge;
};

struct reading {
	struct kf_smaps *sum;
	struct mapping now, before;
	uint64_t stack_size; /* default; 0: not known */
	unsigned int nr_pointers;
	uint64_t pointer[MAX_THREADS];
	char exe[PATH_MAX];
};

/* The last number but one of the line is the stack pointer. */
static uint64_t smaps_pointer(char *text)
{
	char *last = strrchr(text, ' ');
	char *before;

	if (!last)
		return 0;
	*last = '\0';
	before = strrchr(text, ' ');
	return before ? strtoull(before, NULL, 16) : 0;
}

/* Threads that run have no pointer to be read. */
static void smaps_read_pointers(struct reading *r, const char *procfs, int pid)
{
	char path[PATH_MAX], text[POINTER_TEXT];
	struct dirent *de;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%d/task", procfs, pid);
	d = opendir(path);
	if (!d)
		return;
	while (r->nr_pointers < MAX_THREADS && (de = readdir(d))) {
		uint64_t at = 0;

		if (!isdigit((unsigned char)de->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "task/%.20s/syscall", de->d_name);
		if (kf_proc_text(procfs, pid, path, text, sizeof(text)) > 0)
			at = smaps_pointer(text);
		if (at)
			r->pointer[r->nr_pointers++] = at;
	}
	closedir(d);
}

static uint64_t smaps_stack_size(const char *procfs, int pid)
{
	char text[4096];
	const char *line;

	if (kf_proc_text(procfs, pid, "limits", text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "Max stack size");
	return line ? strtoull(line + strlen("Max stack size"), NULL, 10) : 0;
}

static bool smaps_has_pointer(const struct reading *r, const struct mapping *m)
{
	for (unsigned int i = 0; i < r->nr_pointers; i++) {
		if (r->pointer[i] >= m->begin && r->pointer[i] < m->end)
			return true;
	}
	return false;
}

static bool smaps_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool smaps_is_shared(const char *path)
{
	static const char *const names[] = {
		"/memfd:", "/dev/shm/", "/SYSV", "/dev/zero", "[anon_shmem:",
	};

	for (size_t i = 0; i < KF_ARRAY_SIZE(names); i++) {
		if (smaps_begins(path, names[i]))
			return true;
	}
	return false;
}

/* python3.11 is a program; python3.11.so a library, libpython3.11.so.1.0 too.
 */
unsigned int kf_runtime_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t version;

	if (!strcmp(name, "java") || smaps_begins(name, "libjvm.so"))
		return KF_RUNTIME_JAVA;
	if (!strcmp(name, "node") || smaps_begins(name, "libnode.so"))
		return KF_RUNTIME_NODE;
	if (smaps_begins(name, "libpython3."))
		return KF_RUNTIME_PYTHON;
	if (!smaps_begins(name, "python3."))
		return 0;
	version = strspn(name + strlen("python3."), "0123456789");
	return version && !name[strlen("python3.") + version]
		       ? KF_RUNTIME_PYTHON
		       : 0;
}

/*
 * Memory behind a file's data that the file does not fill: .bss. The kernel
 * may join it with a mapping above it, but not that of the program itself.
 */
static bool smaps_is_bss(const struct reading *r, const struct mapping *m)
{
	const struct mapping *data = &r->before;

	return data->data && data->end == m->begin && m->perms[1] == 'w' &&
	       (data->of_exe || m->end - m->begin <= BSS_MAX);
}

static enum kind smaps_kind(struct reading *r, const struct mapping *m,
			    const char *path)
{
	if (smaps_is_shared(path))
		return SHARED;
	if (!strcmp(path, "[stack]"))
		return STACK;
	if (!strcmp(path, "[heap]"))
		return BREAK;
	if (!*path && smaps_is_bss(r, m))
		return FILES;
	if (!strcmp(path, "[anon:" KF_STATS_HEAP_NAME "]"))
		return ANONYMOUS;
	if (smaps_begins(path, "[anon:"))
		return CODE;
	if (*path)
		return FILES;
	return m->perms[2] == 'x' ? CODE : ANONYMOUS;
}

static bool smaps_is_guard(const struct mapping *guard, const struct mapping *m)
{
	return guard->end == m->begin && guard->perms[0] == '-' &&
	       guard->end - guard->begin <= GUARD_MAX;
}

static void smaps_begin(struct reading *r, const struct mapping *m,
			const char *path)
{
	struct mapping *now = &r->now;

	r->before = *now;
	*now = *m;
	now->kind = smaps_kind(r, m, path);
	now->guarded = smaps_is_guard(&r->before, m);
	if (*path != '/' || now->kind != FILES)
		return;
	if (!*r->exe)
		snprintf(r->exe, sizeof(r->exe), "%s", path);
	now->of_exe = !strcmp(r->exe, path);
	now->data = m->perms[1] == 'w';
	r->sum->runtimes |= kf_runtime_of(path);
}

/* The flags are the last line of a mapping. */
static void smaps_end(struct reading *r, const char *flags)
{
	struct mapping *m = &r->now;
	uint64_t *const sum[] = {
		[FILES] = &r->sum->files,
		[SHARED] = &r->sum->shared,
		[STACK] = &r->sum->stacks,
		[CODE] = &r->sum->code,
		[BREAK] = &r->sum->program_break,
		[ANONYMOUS] = &r->sum->anonymous,
	};

	if (m->kind == ANONYMOUS && m->guarded &&
	    (m->end - m->begin == r->stack_size || strstr(flags, " nh") ||
	     smaps_has_pointer(r, m)))
		m->kind = STACK;
	*sum[m->kind] += m->rss;
	r->sum->resident += m->rss;
	if (m->kind == ANONYMOUS)
		r->sum->huge += m->huge;
}

static void smaps_take_line(struct reading *r, char *line)
{
	unsigned long long begin, end, kib;
	struct mapping m = {0};
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%llx-%llx %4s %*s %*s %*s %n", &begin, &end, m.perms,
		   &path) == 3 &&
	    path) {
		m.begin = begin;
		m.end = end;
		smaps_begin(r, &m, line + path);
	} else if (sscanf(line, "Rss: %llu", &kib) == 1) {
		r->now.rss = kib << 10;
	} else if (sscanf(line, "AnonHugePages: %llu", &kib) == 1) {
		r->now.huge = kib << 10;
	} else if (smaps_begins(line, "VmFlags:")) {
		smaps_end(r, line);
	}
}

static uint64_t smaps_tables(const char *procfs, int pid)
{
	char text[4096];
	const char *line;

	if (kf_proc_text(procfs, pid, "status", text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "\nVmPTE:");
	return line ? strtoull(line + strlen("\nVmPTE:"), NULL, 10) << 10 : 0;
}

bool kf_smaps_read(const char *procfs, int pid, struct kf_smaps *m)
{
	struct reading *r;
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	FILE *f;

	*m = (struct kf_smaps){0};
	snprintf(path, sizeof(path), "%s/%d/smaps", procfs, pid);
	f = pid ? fopen(path, "re") : NULL;
	if (!f)
		return false;
	r = calloc(1, sizeof(*r));
	if (r) {
		r->sum = m;
		r->stack_size = smaps_stack_size(procfs, pid);
		smaps_read_pointers(r, procfs, pid);
		while (getline(&line, &size, f) > 0)
			smaps_take_line(r, line);
		m->tables = smaps_tables(procfs, pid);
	}
	free(r);
	free(line);
	fclose(f);
	return m->resident > 0;
}
