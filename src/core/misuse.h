/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What becomes of a program that does wrong with its heap.
 */
#ifndef KF_CORE_MISUSE_H
#define KF_CORE_MISUSE_H

#include "base/compiler.h"
#include "engine/supply.h"

/**
 * kf_misuse_tell() - say what was found wrong, in one line on stderr
 * @p:		the pointer
 * @wrong:	what, not KF_FINE
 *
 * Counts, and fires double_free, invalid_free or heap_corruption. Then the
 * program ends by abort(), unless the option on_error says to count only.
 *
 * Context: any.
 */
void kf_misuse_tell(const void *p, enum kf_misuse wrong) __cold;

/**
 * kf_misuse_init() - have engines tell here of what they find by themselves
 *
 * Context: once, at start.
 */
void kf_misuse_init(void);

#endif
