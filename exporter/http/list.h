/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A header that is a list, of which a client may send parts in several headers
 * of the same name (RFC 9110, 5.3).
 */
#ifndef KF_EXPORTER_HTTP_LIST_H
#define KF_EXPORTER_HTTP_LIST_H

#include "exporter/buf.h"

#include <microhttpd.h>

/**
 * kf_list_of() - join the headers of a name
 * @c:		the connection
 * @name:	the name, in any case
 * @out:	out: their values with commas between; its data is NULL if there
 *is none
 *
 * Context: a thread of libmicrohttpd. Free @out in any case.
 */
void kf_list_of(struct MHD_Connection *c, const char *name, struct kf_buf *out);

#endif
