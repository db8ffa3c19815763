/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Start and end of the HTTP server: its sockets, its limits and its token.
 */
#include "config.h"

#include "exporter/http/internal.h"
#include "exporter/http/listen.h"
#include "exporter/http/tls.h"
#include "exporter/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Above kf_slow's limit, so that surplus connections reach kf_slow and are not
 * queued.
 */
#define MAX_CONNECTIONS (KF_MAX_CONNECTIONS + 64)
#define CONNECTION_MEMORY (32 * KF_KIB)
#define STACK_SIZE (1 * KF_MIB)
#define IDLE_TIMEOUT_S 15

/* No path needs escapes, so none is decoded: %00 cannot truncate a path. */
static size_t http_keep_escapes(void *cls, struct MHD_Connection *c, char *s)
{
	return strlen(s);
}

static void http_be_quiet(void *cls, const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	kf_log(KF_LOG_DEBUG, "http", "detail", text, NULL);
}

/* The server closes the socket; on failure this function does. */
static bool http_serve(struct kf_http *http, int fd, const char *name)
{
	struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_CERT_CALLBACK, 0,
					(void *)(size_t)kf_tls_certificate},
				       {MHD_OPTION_HTTPS_PRIORITIES, 0,
					(char *)(size_t)kf_tls_priorities()},
				       {MHD_OPTION_END, 0, NULL}};
	struct MHD_Daemon *d;

	d = MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION |
			MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
			MHD_USE_ITC | MHD_USE_ERROR_LOG |
			(http->tls ? MHD_USE_TLS : 0),
		0, NULL, NULL, kf_http_handle, http, MHD_OPTION_EXTERNAL_LOGGER,
		http_be_quiet, NULL, MHD_OPTION_UNESCAPE_CALLBACK,
		http_keep_escapes, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_TIMEOUT_S,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_SIZE,
		MHD_OPTION_NOTIFY_COMPLETED, kf_http_completed, http,
		MHD_OPTION_NOTIFY_CONNECTION, kf_http_connected, http,
		MHD_OPTION_ARRAY,
		http->tls ? tls : &tls[KF_ARRAY_SIZE(tls) - 1], MHD_OPTION_END);
	if (!d) {
		fprintf(stderr,
			"konfiscator_exporter: cannot serve on %s: %s\n", name,
			strerror(errno));
		close(fd);
		return false;
	}
	http->daemon[http->nr_daemons++] = d;
	kf_log(KF_LOG_INFO, "listening", "address", name, "tls",
	       http->tls ? "on" : "off", NULL);
	return true;
}

/* Actions are for clients that are known. */
static bool http_may_act(struct kf_http *http, int fd, const char *name)
{
	if (!http->options->actions || kf_listen_is_local(fd))
		return true;
	http->local = false;
	if (kf_http_knows_clients(http, http->first))
		return true;
	fprintf(stderr,
		"konfiscator_exporter: --web.enable-actions: %s is not a loopback address: it needs users or client certificates in --web.config.file\n",
		name);
	close(fd);
	return false;
}

/* Passed sockets replace the default address. */
static bool http_serve_all(struct kf_http *http)
{
	const struct kf_options *o = http->options;
	unsigned int i;
	char name[160];
	int fd;

	for (i = 0; i < o->nr_sockets; i++) {
		kf_listen_name(o->socket[i], name, sizeof(name));
		if (!http_may_act(http, o->socket[i], name) ||
		    !http_serve(http, o->socket[i], name))
			return false;
	}
	if (o->nr_sockets && !o->listens)
		return true;
	for (i = 0; i < o->nr_listen; i++) {
		fd = kf_listen(o->listen[i], name, sizeof(name));
		if (fd < 0 || !http_may_act(http, fd, name) ||
		    !http_serve(http, fd, name))
			return false;
	}
	return true;
}

/* Keep the first configuration, which decides about TLS. */
static bool http_set_up_web(struct kf_http *http)
{
	http->web = kf_web_open(http->options->web_config,
				http->options->max_wrong);
	if (!http->web)
		return false;
	http->first = kf_web_get(http->web);
	http->tls = http->first && http->first->tls;
	return http->first &&
	       (!http->tls || kf_tls_begin(http->first, http->web));
}

static bool http_set_up_token(struct kf_http *http)
{
	if (!http->options->actions || kf_token_make(http->token))
		return true;
	fprintf(stderr,
		"konfiscator_exporter: --web.enable-actions: no random numbers\n");
	return false;
}

static bool http_start_history(struct kf_http *http)
{
	int error = kf_timelines_start(&http->timelines);

	if (error)
		fprintf(stderr,
			"konfiscator_exporter: cannot start a thread: %s\n",
			strerror(error));
	return !error;
}

struct kf_http *kf_http_start(const struct kf_options *options,
			      const struct kf_sources *sources)
{
	struct kf_http *http = calloc(1, sizeof(*http));

	if (!http) {
		fprintf(stderr, "konfiscator_exporter: out of memory\n");
		return NULL;
	}
	http->options = options;
	http->sources = sources;
	http->site = (struct kf_site){.sources = sources,
				      .telemetry_path = options->telemetry_path,
				      .timelines = &http->timelines,
				      .names = &http->names,
				      .token = options->actions ? http->token
								: NULL};
	http->local = true;
	kf_name_cache_init(&http->names, sources->groups->conf.procfs);
	kf_timelines_init(&http->timelines, sources->groups,
			  options->history_every_s);
	pthread_mutex_init(&http->slow.lock, NULL);
	http->slow.timeout_s = options->timeout_s;
	if (http_set_up_token(http) && http_set_up_web(http) &&
	    http_serve_all(http) && http_start_history(http))
		return http;
	kf_http_stop(http);
	return NULL;
}

void kf_http_stop(struct kf_http *http)
{
	if (!http)
		return;
	while (http->nr_daemons)
		MHD_stop_daemon(http->daemon[--http->nr_daemons]);
	kf_tls_end();
	if (http->first)
		kf_web_put(http->web, http->first);
	kf_web_close(http->web);
	kf_timelines_stop(&http->timelines);
	kf_name_cache_free(&http->names);
	pthread_mutex_destroy(&http->slow.lock);
	free(http);
}

void kf_http_tick(struct kf_http *http)
{
	kf_slow_expire(&http->slow);
}
