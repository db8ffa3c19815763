/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What tracers say of themselves: lines that mean nothing to a user are left
 * out, and SystemTap's errors are explained.
 */
#include "config.h"

#include "cli/commands/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/*
 * bpftrace says the first two at each start without what it rarely needs;
 * the last of a stack that found no room, whose row then has its caller alone;
 * the others of probes that the kernel has removed already.
 */
/* clang-format off */
static const char *const noise[] = {
	"couldn't set RLIMIT_MEMLOCK",
	"Could not read functions from /sys/kernel/",
	"open(/sys/kernel/tracing/",
	"open(/sys/kernel/debug/tracing/",
	"failed to detach probe",
	"Error detaching probe",
	"failed to look up stack id",
};
/* clang-format on */

bool kf_bpftrace_is_noise(const char *line)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(noise); i++) {
		if (strstr(line, noise[i]))
			return true;
	}
	return false;
}

enum cause { NO_TREE, NOT_COMPILED, NOT_SIGNED, NO_RIGHT, NO_CAUSE };

static const struct {
	const char *line; /* a part of it */
	enum cause cause; /* NO_CAUSE: it goes with another line */
} stap_lines[] = {
	{"Checking \"/lib/modules/", NO_TREE},
	{"Tip: /usr/share/doc/systemtap/", NO_CAUSE},
	{"kernel-devel", NO_TREE},
	{"Pass 4: compilation failed", NOT_COMPILED},
	{"Required key not available", NOT_SIGNED},
	{"Key was rejected by service", NOT_SIGNED},
	{"You must be root", NO_RIGHT},
	{"You are trying to run systemtap as a normal user", NO_RIGHT},
};

static char *stap_cause(enum cause cause)
{
	struct utsname u;

	uname(&u);
	switch (cause) {
	case NO_TREE:
		if (access("/proc/modules", F_OK))
			return kf_format(
				"the kernel %s loads no modules, which "
				"SystemTap needs: use bpftrace",
				u.release);
		return kf_format(
			"SystemTap needs what modules of the kernel %s "
			"are built with: install linux-headers-%s "
			"(Debian, Ubuntu) or kernel-devel-%s (Fedora, "
			"RHEL)",
			u.release, u.release, u.release);
	case NOT_COMPILED:
		return kf_format("this SystemTap does not compile for the "
				 "kernel %s: install a newer SystemTap, or use "
				 "bpftrace",
				 u.release);
	case NOT_SIGNED:
		return kf_format("the kernel loads signed modules only (Secure "
				 "Boot): sign SystemTap's modules "
				 "(error::sign), or use bpftrace");
	case NO_RIGHT:
		return kf_format("stap must be run as root");
	case NO_CAUSE:
		break;
	}
	return NULL;
}

bool kf_stap_explain(const char *line, char **why)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(stap_lines); i++) {
		if (!strstr(line, stap_lines[i].line))
			continue;
		if (!*why)
			*why = stap_cause(stap_lines[i].cause);
		return true;
	}
	return false;
}
