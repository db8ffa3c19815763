/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs tracers. Each has a thread, which starts bpftrace, makes it print its
 * maps at intervals (with SIGUSR1), reads its output, and restarts it when it
 * has ended. SystemTap is not run: only the page of its module is read at
 * intervals.
 */
#include "config.h"

#include "exporter/trace/trace.h"
#include "exporter/collect/collector.h"
#include "exporter/clock.h"
#include "exporter/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_LINE (256 * KF_KIB)
#define FIRST_WAIT_S 1
#define LONGEST_WAIT_S 300
#define BAD_PAGE (-1)
#define STABLE_S 60 /* after so long the restart delay is reset */
#define READY "{\"type\": \"printf\", \"data\": \"ready\\n\"}"

struct tracer {
	const struct kf_trace_conf *conf;
	uint64_t began_ns; /* CLOCK_REALTIME of the exporter */
	char script[PATH_MAX];
	pthread_t thread;
	pthread_mutex_t lock; /* guards the fields up to the next comment */
	pthread_cond_t wake;  /* @stop was set */
	struct kf_trace_values values;
	bool stop;
	bool up; /* it runs with its probes attached */
	uint64_t starts;
	uint64_t lines[KF_NR_TRACE_LINES];
	/* used by the thread only */
	pid_t pid;
	int fd;
	char *line;
	size_t len;
	bool too_long; /* skip the rest of the line */
	bool gone;     /* there was no page: the next page is of another run */
	int logged;    /* last logged error of its page */
};

struct kf_tracers {
	unsigned int nr;
	struct tracer tracer[KF_MAX_TRACES];
};

static double tracer_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Other threads may hold locks of libc: make only system calls until exec. */
static void __attribute__((noreturn))
tracer_run(const struct tracer *t, int out, const sigset_t *none)
{
	char *const words[] = {(char *)"bpftrace",
			       (char *)"-f",
			       (char *)"json",
			       (char *)(size_t)t->script,
			       (char *)(size_t)t->conf->library,
			       (char *)"0",
			       NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, none, NULL);
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
	    dup2(out, STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0)
		execvp(words[0], words);
	_exit(127);
}

static bool tracer_start(struct tracer *t)
{
	sigset_t none;
	int fds[2];

	sigemptyset(&none);
	if (pipe2(fds, O_CLOEXEC))
		return false;
	t->pid = fork();
	if (t->pid == 0)
		tracer_run(t, fds[1], &none);
	close(fds[1]);
	if (t->pid < 0) {
		close(fds[0]);
		return false;
	}
	t->fd = fds[0];
	t->len = 0;
	t->too_long = false;
	pthread_mutex_lock(&t->lock);
	t->starts++;
	pthread_mutex_unlock(&t->lock);
	return true;
}

static void tracer_take_line(struct tracer *t)
{
	enum kf_trace_line result = KF_TRACE_BAD;

	pthread_mutex_lock(&t->lock);
	if (!t->too_long)
		result = kf_trace_take(&t->values, t->line, t->len);
	t->lines[result]++;
	if (t->len == strlen(READY) && memcmp(t->line, READY, t->len) == 0)
		t->up = true;
	pthread_mutex_unlock(&t->lock);
	t->len = 0;
	t->too_long = false;
}

/* Return false at the end of the output. */
static bool tracer_take_output(struct tracer *t)
{
	char buf[16384];
	ssize_t n = read(t->fd, buf, sizeof(buf)), i;

	if (n < 0)
		return errno == EINTR;
	for (i = 0; i < n; i++) {
		if (buf[i] == '\n')
			tracer_take_line(t);
		else if (t->len < MAX_LINE)
			t->line[t->len++] = buf[i];
		else
			t->too_long = true;
	}
	return n > 0;
}

static bool tracer_flag_is_set(struct tracer *t, const bool *flag)
{
	bool value;

	pthread_mutex_lock(&t->lock);
	value = *flag;
	pthread_mutex_unlock(&t->lock);
	return value;
}

/* Read until the tracer closes its output, or must end. */
static void tracer_follow(struct tracer *t)
{
	struct pollfd p = {.fd = t->fd, .events = POLLIN};
	double ask = tracer_now() + t->conf->every_s;

	while (!tracer_flag_is_set(t, &t->stop)) {
		/* check @stop often, since nothing wakes poll() */
		if (poll(&p, 1, 100) > 0 && !tracer_take_output(t))
			return;
		if (tracer_now() < ask || !tracer_flag_is_set(t, &t->up))
			continue;
		kill(t->pid, SIGUSR1);
		ask = tracer_now() + t->conf->every_s;
	}
}

static void tracer_finish(struct tracer *t)
{
	int status = 0;
	char how[64];

	/* the last output of a tracer that ended by itself was already read */
	kill(t->pid, SIGKILL);
	while (waitpid(t->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(t->fd);
	pthread_mutex_lock(&t->lock);
	t->up = false;
	kf_trace_fold(&t->values);
	pthread_mutex_unlock(&t->lock);
	if (WIFEXITED(status))
		snprintf(how, sizeof(how), "status %d", WEXITSTATUS(status));
	else
		snprintf(how, sizeof(how), "signal %d", WTERMSIG(status));
	if (!tracer_flag_is_set(t, &t->stop))
		kf_log(KF_LOG_WARN, "tracer ended: restarting it", "script",
		       t->values.script, "how", how, NULL);
}

/* Return true if the tracer must end. */
static bool tracer_pause(struct tracer *t, unsigned int seconds)
{
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&t->lock);
	while (!t->stop && rc == 0)
		rc = pthread_cond_clockwait(&t->wake, &t->lock, CLOCK_MONOTONIC,
					    &until);
	pthread_mutex_unlock(&t->lock);
	return rc == 0;
}

static void *tracer_supervise(void *arg)
{
	unsigned int wait_s = FIRST_WAIT_S;
	struct tracer *t = arg;
	double began;

	do {
		began = tracer_now();
		if (tracer_start(t)) {
			tracer_follow(t);
			tracer_finish(t);
		}
		if (tracer_now() - began > STABLE_S)
			wait_s = FIRST_WAIT_S;
		if (tracer_pause(t, wait_s))
			break;
		wait_s = KF_MIN(2 * wait_s, (unsigned int)LONGEST_WAIT_S);
	} while (true);
	return NULL;
}

/*
 * @error is one of errno or BAD_PAGE; each is logged when it is news. Only if
 * there is no file the run has ended; if it cannot be read now, the run may
 * continue.
 */
static void tracer_page_is_wrong(struct tracer *t, int error)
{
	pthread_mutex_lock(&t->lock);
	t->up = false;
	if (error == ENOENT) {
		kf_trace_fold(&t->values);
		t->gone = true;
	}
	pthread_mutex_unlock(&t->lock);
	if (t->logged != error)
		kf_log(KF_LOG_WARN, "cannot read the page of a tracer", "path",
		       t->conf->page, "error",
		       error == BAD_PAGE
			       ? "not written by script " KF_TRACE_PAGE
			       : strerror(error),
		       NULL);
	t->logged = error;
}

static void tracer_take_page(struct tracer *t)
{
	enum kf_trace_page page;

	pthread_mutex_lock(&t->lock);
	page = kf_trace_take_page(&t->values, t->line, t->len, t->lines);
	t->up = page != KF_TRACE_PAGE_BAD;
	t->starts += t->up && (t->gone || page == KF_TRACE_PAGE_ANOTHER);
	pthread_mutex_unlock(&t->lock);
	if (page == KF_TRACE_PAGE_BAD) {
		tracer_page_is_wrong(t, BAD_PAGE);
		return;
	}
	t->gone = false;
	t->logged = 0;
}

static void tracer_look(struct tracer *t)
{
	/* a FIFO may have no writer */
	int fd = open(t->conf->page, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = -1;
	int error;

	t->len = 0;
	while (fd >= 0 && t->len < MAX_LINE &&
	       (n = read(fd, t->line + t->len, MAX_LINE - t->len)) > 0)
		t->len += (size_t)n;
	error = errno;
	if (fd >= 0)
		close(fd);
	if (n >= 0) {
		tracer_take_page(t);
		return;
	}
	tracer_page_is_wrong(t, error);
}

static void *tracer_follow_page(void *arg)
{
	struct tracer *t = arg;

	t->gone = true;
	do
		tracer_look(t);
	while (!tracer_pause(t, t->conf->every_s));
	return NULL;
}

static bool tracer_may_run(const struct tracer *t)
{
	const char *missing = NULL;

	if (access(t->conf->library, R_OK) != 0)
		missing = t->conf->library;
	if (access(t->script, R_OK) != 0)
		missing = t->script;
	if (missing)
		fprintf(stderr, "konfiscator_exporter: --trace: %s: %s\n",
			missing, strerror(errno));
	return !missing;
}

static bool tracer_begin(struct tracer *t, const struct kf_trace_conf *conf,
			 const char *name)
{
	bool page = strcmp(name, KF_TRACE_PAGE) == 0;
	int error;

	t->conf = conf;
	t->began_ns = kf_clock_ns(CLOCK_REALTIME);
	t->values.script = name;
	/* the module of a page may have begun at any time */
	t->values.since_ns = page ? 0 : t->began_ns;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wake, NULL);
	snprintf(t->script, sizeof(t->script), "%s/%s.bt", conf->scripts, name);
	t->line = malloc(MAX_LINE);
	if (!page && !tracer_may_run(t))
		return false;
	error = t->line ? pthread_create(&t->thread, NULL,
					 page ? tracer_follow_page
					      : tracer_supervise,
					 t)
			: ENOMEM;
	if (!error)
		return true;
	fprintf(stderr, "konfiscator_exporter: --trace: %s\n", strerror(error));
	return false;
}

struct kf_tracers *kf_tracers_start(const struct kf_trace_conf *conf)
{
	struct kf_tracers *t = calloc(1, sizeof(*t));

	while (t && t->nr < conf->nr) {
		if (!tracer_begin(&t->tracer[t->nr], conf, conf->name[t->nr])) {
			free(t->tracer[t->nr].line);
			kf_tracers_stop(t);
			return NULL;
		}
		t->nr++;
	}
	if (!t)
		fprintf(stderr, "konfiscator_exporter: out of memory\n");
	return t;
}

void kf_tracers_stop(struct kf_tracers *t)
{
	unsigned int i;

	for (i = 0; t && i < t->nr; i++) {
		pthread_mutex_lock(&t->tracer[i].lock);
		t->tracer[i].stop = true;
		pthread_cond_signal(&t->tracer[i].wake);
		pthread_mutex_unlock(&t->tracer[i].lock);
	}
	for (i = 0; t && i < t->nr; i++) {
		pthread_join(t->tracer[i].thread, NULL);
		pthread_mutex_destroy(&t->tracer[i].lock);
		pthread_cond_destroy(&t->tracer[i].wake);
		free(t->tracer[i].line);
	}
	free(t);
}

static void tracer_show_count(const struct tracer *t, struct kf_page *page,
			      const char *name, const char *help,
			      const char *labels, uint64_t count)
{
	struct kf_series *s = kf_family_int(
		page, kf_page_family(page, name, KF_METRIC_COUNTER, "", help),
		labels, count);

	kf_series_created(s, t->began_ns);
}

static void tracer_show_state(const struct tracer *t, struct kf_page *page)
{
	static const char *const results[KF_NR_TRACE_LINES] = {
		"taken", "ignored", "bad"};
	struct kf_label label[] = {{"script", t->values.script},
				   {"result", NULL}};
	const char *labels = kf_page_labels(page, label, 1);
	unsigned int i;

	kf_family_int(
		page,
		kf_page_family(
			page, "konfiscator_trace_up", KF_METRIC_GAUGE, "",
			"1 if the tracer runs with its probes set, otherwise 0"),
		labels, t->up);
	tracer_show_count(t, page, "konfiscator_trace_starts_total",
			  "times the tracer was started", labels, t->starts);
	tracer_show_count(t, page, "konfiscator_trace_lost_events_total",
			  "events that the tracer reports as lost", labels,
			  t->values.lost);
	for (i = 0; i < KF_NR_TRACE_LINES; i++) {
		label[1].value = results[i];
		tracer_show_count(t, page, "konfiscator_trace_lines_total",
				  "output lines of the tracer by result",
				  kf_page_labels(page, label, 2), t->lines[i]);
	}
}

void kf_tracers_show(struct kf_tracers *t, struct kf_page *page, bool latency)
{
	uint64_t dropped = 0;
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		struct tracer *one = &t->tracer[i];

		if ((strcmp(one->values.script, "latency") == 0) != latency)
			continue;
		pthread_mutex_lock(&one->lock);
		tracer_show_state(one, page);
		kf_trace_show(&one->values, page);
		dropped += one->values.dropped;
		pthread_mutex_unlock(&one->lock);
	}
	kf_page_dropped(page, latency ? "latency" : "trace", dropped);
}
