/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts of requests to receivers, by what they hold.
 */
#ifndef KF_EXPORTER_COLLECT_SENT_H
#define KF_EXPORTER_COLLECT_SENT_H

#include "base/compiler.h"

#include <stdatomic.h>

enum kf_sent_signal {
	KF_SENT_OTLP_METRICS,
	KF_SENT_OTLP_PROFILES,
	KF_SENT_PYROSCOPE,
	KF_NR_SENT
};

enum kf_sent_result {
	KF_SENT_ACCEPTED, /* wholly or in part */
	KF_SENT_REFUSED,  /* by an answer that ends an attempt */
	KF_SENT_DROPPED,  /* no receiver took it until the next interval */
	KF_NR_SENT_RESULTS
};

extern const char *const kf_sent_signal_names[KF_NR_SENT];
extern const char *const kf_sent_result_names[KF_NR_SENT_RESULTS];

struct kf_sent {
	bool otlp; /* there is a receiver; constant, as the next */
	bool pyroscope;
	atomic_ullong requests[KF_NR_SENT][KF_NR_SENT_RESULTS];
	/* data points and samples of accepted requests that were not taken */
	atomic_ullong rejected[KF_NR_SENT];
};

#endif
