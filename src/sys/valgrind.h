/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether this process runs inside valgrind's memcheck, as far as the build
 * had valgrind's header.
 */
#ifndef KF_SYS_VALGRIND_H
#define KF_SYS_VALGRIND_H

#include "base/compiler.h"

/**
 * kf_memcheck_is_on() - whether memcheck watches this process
 *
 * A few instructions that do nothing elsewhere. Not of valgrind's other tools,
 * which count what runs.
 *
 * Context: any.
 * Return: true if so.
 */
bool kf_memcheck_is_on(void);

#endif
