/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The HTTP server, using libmicrohttpd: a bounded number of connections, each
 * with a thread, since a scrape reads files and may wait for the disk.
 */
#include "config.h"

#include "exporter/http/http.h"
#include "exporter/site/assets.h"
#include "exporter/collect/choice.h"
#include "exporter/collect/durations.h"
#include "exporter/http/gzip.h"
#include "exporter/http/listen.h"
#include "exporter/http/screen.h"
#include "exporter/site/site.h"
#include "exporter/http/slow.h"
#include "exporter/http/tls.h"
#include "exporter/http/web.h"
#include "exporter/collect/writer.h"

#include <errno.h>
#include <microhttpd.h>
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
#define DEFAULT_SCRAPE_S 120.0
#define MAX_SCRAPE_S 3600.0
#define GZIP_FROM 256 /* bytes; below, it is not worth its head */

#define TEXT "text/plain; charset=utf-8"

const char *const kf_handler_names[KF_NR_HANDLERS] = {
	[KF_HANDLER_METRICS] = "metrics", [KF_HANDLER_PAGE] = "page",
	[KF_HANDLER_HEALTHY] = "healthy", [KF_HANDLER_READY] = "ready",
	[KF_HANDLER_OTHER] = "other",
};

const unsigned int kf_codes[KF_NR_CODES] = {200, 400, 401, 404, 405,
					    421, 429, 500, 503};

struct kf_http {
	const struct kf_options *options;
	const struct kf_sources *sources;
	struct kf_web *web;
	const struct kf_web_config *first; /* at the start */
	bool tls;
	struct kf_slow slow;
	/* addresses and passed sockets */
	struct MHD_Daemon *daemon[2 * KF_MAX_LISTEN];
	unsigned int nr_daemons;
	atomic_uint busy; /* active requests that are limited */
	struct kf_timelines timelines;
	struct kf_name_cache names;
	struct kf_site site;
};

/* A request, from its first line to the last byte of its response. */
struct request {
	enum kf_handler handler;
	bool counted;	      /* among @busy */
	bool lasting;	      /* the answer may be cached forever */
	bool packed;	      /* ... is packed already */
	unsigned int retry_s; /* seconds for Retry-After; 0: 1 */
	const struct kf_web_config *config;
	struct kf_slow_connection *slow;
};

static void http_peer_of(struct MHD_Connection *c, struct kf_peer *peer)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	kf_peer_of(info ? info->client_addr : NULL, peer);
}

static bool http_is_limited(enum kf_handler h)
{
	return h == KF_HANDLER_METRICS || h == KF_HANDLER_PAGE;
}

/* Scripts come, and load data, from this server alone. */
#define POLICY                                                   \
	"default-src 'none'; style-src 'self'; img-src 'self'; " \
	"base-uri 'none'; form-action 'none'; "                  \
	"frame-ancestors 'none'; script-src 'self'; connect-src 'self'"

/* Default headers of every response. */
static void http_add_headers(struct MHD_Response *r,
			     const struct kf_web_config *c, bool lasting)
{
	const char *const ours[KF_NR_WEB_HEADERS] = {POLICY, NULL, "nosniff",
						     NULL, NULL};
	const char *value;
	size_t i;

	for (i = 0; i < KF_NR_WEB_HEADERS; i++) {
		value = c && c->header[i] ? c->header[i] : ours[i];
		if (value && *value)
			MHD_add_response_header(r, kf_web_header_names[i],
						value);
	}
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Cache-Control",
				lasting ? "private, max-age=31536000, immutable"
					: "no-store");
}

static void http_add_headers_of_code(struct MHD_Response *r, enum kf_code code,
				     unsigned int retry_s)
{
	char seconds[16];

	snprintf(seconds, sizeof(seconds), "%u", KF_MAX(retry_s, 1u));
	/* the next bytes may not be a request */
	if (code == KF_CODE_400)
		MHD_add_response_header(r, "Connection", "close");
	if (code == KF_CODE_405)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	if (code == KF_CODE_503 || code == KF_CODE_429)
		MHD_add_response_header(r, "Retry-After", seconds);
	if (code == KF_CODE_401)
		MHD_add_response_header(
			r, "WWW-Authenticate",
			"Basic realm=\"konfiscator\", charset=\"UTF-8\"");
}

static enum MHD_Result http_answer(struct kf_http *http,
				   struct MHD_Connection *c,
				   const struct request *q, enum kf_code code,
				   const char *type, struct kf_buf *body)
{
	struct MHD_Response *r;
	enum MHD_Result result;
	bool zipped;

	zipped = http_is_limited(q->handler) && !q->packed &&
		 body->len >= GZIP_FROM &&
		 kf_gzip_wanted(MHD_lookup_connection_value(
			 c, MHD_HEADER_KIND, "Accept-Encoding")) &&
		 kf_gzip(body);
	r = MHD_create_response_from_buffer(body->len, body->data,
					    MHD_RESPMEM_MUST_FREE);
	if (!r) {
		kf_buf_free(body);
		return MHD_NO;
	}
	MHD_add_response_header(r, "Content-Type", type);
	if (zipped)
		MHD_add_response_header(r, "Content-Encoding", "gzip");
	if (http_is_limited(q->handler) && !q->packed)
		MHD_add_response_header(r, "Vary",
					q->handler == KF_HANDLER_METRICS
						? "Accept, Accept-Encoding"
						: "Accept-Encoding");
	http_add_headers(r, q->config, q->lasting);
	http_add_headers_of_code(r, code, q->retry_s);
	atomic_fetch_add(&http->sources->requests->count[q->handler][code], 1);
	result = MHD_queue_response(c, kf_codes[code], r);
	MHD_destroy_response(r);
	kf_slow_restart(&http->slow, q->slow, false);
	return result;
}

static enum MHD_Result http_say(struct kf_http *http, struct MHD_Connection *c,
				const struct request *q, enum kf_code code,
				const char *text)
{
	struct kf_buf body = {0};

	kf_buf_str(&body, text);
	if (body.failed)
		return MHD_NO;
	return http_answer(http, c, q, code, TEXT, &body);
}

/* A scraper sends its timeout; a tenth of it is kept for the response. */
static void http_set_deadline(struct kf_scrape *scrape,
			      struct MHD_Connection *c)
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

static enum MHD_Result http_choose(void *cls, enum MHD_ValueKind kind,
				   const char *key, const char *value)
{
	kf_choice_add(cls, key, value);
	return MHD_YES;
}

static enum MHD_Result http_metrics(struct kf_http *http,
				    struct MHD_Connection *c,
				    const struct request *q)
{
	struct kf_scrape scrape = {.sources = http->sources,
				   .page.created = http->options->created};
	struct kf_choice choice = {.enabled = http->sources->enabled};
	const struct kf_format *format;
	struct kf_buf body = {0};

	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, http_choose,
				  &choice);
	if (!kf_choice_left_out(&choice, &scrape.left_out)) {
		kf_choice_explain(&choice, &body);
		return body.failed ? MHD_NO
				   : http_answer(http, c, q, KF_CODE_400, TEXT,
						 &body);
	}
	format = kf_format_choose(
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept"));
	http_set_deadline(&scrape, c);
	kf_scrape_run(&scrape);
	format->write(&scrape.page, &body);
	kf_durations_note(http->sources->scrapes, kf_scrape_ns(&scrape));
	if (scrape.page.failed)
		body.failed = true;
	kf_page_release(&scrape.page);
	if (!body.failed) {
		kf_slow_scraped(&http->slow, q->slow);
		return http_answer(http, c, q, KF_CODE_200,
				   format->content_type, &body);
	}
	kf_buf_free(&body);
	return http_say(http, c, q, KF_CODE_500, "out of memory\n");
}

static enum MHD_Result http_page(struct kf_http *http, struct MHD_Connection *c,
				 struct request *q, const char *url)
{
	const struct kf_site_request wanted = {
		.path = url,
		.pid = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND,
						   "pid"),
		.id = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND,
						  "id"),
		.by = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND,
						  "by")};
	struct kf_site_answer a;

	kf_site_answer(&http->site, &wanted, &a);
	if (a.body.failed) {
		kf_buf_free(&a.body);
		return http_say(http, c, q, KF_CODE_500, "out of memory\n");
	}
	q->lasting = a.lasting;
	q->packed = a.packed;
	return http_answer(http, c, q, a.found ? KF_CODE_200 : KF_CODE_404,
			   a.type, &a.body);
}

static enum kf_handler http_route(const struct kf_http *http, const char *url)
{
	if (strcmp(url, http->options->telemetry_path) == 0)
		return KF_HANDLER_METRICS;
	if (kf_site_has(url))
		return KF_HANDLER_PAGE;
	if (strcmp(url, "/-/healthy") == 0)
		return KF_HANDLER_HEALTHY;
	if (strcmp(url, "/-/ready") == 0)
		return KF_HANDLER_READY;
	return KF_HANDLER_OTHER;
}

static enum MHD_Result http_dispatch(struct kf_http *http,
				     struct MHD_Connection *c,
				     struct request *r, const char *url)
{
	unsigned int max = http->options->max_requests;

	if (http_is_limited(r->handler) && !r->counted) {
		r->counted = true;
		if (atomic_fetch_add(&http->busy, 1) >= max && max)
			return http_say(http, c, r, KF_CODE_503,
					"too many requests at once\n");
	}
	switch (r->handler) {
	case KF_HANDLER_METRICS:
		return http_metrics(http, c, r);
	case KF_HANDLER_PAGE:
		return http_page(http, c, r, url);
	case KF_HANDLER_HEALTHY:
		return http_say(http, c, r, KF_CODE_200, "healthy\n");
	case KF_HANDLER_READY:
		return http_say(http, c, r, KF_CODE_200, "ready\n");
	default:
		return http_say(http, c, r, KF_CODE_404, "not found\n");
	}
}

static enum kf_web_result http_check_login(struct kf_http *http,
					   struct MHD_Connection *c,
					   const struct kf_web_config *config)
{
	char *user, *password = NULL;
	enum kf_web_result is;
	struct kf_peer peer;

	if (!config->nr_users)
		return KF_WEB_ACCEPTED;
	user = MHD_basic_auth_get_username_password(c, &password);
	http_peer_of(c, &peer);
	is = kf_web_authenticate(http->web, config, &peer, user, password);
	if (password)
		gnutls_memset(password, 0, strlen(password));
	MHD_free(user);
	MHD_free(password);
	return is;
}

static bool http_is_within_rates(struct kf_http *http,
				 const struct kf_web_config *c)
{
	unsigned int rate = http->options->max_rate;

	return kf_slow_admit(&http->slow, &http->slow.flag,
			     rate ? 1.0 / rate : 0, rate) &&
	       (!c || kf_slow_admit(&http->slow, &http->slow.file,
				    c->interval_s, c->burst));
}

/* The header of a request is complete: decide whether to continue. */
static enum MHD_Result http_begin(struct kf_http *http,
				  struct MHD_Connection *c, const char *method,
				  struct request *r)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	enum kf_web_result is;
	enum kf_code code;
	const char *why;

	r->slow = info ? info->socket_context : NULL;
	kf_slow_restart(&http->slow, r->slow, true);
	r->config = kf_web_get(http->web);
	why = kf_screen(http->options, c, &code);
	if (why)
		return http_say(http, c, r, code, why);
	if (!http_is_within_rates(http, r->config))
		return http_say(http, c, r, KF_CODE_429, "too many requests\n");
	if (!r->config || r->config->tls != http->tls)
		return http_say(
			http, c, r, KF_CODE_500,
			"web configuration has an error: see the log of the exporter\n");
	is = http_check_login(http, c, r->config);
	if (is == KF_WEB_LIMITED) {
		r->retry_s = (60 + http->options->max_wrong - 1) /
			     http->options->max_wrong;
		return http_say(http, c, r, KF_CODE_429,
				"too many wrong passwords\n");
	}
	if (is == KF_WEB_REFUSED)
		return http_say(http, c, r, KF_CODE_401, "unauthorized\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return http_say(http, c, r, KF_CODE_405, "only GET and HEAD\n");
	/* from here on the client must be fast again */
	kf_slow_restart(&http->slow, r->slow, false);
	return MHD_YES;
}

static enum MHD_Result http_handle(void *cls, struct MHD_Connection *c,
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
		r->handler = http_route(http, url);
		*con_cls = r;
		return http_begin(http, c, method, r);
	}
	/* drop the body */
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	kf_slow_restart(&http->slow, r->slow, true);
	return http_dispatch(http, c, r, url);
}

static void http_completed(void *cls, struct MHD_Connection *c, void **con_cls,
			   enum MHD_RequestTerminationCode why)
{
	struct kf_http *http = cls;
	struct request *r = *con_cls;

	if (!r)
		return;
	if (r->counted)
		atomic_fetch_sub(&http->busy, 1);
	kf_slow_restart(&http->slow, r->slow, false);
	kf_web_put(http->web, r->config);
	free(r);
	*con_cls = NULL;
}

static void http_connected(void *cls, struct MHD_Connection *c,
			   void **socket_context,
			   enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;
	struct kf_http *http = cls;
	struct kf_peer peer;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		kf_slow_close(&http->slow, *socket_context);
		*socket_context = NULL;
		return;
	}
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	http_peer_of(c, &peer);
	*socket_context =
		info ? kf_slow_open(&http->slow, info->connect_fd, &peer)
		     : NULL;
	info = http->tls ? MHD_get_connection_info(
				   c, MHD_CONNECTION_INFO_GNUTLS_SESSION)
			 : NULL;
	if (info)
		kf_tls_client(info->tls_session);
}

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
		0, NULL, NULL, http_handle, http, MHD_OPTION_EXTERNAL_LOGGER,
		http_be_quiet, NULL, MHD_OPTION_UNESCAPE_CALLBACK,
		http_keep_escapes, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_TIMEOUT_S,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_SIZE,
		MHD_OPTION_NOTIFY_COMPLETED, http_completed, http,
		MHD_OPTION_NOTIFY_CONNECTION, http_connected, http,
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

/* Passed sockets replace the default address. */
static bool http_serve_all(struct kf_http *http)
{
	const struct kf_options *o = http->options;
	unsigned int i;
	char name[160];
	int fd;

	for (i = 0; i < o->nr_sockets; i++) {
		kf_listen_name(o->socket[i], name, sizeof(name));
		if (!http_serve(http, o->socket[i], name))
			return false;
	}
	if (o->nr_sockets && !o->listens)
		return true;
	for (i = 0; i < o->nr_listen; i++) {
		fd = kf_listen(o->listen[i], name, sizeof(name));
		if (fd < 0 || !http_serve(http, fd, name))
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
	return http->first && (!http->tls || kf_tls_begin(http->first));
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
				      .names = &http->names};
	kf_name_cache_init(&http->names, sources->groups->conf.procfs);
	pthread_mutex_init(&http->timelines.lock, NULL);
	pthread_mutex_init(&http->slow.lock, NULL);
	http->slow.timeout_s = options->timeout_s;
	if (http_set_up_web(http) && http_serve_all(http))
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
	kf_timelines_free(&http->timelines);
	kf_name_cache_free(&http->names);
	pthread_mutex_destroy(&http->slow.lock);
	free(http);
}

void kf_http_tick(struct kf_http *http)
{
	struct kf_groups *g = http->sources->groups;

	kf_slow_expire(&http->slow);
	/* a running scan is stored the next time */
	if (pthread_mutex_trylock(&g->lock) == 0) {
		kf_timelines_note(&http->timelines, g);
		pthread_mutex_unlock(&g->lock);
	}
}
