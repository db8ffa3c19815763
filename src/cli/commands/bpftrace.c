/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A script under bpftrace, from its first event to its last.
 *
 * The script gets the library's absolute path and a pid, and prints "ready"
 * once all its probes are attached. The program is started only then, so that
 * no event is missed. When the program ends, bpftrace is interrupted and prints
 * its sums; the exit status is the program's.
 */
#include "config.h"

#include "cli/program.h"
#include "cli/commands/trace-rows.h"
#include "cli/commands/trace.h"
#include "reader/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * bpftrace loses output if SIGINT arrives at a bad moment. While it handles an
 * event, it drops the later events; just before it waits, it forgets the signal
 * and waits for ever; while it runs END, it drops the output of END. It sleeps
 * only when its buffers are empty. So after the program's end the signal is
 * sent when bpftrace was found asleep several times in a row, with no output in
 * between. The signal is sent again only if bpftrace still sleeps and has
 * detached no probe. A bpftrace that is never idle gets the signal after a
 * maximum wait.
 */
#define LOOK_MS 40
#define LOOKS 5
#define DRAIN_MS 60000

#define MAP_KEYS "65536"

/* How often a process is asked what it has mapped: first, and in the end. */
#define FIRST_MAPS_MS 2
#define LAST_MAPS_MS 500

enum { FD_OUTPUT, FD_SIGNAL, FD_PROGRAM, FD_ERRORS, NR_FDS };

/* A line in the making. */
struct bpftrace_line {
	char text[4096];
	size_t len;
};

struct session {
	const struct kf_trace *trace;
	struct kf_child program; /* pid 0: none, or ended */
	int status;		 /* the program's */
	pid_t tracer;
	bool ready;
	unsigned int warning; /* lines that may follow of a warning */
	bool interrupted;     /* SIGINT was sent to the tracer */
	bool given_up;	      /* and SIGKILL, by a second signal */
	int asleep;   /* times in a row that the tracer was found asleep */
	int nr_files; /* open files of the tracer when SIGINT was sent */
	int64_t drain_until; /* ms, 0: the program has not ended */
	struct kf_trace_rows *rows;
	int64_t maps_ms; /* until the next look at its mappings */
	int64_t maps_at; /* of that, ms */
	struct bpftrace_line out;
	struct bpftrace_line err;
	struct pollfd fds[NR_FDS];
};

/* A process that is exiting has no fd directory. */
static int count_files(pid_t pid)
{
	char *path = kf_format("/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	free(path);
	return nr;
}

static bool is_asleep(pid_t pid)
{
	char stat[512];
	char *name_end;

	if (kf_proc_text("/proc", pid, "stat", stat, sizeof(stat)) < 0)
		return false;
	name_end = strrchr(stat, ')');
	return name_end && !strncmp(name_end, ") S", 3);
}

static void interrupt_tracer(struct session *s)
{
	if (!s->interrupted)
		s->nr_files = count_files(s->tracer);
	s->interrupted = true;
	s->asleep = 0;
	kill(s->tracer, SIGINT);
}

static int64_t bpftrace_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/*
 * A full map drops new keys, silently in bpftrace 0.17, so the limit is raised.
 * Its name differs between versions; a limit set by the user is kept.
 */
static void raise_map_limit(void)
{
	const char *limit = getenv("BPFTRACE_MAP_KEYS_MAX");

	if (!limit)
		limit = getenv("BPFTRACE_MAX_MAP_KEYS");
	if (!limit)
		limit = MAP_KEYS;
	setenv("BPFTRACE_MAP_KEYS_MAX", limit, 0);
	setenv("BPFTRACE_MAX_MAP_KEYS", limit, 0);
}

static bool is_of_one(const struct session *s)
{
	return s->program.pid || s->trace->pid;
}

static void __attribute__((noreturn))
tracer_main(const struct session *s, const char *tool, int32_t pid, int out,
	    int err)
{
	const struct kf_trace *t = s->trace;
	const char **words = kf_alloc(t->nr_args + 5, sizeof(*words));
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char number[16];
	size_t n = 0;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	snprintf(number, sizeof(number), "%d", pid);
	/*
	 * Ctrl-C is for the program, which may continue after it, so the tracer
	 * gets a process group of its own. The tracer dies with this command.
	 */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* the program reads from the terminal, not its tracer */
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
		_exit(KF_EXIT_FAILED);
	words[n++] = "bpftrace";
	words[n++] = t->script;
	words[n++] = t->library;
	words[n++] = number;
	for (size_t i = 0; i < t->nr_args; i++)
		words[n++] = t->args[i];
	raise_map_limit();
	/* names are ours to find: see trace-rows.h */
	setenv("BPFTRACE_NO_USER_SYMBOLS", "1", 0);
	execv(tool, (char **)words);
	kf_error("trace: %s: %s", tool, strerror(errno));
	_exit(KF_EXIT_FAILED);
}

static int start_tracer(struct session *s, const char *tool)
{
	int32_t pid = s->program.pid ? s->program.pid : s->trace->pid;
	int out[2], err[2];

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		kf_error("trace: pipe: %s", strerror(errno));
		return -1;
	}
	fflush(NULL);
	s->tracer = fork();
	if (s->tracer < 0)
		kf_error("trace: fork: %s", strerror(errno));
	if (!s->tracer)
		tracer_main(s, tool, pid, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	s->fds[FD_OUTPUT] = (struct pollfd){out[0], POLLIN, 0};
	s->fds[FD_ERRORS] = (struct pollfd){err[0], POLLIN, 0};
	return s->tracer < 0 ? -1 : 0;
}

static void set_ready(struct session *s)
{
	s->ready = true;
	s->maps_ms = FIRST_MAPS_MS;
	if (!s->program.pid) {
		kf_note(s->trace->cli,
			"trace: ready%s; press Ctrl-C to print, and again to give up",
			s->trace->pid ? "" : ", all programs are traced");
		return;
	}
	s->fds[FD_PROGRAM].fd = (int)syscall(SYS_pidfd_open, s->program.pid, 0);
	s->fds[FD_PROGRAM].events = POLLIN;
	kf_child_go(&s->program);
}

/* Scripts print names of processes, which are untrusted, and tabs. */
static void put_line(FILE *to, const char *line)
{
	char text[sizeof(((struct bpftrace_line *)0)->text)];
	char safe[4 * sizeof(text)];

	while (*line) {
		size_t len = strcspn(line, "\t\n");

		len = KF_MIN(len, sizeof(text) - 1);
		memcpy(text, line, len);
		text[len] = '\0';
		fputs(kf_escape(safe, sizeof(safe), text), to);
		line += len;
		for (; *line == '\t' || *line == '\n'; line++)
			putc(*line, to);
	}
}

/* bpftrace prints an empty line for each empty map in the end. */
static void put_output(const char *line)
{
	static unsigned int empty;

	if (!strcmp(line, "\n")) {
		empty++;
		return;
	}
	for (; empty; empty--)
		putchar('\n');
	put_line(stdout, line);
}

/*
 * Whether a line is of a warning of newer versions about a script: the warning,
 * the line of the script, and tildes below it.
 */
static bool is_of_warning(struct session *s, const char *line)
{
	if (!strncmp(line, s->trace->script, strlen(s->trace->script)) &&
	    strstr(line, ": WARNING: ")) {
		s->warning = 2;
		return true;
	}
	if (!s->warning || strstr(line, "ERROR")) {
		s->warning = 0;
		return false;
	}
	s->warning--;
	if (strchr(line, '~') && !line[strspn(line, " ~\n")])
		s->warning = 0;
	return true;
}

/* What bpftrace prints as it starts, to stdout or stderr by its version. */
static bool is_start(struct session *s, const char *line)
{
	return is_of_warning(s, line) || !strncmp(line, "Attaching ", 10) ||
	       !strncmp(line, "Attached ", 9) || !strcmp(line, "ready\n");
}

/* Messages of bpftrace itself, before it is ready, are not script output. */
static void bpftrace_take_line(struct session *s)
{
	const char *line = s->out.text;

	if (s->ready)
		kf_trace_rows_line(s->rows, line, put_output);
	else if (!is_start(s, line) || s->trace->cli->verbose)
		put_line(stdout, line);
	if (!s->ready && !strcmp(line, "ready\n"))
		set_ready(s);
}

static void bpftrace_take_error(struct session *s)
{
	const char *line = s->err.text;
	bool drop = is_start(s, line) || kf_bpftrace_is_noise(line);

	if (!drop || s->trace->cli->verbose)
		put_line(stderr, line);
}

/* Returns false at the end of what is read. */
static bool bpftrace_read(struct session *s, int fd, struct bpftrace_line *line,
			  void (*take)(struct session *s))
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0 && errno == EINTR)
		return true;
	for (ssize_t i = 0; i < n; i++) {
		line->text[line->len++] = buf[i];
		if (buf[i] != '\n' && line->len < sizeof(line->text) - 1)
			continue;
		line->text[line->len] = '\0';
		line->len = 0;
		take(s);
	}
	if (n <= 0 && line->len) {
		line->text[line->len] = '\0';
		line->len = 0;
		take(s);
	}
	return n > 0;
}

static bool bpftrace_take_output(struct session *s)
{
	bool more = bpftrace_read(s, s->fds[FD_OUTPUT].fd, &s->out,
				  bpftrace_take_line);

	fflush(stdout);
	return more;
}

static bool bpftrace_take_errors(struct session *s)
{
	return bpftrace_read(s, s->fds[FD_ERRORS].fd, &s->err,
			     bpftrace_take_error);
}

/*
 * Signals of the terminal reach the program directly; other signals are
 * forwarded.
 */
static void take_signal(struct session *s)
{
	struct signalfd_siginfo si;

	if (read(s->fds[FD_SIGNAL].fd, &si, sizeof(si)) != sizeof(si))
		return;
	if (s->interrupted) {
		s->given_up = true;
		kill(s->tracer, SIGKILL);
	} else if (!s->program.pid || !s->ready) {
		interrupt_tracer(s);
	} else if (si.ssi_code != SI_KERNEL) {
		kill(s->program.pid, (int)si.ssi_signo);
	}
}

static void end_program(struct session *s)
{
	s->status = kf_child_status(s->program.pid);
	s->program.pid = 0;
	close(s->fds[FD_PROGRAM].fd);
	s->fds[FD_PROGRAM].fd = -1;
	s->drain_until = bpftrace_now_ms() + DRAIN_MS;
}

/* Called when the tracer printed nothing for a while and should end. */
static void look_at_tracer(struct session *s)
{
	s->asleep = is_asleep(s->tracer) ? s->asleep + 1 : 0;
	if (s->asleep < LOOKS)
		return;
	if (!s->interrupted || count_files(s->tracer) >= s->nr_files)
		interrupt_tracer(s);
}

/* What a program maps as it starts is noted at once, the rest by and by. */
static void look_at_maps(struct session *s)
{
	if (bpftrace_now_ms() < s->maps_at)
		return;
	kf_trace_rows_look(s->rows);
	s->maps_at = bpftrace_now_ms() + s->maps_ms;
	s->maps_ms = KF_MIN(s->maps_ms * 3 / 2, (int64_t)LAST_MAPS_MS);
}

static int poll_output(struct session *s)
{
	bool ending = s->drain_until || s->interrupted;
	bool maps = is_of_one(s) && s->ready && !s->drain_until;
	int n = poll(s->fds, NR_FDS,
		     ending ? LOOK_MS
		     : maps ? (int)s->maps_ms
			    : -1);

	if (maps)
		look_at_maps(s);
	if (ending && !n)
		look_at_tracer(s);
	else
		s->asleep = 0;
	if (s->drain_until && !s->interrupted &&
	    bpftrace_now_ms() > s->drain_until)
		interrupt_tracer(s);
	return n;
}

static void bpftrace_follow(struct session *s)
{
	for (;;) {
		int n = poll_output(s);

		if (n < 0 && errno != EINTR)
			return;
		if (n <= 0)
			continue;
		if (s->fds[FD_SIGNAL].revents)
			take_signal(s);
		if (s->fds[FD_PROGRAM].revents)
			end_program(s);
		if (s->fds[FD_ERRORS].revents && !bpftrace_take_errors(s))
			s->fds[FD_ERRORS].fd = -1;
		if (s->fds[FD_OUTPUT].revents && !bpftrace_take_output(s))
			return;
	}
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Called at the end of the tracer's output. */
static int bpftrace_finish(struct session *s)
{
	int tracer;

	while (s->fds[FD_ERRORS].fd >= 0 && bpftrace_take_errors(s))
		;
	kf_trace_rows_end(s->rows, put_output);
	fflush(stdout);
	if (s->program.pid && !s->ready)
		kf_child_drop(&s->program);
	tracer = kf_child_status(s->tracer);
	if (!s->ready) {
		if (!s->interrupted)
			kf_error(
				"trace: bpftrace could not attach: see its message above, and konfiscator doctor");
		return KF_EXIT_FAILED;
	}
	if (s->program.pid) {
		kf_error("trace: bpftrace ended before the program");
		s->status = kf_child_status(s->program.pid);
	}
	if (s->given_up) {
		kf_error("trace: given up: the counts are lost");
		return s->status ? s->status : KF_EXIT_FAILED;
	}
	if (tracer) {
		kf_error(
			"trace: bpftrace failed with status %d: its counts are lost",
			tracer);
		return s->status ? s->status : KF_EXIT_FAILED;
	}
	return s->status;
}

/* The reason why bpftrace cannot trace, or NULL. */
static const char *what_is_missing(const char *tool)
{
	if (!tool)
		return "bpftrace is not installed";
	if (geteuid())
		return "bpftrace needs root";
	if (access(KF_UPROBES, F_OK))
		return "the kernel has no uprobes, or /sys is not mounted: "
		       "there is no " KF_UPROBES;
	return NULL;
}

int kf_trace_bpftrace(const struct kf_trace *t)
{
	struct session s = {.trace = t};
	int status = KF_EXIT_FAILED, unused;
	char *tool = kf_program_find("bpftrace", &unused);
	const char *missing = what_is_missing(tool);

	if (missing) {
		kf_error("trace: %s", missing);
		free(tool);
		return status;
	}
	for (int i = 0; i < NR_FDS; i++)
		s.fds[i].fd = -1;
	s.fds[FD_SIGNAL] = (struct pollfd){open_signals(), POLLIN, 0};
	if (!t->argv || !kf_child_hold(&s.program, t->argv, t->preload)) {
		int32_t pid = t->argv ? s.program.pid : t->pid;

		s.rows = kf_trace_rows_new(pid);
		if (!start_tracer(&s, tool)) {
			bpftrace_follow(&s);
			status = bpftrace_finish(&s);
		} else if (t->argv) {
			kf_child_drop(&s.program);
		}
	}
	free(tool);
	return status;
}
