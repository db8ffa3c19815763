/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library that a program loads, and a block that it allocates. */
#include <stdlib.h>

void *plugin_make(void);

void *plugin_make(void)
{
	return malloc(12345);
}
