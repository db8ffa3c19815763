/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/identity.c: who writes the file, against what libc and /proc say.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

static struct kf_stats_identity id;

static void fill(void)
{
	struct kf_stats_conf conf = {.name = "a name", .engine = "firstfit"};

	kf_identity_fill(&id, &conf, false);
}

/* Field 22, by a way of its own: the name is known, so it can be skipped. */
static uint64_t start_behind(const char *comm)
{
	char stat[1024] = "", head[64];
	unsigned long long start = 0;
	FILE *f = fopen("/proc/self/stat", "r");
	size_t n;

	UNIT_REQUIRE(f);
	n = fread(stat, 1, sizeof(stat) - 1, f);
	fclose(f);
	snprintf(head, sizeof(head), "%d (%s) ", getpid(), comm);
	UNIT_REQUIRE(n > strlen(head) && !memcmp(stat, head, strlen(head)));
	UNIT_REQUIRE(sscanf(stat + strlen(head),
			    "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u "
			    "%*u %*d %*d %*d %*d %*d %*d %llu",
			    &start) == 1);
	return start;
}

START_TEST(process_is_told_from_all_others)
{
	struct stat st;

	fill();
	UNIT_REQUIRE(id.pid == getpid());
	UNIT_REQUIRE(id.outer_pid == getpid());
	UNIT_REQUIRE(id.uid == geteuid());
	UNIT_REQUIRE(id.forked == 0);
	UNIT_REQUIRE(!stat("/proc/self/ns/pid", &st));
	UNIT_REQUIRE(id.pid_ns == st.st_ino);
	UNIT_REQUIRE(strlen(id.boot_id) == 36);
	UNIT_REQUIRE(id.created_ns / 1000000000 + 5 >= (uint64_t)time(NULL));
	UNIT_REQUIRE(id.created_mono > 0);
}
END_TEST

START_TEST(start_is_found_whatever_the_name)
{
	static const char *const names[] = {
		"plain", "a b", ") R 1 2 3", "(((", ")", "x) ", "\x01\xff", "",
	};

	for (size_t i = 0; i < KF_ARRAY_SIZE(names); i++) {
		UNIT_REQUIRE(!prctl(PR_SET_NAME, names[i]));
		fill();
		UNIT_REQUIRE(!strcmp(id.comm, names[i]));
		UNIT_REQUIRE(id.start_ticks > 0);
		UNIT_REQUIRE(id.start_ticks == start_behind(names[i]));
	}
}
END_TEST

START_TEST(program_and_library_are_named)
{
	char exe[PATH_MAX] = "";

	UNIT_REQUIRE(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	fill();
	UNIT_REQUIRE(!strncmp(id.exe, exe, sizeof(id.exe) - 1));
	UNIT_REQUIRE(!strcmp(id.name, "a name"));
	UNIT_REQUIRE(!strcmp(id.engine, "firstfit"));
	UNIT_REQUIRE(!strcmp(id.version, PACKAGE_VERSION));
}
END_TEST

/* What a shell finds with tools of its own. */
static void ask(const char *command, char *text, size_t size)
{
	FILE *p = popen(command, "r");

	UNIT_REQUIRE(p);
	memset(text, 0, size);
	UNIT_REQUIRE(fread(text, 1, size - 1, p) < size);
	pclose(p);
}

START_TEST(command_line_and_cgroup_are_told)
{
	struct kf_stats_ending e;
	char text[4096], command[256];

	kf_ending_fill(&e);
	snprintf(command, sizeof(command),
		 "tr '\\0' ' ' </proc/%d/cmdline | sed 's/ $//'", getpid());
	ask(command, text, sizeof(text));
	text[sizeof(e.cmdline) - 1] = '\0';
	UNIT_REQUIRE(e.cmdline[0] && !strcmp(e.cmdline, text));
	snprintf(
		command, sizeof(command),
		"(grep -E '^[^:]*:([^:]*,)?memory(,[^:]*)?:' /proc/%d/cgroup || "
		"grep ^0:: /proc/%d/cgroup) | cut -d: -f3- | tr -d '\\n'",
		getpid(), getpid());
	ask(command, text, sizeof(text));
	UNIT_REQUIRE(!strcmp(e.cgroup, text));
}
END_TEST

START_TEST(long_strings_are_cut_and_end)
{
	char name[200];
	struct kf_stats_conf conf = {.name = name, .engine = name};

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	kf_identity_fill(&id, &conf, true);
	UNIT_REQUIRE(strlen(id.name) == sizeof(id.name) - 1);
	UNIT_REQUIRE(strlen(id.engine) == sizeof(id.engine) - 1);
	UNIT_REQUIRE(id.forked == 1);
}
END_TEST

/* Only root may leave /proc behind, into the test's own empty directory. */
START_TEST(process_without_proc_still_has_a_pid)
{
	pid_t pid;

	support_begin();
	pid = fork();
	if (pid) {
		UNIT_REQUIRE(support_join(pid) == 0);
		return;
	}
	if (chroot(support_dir))
		_exit(geteuid() == 0);
	fill();
	_exit(!(id.pid == getpid() && id.outer_pid == id.pid &&
		id.start_ticks == 0 && id.pid_ns == 0 && !id.boot_id[0] &&
		!id.exe[0]));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		process_is_told_from_all_others,
		start_is_found_whatever_the_name,
		program_and_library_are_named,
		command_line_and_cgroup_are_told,
		long_strings_are_cut_and_end,
		process_without_proc_still_has_a_pid,
	};

	return unit_run("stats/identity", tests, KF_ARRAY_SIZE(tests));
}
