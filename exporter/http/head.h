/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The headers of responses.
 */
#ifndef KF_EXPORTER_HTTP_HEAD_H
#define KF_EXPORTER_HTTP_HEAD_H

#include "exporter/config/web_config.h"
#include "exporter/http/requests.h"

#include <microhttpd.h>

struct kf_head {
	const struct kf_web_config *config; /* or NULL */
	bool lasting;	      /* the response may be cached forever */
	bool forms;	      /* its page may send forms to this server */
	const char *allow;    /* methods, for KF_CODE_405 */
	unsigned int retry_s; /* seconds for Retry-After; 0: 1 */
};

/**
 * kf_head_add() - add the headers that each response of its kind has
 * @r:		the response
 * @head:	what they depend on
 * @code:	the status
 */
void kf_head_add(struct MHD_Response *r, const struct kf_head *head,
		 enum kf_code code);

#endif
