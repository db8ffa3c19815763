/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether to enter the sandbox: see sandbox.h.
 */
#include "config.h"

#include "exporter/sandbox/sandbox.h"

#include "exporter/log.h"
#include "exporter/sandbox/filter.h"
#include "exporter/sandbox/landlock.h"
#include "exporter/sandbox/places.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT 80

/* What the log says. */
static struct {
	char landlock[TEXT];
	char seccomp[TEXT];
} said;

static bool sandbox_has_capability(unsigned int nr)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return syscall(SYS_capget, &head, data) == 0 &&
	       (data[nr / 32].effective & (1u << (nr % 32)));
}

/* Whether the kernel lets the exporter look into another process. */
static bool sandbox_sees_others(const char *procfs)
{
	struct dirent *de;
	bool sees = false;
	char path[300], exe[8];
	DIR *dir = opendir(procfs);

	while (dir && !sees && (de = readdir(dir))) {
		if (!isdigit((unsigned char)de->d_name[0]) ||
		    (pid_t)strtol(de->d_name, NULL, 10) == getpid())
			continue;
		snprintf(path, sizeof(path), "%s/exe", de->d_name);
		sees = readlinkat(dirfd(dir), path, exe, sizeof(exe)) > 0;
	}
	if (dir)
		closedir(dir);
	return sees;
}

/* What Landlock would take away, or NULL. */
static const char *sandbox_would_lose(const struct kf_options *o)
{
	const char *flag = kf_options_look_into_others(o);

	if (flag)
		return flag;
	if (sandbox_has_capability(CAP_SYS_PTRACE))
		return "CAP_SYS_PTRACE";
	return sandbox_sees_others(o->procfs)
		       ? "processes that it may look into"
		       : NULL;
}

static bool sandbox_restrict_files(int abi, const struct kf_options *o,
				   const char *state_file)
{
	int rules = kf_landlock_begin(abi), rc, error;

	if (rules < 0)
		return false;
	kf_places_allow(rules, abi, o, state_file);
	rc = kf_landlock_enter(rules);
	error = errno;
	close(rules);
	errno = error;
	return rc == 0;
}

static bool sandbox_fail(const char *error)
{
	fprintf(stderr, "konfiscator_exporter: %s\n", error);
	return false;
}

/* Without the kernel's help only a flag makes it an error. */
static bool sandbox_is_missing(const char *flag, enum kf_sandbox_use use,
			       char text[TEXT])
{
	char error[2 * TEXT];

	snprintf(text, TEXT, "not available: %s", strerror(errno));
	snprintf(error, sizeof(error), "--sandbox.%s=on: %s", flag, text);
	return use == KF_SANDBOX_AUTO || sandbox_fail(error);
}

static bool sandbox_enter_landlock(const struct kf_options *o,
				   const char *state_file, char text[TEXT])
{
	const char *loses;
	int abi;

	snprintf(text, TEXT, "off");
	if (o->landlock == KF_SANDBOX_OFF)
		return true;
	/* the configuration may have a tracer */
	if (o->landlock == KF_SANDBOX_ON && kf_options_look_into_others(o))
		return sandbox_fail(KF_LANDLOCK_EXCLUDES);
	loses = o->landlock == KF_SANDBOX_AUTO ? sandbox_would_lose(o) : NULL;
	if (loses) {
		snprintf(text, TEXT, "off because of %s", loses);
		return true;
	}
	abi = kf_landlock_abi();
	if (abi < 1 || !sandbox_restrict_files(abi, o, state_file))
		return sandbox_is_missing("landlock", o->landlock, text);
	snprintf(text, TEXT, "version %d", abi);
	return true;
}

static bool sandbox_enter_filter(const struct kf_options *o, char text[TEXT])
{
	snprintf(text, TEXT, "off");
	if (o->seccomp == KF_SANDBOX_OFF)
		return true;
	if (kf_filter_enter(kf_options_run_tracers(o)) != 0)
		return sandbox_is_missing("seccomp", o->seccomp, text);
	snprintf(text, TEXT, "on");
	return true;
}

bool kf_sandbox_enter(const struct kf_options *o, const char *state_file)
{
	/* both need it, without CAP_SYS_ADMIN */
	if (o->landlock != KF_SANDBOX_OFF || o->seccomp != KF_SANDBOX_OFF)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return sandbox_enter_landlock(o, state_file, said.landlock) &&
	       sandbox_enter_filter(o, said.seccomp);
}

void kf_sandbox_log(void)
{
	kf_log(KF_LOG_INFO, "sandbox", "landlock", said.landlock, "seccomp",
	       said.seccomp, NULL);
}
