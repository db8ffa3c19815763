/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Detection of memcheck: see valgrind.h.
 */
#include "config.h"

#include "sys/valgrind.h"

#ifdef HAVE_VALGRIND_MEMCHECK_H
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_DEFINED(address, bytes) ((void)(address), 0)
#endif

bool kf_memcheck_is_on(void)
{
	char here = 0;

	/* Only memcheck answers this request. */
	return VALGRIND_MAKE_MEM_DEFINED(&here, sizeof(here)) != 0;
}
