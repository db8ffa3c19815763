/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the process runs under valgrind's memcheck; always false where the
 * build had no valgrind/memcheck.h.
 */
#ifndef KF_SYS_VALGRIND_H
#define KF_SYS_VALGRIND_H

#include "base/compiler.h"

/**
 * kf_memcheck_is_on() - whether memcheck watches this process
 *
 * Takes a few instructions outside of valgrind.
 *
 * Context: any.
 * Return: true under memcheck; false under valgrind's other tools.
 */
bool kf_memcheck_is_on(void);

#endif
