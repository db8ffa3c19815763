/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reports of misuse of the heap.
 */
#ifndef KF_CORE_MISUSE_H
#define KF_CORE_MISUSE_H

#include "base/compiler.h"

#include "konfiscator-engine.h"

/**
 * kf_misuse_report() - report misuse of the heap, in one line on stderr
 * @wrong:	the kind, not KONF_FINE
 * @p:		the pointer, NULL if it is not known
 *
 * Counts, and fires double_free, invalid_free or heap_corruption. Then the
 * program ends by abort(), unless the option on_error says to count only.
 *
 * Context: any.
 */
void kf_misuse_report(enum konf_misuse wrong, const void *p) __cold;

/**
 * kf_misuse_report_size() - say that a block is freed with a size it cannot
 * have
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
void kf_misuse_report_size(const void *p, size_t told) __cold;

#endif
