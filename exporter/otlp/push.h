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

/**
 * kf_otlp_start() - start sending
 * @options:	with an endpoint; outlives the thread
 * @sources:	likewise
 *
 * Context: once; the thread inherits the signal mask, and counts in @sent of
 *	    the sources.
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

#endif
