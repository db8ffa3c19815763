/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions of other objects: see next.h.
 */
#define _GNU_SOURCE
#include "sys/next.h"

#include "base/few.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

void *kf_next(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	/* The program shall not find our question in its dlerror(). */
	if (!symbol)
		dlerror();
	return symbol;
}

const char *kf_next_path(const void *addr)
{
	Dl_info info;

	return addr && dladdr(addr, &info) ? info.dli_fname : "?";
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

static int see_name(struct dl_phdr_info *info, size_t size, void *soname)
{
	const char *slash = kf_few_find_last(info->dlpi_name, '/');

	return kf_few_same(slash ? slash + 1 : info->dlpi_name, soname);
}

/* RTLD_NOLOAD would read the linker's cache where the object is not there. */
bool kf_next_keep(const char *soname, bool load, const char *name,
		  void **symbol)
{
	int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
	void *handle;

	*symbol = NULL;
	if (!load && !dl_iterate_phdr(see_name, (void *)soname))
		return false;
	handle = dlopen(soname, load ? flags : flags | RTLD_NOLOAD);
	*symbol = handle ? dlsym(handle, name) : NULL;
	if (!*symbol)
		dlerror();
	return *symbol != NULL;
}

struct span {
	uintptr_t addr;
	uintptr_t from;
	uintptr_t to;
	const ElfW(Dyn) * dynamic; /* NULL: it has none */
};

static int see_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct span *span = arg;
	const ElfW(Dyn) *dynamic = NULL;
	uintptr_t from = UINTPTR_MAX, to = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)at;
		if (ph->p_type != PT_LOAD)
			continue;
		from = KF_MIN(from, at);
		to = KF_MAX(to, at + ph->p_memsz);
	}
	if (span->addr < from || span->addr >= to)
		return 0;
	*span = (struct span){span->addr, from, to, dynamic};
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

void *kf_next_of(const char *name, const void *beside)
{
	uintptr_t symbol = (uintptr_t)kf_next(name), from, to;

	return kf_next_span(beside, &from, &to) && symbol >= from && symbol < to
		       ? (void *)symbol
		       : NULL;
}

/* Where an entry of the dynamic section points to, or NULL. */
static const void *dynamic_at(const ElfW(Dyn) * d, ElfW(Sxword) tag)
{
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == tag)
			return (const void *)d->d_un.d_ptr;
	}
	return NULL;
}

bool kf_next_imports(const void *addr, const char *name)
{
	struct span span = {.addr = (uintptr_t)addr};
	const ElfW(Sym) * symbol;
	const uint32_t *hash;
	const char *names;

	if (!dl_iterate_phdr(see_object, &span))
		return false;
	symbol = dynamic_at(span.dynamic, DT_SYMTAB);
	names = dynamic_at(span.dynamic, DT_STRTAB);
	hash = dynamic_at(span.dynamic, DT_GNU_HASH);
	if (!symbol || !names || !hash)
		return false;
	/* Those of others come first: the hash says where its own begin. */
	for (uint32_t i = 0; i < hash[1]; i++) {
		if (!strcmp(names + symbol[i].st_name, name))
			return true;
	}
	return false;
}
