/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about a process for the naming rules, from procfs.
 */
#include "config.h"

#include "exporter/cgroup.h"
#include "exporter/groups/naming.h"
#include "reader/proc.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void naming_read_exe(const char *procfs, int pid, char *exe, size_t size)
{
	char path[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%d/exe", procfs, pid);
	n = readlink(path, exe, size - 1);
	exe[n < 0 ? 0 : n] = '\0';
}

static void naming_name_user(uid_t uid, char *user, size_t size)
{
	struct passwd pw, *found = NULL;
	char buf[4096];

	if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found) == 0 && found)
		snprintf(user, size, "%s", found->pw_name);
	else
		snprintf(user, size, "%u", (unsigned int)uid);
}

static void naming_read_user(const char *procfs, int pid, char *user,
			     size_t size)
{
	char path[PATH_MAX];
	struct stat st;

	user[0] = '\0';
	snprintf(path, sizeof(path), "%s/%d", procfs, pid);
	if (stat(path, &st) == 0)
		naming_name_user(st.st_uid, user, size);
}

/* Replace the NUL after each argument by a blank. */
static void naming_read_cmdline(const char *procfs, int pid, char *text,
				size_t size)
{
	ssize_t n = kf_proc_text(procfs, pid, "cmdline", text, size), i;

	for (i = 0; i + 1 < n; i++) {
		if (!text[i])
			text[i] = ' ';
	}
}

bool kf_naming_of_process(const struct kf_naming *n, const char *procfs,
			  int pid, const char *comm, char *name, size_t size)
{
	char exe[PATH_MAX], cmdline[4096], user[64];
	struct kf_cgroup_place place = {.path = ""};
	struct kf_naming_process p = {.comm = comm,
				      .exe = exe,
				      .cmdline = cmdline,
				      .user = user,
				      .cgroups = place.path,
				      .pid = pid};

	naming_read_exe(procfs, pid, exe, sizeof(exe));
	naming_read_cmdline(procfs, pid, cmdline, sizeof(cmdline));
	naming_read_user(procfs, pid, user, sizeof(user));
	kf_cgroup_find(procfs, pid, &place);
	return kf_naming_apply(n, &p, name, size);
}

bool kf_naming_of_ended(const struct kf_naming *n, const struct kf_snapshot *s,
			char *name, size_t size)
{
	char user[64];
	struct kf_naming_process p = {.comm = s->id.comm,
				      .exe = s->id.exe,
				      .cmdline = s->ending.cmdline,
				      .user = user,
				      .cgroups = s->ending.cgroup,
				      .pid = s->id.pid};

	naming_name_user(s->id.uid, user, sizeof(user));
	return kf_naming_apply(n, &p, name, size);
}
