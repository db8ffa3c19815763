/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arithmetic of samples: pure.
 *
 * Points lie on the line of all bytes that a thread allocates, at exponential
 * distances of a mean of R bytes (a Poisson process). A block that a point
 * falls on is a sample: so one of S bytes is with the probability 1 - exp(-S /
 * R), whatever came before, and S over that probability is its weight. A sum of
 * weights is then an estimate without bias of the bytes of all blocks (Horvitz
 * and Thompson, 1952).
 *
 * The logarithm and the exponential are our own: the C library's are another
 * library to load.
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
 * Context: any thread; pure but for @state.
 * Return: whole bytes before the point, the next byte is the one it falls on.
 */
uint64_t kf_distance_next(uint64_t *state, uint64_t mean);

/**
 * kf_distance_hit() - draw whether something of a probability happens
 * @state:	of the generator; changes
 * @probability: from 0 to 1
 *
 * Context: any thread; pure but for @state.
 * Return: whether it does.
 */
bool kf_distance_hit(uint64_t *state, double probability);

/**
 * kf_distance_probability() - how likely a block is a sample
 * @bytes:	of the block
 * @mean:	of the distances, bytes, not 0
 *
 * Context: any thread; pure.
 * Return: from 0 to 1.
 */
double kf_distance_probability(uint64_t bytes, uint64_t mean);

/**
 * kf_distance_weight() - bytes that a sampled block stands for
 * @bytes:	of the block, not 0
 * @mean:	of the distances, bytes, not 0
 *
 * Context: any thread; pure.
 * Return: the weight, rounded.
 */
uint64_t kf_distance_weight(uint64_t bytes, uint64_t mean);

#endif
