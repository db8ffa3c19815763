/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What becomes of a program that does wrong with its heap.
 */
#ifndef KF_CORE_MISUSE_H
#define KF_CORE_MISUSE_H

#include "base/compiler.h"
#include "heap/backend.h"

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
 * kf_misuse_is_strict() - whether secure mode is on
 *
 * Context: any.
 * Return: true if so.
 */
bool kf_misuse_is_strict(void);

/**
 * kf_misuse_tell_size() - say that a block is freed with a size it cannot have
 * @p:		the block
 * @told:	bytes that the caller says
 *
 * Counts, and fires size_mismatch. The first one gets a line on stderr, the
 * others none. Then the block can be freed: the program ends by abort() only
 * where on_error says abort-on-size, and in secure mode unless on_error says
 * count.
 *
 * Context: any.
 */
void kf_misuse_tell_size(const void *p, size_t told) __cold;

/**
 * kf_misuse_init() - have engines tell here of what they find by themselves
 *
 * Context: once, at start.
 */
void kf_misuse_init(void);

#endif
