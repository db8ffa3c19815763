/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names by libelf, demangled by libiberty.
 */
#include "config.h"

#include "exporter/names.h"
#include "exporter/buf.h"

#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_TABLE (64 * KF_MIB) /* bytes of symbols, or of their names */
#define MAX_MANGLED                                         \
	1024 /* longer names stay as they are: to undo them \
		takes stack in proportion */

struct symbol {
	uint64_t begin;
	uint64_t end;
	size_t name; /* in the table of strings */
};

struct kf_symbol_table {
	int fd;
	Elf *elf;
	size_t strings; /* the section */
	uint64_t shift; /* from an address in the process to one in the file */
	size_t nr;
	struct symbol *symbol; /* by @begin */
};

static int by_begin(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static void close_table(struct kf_symbol_table *t)
{
	elf_end(t->elf);
	if (t->fd >= 0)
		close(t->fd);
	free(t->symbol);
	free(t);
}

/* The segment that the mapping is of tells where its code was linked for. */
static bool find_shift(struct kf_symbol_table *t, const struct kf_code *code)
{
	size_t nr = 0;
	GElf_Phdr ph;

	elf_getphdrnum(t->elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(t->elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		if (code->offset + (code->end - code->begin) <= ph.p_offset ||
		    code->offset >= ph.p_offset + ph.p_filesz)
			continue;
		t->shift =
			ph.p_vaddr - ph.p_offset + code->offset - code->begin;
		return true;
	}
	return false;
}

/* The full table where there is one, else that of dynamic linking. */
static Elf_Scn *find_section(Elf *elf, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL, *found = NULL;
	GElf_Shdr h;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &h) || !h.sh_entsize ||
		    (h.sh_type != SHT_SYMTAB && h.sh_type != SHT_DYNSYM) ||
		    h.sh_size > MAX_TABLE)
			continue;
		found = scn;
		*sh = h;
		if (h.sh_type == SHT_SYMTAB)
			break;
	}
	return found;
}

static void read_symbols(struct kf_symbol_table *t)
{
	GElf_Shdr sh, strings;
	Elf_Scn *scn = find_section(t->elf, &sh);
	Elf_Data *data;
	GElf_Sym sym;

	if (!scn || !gelf_getshdr(elf_getscn(t->elf, sh.sh_link), &strings) ||
	    strings.sh_size > MAX_TABLE)
		return;
	t->strings = sh.sh_link;
	data = elf_getdata(scn, NULL);
	t->symbol = calloc(sh.sh_size / sh.sh_entsize + 1, sizeof(*t->symbol));
	if (!data || !t->symbol)
		return;
	for (size_t i = 0; i < sh.sh_size / sh.sh_entsize; i++) {
		if (!gelf_getsym(data, (int)i, &sym) ||
		    sym.st_shndx == SHN_UNDEF || !sym.st_size ||
		    (GELF_ST_TYPE(sym.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC))
			continue;
		t->symbol[t->nr++] = (struct symbol){
			.begin = sym.st_value,
			.end = sym.st_value + sym.st_size,
			.name = sym.st_name,
		};
	}
	qsort(t->symbol, t->nr, sizeof(*t->symbol), by_begin);
}

static struct kf_symbol_table *open_table(const struct kf_names *n,
					  const struct kf_code *code)
{
	struct kf_symbol_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->fd = kf_code_open(n->procfs, n->pid, code);
	elf_version(EV_CURRENT);
	if (t->fd >= 0)
		t->elf = elf_begin(t->fd, ELF_C_READ, NULL);
	if (t->elf && elf_kind(t->elf) == ELF_K_ELF && find_shift(t, code))
		read_symbols(t);
	return t;
}

static const char *look_up(const struct kf_symbol_table *t, uint64_t address)
{
	size_t low = 0, high = t->nr, mid;

	address += t->shift;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->symbol[mid].begin <= address)
			low = mid + 1;
		else
			high = mid;
	}
	/* of names for one place the first will do */
	while (low > 1 && t->symbol[low - 2].begin == t->symbol[low - 1].begin)
		low--;
	if (!low || address >= t->symbol[low - 1].end)
		return NULL;
	return elf_strptr(t->elf, t->strings, t->symbol[low - 1].name);
}

static void put(struct kf_name *name, const char *raw)
{
	char *plain = NULL;

	if (raw[0] == '_' && strlen(raw) <= MAX_MANGLED)
		plain = cplus_demangle(raw,
				       DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);

	kf_utf8_clean(name->function, sizeof(name->function),
		      plain ? plain : raw);
	free(plain);
}

bool kf_names_begin(struct kf_names *n, const char *procfs, int pid)
{
	*n = (struct kf_names){.procfs = procfs, .pid = pid};
	if (!pid)
		return true;
	if (!kf_codes_read(procfs, pid, &n->codes))
		return false;
	n->tables = calloc(n->codes.nr + 1, sizeof(*n->tables));
	return n->tables;
}

void kf_names_find(struct kf_names *n, uint64_t address, struct kf_name *name)
{
	/* the call lies before the address that it returns to */
	const struct kf_code *code = kf_codes_find(&n->codes, address - 1);
	struct kf_symbol_table **t;
	const char *symbol = NULL;
	char text[256];

	*name = (struct kf_name){.code = code};
	if (!code) {
		snprintf(name->function, sizeof(name->function), "0x%" PRIx64,
			 address);
		return;
	}
	t = &n->tables[code - n->codes.code];
	if (!*t)
		*t = open_table(n, code);
	if (*t)
		symbol = look_up(*t, address - 1);
	name->known = symbol && symbol[0];
	if (name->known) {
		put(name, symbol);
		return;
	}
	snprintf(text, sizeof(text), "%.200s+0x%" PRIx64, kf_code_name(code),
		 address - code->begin + code->offset);
	kf_utf8_clean(name->function, sizeof(name->function), text);
}

void kf_names_end(struct kf_names *n)
{
	for (size_t i = 0; n->tables && i < n->codes.nr; i++) {
		if (n->tables[i])
			close_table(n->tables[i]);
	}
	free(n->tables);
	n->tables = NULL;
	kf_codes_release(&n->codes);
}
