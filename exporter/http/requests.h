/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts of responses, by handler and status.
 */
#ifndef KF_EXPORTER_HTTP_REQUESTS_H
#define KF_EXPORTER_HTTP_REQUESTS_H

#include <stdatomic.h>

enum kf_handler {
	KF_HANDLER_METRICS,
	KF_HANDLER_PAGE,
	KF_HANDLER_HEALTHY,
	KF_HANDLER_READY,
	KF_HANDLER_ORDER,
	KF_HANDLER_INJECT,
	KF_HANDLER_OTHER,
	KF_NR_HANDLERS
};

enum kf_code {
	KF_CODE_200,
	KF_CODE_400,
	KF_CODE_401,
	KF_CODE_403,
	KF_CODE_404,
	KF_CODE_405,
	KF_CODE_421,
	KF_CODE_429,
	KF_CODE_500,
	KF_CODE_503,
	KF_NR_CODES
};

extern const char *const kf_handler_names[KF_NR_HANDLERS];
extern const unsigned int kf_codes[KF_NR_CODES];

struct kf_requests {
	atomic_ullong count[KF_NR_HANDLERS][KF_NR_CODES];
};

#endif
