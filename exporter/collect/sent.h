/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts of requests to a receiver of OTLP.
 */
#ifndef KF_EXPORTER_COLLECT_SENT_H
#define KF_EXPORTER_COLLECT_SENT_H

#include <stdatomic.h>

enum kf_otlp_signal { KF_OTLP_METRICS, KF_OTLP_PROFILES, KF_NR_OTLP_SIGNALS };

enum kf_otlp_result {
	KF_OTLP_ACCEPTED, /* wholly or in part */
	KF_OTLP_REFUSED,  /* by an answer that ends an attempt */
	KF_OTLP_DROPPED,  /* no receiver took it until the next interval */
	KF_NR_OTLP_RESULTS
};

extern const char *const kf_otlp_signal_names[KF_NR_OTLP_SIGNALS];
extern const char *const kf_otlp_result_names[KF_NR_OTLP_RESULTS];

struct kf_sent {
	atomic_ullong requests[KF_NR_OTLP_SIGNALS][KF_NR_OTLP_RESULTS];
	/* data points and samples of accepted requests that were not taken */
	atomic_ullong rejected[KF_NR_OTLP_SIGNALS];
};

#endif
