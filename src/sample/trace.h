/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Short stacks that are kept in memory, to be printed.
 */
#ifndef KF_SAMPLE_TRACE_H
#define KF_SAMPLE_TRACE_H

#include "base/compiler.h"

struct kf_text;

#define KF_TRACE_FRAMES 32

struct kf_trace {
	uint32_t nr;	/* frames; 0: the stack could not be taken */
	int32_t thread; /* id; 0: unknown */
	uint64_t frame[KF_TRACE_FRAMES]; /* return addresses, innermost first */
};

/**
 * kf_trace_take() - take the calling thread's stack
 * @trace:	out: the stack
 * @context:	of a signal handler: take the stack that the signal
 *		interrupted; NULL: the stack here
 *
 * Context: any thread, signal handlers too; no lock of the library held.
 */
void kf_trace_take(struct kf_trace *trace, const void *context);

/**
 * kf_trace_print() - print a stack on stderr, a line for each frame
 * @trace:	the stack
 *
 * A frame is its number, its address, and, where the mappings can be read, the
 * file and the distance from the beginning of the file's first mapping.
 *
 * Context: as kf_trace_take(), but one thread at a time. Reads the mappings.
 */
void kf_trace_print(const struct kf_trace *trace);

#endif
