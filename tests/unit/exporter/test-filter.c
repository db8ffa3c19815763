/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exporter/sandbox: what is denied is refused to all threads that are started
 * later, and nothing else is; numbers are those of the kernel's headers.
 */
#include "config.h"

#include "exporter/sandbox/filter.h"
#include "exporter/sandbox/landlock.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

#define KF_DENIED(name, number) {#name, number, false},
#if defined(__x86_64__)
#define KF_DENIED_X86(name) {#name, SYS_##name, false},
#else
#define KF_DENIED_X86(name)
#endif
#define KF_TRACER(name) {#name, SYS_##name, true},

static const struct {
	const char *name;
	long nr;
	bool by_tracers;
} denied[] = {
#include "exporter/sandbox/denied.def"
};

static void enter(bool tracers)
{
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(kf_filter_enter(tracers), 0);
}

/* The error of a call with arguments that would do no harm. */
static int error_of(long nr)
{
	errno = 0;
	return syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L) == -1 ? errno : 0;
}

/* Returns the index of the first call that is not refused. */
static void *try_all(void *unused)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(denied); i++) {
		if (error_of(denied[i].nr) != EPERM)
			return (void *)(i + 1);
	}
	return unused;
}

START_TEST(what_is_denied_is_refused_to_each_thread)
{
	void *wrong = NULL;
	pthread_t thread;

	enter(false);
	ck_assert_int_eq(pthread_create(&thread, NULL, try_all, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, &wrong), 0);
	ck_assert_msg(!wrong, "%s is not refused",
		      denied[(size_t)wrong - 1].name);
	ck_assert_ptr_null(try_all(NULL));
}
END_TEST

START_TEST(tracers_may_be_executed)
{
	static char *const words[] = {(char *)(size_t) "true", NULL};
	int status = 0;
	pid_t pid;

	enter(true);
	for (size_t i = 0; i < KF_ARRAY_SIZE(denied); i++) {
		if (!denied[i].by_tracers)
			ck_assert_msg(error_of(denied[i].nr) == EPERM,
				      "%s is not refused", denied[i].name);
	}
	pid = fork();
	if (!pid) {
		execvp(words[0], words);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(children_have_no_namespaces_of_their_own)
{
	static const int kinds[] = {CLONE_NEWNS,   CLONE_NEWUTS, CLONE_NEWIPC,
				    CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET};
	pid_t pid;

	enter(false);
	for (size_t i = 0; i < KF_ARRAY_SIZE(kinds); i++) {
		errno = 0;
		pid = (pid_t)syscall(SYS_clone, kinds[i] | SIGCHLD, 0, 0, 0, 0);
		if (!pid)
			_exit(0);
		ck_assert_int_eq(pid, -1);
		ck_assert_int_eq(errno, EPERM);
	}
	pid = fork();
	if (!pid)
		_exit(0);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(other_calls_pass)
{
	enter(false);
	ck_assert_int_eq(close(open("/proc/self/stat", O_RDONLY)), 0);
	ck_assert_int_eq(error_of(SYS_process_vm_readv), EINVAL);
	/* a number that no kernel has yet */
	ck_assert_int_eq(error_of(100000), ENOSYS);
#if defined(__x86_64__)
	/* the same call by the numbers of x32 */
	ck_assert_int_eq(error_of(0x40000000 | SYS_getpid), EPERM);
#endif
}
END_TEST

START_TEST(rights_have_the_kernels_numbers)
{
#ifdef LANDLOCK_ACCESS_FS_EXECUTE
	ck_assert_uint_eq(KF_LL_EXECUTE, LANDLOCK_ACCESS_FS_EXECUTE);
	ck_assert_uint_eq(KF_LL_WRITE_FILE, LANDLOCK_ACCESS_FS_WRITE_FILE);
	ck_assert_uint_eq(KF_LL_READ_FILE, LANDLOCK_ACCESS_FS_READ_FILE);
	ck_assert_uint_eq(KF_LL_READ_DIR, LANDLOCK_ACCESS_FS_READ_DIR);
	ck_assert_uint_eq(KF_LL_REMOVE_FILE, LANDLOCK_ACCESS_FS_REMOVE_FILE);
	ck_assert_uint_eq(KF_LL_MAKE_REG, LANDLOCK_ACCESS_FS_MAKE_REG);
	ck_assert_uint_eq(KF_LL_MAKE_SOCK, LANDLOCK_ACCESS_FS_MAKE_SOCK);
#endif
#ifdef LANDLOCK_ACCESS_FS_TRUNCATE
	ck_assert_uint_eq(KF_LL_TRUNCATE, LANDLOCK_ACCESS_FS_TRUNCATE);
#endif
#ifdef LANDLOCK_ACCESS_FS_IOCTL_DEV
	ck_assert_uint_eq(KF_LL_IOCTL_DEV, LANDLOCK_ACCESS_FS_IOCTL_DEV);
#endif
#ifdef LANDLOCK_ACCESS_NET_CONNECT_TCP
	ck_assert_uint_eq(KF_LL_BIND_TCP, LANDLOCK_ACCESS_NET_BIND_TCP);
	ck_assert_uint_eq(KF_LL_CONNECT_TCP, LANDLOCK_ACCESS_NET_CONNECT_TCP);
#endif
}
END_TEST

/* As the service of a systemd that does not know Landlock. */
START_TEST(a_filter_that_ends_the_process_is_noticed)
{
	struct sock_filter code[] = {
		{BPF_LD | BPF_W | BPF_ABS, 0, 0,
		 offsetof(struct seccomp_data, nr)},
		{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 446},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
	};
	const struct sock_fprog prog = {KF_ARRAY_SIZE(code), code};

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
	ck_assert_int_eq(kf_landlock_abi(), -1);
	ck_assert_int_eq(errno, EPERM);
}
END_TEST

/* A kernel of an older version has the rules of that version. */
START_TEST(each_version_of_landlock_has_its_rules)
{
	int last = kf_landlock_abi(), rules, fd;

	if (last < 1) {
		printf("not tried: this kernel has no Landlock\n");
		return;
	}
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	for (int abi = 1; abi <= last; abi++) {
		rules = kf_landlock_begin(abi);
		ck_assert_int_ge(rules, 0);
		ck_assert_int_eq(
			kf_landlock_path(rules, abi, "/proc", KF_LL_CHANGE), 0);
		ck_assert_int_eq(
			kf_landlock_path(rules, abi, "/dev/null", KF_LL_CHANGE),
			0);
		ck_assert_int_eq(
			kf_landlock_port(rules, abi, 80, KF_LL_CONNECT_TCP), 0);
		ck_assert_int_eq(kf_landlock_enter(rules), 0);
		close(rules);
		ck_assert_int_eq(open("/", O_RDONLY), -1);
		ck_assert_int_eq(errno, EACCES);
		fd = open("/proc/self/stat", O_RDONLY);
		ck_assert_int_ge(fd, 0);
		close(fd);
	}
	ck_assert_int_eq(kf_landlock_path(-1, last, "/nowhere", KF_LL_READ),
			 -1);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		what_is_denied_is_refused_to_each_thread,
		tracers_may_be_executed,
		children_have_no_namespaces_of_their_own,
		other_calls_pass,
		rights_have_the_kernels_numbers,
		a_filter_that_ends_the_process_is_noticed,
		each_version_of_landlock_has_its_rules,
	};

	return unit_run("exporter/sandbox", tests, KF_ARRAY_SIZE(tests));
}
