/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arithmetic of samples; pure functions.
 *
 * Points are on the line of all bytes that a thread allocates, at exponential
 * distances with a mean of R bytes (a Poisson process). A block is sampled if a
 * point falls on it: a block of S bytes has the probability 1 - exp(-S / R),
 * whatever was allocated before. Its weight is S divided by its probability. A
 * sum of weights is then an unbiased estimate of the bytes of all blocks
 * (Horvitz and Thompson, 1952).
 *
 * The logarithm and the exponential are implemented here, as libm would be
 * another library to load.
 */
#ifndef KF_SAMPLE_DISTANCE_H
#define KF_SAMPLE_DISTANCE_H

#include "base/compiler.h"

#define KF_SAMPLE_MEAN_MIN ((uint64_t)1 << 10)
#define KF_SAMPLE_MEAN_MAX ((uint64_t)1 << 40)

/**
 * kf_distance_next() - bytes to the next point
 * @state:	of the generator, any number; changes
 * @mean:	of the distances, bytes, not 0
 *
 * Context: any thread.
 * Return: bytes before the byte on which the point falls.
 */
uint64_t kf_distance_next(uint64_t *state, uint64_t mean);

/**
 * kf_distance_hit() - draw true with a probability
 * @state:	of the generator; changes
 * @probability: from 0 to 1
 *
 * Context: any thread.
 * Return: true with that probability.
 */
bool kf_distance_hit(uint64_t *state, double probability);

/**
 * kf_distance_probability() - the probability that a block is sampled
 * @bytes:	of the block
 * @mean:	of the distances, bytes, not 0
 *
 * Context: any thread; pure.
 * Return: from 0 to 1.
 */
double kf_distance_probability(uint64_t bytes, uint64_t mean);

/**
 * kf_distance_weight() - the weight of a sampled block
 * @bytes:	of the block, not 0
 * @mean:	of the distances, bytes, not 0
 *
 * Context: any thread; pure.
 * Return: the weight in bytes, rounded.
 */
uint64_t kf_distance_weight(uint64_t bytes, uint64_t mean);

#endif
