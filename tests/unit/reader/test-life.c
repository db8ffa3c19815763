/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/life.c: a pid alone is nobody.
 */
#include "config.h"

#include "reader/internal.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static enum kf_life life_of(const struct fixture *f, int32_t *pid)
{
	struct kf_life_view view;
	enum kf_life life;

	kf_life_open(&view, "/proc");
	life = kf_life_of(&view, f->id, AT_FDCWD, "/nowhere", pid);
	kf_life_close(&view);
	return life;
}

START_TEST(running_process_is_alive)
{
	struct fixture f;
	int32_t pid = 0;

	fixture_make(&f, 1);
	ck_assert_int_eq(life_of(&f, &pid), KF_LIFE_ALIVE);
	ck_assert_int_eq(pid, getpid());
	fixture_free(&f);
}
END_TEST

START_TEST(reused_pid_is_another_process)
{
	struct fixture f;
	int32_t pid;

	fixture_make(&f, 1);
	f.id->start_ticks--;
	ck_assert_int_eq(life_of(&f, &pid), KF_LIFE_DEAD);
	ck_assert_int_eq(pid, 0);
	fixture_free(&f);
}
END_TEST

START_TEST(pid_that_nobody_has_is_dead)
{
	struct fixture f;
	int32_t pid;

	fixture_make(&f, 1);
	f.id->pid = f.id->outer_pid = INT32_MAX;
	ck_assert_int_eq(life_of(&f, &pid), KF_LIFE_DEAD);
	fixture_free(&f);
}
END_TEST

START_TEST(process_that_waits_to_be_reaped_is_dead)
{
	struct fixture f;
	siginfo_t info;
	int32_t pid;
	pid_t child;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	fixture_make(&f, 1);
	child = fork();
	if (!child) {
		char byte;

		close(fds[1]);
		_exit(read(fds[0], &byte, 1) != 0);
	}
	ck_assert_int_eq(fixture_set_process(&f, child), 0);
	ck_assert_int_eq(life_of(&f, &pid), KF_LIFE_ALIVE);
	close(fds[1]);
	ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT),
			 0);
	ck_assert_int_eq(life_of(&f, &pid), KF_LIFE_DEAD);
	waitpid(child, NULL, 0);
	fixture_free(&f);
}
END_TEST

START_TEST(process_of_an_earlier_boot_is_dead)
{
	struct fixture f;
	int32_t pid;

	fixture_make(&f, 1);
	f.id->boot_id[0] = f.id->boot_id[0] == 'a' ? 'b' : 'a';
	ck_assert_int_eq(life_of(&f, &pid), KF_LIFE_DEAD);
	fixture_free(&f);
}
END_TEST

START_TEST(process_without_a_start_time_is_unknown)
{
	struct fixture f;
	int32_t pid;

	fixture_make(&f, 1);
	f.id->start_ticks = 0;
	ck_assert_int_eq(life_of(&f, &pid), KF_LIFE_UNKNOWN);
	fixture_free(&f);
}
END_TEST

START_TEST(nothing_is_known_without_procfs)
{
	struct kf_life_view view;
	struct fixture f;
	int32_t pid;

	fixture_make(&f, 1);
	kf_life_open(&view, "/no/procfs/here");
	ck_assert_int_eq(kf_life_of(&view, f.id, AT_FDCWD, "x", &pid),
			 KF_LIFE_UNKNOWN);
	kf_life_close(&view);
	fixture_free(&f);
}
END_TEST

/* The path changed and the file is not mapped: it runs something else. */
START_TEST(other_program_without_the_mapping_has_execed)
{
	struct kf_life_view view;
	struct fixture f;
	int32_t pid;

	support_begin();
	fixture_make(&f, 1);
	support_write(&f, "file");
	memcpy(f.id->exe, "/bin/other", 11);
	kf_life_open(&view, "/proc");
	ck_assert_int_eq(
		kf_life_of(&view, f.id, AT_FDCWD, support_path("file"), &pid),
		KF_LIFE_EXECED);
	kf_life_close(&view);
	fixture_free(&f);
}
END_TEST

/* Waits in a pid namespace of its own, where it is number 1. */
static void inner_process(int up, int go)
{
	pid_t inner;
	char byte;

	if (unshare(CLONE_NEWPID))
		_exit(1);
	inner = fork();
	if (!inner)
		_exit(read(go, &byte, 1) != 0);
	if (write(up, &inner, sizeof(inner)) != sizeof(inner))
		_exit(1);
	close(up);
	_exit(waitpid(inner, NULL, 0) != inner);
}

START_TEST(process_of_an_inner_namespace_is_found)
{
	pid_t child, inner = 0;
	int go[2], up[2];
	struct fixture f;
	int32_t pid = 0;

	ck_assert_int_eq(pipe(go), 0);
	ck_assert_int_eq(pipe(up), 0);
	child = fork();
	if (!child) {
		close(go[1]);
		inner_process(up[1], go[0]);
	}
	close(up[1]);
	if (read(up[0], &inner, sizeof(inner)) != sizeof(inner)) {
		puts("SKIP: pid namespaces cannot be made here");
		waitpid(child, NULL, 0);
		return;
	}
	fixture_make(&f, 1);
	ck_assert_int_eq(fixture_set_process(&f, inner), 0);
	f.id->pid = f.id->outer_pid = 1;
	ck_assert_int_eq(life_of(&f, &pid), KF_LIFE_ALIVE);
	ck_assert_int_eq(pid, inner);
	f.id->start_ticks++;
	ck_assert_int_ne(life_of(&f, &pid), KF_LIFE_ALIVE);
	close(go[1]);
	waitpid(child, NULL, 0);
	fixture_free(&f);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		running_process_is_alive,
		reused_pid_is_another_process,
		pid_that_nobody_has_is_dead,
		process_that_waits_to_be_reaped_is_dead,
		process_of_an_earlier_boot_is_dead,
		process_without_a_start_time_is_unknown,
		nothing_is_known_without_procfs,
		other_program_without_the_mapping_has_execed,
		process_of_an_inner_namespace_is_found,
	};

	return unit_run("reader/life", tests, KF_ARRAY_SIZE(tests));
}
