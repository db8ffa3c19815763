/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which engine serves: the option `engine` says.
 *
 * Those inside the library stand before the first block is given out. Those
 * that need the C library whole, and those outside, stand when our constructor
 * runs; the default engine serves until then, and for good where they cannot,
 * after one line on stderr.
 */
#ifndef KF_CORE_CHOOSE_H
#define KF_CORE_CHOOSE_H

/**
 * kf_engine_choose() - let the engine stand, if it may so early
 *
 * Context: once, at start, after the default backend's init.
 */
void kf_engine_choose(void);

/**
 * kf_engine_choose_late() - let the engine stand that could not before
 *
 * May allocate.
 *
 * Context: our constructor.
 */
void kf_engine_choose_late(void);

#endif
