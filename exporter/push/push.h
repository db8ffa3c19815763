/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that send to receivers at regular intervals: metrics and profiles by
 * OTLP over HTTP, profiles to Pyroscope.
 *
 * What a receiver could not take for the moment (429, 502, 503, 504, or a
 * broken connection) is sent again, after the time that it names or with
 * growing pauses, until the next interval; then it is dropped. Other answers
 * end an attempt.
 */
#ifndef KF_EXPORTER_PUSH_PUSH_H
#define KF_EXPORTER_PUSH_PUSH_H

#include "exporter/collect/collector.h"
#include "exporter/config/options.h"

/**
 * kf_push_start() - start sending to the receivers that are configured
 * @options:	outlives the threads
 * @sources:	likewise
 *
 * Context: once; the threads inherit the signal mask, and count in @sent of
 *	    the sources. kf_push_stop() follows in any case.
 * Return: false if a thread is missing; the reason was printed on stderr.
 */
bool kf_push_start(const struct kf_options *options,
		   const struct kf_sources *sources);

/**
 * kf_push_stop() - send once more, without waiting long, and end the threads
 *
 * Context: once, from the thread that started them; harmless without any.
 */
void kf_push_stop(void);

#endif
