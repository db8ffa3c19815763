/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions of other objects: see next.h.
 */
#define _GNU_SOURCE
#include "sys/next.h"

#include <dlfcn.h>

void *kf_next(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	/* The program shall not find our question in its dlerror(). */
	if (!symbol)
		dlerror();
	return symbol;
}

static const void *object_of(const void *addr, const char **path)
{
	Dl_info info;

	if (!addr || !dladdr(addr, &info))
		return NULL;
	*path = info.dli_fname;
	return info.dli_fbase;
}

void *kf_next_of(const char *name, const void *beside)
{
	void *symbol = kf_next(name);
	const char *path;

	return object_of(symbol, &path) == object_of(beside, &path) ? symbol
								    : NULL;
}

const char *kf_next_path(const void *addr)
{
	const char *path = "?";

	object_of(addr, &path);
	return path;
}

const char *kf_next_load(const char *path, const char *name, void **symbol)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *why = NULL;

	if (handle) {
		*symbol = dlsym(handle, name);
		if (*symbol)
			return NULL;
	}
	why = dlerror();
	return why ? why : "cannot be loaded";
}
