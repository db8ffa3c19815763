/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names by libelf, demangled by libiberty.
 */
#include "config.h"

#include "exporter/site/names.h"
#include "exporter/buf.h"

#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_TABLE (64 * KF_MIB) /* bytes of symbols, or of their names */
#define SETTLED_S 2		/* as coarse as times of files may be */
#define MAX_MANGLED                                         \
	1024 /* longer names stay as they are: to undo them \
		takes stack in proportion */

struct symbol {
	uint64_t begin;
	uint64_t end;
	size_t name; /* in the table of strings */
};

struct kf_symbol_table {
	Elf *elf;
	size_t strings; /* the section */
	size_t nr;
	struct symbol *symbol; /* by @begin */
	bool whole;	       /* what it does not have the file has not */
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
	if (!t)
		return;
	elf_end(t->elf);
	free(t->symbol);
	free(t);
}

/* The segment that the code is in tells which address it was linked for. */
static bool linked_at(const struct kf_symbol_table *t, uint64_t offset,
		      uint64_t *address)
{
	size_t nr = 0;
	GElf_Phdr ph;

	elf_getphdrnum(t->elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(t->elf, (int)i, &ph) ||
		    ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) ||
		    offset < ph.p_offset || offset - ph.p_offset >= ph.p_filesz)
			continue;
		*address = offset - ph.p_offset + ph.p_vaddr;
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

	t->whole = !scn;
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
	t->whole = true;
}

static struct kf_symbol_table *open_table(int fd)
{
	struct kf_symbol_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	elf_version(EV_CURRENT);
	if (fd >= 0)
		t->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (t->elf && elf_kind(t->elf) == ELF_K_ELF)
		read_symbols(t);
	return t;
}

/* NULL where there is none, or where it cannot be read: then @t is not whole
 * any more. */
static const char *look_up(struct kf_symbol_table *t, uint64_t offset)
{
	size_t low = 0, high = t->nr, mid;
	uint64_t address;
	const char *name;

	if (!high || !linked_at(t, offset, &address))
		return NULL;
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
	name = elf_strptr(t->elf, t->strings, t->symbol[low - 1].name);
	t->whole &= name != NULL;
	return name;
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

bool kf_names_begin(struct kf_names *n, struct kf_name_cache *cache, int pid,
		    const struct kf_snapshot *s)
{
	*n = (struct kf_names){.cache = cache, .pid = pid};
	if (!kf_codes_read(cache->procfs, pid, s, &n->codes))
		return false;
	n->files = calloc(n->codes.nr + 1, sizeof(*n->files));
	return n->files;
}

static bool read_state(int fd, struct kf_file_key *key)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return false;
	key->dev = st.st_dev;
	key->ino = st.st_ino;
	key->size = (uint64_t)st.st_size;
	key->modified = st.st_mtim;
	key->changed = st.st_ctim;
	return true;
}

/* What changes a file twice within a tick of its clock cannot be told. */
static bool is_settled(const struct kf_file_key *key)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec - key->changed.tv_sec > SETTLED_S;
}

static struct kf_names_file *file_of(struct kf_names *n,
				     const struct kf_code *code)
{
	struct kf_names_file *f = &n->files[code - n->codes.code];

	if (f->opened)
		return f;
	f->opened = true;
	f->fd = kf_code_open(n->cache->procfs, n->pid, code);
	f->kept = read_state(f->fd, &f->key) && is_settled(&f->key);
	if (f->fd >= 0)
		f->key.build_id_size = kf_elf_build_id(f->fd, f->key.build_id,
						       sizeof(f->key.build_id));
	return f;
}

const struct kf_names_file *kf_names_file(struct kf_names *n,
					  const struct kf_code *code)
{
	return file_of(n, code);
}

/* Unless the file is another by now than when it was opened. */
static void keep(struct kf_names *n, struct kf_names_file *f, uint64_t offset,
		 const struct kf_name *name)
{
	struct kf_file_key now = f->key;

	f->kept = f->kept && f->table->whole && read_state(f->fd, &now) &&
		  memcmp(&now, &f->key, sizeof(now)) == 0;
	if (f->kept)
		kf_name_cache_put(n->cache, &f->key, offset,
				  name->known ? name->function : "");
}

/* Leaves @name->function undefined where the file has no name. */
static void find_in_file(struct kf_names *n, uint64_t offset,
			 struct kf_name *name)
{
	struct kf_names_file *f = file_of(n, name->code);
	const char *symbol;

	if (f->kept &&
	    kf_name_cache_get(n->cache, &f->key, offset, name->function,
			      sizeof(name->function))) {
		name->known = name->function[0];
		return;
	}
	if (!f->table)
		f->table = open_table(f->fd);
	if (!f->table)
		return;
	symbol = look_up(f->table, offset);
	name->known = symbol && symbol[0];
	if (name->known)
		put(name, symbol);
	keep(n, f, offset, name);
}

void kf_names_find(struct kf_names *n, uint64_t address, struct kf_name *name)
{
	/* the call lies before the address that it returns to */
	const struct kf_code *code = kf_codes_find(&n->codes, address - 1);
	uint64_t offset;
	char text[256];

	name->code = code;
	name->known = false;
	if (!code) {
		snprintf(name->function, sizeof(name->function), "0x%" PRIx64,
			 address);
		return;
	}
	offset = address - code->begin + code->offset;
	find_in_file(n, offset - 1, name);
	if (name->known)
		return;
	snprintf(text, sizeof(text), "%.200s+0x%" PRIx64, kf_code_name(code),
		 offset);
	kf_utf8_clean(name->function, sizeof(name->function), text);
}

void kf_names_end(struct kf_names *n)
{
	for (size_t i = 0; n->files && i < n->codes.nr; i++) {
		close_table(n->files[i].table);
		if (n->files[i].opened && n->files[i].fd >= 0)
			close(n->files[i].fd);
	}
	free(n->files);
	n->files = NULL;
	kf_codes_release(&n->codes);
}
