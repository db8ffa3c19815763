/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The main function of konfiscator_exporter.
 */
#include "config.h"

#include "exporter/clock.h"
#include "exporter/http/activation.h"
#include "exporter/http/http.h"
#include "exporter/replace.h"
#include "exporter/http/tls.h"
#include "exporter/http/web.h"
#include "exporter/collect/durations.h"
#include "exporter/push/push.h"
#include "exporter/sandbox/sandbox.h"
#include "exporter/collect/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define ME "konfiscator_exporter"
#define STATE_DIR "/var/lib/konfiscator"
#define MAX_FILES 131072 /* open at a time */

static bool is_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* procfs is required; cgroups are optional. */
static bool check_places(const struct kf_options *o)
{
	if (!is_directory(o->procfs)) {
		fprintf(stderr, ME ": --path.procfs: %s: %s\n", o->procfs,
			strerror(errno));
		return false;
	}
	if (kf_collector_is_on(&kf_collect_cgroup, o->collector) &&
	    !is_directory(o->cgroupfs))
		kf_log(KF_LOG_WARN,
		       "no cgroup file system: limits are not served", "path",
		       o->cgroupfs, "error", strerror(errno), NULL);
	return true;
}

/* Return the state file, or NULL for none. */
static const char *choose_state_file(const struct kf_options *o)
{
	if (o->state_file)
		return *o->state_file ? o->state_file : NULL;
	if (access(STATE_DIR, W_OK | X_OK) == 0)
		return STATE_DIR "/state";
	kf_log(KF_LOG_INFO,
	       "no state file: after a restart counters start from ledgers and stats files",
	       "directory", STATE_DIR, "error", strerror(errno), NULL);
	return NULL;
}

static int exporter_write(const struct kf_options *o, const struct kf_buf *out)
{
	if (!o->textfile) {
		if (fwrite(out->data, 1, out->len, stdout) == out->len &&
		    fflush(stdout) == 0)
			return 0;
		fprintf(stderr, ME ": cannot write to stdout: %s\n",
			strerror(errno));
		return 1;
	}
	if (kf_file_replace(o->textfile, 0644, out->data, out->len) == 0)
		return 0;
	fprintf(stderr, ME ": cannot write %s: %s\n", o->textfile,
		errno == EEXIST ? "not a regular file" : strerror(errno));
	return 1;
}

static int print_once(const struct kf_options *o,
		      const struct kf_sources *sources)
{
	struct kf_scrape scrape = {.sources = sources};
	struct kf_buf out = {0};
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &scrape.deadline);
	scrape.deadline.tv_sec += 3600;
	kf_scrape_run(&scrape);
	kf_format_classic.write(&scrape.page, &out);
	if (scrape.page.failed || out.failed) {
		fprintf(stderr, ME ": out of memory\n");
		rc = 1;
	} else {
		rc = exporter_write(o, &out);
	}
	kf_page_release(&scrape.page);
	kf_buf_free(&out);
	return rc;
}

/* Call before a tracer is started, which must not inherit the sockets. */
static bool take_sockets(struct kf_options *o)
{
	int nr = kf_activation_sockets(o->socket, KF_MAX_LISTEN);

	if (nr == 0 && o->systemd_socket)
		fprintf(stderr, ME
			": --web.systemd-socket: systemd passed no socket\n");
	o->nr_sockets = nr > 0 ? (unsigned int)nr : 0;
	return nr > 0 || (nr == 0 && !o->systemd_socket);
}

/* Each process with an open stats file takes two descriptors. */
static void raise_files(void)
{
	struct rlimit files;
	rlim_t wanted;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	wanted = KF_MIN(files.rlim_max, (rlim_t)MAX_FILES);
	/* a service may not be allowed to set even its current limit */
	if (files.rlim_cur >= wanted)
		return;
	files.rlim_cur = wanted;
	setrlimit(RLIMIT_NOFILE, &files);
}

static bool exporter_has_tracer(const struct kf_options *o, const char *name)
{
	unsigned int i;

	for (i = 0; i < o->trace.nr; i++) {
		if (o->trace.name[i] == name)
			return true;
	}
	return false;
}

/* Reload the naming rules; tracers do not change. */
static void exporter_reload(const struct kf_options *o, struct kf_groups *g)
{
	const char *name[KF_MAX_TRACES];
	struct kf_naming *naming;
	char error[600];
	unsigned int i;

	if (!o->config) {
		kf_log(KF_LOG_INFO, "nothing to reload: no --config.file",
		       NULL);
		return;
	}
	naming = kf_naming_read(o->config, error, sizeof(error));
	if (!naming) {
		kf_log(KF_LOG_ERROR,
		       "configuration has an error: keeping the previous one",
		       "error", error, NULL);
		return;
	}
	for (i = kf_naming_traces(naming, name); i--;) {
		if (!exporter_has_tracer(o, name[i]))
			kf_log(KF_LOG_WARN,
			       "new tracer ignored until the exporter is restarted",
			       "tracer", name[i], NULL);
	}
	kf_naming_free(kf_groups_rename(g, naming));
	kf_log(KF_LOG_INFO, "configuration reloaded", "path", o->config, NULL);
}

static int exporter_serve(const struct kf_options *o,
			  struct kf_sources *sources)
{
	struct kf_http *http;
	const struct timespec second = {.tv_sec = 1};
	sigset_t end;
	int sig;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	/* on a terminal SIGHUP ends the process */
	if (!isatty(STDERR_FILENO))
		sigaddset(&end, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!kf_sandbox_enter(o, sources->groups->conf.state_file))
		return 1;
	if (o->trace.nr) {
		sources->tracers = kf_tracers_start(&o->trace);
		if (!sources->tracers)
			return 1;
	}
	raise_files();
	http = kf_http_start(o, sources);
	if (!http || !kf_push_start(o, sources)) {
		kf_push_stop();
		kf_http_stop(http);
		kf_tracers_stop(sources->tracers);
		return 1;
	}
	kf_sandbox_log();
	while ((sig = sigtimedwait(&end, NULL, &second)) < 0 || sig == SIGHUP) {
		if (sig == SIGHUP)
			exporter_reload(o, sources->groups);
		kf_http_tick(http);
	}
	kf_log(KF_LOG_INFO, "ending", "signal", strsignal(sig), NULL);
	kf_push_stop();
	kf_http_stop(http);
	kf_tracers_stop(sources->tracers);
	return 0;
}

/* Add the configuration's tracers that the command line does not have. */
static void add_traces(struct kf_options *o, const struct kf_naming *n)
{
	const char *name[KF_MAX_TRACES];
	unsigned int nr = kf_naming_traces(n, name), i;

	for (i = 0; i < nr; i++) {
		if (!exporter_has_tracer(o, name[i]))
			o->trace.name[o->trace.nr++] = name[i];
	}
}

static bool read_config(struct kf_options *o, struct kf_naming **naming)
{
	char error[600];

	if (!o->config)
		return true;
	*naming = kf_naming_read(o->config, error, sizeof(error));
	if (!*naming) {
		fprintf(stderr, ME ": --config.file: %s\n", error);
		return false;
	}
	add_traces(o, *naming);
	return true;
}

/* kf_web_open() prints errors. */
static bool check_web(const struct kf_options *o)
{
	struct kf_web *web = kf_web_open(o->web_config, 0);
	const struct kf_web_config *c = web ? kf_web_get(web) : NULL;
	bool right = c && (!c->tls || kf_tls_begin(c, web));

	if (c && c->tls)
		kf_tls_end();
	kf_web_put(web, c);
	kf_web_close(web);
	return right;
}

/*
 * Limit the arenas of malloc. Requests and readers are short-lived threads;
 * with an arena for each, long-lived blocks would keep most pages of every
 * arena.
 */
static void share_arenas(void)
{
	if (!getenv("MALLOC_ARENA_MAX"))
		mallopt(M_ARENA_MAX, 2);
}

int main(int argc, char **argv)
{
	static struct kf_requests requests;
	static struct kf_sent sent;
	static struct kf_durations scrapes;
	static struct kf_groups groups;
	struct kf_options o;
	struct kf_groups_conf conf;
	struct kf_sources sources = {.groups = &groups,
				     .requests = &requests,
				     .scrapes = &scrapes,
				     .started_ns = kf_clock_ns(CLOCK_REALTIME)};
	struct kf_naming *naming = NULL;
	enum kf_parse parse = kf_options_parse(&o, argc, argv);
	int rc;

	if (parse != KF_PARSE_RUN)
		return parse == KF_PARSE_USAGE ? 2 : 0;
	share_arenas();
	kf_log_setup(o.log_level, o.log_format);
	if (!read_config(&o, &naming))
		return 1;
	if (o.check)
		return check_web(&o) ? 0 : 1;
	if (!check_places(&o))
		return 1;
	if (!o.once && !take_sockets(&o))
		return 1;
	conf = (struct kf_groups_conf){
		.dirs = o.nr_dirs ? o.dirs : NULL,
		.procfs = o.procfs,
		.cgroupfs = o.cgroupfs,
		.smaps = o.smaps,
		.tags = kf_collector_is_on(&kf_collect_tags, o.collector),
		.resident =
			kf_collector_is_on(&kf_collect_resident, o.collector),
		.outside = o.containers,
		.exemplars = o.exemplars,
		.naming = naming,
		.state_file = choose_state_file(&o),
		.max = o.groups_max,
		.forget_s = o.forget_after_s,
		.keep_s = o.keep_ended_s,
		.read_only = o.once,
	};
	sources.enabled = o.collector;
	sent.otlp = o.otlp.url;
	sent.pyroscope = o.pyroscope.url;
	sources.sent = &sent;
	sources.own_metrics = !o.disable_exporter_metrics;
	if (kf_groups_init(&groups, &conf) != 0)
		return 1;
	rc = o.once ? print_once(&o, &sources) : exporter_serve(&o, &sources);
	kf_collectors_finish(&groups);
	naming = kf_groups_rename(&groups, NULL);
	kf_groups_finish(&groups);
	kf_naming_free(naming);
	return rc;
}
