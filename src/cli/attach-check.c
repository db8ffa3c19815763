/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a process cannot be attached, by what /proc shows: see attach.h. What can
 * only be known inside the process is told by the library.
 */
#include "config.h"

#include "cli/attach.h"

#include "cli/program.h"
#include "reader/proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The value behind "NAME:" in /proc/PID/status, to free(); NULL. */
static char *status_of(int32_t pid, const char *name)
{
	char *path = kf_format("/proc/%d/status", pid);
	FILE *status = fopen(path, "re");
	size_t len = strlen(name);
	char line[256], *value = NULL;

	free(path);
	while (status && !value && fgets(line, sizeof(line), status)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, name, len) && line[len] == ':')
			value = kf_format(
				"%s",
				line + len + 1 + strspn(line + len + 1, " \t"));
	}
	if (status)
		fclose(status);
	return value;
}

static uint64_t status_number(int32_t pid, const char *name)
{
	char *value = status_of(pid, name);
	uint64_t n = value ? strtoull(value, NULL, 10) : 0;

	free(value);
	return n;
}

/* A letter of the state, 0 where there is no process. */
static char state_of(int32_t pid)
{
	char *value = status_of(pid, "State");
	char state = '\0';

	if (value)
		state = value[0];
	free(value);
	return state;
}

static char *refuse_state(int32_t pid)
{
	uint64_t tracer = status_number(pid, "TracerPid");
	char name[KF_PROC_COMM] = "";
	char state = state_of(pid);

	if (!state)
		return kf_format("there is no such process");
	if (state == 'Z' || state == 'X')
		return kf_format("it has ended");
	if (tracer) {
		kf_proc_comm("/proc", (int)tracer, name);
		return kf_format("process %llu (%s) traces it",
				 (unsigned long long)tracer, name);
	}
	if (state == 'T' || state == 't')
		return kf_format("it is stopped: kill -CONT %d resumes it",
				 pid);
	return NULL;
}

static char *scope_words(void)
{
	char text[16] = "0";
	int fd = open("/proc/sys/kernel/yama/ptrace_scope",
		      O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 1)
		text[0] = '0';
	if (fd >= 0)
		close(fd);
	switch (text[0]) {
	case '1':
		return kf_format(
			"kernel.yama.ptrace_scope is 1: run as root, or set it to 0 with sysctl");
	case '2':
		return kf_format("kernel.yama.ptrace_scope is 2: run as root");
	case '3':
		return kf_format("kernel.yama.ptrace_scope is 3: nobody may "
				 "trace until the next boot");
	default:
		return NULL;
	}
}

/* The kernel asks for the same right to read a process' memory. */
static char *refuse_right(int32_t pid)
{
	char *path = kf_format("/proc/%d/mem", pid);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint64_t user = status_number(pid, "Uid");
	char *why;

	free(path);
	if (fd >= 0) {
		close(fd);
		return NULL;
	}
	if (errno == ENOENT || errno == ESRCH)
		return kf_format("it has ended");
	if (geteuid() && user != geteuid())
		return kf_format(
			"it belongs to user %llu: run as that user or as root",
			(unsigned long long)user);
	why = scope_words();
	if (why)
		return why;
	return geteuid()
		       ? kf_format("it is set-id or not dumpable: run as root")
		       : kf_format("tracing is not permitted: "
				   "CAP_SYS_PTRACE is missing");
}

/* Whether the kernel started it in secure mode. */
static bool is_secure(int32_t pid)
{
	char *path = kf_format("/proc/%d/auxv", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_auxv_t v;
	bool secure = false;

	free(path);
	while (fd >= 0 && read(fd, &v, sizeof(v)) == sizeof(v)) {
		if (v.a_type == AT_SECURE)
			secure = v.a_un.a_val;
	}
	if (fd >= 0)
		close(fd);
	return secure;
}

/* What the mappings tell of the libraries. */
struct libraries {
	bool libc;	/* the GNU C library */
	bool libc_gone; /* whose file was replaced */
	bool musl;
	const char *sanitizer;
	char *ours; /* the path, or NULL */
};

static void see_library(struct libraries *l, const char *path, bool gone)
{
	static const char *const sanitizers[] = {"libasan.so", "libhwasan.so",
						 "libtsan.so", "liblsan.so",
						 "libmsan.so"};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (!strcmp(name, "libc.so.6") || !strncmp(name, "libc-2.", 7)) {
		l->libc = true;
		l->libc_gone |= gone;
	}
	if (!strncmp(name, "ld-musl", 7))
		l->musl = true;
	if (!strncmp(name, "libkonfiscator.so", 17) && !l->ours)
		l->ours = kf_format("%s", path);
	for (size_t i = 0; i < KF_ARRAY_SIZE(sanitizers); i++) {
		if (!strncmp(name, sanitizers[i], strlen(sanitizers[i])))
			l->sanitizer = sanitizers[i];
	}
}

static void see_libraries(int32_t pid, struct libraries *l)
{
	static const char deleted[] = " (deleted)";
	char *path = kf_format("/proc/%d/maps", pid);
	FILE *maps = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	*l = (struct libraries){0};
	free(path);
	while (maps && getline(&line, &size, maps) > 0) {
		char *name = strchr(line, '/');
		size_t len;
		bool gone;

		if (!name)
			continue;
		name[strcspn(name, "\n")] = '\0';
		len = strlen(name);
		gone = len > strlen(deleted) &&
		       !strcmp(name + len - strlen(deleted), deleted);
		if (gone)
			name[len - strlen(deleted)] = '\0';
		see_library(l, name, gone);
	}
	free(line);
	if (maps)
		fclose(maps);
}

char *kf_attach_mapped(int32_t pid)
{
	struct libraries l;

	see_libraries(pid, &l);
	return l.ours;
}

/* Why this user cannot see what a process has mapped: an errno; 0: it can. */
static int maps_error(int32_t pid)
{
	char *path = kf_format("/proc/%d/maps", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
	char byte;

	if (fd < 0 || read(fd, &byte, 1) < 0)
		error = errno;
	free(path);
	if (fd >= 0)
		close(fd);
	return error;
}

char *kf_attach_why_none(int32_t pid, bool offer)
{
	int error = maps_error(pid);
	char *mapped;

	if ((error == EACCES || error == EPERM) && geteuid())
		return kf_format("it belongs to another user: ask as that user "
				 "or as root");
	if (error)
		return kf_format(
			"whether it has the library cannot be seen: %s",
			strerror(error));
	mapped = kf_attach_mapped(pid);
	if (!mapped)
		return kf_format("it runs without the library: 'konfiscator "
				 "attach %d' loads it%s",
				 pid, offer ? "; --attach does so first" : "");
	free(mapped);
	return kf_format("it has the library, but no stats file is where it is "
			 "looked for: it was detached ('konfiscator attach %d' "
			 "attaches it again), has KONFISCATOR_DIR (--dir=DIR) "
			 "or KONFISCATOR_STATS=0 in its environment, or is in "
			 "another mount namespace",
			 pid);
}

static char *refuse_libraries(int32_t pid)
{
	struct libraries l;

	see_libraries(pid, &l);
	free(l.ours);
	if (l.musl)
		return kf_format("it uses musl, but the library needs glibc");
	if (!l.libc)
		return kf_format(
			"it is statically linked: no library can be loaded into it");
	if (l.libc_gone)
		return kf_format("its C library was replaced on the disk since "
				 "it started: restart it");
	if (l.sanitizer)
		return kf_format("it uses %s, which has its own malloc",
				 l.sanitizer);
	return NULL;
}

/* What keeps the library out does not keep bpftrace from looking. */
static char *add_way_outside(char *why, const struct kf_attach *a)
{
	char *both;

	if (!why || a->detach)
		return why;
	both = kf_format("%s; as root, use konfiscator record --ebpf %d", why,
			 a->pid);
	free(why);
	return both;
}

static char *refuse_filter(const struct kf_attach *a)
{
	if (a->force || !status_number(a->pid, "Seccomp"))
		return NULL;
	return kf_format(
		"it filters its system calls (seccomp), and loading a library might kill it: --force tries anyway");
}

char *kf_attach_refusal(const struct kf_attach *a, const char *library)
{
	char *exe = kf_format("/proc/%d/exe", a->pid);
	char *why = refuse_state(a->pid);

	if (!why)
		why = refuse_right(a->pid);
	if (!why && is_secure(a->pid))
		why = kf_format(
			"it was started set-id: the library is inactive in such a process");
	if (!why && !a->detach)
		why = add_way_outside(refuse_libraries(a->pid), a);
	if (!why && !a->detach)
		why = kf_program_refusal(exe, library);
	if (!why)
		why = add_way_outside(refuse_filter(a), a);
	free(exe);
	return why;
}
