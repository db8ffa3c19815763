/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many samples are taken in a second, where nobody asked for a distance.
 *
 * The mean distance doubles when KF_PACE_SAMPLES were taken in less than
 * KF_PACE_NS, and comes back to where it began in a time with few. It is looked
 * at when a sample is taken, and at no other time. A sample's weight is that of
 * the mean with which it was drawn, so estimates stay right.
 */
#ifndef KF_SAMPLE_PACE_H
#define KF_SAMPLE_PACE_H

#include "base/compiler.h"

/* At most this many samples in so many nanoseconds: 256 a second. */
#define KF_PACE_SAMPLES 64
#define KF_PACE_NS 250000000

/**
 * kf_pace_begin() - begin with the least mean distance
 * @mean:	bytes
 *
 * Context: before samples are taken with this mean.
 */
void kf_pace_begin(uint64_t mean);

/**
 * kf_pace_end() - follow the rate no more
 *
 * Context: any.
 */
void kf_pace_end(void);

/**
 * kf_pace_is_on() - whether the mean follows the rate
 *
 * Context: any.
 * Return: true after kf_pace_begin(), until kf_pace_end().
 */
bool kf_pace_is_on(void);

/**
 * kf_pace_note() - a sample was taken
 * @now:	a clock, ns
 *
 * Context: any thread, signal handlers too.
 * Return: the mean distance from now on; 0: it stays as it is.
 */
uint64_t kf_pace_note(uint64_t now);

/**
 * kf_pace_spares() - whether there is time for the stack of one more realloc
 * @now:	a clock, ns
 *
 * A large block that is a sample stays one in each realloc, at any distance.
 *
 * Context: any thread, signal handlers too.
 * Return: false: KF_PACE_SAMPLES were taken within KF_PACE_NS.
 */
bool kf_pace_spares(uint64_t now);

/**
 * kf_pace_fork_child() - the process is a forked child
 *
 * Context: the child's only thread.
 */
void kf_pace_fork_child(void);

#endif
