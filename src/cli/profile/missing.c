/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Says which files' names, source lines or inlined calls are missing, and what
 * would bring them: for the files with the most bytes.
 */
#include "config.h"

#include "cli/profile/views.h"
#include "reader/debug-gap.h"

#include <stdlib.h>

#define MAX_LINES 3 /* messages */
#define MAX_FILES 8 /* files that are looked into */

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

/* Returns whether it said anything. */
static bool missing_tell(const struct kf_prof *prof, const struct missing *m)
{
	const char *command = prof->cli->command->name;
	const char *path = m->code->path;
	char name[1024];

	if (path[0] != '/' || m->bytes <= 0)
		return false;
	switch (kf_debug_gap(prof->pid, m->code, name, sizeof(name))) {
	case KF_DEBUG_GAP_SPLIT:
		kf_note(prof->cli,
			"%s: inlined calls of %s are missing: its debug "
			"information is in other files, of which %s is not "
			"there",
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

void kf_prof_tell_missing(const struct kf_prof *prof)
{
	const struct kf_codes *codes = kf_symbols_codes(prof->symbols);
	struct missing *all;
	int told = 0;

	if (prof->cli->quiet || !codes->nr)
		return;
	all = kf_alloc(codes->nr, sizeof(*all));
	for (size_t i = 0; i < codes->nr; i++)
		all[i].code = &codes->code[i];
	for (size_t i = 0; i < prof->nr_sites; i++)
		missing_add(all, codes->code, &prof->sites[i], i);
	qsort(all, codes->nr, sizeof(*all), missing_by_bytes);
	for (size_t i = 0;
	     i < KF_MIN(codes->nr, (size_t)MAX_FILES) && told < MAX_LINES; i++)
		told += missing_tell(prof, &all[i]);
	free(all);
}
