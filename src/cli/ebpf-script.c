/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The script's lines "uprobe:$1:NAME" and "uretprobe:$1:NAME" say which
 * functions there may be; everything else stays as it is. A probe of which
 * nothing is left is left out whole.
 */
#include "config.h"

#include "cli/ebpf.h"

#include "cli/cli.h"
#include "cli/ebpf-objects.h"
#include "cli/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLACES 256

/* A probe that the script has already. */
struct place {
	bool is_return;
	size_t object;
	uint64_t address;
};

/* A script in the making. */
struct making {
	struct kf_objects objects;
	size_t malloc; /* the object with it */
	size_t nr_places;
	struct place place[MAX_PLACES];
	FILE *out;
	bool open; /* a probe's functions are being listed */
	bool any;  /* ... and one was kept */
	bool skip; /* up to the end of the probe */
};

/* operator new may be in another file than malloc, and is found like that. */
static bool making_find(const struct making *m, const char *name,
			struct place *p)
{
	bool any = !strncmp(name, "_Zn", 3);
	size_t last = any ? m->objects.nr - 1 : m->malloc;

	for (p->object = any ? 0 : m->malloc; p->object <= last; p->object++) {
		if (kf_object_function(&m->objects.object[p->object],
				       !p->object, name, &p->address))
			return true;
	}
	return false;
}

/* Returns whether the place is new. */
static bool making_add(struct making *m, const struct place *p)
{
	for (size_t i = 0; i < m->nr_places; i++) {
		const struct place *has = &m->place[i];

		if (has->is_return == p->is_return &&
		    has->object == p->object && has->address == p->address)
			return false;
	}
	if (m->nr_places == MAX_PLACES)
		return false;
	m->place[m->nr_places++] = *p;
	return true;
}

/* Returns whether the line was of a function. */
static bool making_function(struct making *m, const char *line)
{
	char kind[16], name[128];
	struct place p;

	if (sscanf(line, "%15[a-z]:$1:%127[A-Za-z0-9_]", kind, name) != 2)
		return false;
	if (!m->open)
		m->any = false;
	m->open = true;
	p.is_return = !strcmp(kind, "uretprobe");
	if (!making_find(m, name, &p) || !making_add(m, &p))
		return true;
	fprintf(m->out, "%s%s:%s:%s", m->any ? ",\n" : "", kind,
		m->objects.object[p.object].file, name);
	m->any = true;
	return true;
}

static void making_line(struct making *m, const char *line)
{
	if (making_function(m, line))
		return;
	if (m->open) {
		m->skip = !m->any;
		if (m->any)
			fputc('\n', m->out);
	}
	m->open = false;
	if (!m->skip)
		fputs(line, m->out);
	if (!strcmp(line, "}\n"))
		m->skip = false;
}

/* Returns the reason why it failed, or NULL. */
static char *making_run(struct making *m, struct kf_ebpf_script *s)
{
	char *dir = kf_scripts_dir();
	char *path = kf_format("%s/ebpf/record.bt", dir);
	FILE *in = fopen(path, "re");
	char *line = NULL, *why = NULL;
	size_t size = 0, length;

	m->out = open_memstream(&s->text, &length);
	if (!in || !m->out)
		why = kf_format("%s: %m", path);
	while (!why && getline(&line, &size, in) > 0)
		making_line(m, line);
	free(line);
	if (in)
		fclose(in);
	if (m->out)
		fclose(m->out);
	free(path);
	free(dir);
	return why;
}

char *kf_ebpf_script(int32_t pid, struct kf_ebpf_script *s)
{
	struct making m = {0};
	uint64_t unused;
	char *why;

	*s = (struct kf_ebpf_script){0};
	kf_objects_read(pid, &m.objects);
	while (m.malloc < m.objects.nr &&
	       !kf_object_function(&m.objects.object[m.malloc], !m.malloc,
				   "malloc", &unused))
		m.malloc++;
	if (m.malloc < m.objects.nr) {
		s->malloc = kf_format("%s", m.objects.object[m.malloc].path);
		why = making_run(&m, s);
	} else {
		why = kf_format(
			"none of its files has a function malloc: it is statically linked and stripped, or has an allocator of its own");
	}
	kf_objects_release(&m.objects);
	return why;
}

void kf_ebpf_script_release(struct kf_ebpf_script *s)
{
	free(s->text);
	free(s->malloc);
	*s = (struct kf_ebpf_script){0};
}
