/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The HTTP server, on libmicrohttpd: a thread for each of a bounded number of
 * connections, since a scrape reads files and may wait for the disk.
 */
#include "config.h"

#include "exporter/http.h"
#include "exporter/listen.h"
#include "exporter/page.h"
#include "exporter/writer.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CONNECTIONS 256
#define CONNECTION_MEMORY (32 * KF_KIB)
#define STACK_SIZE (256 * KF_KIB)
#define IDLE_TIMEOUT_S 15
#define DEFAULT_SCRAPE_S 120.0
#define MAX_SCRAPE_S 3600.0

#define TEXT "text/plain; charset=utf-8"

const char *const kf_handler_names[KF_NR_HANDLERS] = {
	[KF_HANDLER_METRICS] = "metrics", [KF_HANDLER_PAGE] = "page",
	[KF_HANDLER_HEALTHY] = "healthy", [KF_HANDLER_READY] = "ready",
	[KF_HANDLER_OTHER] = "other",
};

const unsigned int kf_codes[KF_NR_CODES] = {200, 404, 405, 500, 503};

struct kf_http {
	const struct kf_options *options;
	const struct kf_sources *sources;
	struct MHD_Daemon *daemon[KF_MAX_LISTEN];
	unsigned int nr_daemons;
	atomic_uint busy; /* requests of the kind that is limited */
};

/* One request, from its first line to the last byte of its answer. */
struct request {
	enum kf_handler handler;
	bool counted; /* among @busy */
};

static bool limited(enum kf_handler h)
{
	return h == KF_HANDLER_METRICS || h == KF_HANDLER_PAGE;
}

static enum MHD_Result answer(struct kf_http *http, struct MHD_Connection *c,
			      enum kf_handler handler, enum kf_code code,
			      const char *type, struct kf_buf *body)
{
	static const char *const headers[][2] = {
		{"Content-Security-Policy",
		 "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cache-Control", "no-store"},
	};
	struct MHD_Response *r;
	enum MHD_Result result;
	size_t i;

	r = MHD_create_response_from_buffer(body->len, body->data,
					    MHD_RESPMEM_MUST_FREE);
	if (!r) {
		kf_buf_free(body);
		return MHD_NO;
	}
	MHD_add_response_header(r, "Content-Type", type);
	for (i = 0; i < KF_ARRAY_SIZE(headers); i++)
		MHD_add_response_header(r, headers[i][0], headers[i][1]);
	if (handler == KF_HANDLER_METRICS)
		MHD_add_response_header(r, "Vary", "Accept");
	if (code == KF_CODE_405)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	if (code == KF_CODE_503)
		MHD_add_response_header(r, "Retry-After", "1");
	atomic_fetch_add(&http->sources->requests->count[handler][code], 1);
	result = MHD_queue_response(c, kf_codes[code], r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result say(struct kf_http *http, struct MHD_Connection *c,
			   enum kf_handler handler, enum kf_code code,
			   const char *text)
{
	struct kf_buf body = {0};

	kf_buf_str(&body, text);
	if (body.failed)
		return MHD_NO;
	return answer(http, c, handler, code, TEXT, &body);
}

/* A scraper says how long it waits; a tenth of it is left for the way back. */
static void set_deadline(struct kf_scrape *scrape, struct MHD_Connection *c)
{
	const char *text = MHD_lookup_connection_value(
		c, MHD_HEADER_KIND, "X-Prometheus-Scrape-Timeout-Seconds");
	double seconds = DEFAULT_SCRAPE_S;
	char *end;

	if (text) {
		double v = strtod(text, &end);

		if (end != text && v > 0 && v < MAX_SCRAPE_S)
			seconds = v;
	}
	seconds *= 0.9;
	clock_gettime(CLOCK_MONOTONIC, &scrape->deadline);
	scrape->deadline.tv_sec += (time_t)seconds;
	scrape->deadline.tv_nsec +=
		(long)((seconds - (double)(time_t)seconds) * 1e9);
	if (scrape->deadline.tv_nsec >= 1000000000) {
		scrape->deadline.tv_nsec -= 1000000000;
		scrape->deadline.tv_sec++;
	}
}

static enum MHD_Result metrics(struct kf_http *http, struct MHD_Connection *c)
{
	struct kf_scrape scrape = {.sources = http->sources};
	const struct kf_format *format;
	struct kf_buf body = {0};

	format = kf_format_choose(
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept"));
	set_deadline(&scrape, c);
	kf_scrape_run(&scrape);
	format->write(&scrape.page, &body);
	if (scrape.page.failed)
		body.failed = true;
	kf_page_release(&scrape.page);
	if (!body.failed)
		return answer(http, c, KF_HANDLER_METRICS, KF_CODE_200,
			      format->content_type, &body);
	kf_buf_free(&body);
	return say(http, c, KF_HANDLER_METRICS, KF_CODE_500, "out of memory\n");
}

static enum MHD_Result page(struct kf_http *http, struct MHD_Connection *c)
{
	struct kf_buf body = {0};

	kf_page_html(http->sources, http->options->telemetry_path, &body);
	if (!body.failed)
		return answer(http, c, KF_HANDLER_PAGE, KF_CODE_200,
			      "text/html; charset=utf-8", &body);
	kf_buf_free(&body);
	return say(http, c, KF_HANDLER_PAGE, KF_CODE_500, "out of memory\n");
}

static enum kf_handler route(const struct kf_http *http, const char *url)
{
	if (strcmp(url, http->options->telemetry_path) == 0)
		return KF_HANDLER_METRICS;
	if (strcmp(url, "/") == 0)
		return KF_HANDLER_PAGE;
	if (strcmp(url, "/-/healthy") == 0)
		return KF_HANDLER_HEALTHY;
	if (strcmp(url, "/-/ready") == 0)
		return KF_HANDLER_READY;
	return KF_HANDLER_OTHER;
}

static enum MHD_Result dispatch(struct kf_http *http, struct MHD_Connection *c,
				struct request *r)
{
	unsigned int max = http->options->max_requests;

	if (limited(r->handler) && !r->counted) {
		r->counted = true;
		if (atomic_fetch_add(&http->busy, 1) >= max && max)
			return say(http, c, r->handler, KF_CODE_503,
				   "too many requests at once\n");
	}
	switch (r->handler) {
	case KF_HANDLER_METRICS:
		return metrics(http, c);
	case KF_HANDLER_PAGE:
		return page(http, c);
	case KF_HANDLER_HEALTHY:
		return say(http, c, r->handler, KF_CODE_200, "healthy\n");
	case KF_HANDLER_READY:
		return say(http, c, r->handler, KF_CODE_200, "ready\n");
	default:
		return say(http, c, r->handler, KF_CODE_404, "not found\n");
	}
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *c,
			      const char *url, const char *method,
			      const char *version, const char *upload_data,
			      size_t *upload_size, void **con_cls)
{
	struct kf_http *http = cls;
	struct request *r = *con_cls;

	if (!r) {
		r = calloc(1, sizeof(*r));
		if (!r)
			return MHD_NO;
		r->handler = route(http, url);
		*con_cls = r;
		if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
		    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
			return say(http, c, r->handler, KF_CODE_405,
				   "only GET and HEAD\n");
		return MHD_YES;
	}
	/* a body is of no use here: it is let through and dropped */
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	return dispatch(http, c, r);
}

static void completed(void *cls, struct MHD_Connection *c, void **con_cls,
		      enum MHD_RequestTerminationCode why)
{
	struct kf_http *http = cls;
	struct request *r = *con_cls;

	if (r && r->counted)
		atomic_fetch_sub(&http->busy, 1);
	free(r);
	*con_cls = NULL;
}

/* No path of ours needs an escape, so none is undone: %00 cuts nothing off. */
static size_t keep_escapes(void *cls, struct MHD_Connection *c, char *s)
{
	return strlen(s);
}

static void be_quiet(void *cls, const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	kf_log(KF_LOG_DEBUG, "http", "detail", text, NULL);
}

static bool serve(struct kf_http *http, const char *address)
{
	struct MHD_Daemon *d;
	char name[128];
	int fd = kf_listen(address, name, sizeof(name));

	if (fd < 0)
		return false;
	d = MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION |
			MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
			MHD_USE_ITC | MHD_USE_ERROR_LOG,
		0, NULL, NULL, handle, http, MHD_OPTION_EXTERNAL_LOGGER,
		be_quiet, NULL, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes,
		NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_TIMEOUT_S,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_SIZE,
		MHD_OPTION_NOTIFY_COMPLETED, completed, http, MHD_OPTION_END);
	if (!d) {
		fprintf(stderr,
			"konfiscator_exporter: cannot serve on %s: %s\n",
			address, strerror(errno));
		close(fd);
		return false;
	}
	http->daemon[http->nr_daemons++] = d;
	kf_log(KF_LOG_INFO, "listening", "address", name, NULL);
	return true;
}

struct kf_http *kf_http_start(const struct kf_options *options,
			      const struct kf_sources *sources)
{
	struct kf_http *http = calloc(1, sizeof(*http));
	unsigned int i;

	if (!http) {
		fprintf(stderr, "konfiscator_exporter: out of memory\n");
		return NULL;
	}
	http->options = options;
	http->sources = sources;
	for (i = 0; i < options->nr_listen; i++) {
		if (!serve(http, options->listen[i])) {
			kf_http_stop(http);
			return NULL;
		}
	}
	return http;
}

void kf_http_stop(struct kf_http *http)
{
	if (!http)
		return;
	while (http->nr_daemons)
		MHD_stop_daemon(http->daemon[--http->nr_daemons]);
	free(http);
}
