/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bpftrace runs the script of cli/ebpf.h; what it prints becomes a table of
 * stacks (cli/profile/traced.h), which is written at each look. The process is
 * neither stopped nor changed, but for the uprobes that the kernel puts into
 * its mappings and takes away when bpftrace ends, in whatever way.
 */
#include "config.h"

#include "cli/commands/ebpf.h"

#include "cli/ebpf.h"
#include "cli/output.h"
#include "cli/program.h"
#include "cli/commands/trace.h"
#include "cli/profile/make.h"
#include "cli/profile/traced.h"
#include "reader/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define READY_MS 120000 /* for bpftrace to compile, and to place the probes */
#define QUIET_MS 200	/* without output, all events were read */
#define DRAIN_MS 5000	/* ... but a busy process is never quiet */
#define END_MS 10000	/* for bpftrace to end once told to */

/* A map of the script has room for so many samples; a ring for 1 MiB. */
#define MAP_KEYS "65536"
#define RING_PAGES "256"

enum { FD_LINES, FD_PROCESS, FD_SIGNAL, NR_FDS };

/* A recording in the making. */
struct ebpf {
	const struct kf_cli *cli;
	const struct kf_ebpf *how;
	pid_t tracer;
	struct pollfd fds[NR_FDS];
	bool ready;
	bool over;	/* the process ended, or we were told to end */
	bool gone;	/* the process ended */
	bool execed;	/* it runs another program */
	bool deaf;	/* what bpftrace says counts no more */
	char said[256]; /* the last error of bpftrace, or "" */
	char line[512];
	size_t len;
	uint64_t program; /* tells the program from one that exec begins */
	uint64_t begin;	  /* ns of CLOCK_MONOTONIC */
	uint64_t next;	  /* the next look likewise */
	uint64_t looks;
	struct kf_file file; /* the pid alone */
	struct kf_traced traced;
	struct kf_maker maker;
	struct kf_output output;
	char *path;
	int fd;
};

static uint64_t ebpf_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A field of /proc/PID/stat, counted from 1, behind the name; 0. */
static uint64_t ebpf_stat(int32_t pid, int field)
{
	char stat[1024];
	char *at;

	if (kf_proc_text("/proc", pid, "stat", stat, sizeof(stat)) < 0)
		return 0;
	at = strrchr(stat, ')');
	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* Where its first stack begins: another place for each program. */
#define STAT_STACK 28
#define STAT_START 22

static void ebpf_identity(struct ebpf *e, const char *file)
{
	struct kf_stats_identity *id = &e->traced.snapshot.id;
	const char *slash = strrchr(file, '/');
	char name[64], comm[KF_PROC_COMM] = "";
	struct stat st;
	ssize_t n;

	id->pid = id->outer_pid = e->file.pid;
	id->start_ticks = ebpf_stat(id->pid, STAT_START);
	id->created_ns = ebpf_now(CLOCK_REALTIME);
	id->created_mono = ebpf_now(CLOCK_MONOTONIC);
	kf_proc_comm("/proc", id->pid, comm);
	snprintf(id->comm, sizeof(id->comm), "%.15s", comm);
	snprintf(name, sizeof(name), "/proc/%d", id->pid);
	if (!stat(name, &st))
		id->uid = st.st_uid;
	snprintf(name, sizeof(name), "/proc/%d/exe", id->pid);
	n = readlink(name, id->exe, sizeof(id->exe) - 1);
	id->exe[n < 0 ? 0 : n] = '\0';
	snprintf(id->engine, sizeof(id->engine), "%.15s",
		 slash ? slash + 1 : file);
	snprintf(id->version, sizeof(id->version), "%s", PACKAGE_VERSION);
	kf_proc_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id->boot_id,
		     sizeof(id->boot_id));
	id->boot_id[strcspn(id->boot_id, "\n")] = '\0';
}

static void ebpf_flush(struct ebpf *e)
{
	kf_maker_write(&e->maker, &e->fd, e->path);
}

static void ebpf_look(struct ebpf *e)
{
	uint64_t now = ebpf_now(CLOCK_MONOTONIC);
	uint64_t program = ebpf_stat(e->file.pid, STAT_STACK);

	e->next = now + (uint64_t)(e->how->interval * 1e9);
	if (program && program != e->program) {
		kf_note(e->cli,
			"record: process %d runs another program now: the "
			"profile ends here",
			e->file.pid);
		e->execed = e->over = true;
		return;
	}
	if (e->gone)
		e->file.pid = 0;
	kf_maker_take(&e->maker, &e->file, &e->traced.snapshot, now - e->begin);
	ebpf_flush(e);
	/* Names come after the snapshot, as they take longer. */
	if (!e->how->nameless)
		kf_maker_names(&e->maker, &e->file, ebpf_now(CLOCK_REALTIME));
	ebpf_flush(e);
	e->looks++;
}

/* What bpftrace says before it is ready is told only if it never is. */
static void ebpf_take_line(struct ebpf *e)
{
	e->line[e->len] = '\0';
	e->len = 0;
	if (!e->ready && !strcmp(e->line, "ready\n"))
		e->ready = true;
	else if (e->ready && !e->deaf)
		kf_traced_line(&e->traced, e->line);
	else if (strstr(e->line, "ERROR") && !strstr(e->line, "MEMLOCK"))
		snprintf(e->said, sizeof(e->said), "%.*s",
			 (int)strcspn(e->line, "\n"), e->line);
}

/* Returns false at the end of the output. */
static bool ebpf_take_output(struct ebpf *e)
{
	char buf[65536];
	ssize_t n = read(e->fds[FD_LINES].fd, buf, sizeof(buf));

	if (n < 0 && errno == EINTR)
		return true;
	for (ssize_t i = 0; i < n; i++) {
		e->line[e->len++] = buf[i];
		if (buf[i] == '\n' || e->len == sizeof(e->line) - 1)
			ebpf_take_line(e);
	}
	return n > 0;
}

/* Waits once; returns poll()'s result, or -1 at the end of the output. */
static int ebpf_poll(struct ebpf *e, int ms)
{
	struct signalfd_siginfo info;
	int n = poll(e->fds, NR_FDS, ms);

	if (n <= 0)
		return n && errno != EINTR ? -1 : 0;
	if (e->fds[FD_SIGNAL].revents &&
	    read(e->fds[FD_SIGNAL].fd, &info, sizeof(info)) == sizeof(info))
		e->over = true;
	if (e->fds[FD_PROCESS].revents) {
		e->gone = e->over = true;
		e->fds[FD_PROCESS].fd = -1;
	}
	if (e->fds[FD_LINES].revents && !ebpf_take_output(e))
		return -1;
	return e->fds[FD_LINES].revents ? 1 : 0;
}

static void __attribute__((noreturn))
ebpf_tracer(const struct ebpf *e, const char *tool, int script, int out)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char path[32], pid[16], mean[32];
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Ctrl-C is for us; it ends when we do, in whatever way. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("BPFTRACE_MAP_KEYS_MAX", MAP_KEYS, 0);
	setenv("BPFTRACE_MAX_MAP_KEYS", MAP_KEYS, 0);
	setenv("BPFTRACE_PERF_RB_PAGES", RING_PAGES, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", script);
	snprintf(pid, sizeof(pid), "%d", e->file.pid);
	snprintf(mean, sizeof(mean), "%llu", (unsigned long long)e->how->mean);
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
	    dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0)
		execl(tool, "bpftrace", "-p", pid, path, "-", pid, mean,
		      (char *)NULL);
	printf("ERROR: %s: %s\n", tool, strerror(errno));
	fflush(stdout);
	_exit(KF_EXIT_FAILED);
}

/* Returns the errno where it failed, or 0. */
static int ebpf_start(struct ebpf *e, const char *tool, const char *text)
{
	int script = memfd_create("record.bt", 0);
	int out[2] = {-1, -1}, error = 0;

	if (script < 0 || pipe2(out, O_CLOEXEC) ||
	    write(script, text, strlen(text)) != (ssize_t)strlen(text)) {
		error = errno;
	} else {
		fflush(NULL);
		e->tracer = fork();
		if (!e->tracer)
			ebpf_tracer(e, tool, script, out[1]);
		error = e->tracer < 0 ? errno : 0;
	}
	if (script >= 0)
		close(script);
	if (out[1] >= 0)
		close(out[1]);
	e->fds[FD_LINES] = (struct pollfd){out[0], POLLIN, 0};
	return error;
}

/*
 * The last look at a process that goes on: what it does while the kernel takes
 * the uprobes away, which takes seconds, is no part of the profile.
 */
static void ebpf_last_look(struct ebpf *e)
{
	uint64_t end = ebpf_now(CLOCK_MONOTONIC) + QUIET_MS * 1000000ULL;

	while (ebpf_poll(e, 20) > 0 && ebpf_now(CLOCK_MONOTONIC) < end)
		;
	ebpf_look(e);
	e->deaf = true;
	kf_note(e->cli, "record: the profile is whole; taking the uprobes "
			"away takes some seconds more");
}

/* Ends bpftrace, after what it has to say. */
static void ebpf_stop(struct ebpf *e)
{
	uint64_t now = ebpf_now(CLOCK_MONOTONIC);
	uint64_t drain = now + DRAIN_MS * 1000000ULL;
	uint64_t end = now + END_MS * 1000000ULL;
	int n = 1;

	while (n > 0 && e->ready && !e->deaf &&
	       ebpf_now(CLOCK_MONOTONIC) < drain)
		n = ebpf_poll(e, QUIET_MS);
	while (n >= 0 && ebpf_now(CLOCK_MONOTONIC) < end) {
		/* it may forget a signal that comes just before it waits */
		kill(e->tracer, SIGINT);
		do {
			n = ebpf_poll(e, 1000);
		} while (n > 0);
	}
	if (n >= 0)
		kill(e->tracer, SIGKILL);
	kf_child_status(e->tracer);
	e->tracer = 0;
}

/* Returns the exit status. */
static int ebpf_wait_ready(struct ebpf *e)
{
	uint64_t end = ebpf_now(CLOCK_MONOTONIC) + READY_MS * 1000000ULL;
	char safe[4 * sizeof(e->said)];
	int n = 0;

	while (n >= 0 && !e->ready && !e->over &&
	       ebpf_now(CLOCK_MONOTONIC) < end)
		n = ebpf_poll(e, 100);
	if (e->ready) {
		kf_note(e->cli, "record: process %d is sampled now%s",
			e->file.pid,
			e->how->duration > 0 ? "" : "; Ctrl-C stops it");
		return 0;
	}
	if (e->gone)
		kf_error("record: process %d has ended", e->file.pid);
	else if (!e->over)
		kf_error("record: bpftrace could not trace process %d: %s",
			 e->file.pid,
			 e->said[0]
				 ? kf_escape(safe, sizeof(safe), e->said)
				 : "it gave no reason: see konfiscator doctor");
	return KF_EXIT_FAILED;
}

static int ebpf_loop(struct ebpf *e)
{
	uint64_t end;
	int n = 0;

	if (kf_output_show(&e->output)) {
		kf_error("record: %s: %s", e->path, strerror(errno));
		return KF_EXIT_FAILED;
	}
	e->begin = ebpf_now(CLOCK_MONOTONIC);
	end = e->how->duration > 0
		      ? e->begin + (uint64_t)(e->how->duration * 1e9)
		      : UINT64_MAX;
	kf_maker_begin(&e->maker, &e->traced.snapshot.id,
		       ebpf_now(CLOCK_REALTIME),
		       (uint64_t)(e->how->interval * 1e9));
	ebpf_look(e);
	while (n >= 0 && !e->over) {
		uint64_t now = ebpf_now(CLOCK_MONOTONIC);
		uint64_t until = KF_MIN(e->next, end);

		if (now >= end)
			break;
		if (now >= until)
			ebpf_look(e);
		else
			n = ebpf_poll(e, (int)((until - now) / 1000000) + 1);
	}
	if (n < 0 && !e->over && kill(e->file.pid, 0) == 0)
		kf_error("record: bpftrace ended before the process did: the "
			 "profile ends here");
	return 0;
}

static void ebpf_tell(const struct ebpf *e, int32_t pid)
{
	const struct kf_traced *t = &e->traced;

	if (t->lost)
		kf_error(
			"record: bpftrace lost %llu events: live memory in the profile may be too low or too high; a larger --sample causes fewer events",
			(unsigned long long)t->lost);
	if (t->no_room)
		kf_error(
			"record: %llu samples are missing: the profile has room for %s live ones; use a larger --sample",
			(unsigned long long)t->no_room, MAP_KEYS);
	kf_note(e->cli, "record: %s: %llu snapshot%s of process %d", e->path,
		(unsigned long long)e->looks, e->looks == 1 ? "" : "s", pid);
}

static bool ebpf_may(void)
{
	char status[4096], *caps;
	unsigned long long set;

	if (kf_proc_text("/proc", getpid(), "status", status, sizeof(status)) <
	    0)
		return true;
	caps = strstr(status, "\nCapEff:");
	if (!caps || sscanf(caps, "\nCapEff: %llx", &set) != 1)
		return true;
	/* CAP_SYS_ADMIN, or CAP_PERFMON and CAP_BPF */
	return set >> 21 & 1 || (set >> 38 & 3) == 3;
}

/* The reason why it cannot work here, or NULL. */
static const char *ebpf_missing(const char *tool)
{
	if (geteuid())
		return "--ebpf needs root";
	if (!ebpf_may())
		return "--ebpf needs the capability CAP_SYS_ADMIN, or CAP_BPF "
		       "and CAP_PERFMON";
	if (!tool)
		return "--ebpf needs bpftrace, which is not installed: install "
		       "the package bpftrace";
	if (access(KF_UPROBES, F_OK))
		return "the kernel has no uprobes, or /sys is not mounted: "
		       "there is no " KF_UPROBES;
	return NULL;
}

static int ebpf_open(struct ebpf *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* Servers may answer after the end of the program: report asks them. */
	unsetenv("DEBUGINFOD_URLS");
	e->fds[FD_LINES].fd = -1;
	e->fds[FD_SIGNAL] =
		(struct pollfd){signalfd(-1, &set, SFD_CLOEXEC), POLLIN, 0};
	e->fds[FD_PROCESS] = (struct pollfd){
		(int)syscall(SYS_pidfd_open, e->file.pid, 0), POLLIN, 0};
	if (e->fds[FD_PROCESS].fd < 0) {
		kf_error("record: process %d: %s", e->file.pid,
			 errno == ESRCH ? "there is no such process"
					: strerror(errno));
		return KF_EXIT_FAILED;
	}
	e->path = e->how->output
			  ? kf_format("%s", e->how->output)
			  : kf_format("konfiscator.%d.profile", e->file.pid);
	return 0;
}

static int ebpf_run(struct ebpf *e, const char *tool)
{
	struct kf_ebpf_script s = {0};
	int32_t pid = e->file.pid;
	char safe[4 * 256];
	char *why = kf_ebpf_script(pid, &s);
	int status = KF_EXIT_FAILED, error;

	if (why) {
		kf_error("record: process %d: %s", pid, why);
	} else if ((e->fd = kf_output_make(&e->output, e->path)) >= 0) {
		ebpf_identity(e, s.malloc);
		e->program = ebpf_stat(pid, STAT_STACK);
		kf_note(e->cli,
			"record: uprobes in %s cost process %d about 2 to 10 us per call (with bpftrace before 0.20: every process that maps this file); stacks follow frame pointers only",
			kf_escape(safe, sizeof(safe), s.malloc), pid);
		kf_note(e->cli, "record: bpftrace places them: this takes "
				"some seconds, more on a busy machine");
		error = ebpf_start(e, tool, s.text);
		if (error)
			kf_error("record: bpftrace: %s", strerror(error));
		status = error ? KF_EXIT_FAILED : ebpf_wait_ready(e);
		if (!status)
			status = ebpf_loop(e);
		if (!status && !e->execed && !e->gone)
			ebpf_last_look(e);
		if (e->tracer > 0)
			ebpf_stop(e);
		if (!status && !e->execed && !e->deaf)
			ebpf_look(e);
		kf_maker_end(&e->maker);
		ebpf_flush(e);
		if (!status)
			ebpf_tell(e, pid);
	}
	free(why);
	kf_ebpf_script_release(&s);
	return status;
}

int kf_ebpf_record(const struct kf_cli *cli, const struct kf_ebpf *how)
{
	struct ebpf e = {.cli = cli, .how = how, .fd = -1};
	int status, unused;
	char *tool = kf_program_find("bpftrace", &unused);
	const char *missing = ebpf_missing(tool);

	e.file.pid = e.traced.pid = cli->select.pids[0];
	e.traced.mean = how->mean;
	status = ebpf_open(&e);
	if (!status && missing) {
		kf_error("record: %s", missing);
		status = KF_EXIT_FAILED;
	}
	if (!status)
		status = ebpf_run(&e, tool);
	if (e.fd >= 0)
		close(e.fd);
	for (int i = 0; i < NR_FDS; i++) {
		if (e.fds[i].fd >= 0)
			close(e.fds[i].fd);
	}
	kf_maker_release(&e.maker);
	kf_traced_release(&e.traced);
	kf_output_release(&e.output);
	free(e.path);
	free(tool);
	return status;
}
