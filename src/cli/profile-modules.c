/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The code that a process has mapped, by /proc/PID/maps, with the build ids
 * that its files have now. A file that has been deleted or replaced is read
 * through /proc/PID/map_files, where that is allowed.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/elf.h"
#include "cli/profile-make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELETED " (deleted)"

/* A line of maps. */
struct line {
	unsigned long long begin;
	unsigned long long end;
	unsigned long long offset;
	bool executable;
	const char *path; /* in the line; "" for none */
};

static bool parse(char *text, struct line *l)
{
	char modes[5];
	int at = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%llx-%llx %4s %llx %*s %*s %n", &l->begin, &l->end,
		   modes, &l->offset, &at) < 4 ||
	    !at)
		return false;
	l->executable = modes[2] == 'x';
	l->path = text + at;
	return true;
}

static void read_build_id(struct kf_profile_module *module, int pid,
			  const struct line *l, const char *path)
{
	char *mapped = kf_format("/proc/%d/map_files/%llx-%llx", pid, l->begin,
				 l->end);
	char *inside = kf_format("/proc/%d/root%s", pid, path);
	size_t n = kf_elf_build_id(mapped, module->build_id,
				   sizeof(module->build_id));

	if (!n && !strcmp(path, l->path))
		n = kf_elf_build_id(inside, module->build_id,
				    sizeof(module->build_id));
	module->build_id_size = (uint32_t)n;
	free(mapped);
	free(inside);
}

static void put_module(struct kf_maker *m, int pid, const struct line *l,
		       uint64_t base)
{
	struct kf_profile_module module = {
		.record.kind = KF_PROFILE_MODULE,
		.begin = l->begin,
		.end = l->end,
		.offset = l->offset,
		.base = base,
	};
	char *path = kf_format("%s", l->path);
	size_t len = strlen(path);

	if (len > strlen(DELETED) &&
	    !strcmp(path + len - strlen(DELETED), DELETED))
		path[len - strlen(DELETED)] = '\0';
	read_build_id(&module, pid, l, path);
	kf_maker_put(m, &module, sizeof(module), path, strlen(path) + 1);
	free(path);
}

void kf_maker_modules(struct kf_maker *m, int pid)
{
	char *name = kf_format("/proc/%d/maps", pid);
	FILE *f = fopen(name, "re");
	char *text = NULL, *file = kf_format("%s", "");
	uint64_t base = 0;
	size_t room = 0;

	free(name);
	while (f && getline(&text, &room, f) > 0) {
		struct line l;

		if (!parse(text, &l) || l.path[0] != '/')
			continue;
		if (strcmp(l.path, file) || !l.offset) {
			free(file);
			file = kf_format("%s", l.path);
			base = l.begin;
		}
		if (!l.executable || kf_map_find(&m->modules, l.begin))
			continue;
		if (kf_map_add(&m->modules, l.begin))
			put_module(m, pid, &l, base);
	}
	if (f)
		fclose(f);
	free(text);
	free(file);
}
