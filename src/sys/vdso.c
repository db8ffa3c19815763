/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions of the vDSO: see vdso.h.
 */
#include "sys/vdso.h"

#include "base/compiler.h"
#include "base/few.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

struct object {
	uintptr_t bias; /* of addresses in it */
	const ElfW(Dyn) * dynamic;
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hash;
};

/* Who has no such object is told so by errno, which is the program's. */
static uintptr_t object_at(void)
{
	int saved = errno;
	uintptr_t at = getauxval(AT_SYSINFO_EHDR);

	errno = saved;
	return at;
}

static bool find_dynamic(struct object *o)
{
	uintptr_t at = object_at();
	const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)at;
	const ElfW(Phdr) * ph;
	bool loaded = false;

	if (!at || memcmp(head->e_ident, ELFMAG, SELFMAG))
		return false;
	ph = (const ElfW(Phdr) *)(at + head->e_phoff);
	for (unsigned int i = 0; i < head->e_phnum; i++) {
		if (ph[i].p_type == PT_DYNAMIC)
			o->dynamic = (const ElfW(Dyn) *)(at + ph[i].p_offset);
		if (ph[i].p_type == PT_LOAD && !loaded) {
			o->bias = at + ph[i].p_offset - ph[i].p_vaddr;
			loaded = true;
		}
	}
	return loaded && o->dynamic;
}

static bool find_tables(struct object *o)
{
	for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)(o->bias + d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			o->symbols = at;
		else if (d->d_tag == DT_STRTAB)
			o->names = at;
		else if (d->d_tag == DT_GNU_HASH)
			o->hash = at;
	}
	return o->symbols && o->names && o->hash;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* The table: buckets, first symbol, words of a filter and its shift. */
static const ElfW(Sym) * look_up(const struct object *o, const char *name)
{
	uint32_t nr = o->hash[0], first = o->hash[1], words = o->hash[2];
	const uint32_t *buckets =
		o->hash + 4 + words * sizeof(ElfW(Addr)) / sizeof(uint32_t);
	const uint32_t *chain = buckets + nr;
	uint32_t h = hash_of(name);
	uint32_t i = nr ? buckets[h % nr] : 0;

	for (; i >= first && i; i++) {
		uint32_t here = chain[i - first];

		if ((here | 1) == (h | 1) && o->symbols[i].st_shndx &&
		    kf_few_same(o->names + o->symbols[i].st_name, name))
			return &o->symbols[i];
		if (here & 1)
			break;
	}
	return NULL;
}

void *kf_vdso_find(const char *name)
{
	struct object o = {0};
	const ElfW(Sym) * symbol;

	if (!find_dynamic(&o) || !find_tables(&o))
		return NULL;
	symbol = look_up(&o, name);
	return symbol ? (void *)(o.bias + symbol->st_value) : NULL;
}
