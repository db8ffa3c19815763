// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A preload like those that watch what programs look up: dlsym is its own, and
 * goes on to the C library's, by which RTLD_NEXT is then what comes behind this
 * library. What others have no business to call before its constructor has run
 * ends the process before.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

typedef void *dlsym_fn(void *handle, const char *name);
typedef int dladdr_fn(const void *addr, Dl_info *info);
typedef int iterate_fn(int (*fn)(struct dl_phdr_info *, size_t, void *),
		       void *arg);

static dlsym_fn *next_dlsym;
static dladdr_fn *next_dladdr;
static iterate_fn *next_iterate;

__attribute__((constructor)) static void find(void)
{
	next_dlsym = (dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", DLSYM_VERSION);
	next_dladdr = (dladdr_fn *)next_dlsym(RTLD_NEXT, "dladdr");
	next_iterate = (iterate_fn *)next_dlsym(RTLD_NEXT, "dl_iterate_phdr");
}

void *dlsym(void *handle, const char *name)
{
	if (!next_dlsym)
		abort();
	return next_dlsym(handle, name);
}

int dladdr(const void *addr, Dl_info *info)
{
	if (!next_dladdr)
		abort();
	return next_dladdr(addr, info);
}

int dl_iterate_phdr(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	if (!next_iterate)
		abort();
	return next_iterate(fn, arg);
}
