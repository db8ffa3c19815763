/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The settings of glibc's malloc, for our heap: the parameters of mallopt(3)
 * and their environment variables.
 */
#ifndef KF_CORE_TUNE_H
#define KF_CORE_TUNE_H

#include "base/compiler.h"

/**
 * kf_tune() - set a parameter of mallopt
 * @param:	M_MMAP_THRESHOLD and others, in malloc.h
 * @value:	what that says; bytes or a number
 *
 * Context: any thread, once counters have memory.
 * Return: 1 for a known parameter with a good value and for an unknown one, 0
 *	   for a bad value.
 */
int kf_tune(int param, int64_t value);

/**
 * kf_tune_read() - take over what the environment says to glibc's malloc
 *
 * An option of ours for the same goes before it. What has no meaning here, or a
 * bad value, is told in a line on stderr.
 *
 * Context: once, at start, when the engine serves; does nothing in set-id
 *	    programs, and with the engine system, behind which these names work.
 */
void kf_tune_read(void);

#endif
