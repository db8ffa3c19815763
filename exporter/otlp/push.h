/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that sends metrics, and profiles if asked for, to a receiver of OTLP
 * over HTTP at regular intervals.
 *
 * What a receiver could not take for the moment (429, 502, 503, 504, or a
 * broken connection) is sent again, after the time that it names or with
 * growing pauses, until the next interval; then it is dropped. Other answers
 * end an attempt.
 */
#ifndef KF_EXPORTER_OTLP_PUSH_H
#define KF_EXPORTER_OTLP_PUSH_H

#include "exporter/collect/collector.h"
#include "exporter/config/options.h"

enum kf_otlp_signal { KF_OTLP_METRICS, KF_OTLP_PROFILES, KF_NR_OTLP_SIGNALS };

enum kf_otlp_result {
	KF_OTLP_ACCEPTED, /* wholly or in part */
	KF_OTLP_REFUSED,  /* by an answer that ends an attempt */
	KF_OTLP_DROPPED,  /* no receiver took it until the next interval */
	KF_NR_OTLP_RESULTS
};

extern const char *const kf_otlp_signal_names[KF_NR_OTLP_SIGNALS];
extern const char *const kf_otlp_result_names[KF_NR_OTLP_RESULTS];

/**
 * kf_otlp_start() - start sending
 * @options:	with an endpoint; outlives the thread
 * @sources:	likewise
 *
 * Context: once, after kf_otlp_init(); the thread inherits the signal mask.
 * Return: false if there is no thread; the reason was printed on stderr.
 */
bool kf_otlp_start(const struct kf_options *options,
		   const struct kf_sources *sources);

/**
 * kf_otlp_stop() - send once more, without waiting long, and end the thread
 *
 * Context: once, from the thread that started it; harmless without one.
 */
void kf_otlp_stop(void);

/**
 * kf_otlp_is_on() - whether a thread sends
 *
 * Context: any thread.
 * Return: true if so.
 */
bool kf_otlp_is_on(void);

/**
 * kf_otlp_requests() - how many requests ended so
 * @signal:	what was sent
 * @result:	how it ended
 *
 * Context: any thread.
 * Return: the number since the start.
 */
uint64_t kf_otlp_requests(enum kf_otlp_signal signal,
			  enum kf_otlp_result result);

/**
 * kf_otlp_rejected() - how much receivers did not take of accepted requests
 * @signal:	what was sent
 *
 * Context: any thread.
 * Return: data points or samples since the start.
 */
uint64_t kf_otlp_rejected(enum kf_otlp_signal signal);

#endif
