/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The HTTP server, using libmicrohttpd: a bounded number of connections, each
 * with a thread, since a scrape reads files and may wait for the disk.
 */
#include "config.h"

#include "exporter/http/internal.h"
#include "exporter/site/assets.h"
#include "exporter/collect/choice.h"
#include "exporter/collect/durations.h"
#include "exporter/http/gzip.h"
#include "exporter/http/list.h"
#include "exporter/http/screen.h"
#include "exporter/http/tls.h"
#include "exporter/injector/injector.h"
#include "exporter/collect/writer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SCRAPE_S 120.0
#define MAX_SCRAPE_S 3600.0
#define GZIP_FROM 256 /* bytes; below, it is not worth its head */

#define TEXT "text/plain; charset=utf-8"

const char *const kf_handler_names[KF_NR_HANDLERS] = {
	[KF_HANDLER_METRICS] = "metrics", [KF_HANDLER_PAGE] = "page",
	[KF_HANDLER_HEALTHY] = "healthy", [KF_HANDLER_READY] = "ready",
	[KF_HANDLER_ORDER] = "order",	  [KF_HANDLER_INJECT] = "inject",
	[KF_HANDLER_OTHER] = "other",
};

const unsigned int kf_codes[KF_NR_CODES] = {200, 400, 401, 403, 404,
					    405, 421, 429, 500, 503};

static void http_peer_of(struct MHD_Connection *c, struct kf_peer *peer)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	kf_peer_of(info ? info->client_addr : NULL, peer);
}

static bool http_is_limited(enum kf_handler h)
{
	return h == KF_HANDLER_METRICS || h == KF_HANDLER_PAGE ||
	       h == KF_HANDLER_ORDER || h == KF_HANDLER_INJECT;
}

static bool http_wants_gzip(struct MHD_Connection *c)
{
	struct kf_buf accept;
	bool wants;

	kf_list_of(c, "Accept-Encoding", &accept);
	wants = kf_gzip_wanted(accept.data);
	kf_buf_free(&accept);
	return wants;
}

static enum MHD_Result http_answer(struct kf_http *http,
				   struct MHD_Connection *c,
				   const struct kf_request *q,
				   enum kf_code code, const char *type,
				   struct kf_buf *body)
{
	struct MHD_Response *r;
	enum MHD_Result result;
	bool zipped;

	zipped = http_is_limited(q->handler) && !q->packed &&
		 body->len >= GZIP_FROM && http_wants_gzip(c) && kf_gzip(body);
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
	kf_head_add(r, &q->head, code);
	atomic_fetch_add(&http->sources->requests->count[q->handler][code], 1);
	result = MHD_queue_response(c, kf_codes[code], r);
	MHD_destroy_response(r);
	kf_slow_restart(&http->slow, q->slow, false);
	return result;
}

static enum MHD_Result http_say(struct kf_http *http, struct MHD_Connection *c,
				const struct kf_request *q, enum kf_code code,
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

static const struct kf_format *http_format(struct MHD_Connection *c)
{
	const struct kf_format *format;
	struct kf_buf accept;

	kf_list_of(c, "Accept", &accept);
	format = kf_format_choose(accept.data);
	kf_buf_free(&accept);
	return format;
}

static enum MHD_Result http_metrics(struct kf_http *http,
				    struct MHD_Connection *c,
				    const struct kf_request *q)
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
	format = http_format(c);
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
				 struct kf_request *q, const char *url)
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
	q->head.lasting = a.lasting;
	q->packed = a.packed;
	return http_answer(http, c, q, a.found ? KF_CODE_200 : KF_CODE_404,
			   a.type, &a.body);
}

/* The whole form has arrived. */
static enum MHD_Result http_order(struct kf_http *http,
				  struct MHD_Connection *c,
				  const struct kf_request *q)
{
	static const enum kf_code codes[] = {
		[KF_ACTION_DONE] = KF_CODE_200,
		[KF_ACTION_UNKNOWN] = KF_CODE_400,
		[KF_ACTION_NO_PROCESS] = KF_CODE_404,
		[KF_ACTION_FAILED] = KF_CODE_500,
	};
	enum kf_action_result result;
	struct kf_buf body = {0};
	char address[INET6_ADDRSTRLEN];
	struct kf_peer peer;

	if (!q->form || !kf_form_end(q->form, http->token))
		return http_say(
			http, c, q, KF_CODE_403,
			"the token is missing or not of this exporter: load the page of the process again\n");
	result = kf_site_act(&http->site, q->form->id, q->form->order, &body);
	http_peer_of(c, &peer);
	kf_peer_name(&peer, address, sizeof(address));
	kf_log(KF_LOG_INFO, "order", "address", address, "process", q->form->id,
	       "order", q->form->order, "result", kf_action_words[result],
	       NULL);
	if (!body.failed)
		return http_answer(http, c, q, codes[result],
				   "text/html; charset=utf-8", &body);
	kf_buf_free(&body);
	return http_say(http, c, q, KF_CODE_500, "out of memory\n");
}

/* The whole review has arrived, or one byte more than it may have. */
static enum MHD_Result http_inject(struct kf_http *http,
				   struct MHD_Connection *c,
				   struct kf_request *q)
{
	static const enum kf_code codes[] = {
		[KF_INJECT_ANSWERED] = KF_CODE_200,
		[KF_INJECT_WRONG] = KF_CODE_400,
		[KF_INJECT_FAILED] = KF_CODE_500,
	};
	enum kf_inject_result result = KF_INJECT_FAILED;
	struct kf_buf body = {0};

	if (q->review.len > KF_INJECT_MAX_BODY)
		return http_say(http, c, q, KF_CODE_400,
				"the review has more than 4 MiB\n");
	if (!q->review.failed)
		result = kf_inject_answer(http->options->injector_image,
					  q->review.data, q->review.len, &body);
	if (result != KF_INJECT_FAILED && !body.failed)
		return http_answer(
			http, c, q, codes[result],
			result == KF_INJECT_WRONG ? TEXT : "application/json",
			&body);
	kf_buf_free(&body);
	return http_say(http, c, q, KF_CODE_500, "out of memory\n");
}

static enum kf_handler http_route(const struct kf_http *http, const char *url)
{
	if (strcmp(url, http->options->telemetry_path) == 0)
		return KF_HANDLER_METRICS;
	if (kf_site_has(url))
		return KF_HANDLER_PAGE;
	if (http->token[0] && strcmp(url, KF_ORDER_PATH) == 0)
		return KF_HANDLER_ORDER;
	if (http->options->injector && strcmp(url, KF_INJECT_PATH) == 0)
		return KF_HANDLER_INJECT;
	if (strcmp(url, "/-/healthy") == 0)
		return KF_HANDLER_HEALTHY;
	if (strcmp(url, "/-/ready") == 0)
		return KF_HANDLER_READY;
	return KF_HANDLER_OTHER;
}

/* Whether there are too many requests of those that are limited. */
static bool http_is_busy(struct kf_http *http, struct kf_request *r)
{
	unsigned int max = http->options->max_requests;

	if (!http_is_limited(r->handler) || r->counted)
		return false;
	r->counted = true;
	return atomic_fetch_add(&http->busy, 1) >= max && max;
}

static enum MHD_Result http_dispatch(struct kf_http *http,
				     struct MHD_Connection *c,
				     struct kf_request *r, const char *url)
{
	if (http_is_busy(http, r))
		return http_say(http, c, r, KF_CODE_503,
				"too many requests at once\n");
	switch (r->handler) {
	case KF_HANDLER_METRICS:
		return http_metrics(http, c, r);
	case KF_HANDLER_PAGE:
		return http_page(http, c, r, url);
	case KF_HANDLER_ORDER:
		return http_order(http, c, r);
	case KF_HANDLER_INJECT:
		return http_inject(http, c, r);
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

/* The names may have become fewer since the handshake. */
static bool http_is_named(const struct kf_http *http, struct MHD_Connection *c,
			  const struct kf_web_config *config)
{
	const union MHD_ConnectionInfo *info =
		http->tls ? MHD_get_connection_info(
				    c, MHD_CONNECTION_INFO_GNUTLS_SESSION)
			  : NULL;

	return !info || kf_tls_is_named(info->tls_session, config);
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

bool kf_http_knows_clients(const struct kf_http *http,
			   const struct kf_web_config *c)
{
	return http->local || c->nr_users ||
	       (c->tls && c->client_auth == KF_CLIENT_REQUIRE_AND_VERIFY);
}

/* The method is right for the handler, or the answer is queued. */
static enum MHD_Result http_begin_method(struct kf_http *http,
					 struct MHD_Connection *c,
					 const char *method,
					 struct kf_request *r)
{
	bool order = r->handler == KF_HANDLER_ORDER;
	bool post = order || r->handler == KF_HANDLER_INJECT;

	r->head.allow = post ? "POST" : "GET, HEAD";
	if (post ? strcmp(method, MHD_HTTP_METHOD_POST) != 0
		 : strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
			    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return http_say(http, c, r, KF_CODE_405,
				post ? "only POST\n" : "only GET and HEAD\n");
	/* before its body takes memory */
	if (r->handler == KF_HANDLER_INJECT && http_is_busy(http, r))
		return http_say(http, c, r, KF_CODE_503,
				"too many requests at once\n");
	if (!order)
		return MHD_YES;
	if (!kf_http_knows_clients(http, r->head.config))
		return http_say(
			http, c, r, KF_CODE_403,
			"actions need users or client certificates in the web configuration\n");
	if (kf_form_is_foreign(c))
		return http_say(http, c, r, KF_CODE_403,
				"the form is from another site\n");
	r->form = kf_form_make(c);
	return MHD_YES;
}

/* The header of a request is complete: decide whether to continue. */
static enum MHD_Result http_begin(struct kf_http *http,
				  struct MHD_Connection *c, const char *method,
				  struct kf_request *r)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	enum kf_web_result is;
	enum kf_code code;
	const char *why;

	r->slow = info ? info->socket_context : NULL;
	kf_slow_restart(&http->slow, r->slow, true);
	r->head.config = kf_web_get(http->web);
	why = kf_screen(http->options, c, &code);
	if (why)
		return http_say(http, c, r, code, why);
	if (!http_is_within_rates(http, r->head.config))
		return http_say(http, c, r, KF_CODE_429, "too many requests\n");
	if (!r->head.config)
		return http_say(
			http, c, r, KF_CODE_500,
			"web configuration has an error: see the log of the exporter\n");
	if (!http_is_named(http, c, r->head.config))
		return http_say(
			http, c, r, KF_CODE_403,
			"the client's certificate has none of the allowed names\n");
	is = http_check_login(http, c, r->head.config);
	if (is == KF_WEB_LIMITED) {
		r->head.retry_s = (60 + http->options->max_wrong - 1) /
				  http->options->max_wrong;
		return http_say(http, c, r, KF_CODE_429,
				"too many wrong passwords\n");
	}
	if (is == KF_WEB_REFUSED)
		return http_say(http, c, r, KF_CODE_401, "unauthorized\n");
	if (http_begin_method(http, c, method, r) != MHD_YES)
		return MHD_NO;
	/* from here on the client must be fast again */
	kf_slow_restart(&http->slow, r->slow, false);
	return MHD_YES;
}

/* Keep a part of the body; drop the body of what takes none. */
static void http_take(struct kf_request *r, const char *data, size_t size)
{
	size_t room = KF_INJECT_MAX_BODY + 1;

	if (r->form)
		kf_form_add(r->form, data, size);
	if (r->handler == KF_HANDLER_INJECT)
		kf_buf_add(&r->review, data,
			   KF_MIN(size, room - r->review.len));
}

enum MHD_Result kf_http_handle(void *cls, struct MHD_Connection *c,
			       const char *url, const char *method,
			       const char *version, const char *upload_data,
			       size_t *upload_size, void **con_cls)
{
	struct kf_http *http = cls;
	struct kf_request *r = *con_cls;

	if (!r) {
		r = calloc(1, sizeof(*r));
		if (!r)
			return MHD_NO;
		r->handler = http_route(http, url);
		r->head.forms = http->token[0];
		*con_cls = r;
		return http_begin(http, c, method, r);
	}
	if (*upload_size) {
		http_take(r, upload_data, *upload_size);
		*upload_size = 0;
		return MHD_YES;
	}
	kf_slow_restart(&http->slow, r->slow, true);
	return http_dispatch(http, c, r, url);
}

void kf_http_completed(void *cls, struct MHD_Connection *c, void **con_cls,
		       enum MHD_RequestTerminationCode why)
{
	struct kf_http *http = cls;
	struct kf_request *r = *con_cls;

	if (!r)
		return;
	if (r->counted)
		atomic_fetch_sub(&http->busy, 1);
	kf_slow_restart(&http->slow, r->slow, false);
	kf_web_put(http->web, r->head.config);
	kf_form_free(r->form);
	kf_buf_free(&r->review);
	free(r);
	*con_cls = NULL;
}

void kf_http_connected(void *cls, struct MHD_Connection *c,
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
