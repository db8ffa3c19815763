/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The selectors -p, -n, -c and -u; each command evaluates -a itself.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/process.h"

#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

static int take_pids(struct kf_select *sel, const char *arg)
{
	const char *at = arg;
	size_t room = 1;

	for (const char *p = arg; *p; p++)
		room += *p == ',';
	free(sel->pids);
	sel->nr_pids = 0;
	sel->pids = kf_alloc(room, sizeof(*sel->pids));
	for (;;) {
		char *end;
		long pid;

		errno = 0;
		pid = strtol(at, &end, 10);
		if (end == at || errno || pid <= 0 || pid > INT32_MAX ||
		    (*end && *end != ',')) {
			kf_error("--pid: '%s' is not a list of process numbers",
				 arg);
			return KF_EXIT_USAGE;
		}
		sel->pids[sel->nr_pids++] = (int32_t)pid;
		if (!*end)
			return 0;
		at = end + 1;
	}
}

void kf_select_pid(struct kf_select *sel, int32_t pid)
{
	free(sel->pids);
	sel->pids = kf_alloc(1, sizeof(*sel->pids));
	sel->pids[0] = pid;
	sel->nr_pids = 1;
}

static int select_take_user(struct kf_select *sel, const char *arg)
{
	const struct passwd *pw = getpwnam(arg);
	unsigned long uid;
	char *end;

	sel->by_user = true;
	if (pw) {
		sel->user = pw->pw_uid;
		return 0;
	}
	errno = 0;
	uid = strtoul(arg, &end, 10);
	if (errno || end == arg || *end || arg[0] == '-' || uid > (uid_t)-2) {
		kf_error("--user: there is no user '%s'", arg);
		return KF_EXIT_USAGE;
	}
	sel->user = (uid_t)uid;
	return 0;
}

int kf_select_option(struct kf_select *sel, int key, const char *arg)
{
	switch (key) {
	case 'p':
		return take_pids(sel, arg);
	case 'u':
		return select_take_user(sel, arg);
	case 'n':
		sel->name = arg;
		return 0;
	case 'c':
		sel->container = arg;
		return 0;
	default:
		sel->all = true;
		return 0;
	}
}

bool kf_select_any(const struct kf_select *sel)
{
	return sel->nr_pids || sel->name || sel->container || sel->by_user;
}

const char *kf_select_hint(const struct kf_select *sel)
{
	return sel->all ? "; a program that exits normally keeps its file only "
			  "with KONFISCATOR_KEEP=1"
			: "";
}

static bool pid_matches(const struct kf_select *sel, const struct kf_file *f)
{
	for (unsigned int i = 0; i < sel->nr_pids; i++) {
		if (sel->pids[i] == kf_process_id(f))
			return true;
	}
	return !sel->nr_pids;
}

static bool name_matches(const struct kf_select *sel, const struct kf_file *f)
{
	char name[KF_PROCESS_NAME];

	if (!sel->name)
		return true;
	kf_process_name(f, name);
	return !fnmatch(sel->name, name, 0) ||
	       !fnmatch(sel->name, f->snap.id.comm, 0);
}

static bool container_matches(const struct kf_select *sel,
			      const struct kf_file *f)
{
	char id[KF_CONTAINER_ID];

	if (!sel->container)
		return true;
	kf_process_container(f, id);
	return id[0] && !strncmp(id, sel->container, strlen(sel->container));
}

bool kf_select_matches(const struct kf_select *sel, const struct kf_file *f)
{
	if (f->snap.result != KF_READ_OK)
		return !kf_select_any(sel);
	return pid_matches(sel, f) && name_matches(sel, f) &&
	       (!sel->by_user || f->snap.id.uid == sel->user) &&
	       container_matches(sel, f);
}
