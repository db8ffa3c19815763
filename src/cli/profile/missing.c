/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Says which files' names, source lines or inlined calls are missing, and what
 * would bring them: for the files with the most bytes.
 */
#include "config.h"

#include "cli/profile/views.h"
#include "reader/debug-gap.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LINES 3 /* messages */
#define MAX_FILES 8 /* files that are looked into */

/* What was said, and the files that were looked at: processes share them. */
struct told {
	int nr; /* messages */
	struct kf_map files;
};

struct missing {
	const struct kf_code *code;
	double bytes;	 /* of stacks with a call in the file */
	double nameless; /* of those with a call without a name */
	size_t last;	 /* index of the last counted site, plus 1 */
	size_t last_nameless;
};

static int missing_by_bytes(const void *a, const void *b)
{
	const struct missing *x = a, *y = b;

	if (x->nameless != y->nameless)
		return x->nameless < y->nameless ? 1 : -1;
	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* Counts the bytes of site @n for each file once. */
static void missing_add(struct missing *all, const struct kf_code *first,
			const struct kf_site *site, size_t n)
{
	for (size_t i = 0; i < site->nr_frames; i++) {
		const struct kf_frame *f = site->frames[i];
		struct missing *m = f->code ? &all[f->code - first] : NULL;

		if (m && m->last != n + 1) {
			m->last = n + 1;
			m->bytes += site->value.value;
		}
		if (m && !f->named && m->last_nameless != n + 1) {
			m->last_nameless = n + 1;
			m->nameless += site->value.value;
		}
	}
}

static bool missing_is_new(struct told *told, const struct missing *m)
{
	const char *path = m->code->path;
	bool is_new;

	kf_entry(&told->files,
		 kf_map_key(m->nameless > 0 ? 3 : 5, path, strlen(path)),
		 &is_new);
	return is_new;
}

/* Returns whether it said anything. */
static bool missing_tell(const struct kf_prof *prof, int pid,
			 const struct missing *m)
{
	const char *command = prof->cli->command->name;
	const char *path = m->code->path;
	char name[1024];

	if (path[0] != '/' || m->bytes <= 0)
		return false;
	switch (kf_debug_gap(pid, m->code, name, sizeof(name))) {
	case KF_DEBUG_GAP_SPLIT:
		kf_note(prof->cli,
			"%s: inlined calls of %s are missing: its debug information is in other files, and %s is missing",
			command, path, name);
		return true;
	case KF_DEBUG_GAP_ZSTD:
		kf_note(prof->cli,
			"%s: debug information of %s is compressed by zstd, "
			"which this libelf cannot read: install elfutils 0.189 "
			"or later, or build with -gz=zlib",
			command, path);
		return true;
	default:
		if (m->nameless <= 0)
			return false;
		kf_note(prof->cli,
			"%s: debug symbols of %s are missing: install its "
			"-dbgsym package or set DEBUGINFOD_URLS",
			command, path);
		return true;
	}
}

static void missing_of_process(const struct kf_prof *prof,
			       const struct kf_prof_process *p,
			       struct told *told)
{
	const struct kf_codes *codes = kf_symbols_codes(p->symbols);
	size_t nr = KF_MIN(codes->nr, (size_t)MAX_FILES);
	struct missing *all = kf_alloc(codes->nr, sizeof(*all));
	int pid = p == prof->processes ? prof->pid : 0;

	for (size_t i = 0; i < codes->nr; i++)
		all[i].code = &codes->code[i];
	for (size_t i = 0; i < prof->nr_sites; i++) {
		if (prof->sites[i].process == p)
			missing_add(all, codes->code, &prof->sites[i], i);
	}
	if (codes->nr)
		qsort(all, codes->nr, sizeof(*all), missing_by_bytes);
	for (size_t i = 0; i < nr && told->nr < MAX_LINES; i++) {
		if (missing_is_new(told, &all[i]))
			told->nr += missing_tell(prof, pid, &all[i]);
	}
	free(all);
}

void kf_prof_tell_missing(const struct kf_prof *prof)
{
	struct told told = {.files = {.entry_size = sizeof(uint64_t)}};

	for (size_t i = 0; !prof->cli->quiet && i < prof->nr_processes; i++) {
		if (prof->processes[i].symbols)
			missing_of_process(prof, &prof->processes[i], &told);
	}
	kf_map_release(&told.files);
}
