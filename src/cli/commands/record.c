/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator record: look at a program's table of sampled stacks now and then,
 * and write a profile.
 *
 * The program is looked at, never stopped, and what can not be written hurts
 * nobody but the profile. Each look is one write, so that a recorder that is
 * killed leaves a profile that can be read.
 */
#include "config.h"

#include "base/text.h"
#include "cli/attach.h"
#include "cli/cli.h"
#include "cli/one.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/commands/ebpf.h"
#include "cli/commands/record-events.h"
#include "cli/commands/record-order.h"
#include "cli/commands/run.h"
#include "cli/commands/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS 20000000u   /* until a second look, or for the stats file */
#define FOLLOW_NS 100000000u /* between two searches for children */

/* Of --exact: each block is a sample, and a program has many stacks. */
#define EXACT_SAMPLE "1"
#define EXACT_STACKS "100000"

static const char *record_output, *record_sample; /* NULL: not said */
static uint64_t record_mean;			  /* 0: not said */
static bool record_nameless, record_exact, record_events, record_ebpf;
static bool record_python, record_compress;
static double record_interval = 1, record_duration;
static pid_t record_pid;
static enum { USUAL_FOLLOW, FOLLOW, NO_FOLLOW } record_follow;

/* A recording in the making. */
struct recorder {
	const struct kf_cli *cli;
	pid_t pid;
	pid_t child; /* 0: the program is not ours */
	int pidfd;
	int signals;
	sigset_t old;
	int fd; /* -1: nothing is written any more */
	char *path;
	struct kf_output output; /* of -o */
	char *stats;		 /* the stats file's name; NULL: not seen yet */
	struct kf_record_orders orders;
	uint64_t begin; /* CLOCK_MONOTONIC */
	uint64_t next;	/* the next look likewise */
	uint64_t looks;
	uint64_t started; /* CLOCK_REALTIME */
	struct kf_names names;
	struct kf_maker maker;
	struct kf_follower follower; /* family 0: children are not followed */
};

static uint64_t record_now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void lose_file(struct recorder *r)
{
	kf_error("record: %s: %s: the profile ends here", r->path,
		 strerror(errno));
	close(r->fd);
	r->fd = -1;
}

static void recorder_flush(struct recorder *r)
{
	kf_maker_write(&r->maker, &r->fd, r->path);
}

/*
 * Whether another program of the process is one more process of the profile:
 * what there is so far must not be lost.
 */
static bool execs_are_followed(const struct recorder *r)
{
	return r->follower.family && r->stats &&
	       (r->follower.nr || kf_maker_samples(&r->maker));
}

/* The newest file of the process: one that calls exec makes another. */
static struct kf_file *file_of(struct kf_files *files, const struct recorder *r)
{
	bool same = execs_are_followed(r);
	struct kf_file *best = NULL;

	for (unsigned int i = 0; i < files->nr; i++) {
		struct kf_file *f = &files->file[i];

		if (f->snap.result != KF_READ_OK ||
		    kf_process_id(f) != r->pid || f->life == KF_LIFE_EXECED)
			continue;
		if (same && strcmp(f->name, r->stats) != 0)
			continue;
		/* without a file yet only one that lives, or lived for us */
		if (!r->stats && f->life != KF_LIFE_ALIVE &&
		    (!r->child || f->snap.id.created_ns < r->started))
			continue;
		if (!best || f->snap.id.created_ns > best->snap.id.created_ns)
			best = f;
	}
	return best;
}

/* An earlier profile of this name is there until now. */
static void show_file(struct recorder *r)
{
	if (r->fd >= 0 && kf_output_show(&r->output))
		lose_file(r);
}

/* What was written is of a program that the process does not run any more. */
static void recorder_begin_file(struct recorder *r, const struct kf_file *f)
{
	if (r->stats && r->fd >= 0) {
		kf_note(r->cli,
			"record: process %d runs another program now: the "
			"profile starts again",
			r->pid);
		if (ftruncate(r->fd, 0) || lseek(r->fd, 0, SEEK_SET))
			lose_file(r);
	}
	show_file(r);
	free(r->stats);
	r->follower.first = r->stats = kf_format("%s", f->name);
	r->begin = record_now_ns(CLOCK_MONOTONIC);
	kf_maker_begin(&r->maker, &f->snap.id, record_now_ns(CLOCK_REALTIME),
		       (uint64_t)(record_interval * 1e9));
}

/*
 * The first looks come at distances that double, as a short program is gone
 * after the first interval.
 */
static void set_next(struct recorder *r, uint64_t now)
{
	uint64_t step = (uint64_t)(record_interval * 1e9);
	uint64_t end = r->begin + (uint64_t)(record_duration * 1e9);

	if (!r->stats) {
		r->next = now + FIRST_NS;
		return;
	}
	r->next = now + KF_MAX(KF_MIN(now - r->begin, step), FIRST_NS);
	if (record_duration > 0)
		r->next = KF_MIN(r->next, end);
}

/*
 * A file is named by the pid that its process sees, and there may be thousands:
 * only where none has ours, as of a container's, all of them are read.
 */
static int recorder_find(struct recorder *r, struct kf_files *files)
{
	char part[16];
	int status;

	snprintf(part, sizeof(part), ".%d.", r->pid);
	status = kf_cli_find_part(r->cli, part, files);
	if (status || r->child || file_of(files, r))
		return status;
	kf_files_release(files);
	return kf_cli_find(r->cli, files);
}

/* Returns the exit status, after a message where it is not 0. */
static int give_orders(struct recorder *r, const struct kf_file *f)
{
	if (r->child || f->life != KF_LIFE_ALIVE)
		return 0;
	r->orders.first = !r->stats;
	r->orders.sample = record_sample;
	r->orders.family = r->follower.family;
	return kf_record_orders_give(r->cli, &r->orders, f);
}

/* It takes samples as it did before. */
static void orders_back(struct recorder *r)
{
	struct kf_files files = {0};
	struct kf_file *f = NULL;

	if (!kf_record_orders_any(&r->orders))
		return;
	if (!recorder_find(r, &files))
		f = file_of(&files, r);
	if (f && f->life == KF_LIFE_ALIVE && !strcmp(f->name, r->stats))
		kf_record_orders_back(&r->orders, f);
	kf_files_release(&files);
}

/* The other processes of the program. */
static int recorder_follow(struct recorder *r, uint64_t now, bool whole)
{
	int status;

	if (!r->follower.family || !r->stats)
		return 0;
	r->follower.dirs = (const char *const *)r->cli->dirs;
	if (!r->cli->dirs) {
		r->follower.pids = r->cli->select.pids;
		r->follower.nr_pids = r->cli->select.nr_pids;
	}
	r->follower.to = &r->maker;
	r->follower.names = !record_nameless && r->fd >= 0;
	status = kf_follow_look(&r->follower, now, whole);
	recorder_flush(r);
	return status;
}

static int recorder_look(struct recorder *r)
{
	struct kf_files files = {0};
	struct kf_file *f;
	uint64_t now;
	int status = recorder_find(r, &files);

	f = status ? NULL : file_of(&files, r);
	if (f) {
		if (!r->stats || strcmp(r->stats, f->name) != 0) {
			status = give_orders(r, f);
			if (!status)
				recorder_begin_file(r, f);
		} else if (!r->child && f->life == KF_LIFE_ALIVE) {
			kf_record_orders_mark(&r->orders, f);
		}
	}
	now = record_now_ns(CLOCK_MONOTONIC) - r->begin;
	if (f && !status) {
		kf_maker_look(&r->maker, f, now);
		recorder_flush(r);
		r->looks++;
	} else if (execs_are_followed(r)) {
		kf_maker_gone(&r->maker, now);
	}
	if (!status)
		status = recorder_follow(r, now, true);
	/* Names come after the snapshots, as they take longer. */
	if (f && !status && !record_nameless && r->fd >= 0) {
		kf_maker_names(&r->maker, f, record_now_ns(CLOCK_REALTIME));
		recorder_flush(r);
	}
	kf_files_release(&files);
	set_next(r, record_now_ns(CLOCK_MONOTONIC));
	return status;
}

static int wait_ms(const struct recorder *r)
{
	uint64_t now = record_now_ns(CLOCK_MONOTONIC);
	uint64_t next = r->next;

	if (r->follower.family)
		next = KF_MIN(next, now + FOLLOW_NS);
	return next <= now ? 1 : (int)((next - now) / 1000000) + 1;
}

/* Between looks, children that have ended are read before others are. */
static int record_step(struct recorder *r)
{
	uint64_t now = record_now_ns(CLOCK_MONOTONIC);

	if (r->follower.family && now < r->next)
		return recorder_follow(r, now - r->begin, false);
	return recorder_look(r);
}

/* Returns whether the recording is over. */
static bool wait_more(struct recorder *r)
{
	struct pollfd fds[2] = {{r->pidfd, POLLIN, 0}, {r->signals, POLLIN, 0}};
	struct signalfd_siginfo info;

	poll(fds, KF_ARRAY_SIZE(fds), wait_ms(r));
	if (fds[0].revents)
		return true;
	if (fds[1].revents &&
	    read(r->signals, &info, sizeof(info)) == sizeof(info))
		/* a terminal's ^C is the program's too: it decides */
		return !r->child || info.ssi_signo == SIGTERM;
	return record_duration > 0 && r->stats &&
	       record_now_ns(CLOCK_MONOTONIC) - r->begin >=
		       (uint64_t)(record_duration * 1e9);
}

static int record_loop(struct recorder *r)
{
	int status = recorder_look(r);

	if (!status && !r->child && !r->stats)
		status = kf_attach_tell_none("record", r->pid);
	while (!status && !wait_more(r))
		status = record_step(r);
	if (!status)
		status = recorder_look(r);
	orders_back(r);
	if (r->stats) {
		kf_maker_end(&r->maker);
		recorder_flush(r);
	}
	return status;
}

static int open_output(struct recorder *r)
{
	r->path = record_output ? kf_format("%s", record_output)
				: kf_format("konfiscator.%d.profile", r->pid);
	r->fd = record_output ? kf_output_make(&r->output, record_output)
			      : kf_output_usual(r->path);
	if (r->fd < 0 && !record_output)
		kf_error("record: %s: %s", r->path, strerror(errno));
	return r->fd >= 0 ? 0 : KF_EXIT_FAILED;
}

static void __attribute__((noreturn))
record_exec(struct kf_cli *cli, const struct recorder *r, int argc, char **argv)
{
	char family[16];

	sigprocmask(SIG_SETMASK, &r->old, NULL);
	if (r->follower.family) {
		snprintf(family, sizeof(family), "%u", r->follower.family);
		kf_run_set("family", family);
	}
	kf_run_set("sample", record_sample ? record_sample : KF_RECORD_SAMPLE);
	if (record_exact)
		kf_run_set("sample_stacks", EXACT_STACKS);
	_exit(kf_run(cli, argc, argv));
}

static int recorder_start(struct recorder *r, struct kf_cli *cli, int argc,
			  char **argv)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &r->old);
	r->signals = signalfd(-1, &set, SFD_CLOEXEC);
	r->pid = record_pid;
	r->started = record_now_ns(CLOCK_REALTIME);
	if (argc) {
		fflush(NULL);
		r->child = r->pid = fork();
		if (!r->child)
			record_exec(cli, r, argc, argv);
	}
	/* Servers may answer after the end of the program: report asks them. */
	unsetenv("DEBUGINFOD_URLS");
	r->pidfd = r->pid > 0 ? (int)syscall(SYS_pidfd_open, r->pid, 0) : -1;
	if (r->signals >= 0 && r->pidfd >= 0)
		return 0;
	kf_error("record: process %d: %s", r->pid, strerror(errno));
	return KF_EXIT_FAILED;
}

static int recorder_finish(struct recorder *r, int status)
{
	if (r->child > 0) {
		int ended = kf_child_status(r->child);

		status = status ? status : ended;
	}
	if (r->stats && r->fd >= 0)
		kf_note(r->cli, "record: %s: %llu snapshot%s of process %d",
			r->path, (unsigned long long)r->looks,
			r->looks == 1 ? "" : "s", r->pid);
	else if (r->fd >= 0 && !record_output)
		unlink(r->path);
	if (r->stats && r->fd >= 0)
		kf_record_tell_followed(r->cli, &r->follower);
	if (r->fd >= 0)
		close(r->fd);
	kf_maker_release(&r->maker);
	kf_follow_release(&r->follower);
	kf_names_release(&r->names);
	free(r->stats);
	free(r->path);
	kf_output_release(&r->output);
	return status;
}

/* The one process that is selected. */
static int record_find_pid(struct kf_cli *cli)
{
	struct kf_one one;
	int status = kf_one_find(cli, NULL, &one);

	if (status)
		return status;
	record_pid = kf_process_id(one.file);
	kf_one_release(&one);
	cli->select = (struct kf_select){0};
	kf_select_pid(&cli->select, record_pid);
	return 0;
}

static int run_ebpf(struct kf_cli *cli, int argc)
{
	struct kf_ebpf how = {record_output, record_mean, record_interval,
			      record_duration, record_nameless};

	if (!record_sample)
		kf_parse_size(KF_RECORD_SAMPLE, &how.mean);
	if (record_events || record_exact || how.mean < KF_SAMPLE_LEAST)
		kf_error(
			"record: --ebpf: --sample must be from 1K to 1T: --exact, --events and --sample=1 need the library");
	else if (argc || cli->select.nr_pids != 1)
		kf_error(
			"record: --ebpf needs one running process: konfiscator record --ebpf PID");
	else
		return kf_ebpf_record(cli, &how);
	return KF_EXIT_USAGE;
}

/* Refuses two kinds of recording at once. */
static int check_kinds(void)
{
	if (record_events + record_exact + !!record_sample >= 2)
		kf_error("record: --sample, --exact and --events exclude each "
			 "other");
	else if (record_compress && !record_events)
		kf_error("record: --compress is for --events");
	else
		return 0;
	return KF_EXIT_USAGE;
}

static int record_run(struct kf_cli *cli, int argc, char **argv)
{
	struct recorder r = {.cli = cli, .fd = -1};
	int status = record_ebpf ? run_ebpf(cli, argc) : check_kinds();

	if (status || record_ebpf)
		return status;

	if (!argc == !kf_select_any(&cli->select) || (record_python && !argc)) {
		kf_error("record: %s", record_python
					       ? "--python needs PROG"
					       : "give either a program or a "
						 "process");
		return KF_EXIT_USAGE;
	}
	if (record_events)
		return kf_record_events(cli, record_output, record_compress,
					argc, argv);
	if (record_exact)
		record_sample = EXACT_SAMPLE;
	if (record_follow == FOLLOW || (argc && record_follow != NO_FOLLOW))
		r.follower.family = kf_family_new();
	r.maker.names = &r.names;
	if (!argc)
		status = record_find_pid(cli);
	if (status)
		return status;
	status = recorder_start(&r, cli, argc, argv);
	if (!status)
		status = open_output(&r);
	if (!status)
		status = record_loop(&r);
	return recorder_finish(&r, status);
}

enum {
	OPT_INTERVAL = KF_OPT_OWN,
	OPT_DURATION,
	OPT_SAMPLE,
	OPT_EXACT,
	OPT_EVENTS,
	OPT_COMPRESS,
	OPT_EBPF,
	OPT_PYTHON,
	OPT_NO_SYMBOLS,
	OPT_FOLLOW,
	OPT_NO_FOLLOW
};

static int record_option(struct kf_cli *cli, int key, const char *arg)
{
	switch (key) {
	case OPT_INTERVAL:
		return kf_take_seconds("record: --interval", arg,
				       &record_interval);
	case OPT_DURATION:
		return kf_take_seconds("record: --duration", arg,
				       &record_duration);
	case OPT_SAMPLE:
		record_sample = arg;
		return kf_order_take_sample("record", arg, &record_mean);
	case OPT_EXACT:
		record_exact = true;
		return 0;
	case OPT_EVENTS:
		record_events = true;
		return 0;
	case OPT_COMPRESS:
		record_compress = true;
		return 0;
	case OPT_EBPF:
		record_ebpf = cli->outside = true;
		return 0;
	case OPT_PYTHON:
		record_python = true;
		kf_run_set_python();
		return 0;
	case OPT_NO_SYMBOLS:
		record_nameless = true;
		return 0;
	case OPT_FOLLOW:
	case OPT_NO_FOLLOW:
		record_follow = key == OPT_FOLLOW ? FOLLOW : NO_FOLLOW;
		return 0;
	default:
		record_output = arg;
		return 0;
	}
}

static const struct kf_option record_options[] = {
	{'o', "output", "FILE",
	 "write the profile to FILE (default konfiscator.PID.profile)"},
	{OPT_INTERVAL, "interval", "SEC",
	 "read the samples every SEC seconds (default 1)"},
	{OPT_DURATION, "duration", "SEC", "stop after SEC seconds"},
	{OPT_SAMPLE, "sample", "BYTES",
	 "sample one block per BYTES allocated bytes on average (default 512K, or the setting of a running process)"},
	{OPT_EXACT, "exact", NULL,
	 "sample every block, for exact figures; costs about 2 us per call"},
	{OPT_EVENTS, "events", NULL,
	 "write a recording of every call instead of a profile "
	 "(default konfiscator.PID.recording)"},
	{OPT_COMPRESS, "compress", NULL,
	 "compress the recordings with zstd when PROG has ended (default konfiscator.recording.zst)"},
	{OPT_EBPF, "ebpf", NULL,
	 "sample a process without the library, with bpftrace; costs 2 to 10 us per call"},
	{OPT_PYTHON, "python", NULL, KF_RUN_PYTHON},
	{OPT_NO_SYMBOLS, "no-symbols", NULL,
	 "do not store function names in the profile"},
	{OPT_FOLLOW, "follow", NULL,
	 "also record the children of the process (default for PROG)"},
	{OPT_NO_FOLLOW, "no-follow", NULL,
	 "do not record the children of the process"},
	{0},
};

const struct kf_command kf_command_record = {
	.name = "record",
	.args = "PID | [--] PROG [ARG...]",
	.help = "Write a profile of where a program's memory came from",
	.about =
		"The samples that the library takes are read at intervals, until the program\n"
		"ends. While a running process is recorded, --sample replaces its own sampling\n"
		"interval. konfiscator report shows the profile.",
	.examples =
		"  konfiscator record -o before -- ./server    from start to end\n"
		"  konfiscator record --duration=30 4711   30 seconds of a running process\n"
		"  konfiscator record --exact -- ./test    every block, for tests",
	.options = record_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV |
		   KF_FORMAT_PROM,
	.selects = true,
	.attaches = true,
	.stops = true,
	.option = record_option,
	.run = record_run,
};
