/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that may be installed set-id. It is linked with the library, as
 * ld.so preloads nothing into it, and says whether the kernel set it apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

int main(void)
{
	void *p = malloc(100);

	printf("secure %lu\n", getauxval(AT_SECURE));
	free(p);
	return p ? 0 : 1;
}
