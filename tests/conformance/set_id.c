/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that is linked with the library, to be installed set-id: ld.so
 * preloads nothing into those. It says on stdout whether the kernel started it
 * as set-id, and ends with 0 where the malloc in use is the library's and
 * works.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

int main(void)
{
	void *(*volatile allocate)(size_t) = malloc;
	Dl_info info;
	char *p = allocate(100000);

	if (!p || !dladdr((void *)allocate, &info) ||
	    !strstr(info.dli_fname, "konfiscator"))
		return 1;
	memset(p, 1, 100000);
	free(realloc(p, 1000000));
	puts(getauxval(AT_SECURE) ? "secure" : "plain");
	return fflush(stdout) ? 1 : 0;
}
