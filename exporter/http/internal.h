/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The server, for the files of this directory: server.c starts and stops it,
 * http.c answers its requests.
 */
#ifndef KF_EXPORTER_HTTP_INTERNAL_H
#define KF_EXPORTER_HTTP_INTERNAL_H

#include "exporter/http/form.h"
#include "exporter/http/head.h"
#include "exporter/http/http.h"
#include "exporter/http/slow.h"
#include "exporter/http/web.h"
#include "exporter/site/site.h"

#include <microhttpd.h>
#include <stdatomic.h>

struct kf_http {
	const struct kf_options *options;
	const struct kf_sources *sources;
	struct kf_web *web;
	const struct kf_web_config *first; /* at the start */
	bool tls;
	atomic_bool local;	   /* all sockets are of this machine */
	char token[KF_TOKEN_SIZE]; /* of forms; "": no actions */
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
struct kf_request {
	enum kf_handler handler;
	bool counted; /* among @busy */
	bool packed;  /* the answer is packed already */
	struct kf_head head;
	struct kf_form *form; /* of an order, or NULL */
	struct kf_buf review; /* of the injector */
	struct kf_slow_connection *slow;
};

/**
 * kf_http_knows_clients() - whether clients prove who they are
 * @http:	the server
 * @c:		its current web configuration
 *
 * Return: true if so, or if only this machine can connect.
 */
bool kf_http_knows_clients(const struct kf_http *http,
			   const struct kf_web_config *c);

/**
 * kf_http_handle() - go on with a request
 * @cls:	the server
 * @c:		the connection
 * @url:	the path
 * @method:	the method
 * @version:	not used
 * @upload_data: a part of the body
 * @upload_size: in and out: bytes of it
 * @con_cls:	in and out: the request
 *
 * Context: a thread of libmicrohttpd.
 * Return: MHD_NO to close the connection.
 */
enum MHD_Result kf_http_handle(void *cls, struct MHD_Connection *c,
			       const char *url, const char *method,
			       const char *version, const char *upload_data,
			       size_t *upload_size, void **con_cls);

/**
 * kf_http_completed() - forget a request
 * @cls:	the server
 * @c:		the connection
 * @con_cls:	in and out: the request
 * @why:	not used
 *
 * Context: a thread of libmicrohttpd.
 */
void kf_http_completed(void *cls, struct MHD_Connection *c, void **con_cls,
		       enum MHD_RequestTerminationCode why);

/**
 * kf_http_connected() - note that a connection begins or ends
 * @cls:	the server
 * @c:		the connection
 * @socket_context: in and out: its entry in the list of connections
 * @code:	which of both
 *
 * Context: a thread of libmicrohttpd.
 */
void kf_http_connected(void *cls, struct MHD_Connection *c,
		       void **socket_context,
		       enum MHD_ConnectionNotificationCode code);

#endif
