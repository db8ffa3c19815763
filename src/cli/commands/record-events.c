/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator record --events. To compress, the command stays until the program
 * has ended, and looks for the files of the program and its children: by their
 * name and time, as the library makes each process a file of its own. A file
 * that a process still writes to is left alone.
 */
#include "config.h"

#include "cli/commands/record-events.h"

#include "base/text.h"
#include "cli/commands/run.h"
#include "cli/commands/trace.h"
#include "cli/order.h"
#include "reader/human.h"
#include "cli/zstd.h"
#include "record/layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What was recorded. */
struct recorded {
	const struct kf_cli *cli;
	char *dir;
	char *glob;	/* of the names in it, but for what is appended */
	uint64_t began; /* CLOCK_REALTIME */
	uint64_t nr, before, after; /* files compressed, and their bytes */
	bool found;		    /* a recording, compressed or not */
	int status;
};

static int events_check(int argc, bool compress)
{
	if (!argc)
		kf_error(
			"record: --events needs PROG: for a running process use konfiscator ctl PID record=FILE");
	else if (compress && !kf_zstd_is_built())
		kf_error("record: --compress: this konfiscator was built "
			 "without libzstd");
	else
		return 0;
	return KF_EXIT_USAGE;
}

/* The name of a pattern as a pattern of fnmatch(). */
static char *events_glob(const char *name)
{
	static const char digits[] = "[0-9]*";
	char *glob = kf_alloc(strlen(name) + 1, sizeof(digits)), *out = glob;

	for (const char *p = name; *p; p++) {
		if (p[0] == '%' && p[1] == 'p') {
			memcpy(out, digits, sizeof(digits) - 1);
			out += sizeof(digits) - 1;
			p++;
			continue;
		}
		p += p[0] == '%' && p[1] == '%';
		*out++ = '\\';
		*out++ = *p;
	}
	*out = '\0';
	return glob;
}

static bool is_one_of(const struct recorded *r, const char *name)
{
	char *longer = kf_format("%s.[0-9]*", r->glob);
	bool is = !fnmatch(r->glob, name, 0) || !fnmatch(longer, name, 0);

	free(longer);
	return is;
}

/* Whether a file is a recording of this time, which nobody writes to. */
static bool is_ended(struct recorded *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct kf_record_header head;
	bool ended = false;

	if (fd < 0)
		return false;
	if (pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	    head.magic == KF_RECORD_MAGIC && head.real_ns >= r->began) {
		r->found = true;
		/* the kernel refuses it while the file is mapped for writing */
		ended = !fcntl(fd, F_SETLEASE, F_RDLCK);
		if (!ended)
			kf_note(r->cli, "record: %s: not compressed: %s", path,
				errno == EAGAIN ? "a process still writes to it"
						: strerror(errno));
	}
	close(fd);
	return ended;
}

static void events_compress(struct recorded *r, const char *name)
{
	char *path = kf_format("%s/%s", r->dir, name);
	uint64_t before, after;

	if (!is_ended(r, path)) {
		free(path);
		return;
	}
	if (kf_zstd_pack(path, &before, &after)) {
		r->status = KF_EXIT_FAILED;
	} else {
		r->before += before;
		r->after += after;
		r->nr++;
	}
	free(path);
}

static int events_compress_all(struct recorded *r, const char *output)
{
	DIR *dir = opendir(r->dir);
	const struct dirent *entry;
	char was[32], is[32];

	if (!dir) {
		kf_error("record: %s: %s", r->dir, strerror(errno));
		return KF_EXIT_FAILED;
	}
	while ((entry = readdir(dir))) {
		if (is_one_of(r, entry->d_name))
			events_compress(r, entry->d_name);
	}
	closedir(dir);
	if (!r->found)
		return r->status;
	kf_note(r->cli, "record: %s: %llu recording%s compressed: %s of %s",
		output, (unsigned long long)r->nr, r->nr == 1 ? "" : "s",
		kf_human_bytes(is, sizeof(is), r->after),
		kf_human_bytes(was, sizeof(was), r->before));
	return r->status;
}

/* Pass signals on until the program has ended; a terminal's are its own. */
static int events_wait(pid_t pid, const sigset_t *set)
{
	siginfo_t info;

	for (;;) {
		siginfo_t ended = {0};
		int signo = sigwaitinfo(set, &info);

		if (signo > 0 && signo != SIGCHLD && info.si_code <= 0)
			kill(pid, signo);
		if (!waitid(P_PID, (id_t)pid, &ended,
			    WEXITED | WNOWAIT | WNOHANG) &&
		    ended.si_pid)
			return kf_child_status(pid);
	}
}

static int run_and_wait(struct kf_cli *cli, int argc, char **argv)
{
	static const int signals[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM,
				      SIGHUP};
	sigset_t set, old;
	pid_t pid;

	sigemptyset(&set);
	for (size_t i = 0; i < KF_ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &old);
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		kf_error("record: fork: %s", strerror(errno));
		return KF_EXIT_FAILED;
	}
	if (pid)
		return events_wait(pid, &set);
	sigprocmask(SIG_SETMASK, &old, NULL);
	_exit(kf_run(cli, argc, argv));
}

static int run_compressed(struct kf_cli *cli, const char *output, int argc,
			  char **argv)
{
	char *pattern = kf_pattern_here(output);
	char *slash = strrchr(pattern, '/');
	struct recorded r = {.cli = cli};
	struct timespec now;
	int status, packed;

	clock_gettime(CLOCK_REALTIME, &now);
	r.began = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	r.glob = events_glob(slash + 1);
	/* its directory has each percent sign twice */
	r.dir = kf_alloc((size_t)(slash - pattern) + 2, 1);
	for (char *p = pattern, *to = r.dir; p < slash; p++) {
		*to++ = *p;
		p += p[0] == '%' && p[1] == '%';
	}
	status = run_and_wait(cli, argc, argv);
	packed = events_compress_all(&r, output);
	if (!status && !packed && !r.found) {
		kf_error("record: %s: the program made no recording", output);
		packed = KF_EXIT_FAILED;
	}
	free(r.dir);
	free(r.glob);
	free(pattern);
	return status ? status : packed;
}

int kf_record_events(struct kf_cli *cli, const char *output, bool compress,
		     int argc, char **argv)
{
	int status = events_check(argc, compress);
	char *name;

	if (status)
		return status;
	name = kf_format("%s", output	  ? output
			       : compress ? "konfiscator.recording"
					  : "konfiscator.%p.recording");
	status = kf_run_set_record(name);
	if (!status && compress)
		status = run_compressed(cli, name, argc, argv);
	else if (!status)
		status = kf_run(cli, argc, argv);
	free(name);
	return status;
}
