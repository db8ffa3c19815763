/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests that are refused for what their head says, before users are asked.
 *
 * A head that gives the length of the body twice, or in two ways, may end
 * elsewhere for a proxy than it does for us.
 *
 * A page of another site can make a browser send requests here under the site's
 * own name, once that name leads to our address (DNS rebinding). So a request
 * whose Host is a name that is not known is refused if a browser sent it, or if
 * it came over the loopback, where a program has no need of such a name.
 * Scrapers are not browsers and may use any name.
 */
#ifndef KF_EXPORTER_HTTP_SCREEN_H
#define KF_EXPORTER_HTTP_SCREEN_H

#include "exporter/config/options.h"
#include "exporter/http/requests.h"

#include <microhttpd.h>

/**
 * kf_screen() - whether a request is refused by its head
 * @o:		names that are ours
 * @c:		its connection
 * @code:	out: the status, where it is
 *
 * Context: any thread; may look up this machine's name, once.
 * Return: why, a line for the client; NULL where it is not refused.
 */
const char *kf_screen(const struct kf_options *o, struct MHD_Connection *c,
		      enum kf_code *code);

#endif
