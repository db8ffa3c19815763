/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions of other objects: see next.h.
 */
#define _GNU_SOURCE
#include "sys/next.h"

#include <dlfcn.h>
#include <link.h>

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

bool kf_next_keep(const char *soname, bool load, const char *name,
		  void **symbol)
{
	int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
	void *handle = dlopen(soname, load ? flags : flags | RTLD_NOLOAD);

	*symbol = handle ? dlsym(handle, name) : NULL;
	if (!*symbol)
		dlerror();
	return *symbol != NULL;
}

struct span {
	uintptr_t addr;
	uintptr_t from;
	uintptr_t to;
};

static int see_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct span *span = arg;
	uintptr_t from = UINTPTR_MAX, to = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		from = KF_MIN(from, at);
		to = KF_MAX(to, at + ph->p_memsz);
	}
	if (span->addr < from || span->addr >= to)
		return 0;
	span->from = from;
	span->to = to;
	return 1;
}

bool kf_next_span(const void *addr, uintptr_t *from, uintptr_t *to)
{
	struct span span = {.addr = (uintptr_t)addr};

	if (!dl_iterate_phdr(see_object, &span))
		return false;
	*from = span.from;
	*to = span.to;
	return true;
}
