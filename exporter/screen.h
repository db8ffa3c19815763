/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests that are refused by their head alone, whoever sends them.
 *
 * A head in which the length of the body is said twice, or in two ways, may end
 * elsewhere for a proxy than it does for us.
 *
 * A page of another site can have a browser ask us under a name of its own, if
 * that name leads here (DNS rebinding); it cannot choose the name freely. So a
 * request is refused that has a name in Host which is not known to be ours,
 * where it comes from a browser, or over the loopback, where nobody else
 * reaches us. Scrapers are no browsers, and come under any name.
 */
#ifndef KF_EXPORTER_SCREEN_H
#define KF_EXPORTER_SCREEN_H

#include "exporter/options.h"
#include "exporter/requests.h"

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
