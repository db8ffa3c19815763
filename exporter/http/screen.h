/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks of a request's header, before authentication.
 *
 * A request that gives the length of its body twice, or in two ways, may end at
 * another byte for a proxy than for this server.
 *
 * A web page can make a browser send requests here under the page's host name,
 * if that name resolves to this server's address (DNS rebinding). A request
 * whose Host is an unknown name is therefore refused if it is from a browser,
 * or came over the loopback, where programs can use localhost. Scrapers are not
 * browsers and may use any name.
 */
#ifndef KF_EXPORTER_HTTP_SCREEN_H
#define KF_EXPORTER_HTTP_SCREEN_H

#include "exporter/config/options.h"
#include "exporter/http/requests.h"

#include <microhttpd.h>

/**
 * kf_screen() - check a request's header
 * @o:		the names of this server
 * @c:		its connection
 * @code:	out: the status, if it is refused
 *
 * Context: any thread; may look up this machine's name, once.
 * Return: NULL, or why it is refused, a line for the client.
 */
const char *kf_screen(const struct kf_options *o, struct MHD_Connection *c,
		      enum kf_code *code);

#endif
