/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The processes of services: see unit.h.
 */
#include "config.h"

#include "base/text.h"
#include "cli/process.h"
#include "cli/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Behind the slices at the beginning of a path: "" or "UNIT/..." */
static const char *behind_slices(const char *path)
{
	static const char slice[] = ".slice";

	for (;;) {
		size_t len = strcspn(path + 1, "/\n");

		if (path[0] != '/' || len < sizeof(slice) ||
		    strncmp(path + 1 + len - (sizeof(slice) - 1), slice,
			    sizeof(slice) - 1) != 0)
			return path[0] == '/' ? path + 1 : "";
		path += 1 + len;
	}
}

/*
 * The unit of a cgroup's path. A container's services have another scope before
 * them, and a user's are below user@UID.service.
 */
static bool unit_of(const struct kf_units *units, const char *path,
		    char unit[256])
{
	const char *name = behind_slices(path);
	size_t len = strcspn(name, "/\n");
	char *manager = kf_format("user@%u.service", (unsigned int)getuid());
	bool is_users = !strncmp(name, manager, len) && !manager[len];

	free(manager);
	if (units->user) {
		if (!is_users || name[len] != '/')
			return false;
		name = behind_slices(name + len);
		len = strcspn(name, "/\n");
	}
	if (!len || len >= 256)
		return false;
	memcpy(unit, name, len);
	unit[len] = '\0';
	return len > 8 && !strcmp(unit + len - 8, ".service");
}

static bool unit_of_process(const struct kf_units *units, int pid,
			    char unit[256])
{
	char text[8192], *line, *save = NULL;

	if (kf_proc_text("/proc", pid, "cgroup", text, sizeof(text)) <= 0)
		return false;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, "0::", 3) || strstr(line, ":name=systemd:"))
			return unit_of(units,
				       strchr(strchr(line, ':') + 1, ':') + 1,
				       unit);
	}
	return false;
}

struct kf_unit_process *kf_unit_processes(const struct kf_units *units,
					  size_t *nr)
{
	struct kf_unit_process *all = NULL, one;
	DIR *proc = opendir("/proc");
	const struct dirent *e;
	uint64_t pid;

	*nr = 0;
	while (proc && (e = readdir(proc))) {
		if (!kf_parse_u64(e->d_name, &pid) || pid > INT32_MAX)
			continue;
		one.pid = (int32_t)pid;
		if (!unit_of_process(units, one.pid, one.unit))
			continue;
		all = realloc(all, (*nr + 1) * sizeof(*all));
		if (!all) {
			kf_error("out of memory");
			exit(KF_EXIT_FAILED);
		}
		all[(*nr)++] = one;
	}
	if (proc)
		closedir(proc);
	return all;
}

static bool under_is_ours(const char *line)
{
	const char *path = strchr(line, '/');
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && !strncmp(slash, "/libkonfiscator.so", 18);
}

static enum kf_unit_under under_by_files(int32_t pid,
					 const struct kf_files *files)
{
	for (unsigned int i = 0; i < files->nr; i++) {
		const struct kf_file *f = &files->file[i];

		if (f->snap.result == KF_READ_OK && f->life == KF_LIFE_ALIVE &&
		    kf_process_id(f) == pid)
			return KF_UNDER_YES;
	}
	return KF_UNDER_UNKNOWN;
}

enum kf_unit_under kf_unit_under(int32_t pid, const struct kf_files *files)
{
	char *path = kf_format("/proc/%d/maps", pid), *line = NULL;
	FILE *maps = fopen(path, "re");
	enum kf_unit_under under = KF_UNDER_UNKNOWN;
	size_t size = 0;

	free(path);
	/* a zombie has no mappings */
	while (maps && under != KF_UNDER_YES && getline(&line, &size, maps) > 0)
		under = under_is_ours(line) ? KF_UNDER_YES : KF_UNDER_NO;
	free(line);
	if (maps)
		fclose(maps);
	return under == KF_UNDER_UNKNOWN ? under_by_files(pid, files) : under;
}
