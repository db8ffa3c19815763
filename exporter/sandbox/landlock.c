/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Landlock: see landlock.h.
 */
#include "config.h"

#include "exporter/sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The same numbers on all architectures. */
#define NR_CREATE_RULESET 444
#define NR_ADD_RULE 445
#define NR_RESTRICT_SELF 446

#define GET_VERSION 1u
#define RULE_PATH 1
#define RULE_PORT 2
#define SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0)
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

#define OF_FILES                                                               \
	(KF_LL_EXECUTE | KF_LL_WRITE_FILE | KF_LL_READ_FILE | KF_LL_TRUNCATE | \
	 KF_LL_IOCTL_DEV)

struct ruleset {
	uint64_t files;
	uint64_t ports;	 /* from version 4 on */
	uint64_t scopes; /* from version 6 on */
};

struct path_rule {
	uint64_t rights;
	int32_t fd;
} __attribute__((packed));

struct port_rule {
	uint64_t rights;
	uint64_t port;
};

/* All rights of files that the kernel knows: 13, 14, 15 and 16 of them. */
static uint64_t landlock_known(int abi)
{
	unsigned int nr = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;

	return (UINT64_C(1) << nr) - 1;
}

/* Whether a filter of system calls ends a process for these, as systemd's may.
 */
static bool landlock_is_fatal(void)
{
	int status = 0;
	pid_t pid;

	if (prctl(PR_GET_SECCOMP) <= 0)
		return false;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 0);
		syscall(NR_CREATE_RULESET, NULL, (size_t)0, GET_VERSION);
		syscall(NR_ADD_RULE, -1, RULE_PATH, NULL, 0u);
		syscall(NR_RESTRICT_SELF, -1, 0u);
		_exit(0);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status);
}

int kf_landlock_abi(void)
{
	if (landlock_is_fatal()) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(NR_CREATE_RULESET, NULL, (size_t)0, GET_VERSION);
}

int kf_landlock_begin(int abi)
{
	const struct ruleset all = {
		.files = landlock_known(abi),
		.ports = abi >= 4 ? KF_LL_BIND_TCP | KF_LL_CONNECT_TCP : 0,
		.scopes = abi >= 6 ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0,
	};

	/* older kernels accept a longer structure whose rest is 0 */
	return (int)syscall(NR_CREATE_RULESET, &all, sizeof(all), 0u);
}

int kf_landlock_path(int rules, int abi, const char *path, uint64_t rights)
{
	struct path_rule rule = {.rights = rights & landlock_known(abi)};
	struct stat st;
	int rc, error;

	rule.fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.fd < 0)
		return -1;
	rc = fstat(rule.fd, &st);
	if (rc == 0 && !S_ISDIR(st.st_mode))
		rule.rights &= OF_FILES;
	if (rc == 0 && rule.rights)
		rc = (int)syscall(NR_ADD_RULE, rules, RULE_PATH, &rule, 0u);
	error = errno;
	close(rule.fd);
	errno = error;
	return rc;
}

int kf_landlock_port(int rules, int abi, uint16_t port, uint64_t rights)
{
	const struct port_rule rule = {.rights = rights, .port = port};

	if (abi < 4)
		return 0;
	return (int)syscall(NR_ADD_RULE, rules, RULE_PORT, &rule, 0u);
}

int kf_landlock_enter(int rules)
{
	return (int)syscall(NR_RESTRICT_SELF, rules, 0u);
}
