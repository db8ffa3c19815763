/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See ended.h.
 *
 * A line of the log is about the process of a file if it is of the same boot,
 * written after the file was made, and has the number and the name of the
 * process or of one of its threads. Of several such lines the first one is
 * used, as a number is given to another process only after the end. Programs
 * can write to the log, but not as the kernel.
 */
#include "config.h"

#include "reader/ended.h"

#include "base/text.h"
#include "reader/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUTERMOST_PID_NS 0xeffffffcu

/* The kernel's own limit of a record. */
#define RECORD_MAX 8192

/*
 * The log's clock is not slewed as CLOCK_MONOTONIC is: at most 500 in a
 * million, and in practice far less than a fifth of that.
 */
#define SLACK_US 1000000
#define SLEW 10000

/* "NAME[TID]TEXT", where @before is before NAME. */
static const struct {
	const char *before;
	const char *text;
	const char *how;
} ended_faults[] = {
	{"", ": segfault at ", "SIGSEGV"},
	{"traps: ", " general protection", "SIGSEGV"},
	{"traps: ", " trap invalid opcode ", "SIGILL"},
	{"traps: ", " trap divide error ", "SIGFPE"},
};

static bool ended_name(struct kf_ended_line *line, const char *name,
		       size_t length)
{
	if (!length || length >= sizeof(line->comm))
		return false;
	memset(line->comm, 0, sizeof(line->comm));
	memcpy(line->comm, name, length);
	return true;
}

/* "... anon-rss:163328kB, file-rss:1888kB, shmem-rss:0kB, ..." */
static uint64_t ended_resident_in(const char *text)
{
	static const char *const parts[] = {
		" anon-rss:", " file-rss:", " shmem-rss:"};
	uint64_t kib = 0;

	for (size_t i = 0; i < KF_ARRAY_SIZE(parts); i++) {
		const char *at = strstr(text, parts[i]);

		if (at)
			kib += strtoul(at + strlen(parts[i]), NULL, 10);
	}
	return kib * 1024;
}

/* "Out of memory: Killed process 47 (NAME) total-vm:..." */
static bool take_oom(const char *text, struct kf_ended_line *line)
{
	const char *at = strstr(text, "ut of memory: Killed process ");
	const char *close = at ? strstr(at, ") total-vm:") : NULL;
	int start = 0;

	if (!close ||
	    sscanf(at, "ut of memory: Killed process %d (%n", &line->tid,
		   &start) != 1 ||
	    !start || at + start > close)
		return false;
	line->how = "OOM";
	line->resident = ended_resident_in(close);
	return ended_name(line, at + start, (size_t)(close - at) - start);
}

static bool take_fault(const char *text, struct kf_ended_line *line)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(ended_faults); i++) {
		size_t skip = strlen(ended_faults[i].before);
		const char *at = strstr(text, ended_faults[i].text);
		const char *open = at;

		if (!at || strncmp(text, ended_faults[i].before, skip) != 0)
			continue;
		while (open > text + skip && *open != '[')
			open--;
		if (sscanf(open, "[%d]", &line->tid) != 1 || at[-1] != ']')
			continue;
		line->how = ended_faults[i].how;
		return ended_name(line, text + skip,
				  (size_t)(open - text) - skip);
	}
	return false;
}

/* When a record was written, at least 1; 0: it is none. */
static uint64_t ended_stamp(const char *record)
{
	unsigned long long time;

	if (sscanf(record, "%*u,%*u,%llu", &time) != 1)
		return 0;
	return KF_MAX(time, 1ULL);
}

static bool ended_take(const char *record, struct kf_ended_line *line)
{
	const char *text = strchr(record, ';');
	unsigned long long number, time;
	unsigned int level;

	/* the lowest three bits are the severity; the others are 0: the kernel
	 */
	if (!text ||
	    sscanf(record, "%u,%llu,%llu", &level, &number, &time) != 3 ||
	    level > 7)
		return false;
	line->time_us = time;
	line->resident = 0;
	return take_oom(text + 1, line) || take_fault(text + 1, line);
}

static bool ended_add(struct kf_ended_log *log, struct kf_ended_line line)
{
	struct kf_ended_line *grown =
		realloc(log->lines, (log->nr + 1) * sizeof(*grown));

	if (!grown)
		return false;
	log->lines = grown;
	grown[log->nr++] = line;
	return true;
}

void kf_ended_open(struct kf_ended_log *log)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct kf_ended_line line;
	char record[RECORD_MAX + 1];
	struct stat st;
	ssize_t n;

	memset(log, 0, sizeof(*log));
	kf_proc_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", log->boot_id,
		     sizeof(log->boot_id));
	log->boot_id[strcspn(log->boot_id, "\n")] = '\0';
	if (!stat("/proc/self/ns/pid", &st))
		log->pid_ns = st.st_ino;
	if (fd < 0)
		return;
	log->readable = true;
	for (;;) {
		n = read(fd, record, RECORD_MAX);
		/* EPIPE: records that were overwritten are skipped */
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (n <= 0)
			break;
		record[n] = '\0';
		if (!log->first_us)
			log->first_us = ended_stamp(record);
		if (ended_take(record, &line) && !ended_add(log, line))
			break;
	}
	close(fd);
}

void kf_ended_close(struct kf_ended_log *log)
{
	free(log->lines);
	memset(log, 0, sizeof(*log));
}

/* Whether a time of the log is before the process. */
static bool ended_is_before(uint64_t time_us, const struct kf_snapshot *s)
{
	uint64_t made = s->id.created_mono / 1000;

	return time_us + SLACK_US + made / SLEW < made;
}

static bool ended_is_of(const struct kf_ended_line *line,
			const struct kf_snapshot *s)
{
	if (ended_is_before(line->time_us, s))
		return false;
	if (line->tid == s->id.pid &&
	    !strncmp(line->comm, s->id.comm, sizeof(line->comm)))
		return true;
	for (unsigned int i = 0; i < s->nr_threads; i++) {
		if (s->threads[i].tid == line->tid &&
		    !strncmp(s->threads[i].name, line->comm,
			     sizeof(line->comm)))
			return true;
	}
	return false;
}

static const struct kf_ended_line *ended_by_log(const struct kf_ended_log *log,
						const struct kf_snapshot *s)
{
	if (s->id.pid_ns != OUTERMOST_PID_NS)
		return NULL;
	for (unsigned int i = 0; i < log->nr; i++) {
		if (ended_is_of(&log->lines[i], s))
			return &log->lines[i];
	}
	return NULL;
}

/* Whether the log has all since the process began, and no OOM kill in it. */
static bool ended_without_oom(const struct kf_ended_log *log,
			      const struct kf_snapshot *s)
{
	if (!log->first_us || !ended_is_before(log->first_us, s))
		return false;
	for (unsigned int i = 0; i < log->nr; i++) {
		if (!strcmp(log->lines[i].how, "OOM") &&
		    !ended_is_before(log->lines[i].time_us, s))
			return false;
	}
	return true;
}

/*
 * The path is the process' word: it must not lead elsewhere. A cgroup of a
 * container is at another place here, so only processes of our own namespace
 * are looked up; "/" may be any cgroup.
 */
static bool ended_cgroup_is_ours(const struct kf_ended_log *log,
				 const struct kf_snapshot *s)
{
	const char *path = s->ending.cgroup;

	return log->pid_ns && s->id.pid_ns == log->pid_ns && path[0] == '/' &&
	       path[1] && !strstr(path, "/..") &&
	       strlen(path) < sizeof(s->ending.cgroup) - 1;
}

/* The number behind "oom_kill " in a file of a cgroup; 0: there is none. */
static unsigned long long ended_kills_in(const char *before, const char *cgroup,
					 const char *file)
{
	char path[KF_STATS_CGROUP + 64], line[256];
	unsigned long long kills = 0;
	FILE *in;

	snprintf(path, sizeof(path), "%s%s/%s", before, cgroup, file);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "oom_kill %llu", &kills) == 1)
			break;
	}
	if (in)
		fclose(in);
	return kills;
}

/* Whether the kernel killed a process of its cgroup for want of memory. */
static bool ended_by_cgroup(const struct kf_ended_log *log,
			    const struct kf_snapshot *s)
{
	const char *cgroup = s->ending.cgroup;

	return ended_cgroup_is_ours(log, s) &&
	       (ended_kills_in("/sys/fs/cgroup", cgroup,
			       "memory.events.local") ||
		ended_kills_in("/sys/fs/cgroup/memory", cgroup,
			       "memory.oom_control"));
}

const char *kf_ended_how(const struct kf_ended_log *log,
			 const struct kf_file *f, char *room, size_t size)
{
	const struct kf_snapshot *s = &f->snap;
	const struct kf_ended_line *line;

	if (f->life == KF_LIFE_EXECED)
		return "exec";
	if (f->life != KF_LIFE_DEAD)
		return NULL;
	if (s->knows_exit && s->ending.exited) {
		snprintf(room, size, "exit %d", s->ending.status & 0xff);
		return room;
	}
	/* a machine that stops ends processes, too */
	if (strcmp(log->boot_id, s->id.boot_id) != 0)
		return "unknown";
	line = ended_by_log(log, s);
	if (line)
		return line->how;
	if (s->knows_exit && !ended_without_oom(log, s) &&
	    ended_by_cgroup(log, s))
		return "likely OOM";
	return s->knows_exit ? "signal or _exit" : "unknown";
}

uint64_t kf_ended_resident(const struct kf_ended_log *log,
			   const struct kf_file *f)
{
	const struct kf_ended_line *line = ended_by_log(log, &f->snap);

	return line ? line->resident : 0;
}

enum kf_ended_cause kf_ended_cause(const char *how)
{
	static const struct {
		const char *how; /* its begin */
		enum kf_ended_cause cause;
	} causes[] = {
		{"exit 0", KF_ENDED_EXIT},
		{"exit ", KF_ENDED_FAILURE},
		{"OOM", KF_ENDED_OOM},
		{"likely OOM", KF_ENDED_LIKELY_OOM},
		{"signal or", KF_ENDED_SIGNAL},
		{"SIG", KF_ENDED_CRASH},
	};

	for (size_t i = 0; how && i < KF_ARRAY_SIZE(causes); i++) {
		if (!strncmp(how, causes[i].how, strlen(causes[i].how)))
			return causes[i].cause;
	}
	return KF_ENDED_UNKNOWN;
}
