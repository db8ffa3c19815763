/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions of other objects: see next.h.
 *
 * A preloaded library may define the dynamic linker's functions: MangoHud and
 * uftrace define dlsym, fakechroot defines dl_iterate_phdr. dlsym(RTLD_NEXT)
 * would then search behind that library, as it depends on its caller, and
 * either may fail before that library is ready. So objects are walked by the C
 * library's own dl_iterate_phdr, under the linker's lock, and symbols are
 * looked up here. The C library is found in the linker's list for debuggers: it
 * and all objects before it are loaded at the start and stay.
 */
#define _GNU_SOURCE
#include "sys/next.h"

#include "base/text.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

/* In a symbol's version: only for programs linked with an old version. */
#define VERSION_HIDDEN 0x8000

typedef int see_fn(struct dl_phdr_info *info, size_t size, void *arg);
typedef int iterate_fn(see_fn *see, void *arg);

const void *kf_next_dynamic(const struct kf_object *o, ElfW(Sxword) tag)
{
	for (const ElfW(Dyn) *d = o->dynamic; d && d->d_tag != DT_NULL; d++) {
		/* The linker adds the base, except for the vDSO. */
		if (d->d_tag == tag)
			return (const void *)(d->d_un.d_ptr < o->base
						      ? d->d_un.d_ptr + o->base
						      : d->d_un.d_ptr);
	}
	return NULL;
}

static uint32_t next_hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static bool is_symbol(const struct kf_object *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *symbol = kf_next_dynamic(o, DT_SYMTAB);
	const char *names = kf_next_dynamic(o, DT_STRTAB);
	const uint16_t *version = kf_next_dynamic(o, DT_VERSYM);

	symbol += i;
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	       ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
	       !(version && version[i] & VERSION_HIDDEN) &&
	       !strcmp(names + symbol->st_name, name);
}

static uint32_t find_by_gnu_hash(const struct kf_object *o,
				 const uint32_t *table, const char *name)
{
	const uint32_t *bucket = table + 4 + table[2] * sizeof(ElfW(Addr)) / 4;
	const uint32_t *chain = bucket + table[0];
	uint32_t hash = next_hash_of(name);
	uint32_t i = bucket[hash % table[0]];

	for (; i >= table[1]; i++) {
		uint32_t h = chain[i - table[1]];

		if ((h | 1) == (hash | 1) && is_symbol(o, i, name))
			return i;
		if (h & 1)
			break;
	}
	return 0;
}

/* The number of a symbol; 0: the object does not define it. */
static uint32_t find_number(const struct kf_object *o, const char *name)
{
	const uint32_t *table = kf_next_dynamic(o, DT_GNU_HASH);

	if (table)
		return find_by_gnu_hash(o, table, name);
	/* Objects with the old hash table are rare: walk all symbols. */
	table = kf_next_dynamic(o, DT_HASH);
	for (uint32_t i = 1; table && i < table[1]; i++) {
		if (is_symbol(o, i, name))
			return i;
	}
	return 0;
}

const ElfW(Sym) * kf_next_entry(const struct kf_object *o, const char *name)
{
	const ElfW(Sym) *symbol = kf_next_dynamic(o, DT_SYMTAB);
	uint32_t i = find_number(o, name);

	return i ? &symbol[i] : NULL;
}

static void *next_find_in(const struct kf_object *o, const char *name)
{
	const ElfW(Sym) *symbol = kf_next_entry(o, name);
	uintptr_t at;

	if (!symbol)
		return NULL;
	at = o->base + symbol->st_value;
	if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		at = ((uintptr_t(*)(unsigned long))at)(getauxval(AT_HWCAP));
	return (void *)at;
}

void *kf_next_libc(const char *name)
{
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		struct kf_object o = {m->l_addr, m->l_ld, NULL, 0};

		if (find_number(&o, "gnu_get_libc_version"))
			return next_find_in(&o, name);
	}
	return NULL;
}

static int iterate(see_fn *see, void *arg)
{
	static iterate_fn *found; /* atomic; all threads find the same */
	iterate_fn *fn = kf_load(&found);

	if (!fn) {
		fn = (iterate_fn *)kf_next_libc("dl_iterate_phdr");
		/* in a dlmopen() namespace of its own */
		if (!fn)
			fn = dl_iterate_phdr;
		kf_store(&found, fn);
	}
	return fn(see, arg);
}

static struct kf_object object_of(const struct dl_phdr_info *info)
{
	struct kf_object o = {info->dlpi_addr, NULL, info->dlpi_phdr,
			      info->dlpi_phnum};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_DYNAMIC)
			o.dynamic = (const ElfW(Dyn) *)(o.base + ph->p_vaddr);
	}
	return o;
}

struct search {
	const char *name;
	bool behind; /* the walk has passed this library */
	void *first; /* first definition before this library */
	void *next;  /* first definition after this library */
};

static int see_symbol(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct kf_object o = object_of(info);
	struct search *search = arg;

	if (o.dynamic == _DYNAMIC)
		search->behind = true;
	else if (search->behind)
		search->next = next_find_in(&o, search->name);
	else if (!search->first)
		search->first = next_find_in(&o, search->name);
	return search->next != NULL;
}

void *kf_next(const char *name)
{
	struct search search = {.name = name};

	iterate(see_symbol, &search);
	return search.next ? search.next : search.first;
}

static int see_before(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct kf_object o = object_of(info);
	struct search *search = arg;

	search->behind = o.dynamic == _DYNAMIC;
	if (!search->behind)
		search->first = next_find_in(&o, search->name);
	return search->behind || search->first;
}

void *kf_next_before(const char *name)
{
	struct search search = {.name = name};

	iterate(see_before, &search);
	return search.first;
}

typedef void *dlopen_fn(const char *file, int mode);

/* A handle of glibc's dlopen() is the object's link_map. */
static bool next_load(const char *path, const char *name, void **symbol)
{
	dlopen_fn *open = (dlopen_fn *)kf_next("dlopen");
	const struct link_map *m =
		open ? open(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	struct kf_object o = {0};

	if (m)
		o = (struct kf_object){m->l_addr, m->l_ld, NULL, 0};
	*symbol = m ? next_find_in(&o, name) : NULL;
	return m;
}

const char *kf_next_load(const char *path, const char *name, void **symbol)
{
	static char missing[64];
	struct kf_text text;
	const char *why;

	if (!next_load(path, name, symbol)) {
		why = dlerror();
		return why ? why : "cannot be loaded";
	}
	kf_text_init(&text, missing, sizeof(missing));
	kf_text_add(&text, "undefined symbol: %s", name);
	return *symbol ? NULL : missing;
}

struct span {
	uintptr_t addr;
	uintptr_t from;
	uintptr_t to;
	const char *path;
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
	*span = (struct span){span->addr, from, to, info->dlpi_name};
	return 1;
}

const char *kf_next_path(const void *addr)
{
	struct span span = {.addr = (uintptr_t)addr};

	return iterate(see_object, &span) && span.path ? span.path : "?";
}

static bool next_span(const void *addr, uintptr_t *from, uintptr_t *to)
{
	struct span span = {.addr = (uintptr_t)addr};

	if (!iterate(see_object, &span))
		return false;
	*from = span.from;
	*to = span.to;
	return true;
}

void *kf_next_of(const char *name, const void *beside)
{
	uintptr_t symbol = (uintptr_t)kf_next(name), from, to;

	return next_span(beside, &from, &to) && symbol >= from && symbol < to
		       ? (void *)symbol
		       : NULL;
}

struct walk {
	bool (*see)(const struct kf_object *o, void *arg);
	void *arg;
};

static int see_each(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct kf_object o = object_of(info);
	const struct walk *walk = arg;

	if (!o.dynamic || o.dynamic == _DYNAMIC ||
	    o.base == getauxval(AT_BASE) ||
	    o.base == getauxval(AT_SYSINFO_EHDR))
		return 0;
	return walk->see(&o, walk->arg);
}

bool kf_next_each(bool (*see)(const struct kf_object *o, void *arg), void *arg)
{
	struct walk walk = {see, arg};

	return iterate(see_each, &walk);
}

static int see_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct kf_object o = object_of(info);
	struct search *search = arg;

	search->behind = o.dynamic == _DYNAMIC;
	if (search->behind)
		search->first = next_find_in(&o, search->name);
	return search->behind;
}

void *kf_next_own(const char *name)
{
	struct search search = {.name = name};

	iterate(see_own, &search);
	return search.first;
}
