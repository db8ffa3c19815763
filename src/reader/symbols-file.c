/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file of a mapping, read by libdwfl of elfutils.
 *
 * Each mapping has a Dwfl of its own. An address is converted to an offset in
 * the file, and by the executable segment there to a link-time address. The
 * distance from the file's first mapping would be wrong, as segments may share
 * a page.
 *
 * Functions come from the symbol table, sorted once; libdwfl itself would
 * search all of it for each address.
 */
#include "config.h"

#include "reader/symbols-internal.h"

#include "reader/regular.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The largest symbol table or string table, in bytes. */
#define MAX_TABLE (64 * KF_MIB)
#define MAX_AROUND 16 /* most symbols within a larger symbol */
#define SETTLED_S 2   /* the coarsest resolution of file times */
#define NS_PER_S 1000000000ull

struct kf_symbol {
	uint64_t begin;
	uint64_t end;
	const char *name;
	int rank; /* of symbols at one address the lowest rank is used */
};

static bool is_table(const GElf_Shdr *h)
{
	return h->sh_type == SHT_SYMTAB || h->sh_type == SHT_DYNSYM ||
	       h->sh_type == SHT_SYMTAB_SHNDX || h->sh_type == SHT_STRTAB;
}

/*
 * Whether libdwfl may read a file of another user: its tables must have a
 * bounded size, and compressed data such as .gnu_debugdata is hidden.
 */
static bool is_moderate(Elf *elf)
{
	Elf_Scn *scn = NULL;
	bool has_symbols = false;
	GElf_Shdr h;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &h))
			return false;
		if (h.sh_type == SHT_PROGBITS && !(h.sh_flags & SHF_ALLOC)) {
			h.sh_size = 0;
			gelf_update_shdr(scn, &h);
		}
		if (!is_table(&h))
			continue;
		if (h.sh_size > MAX_TABLE || (h.sh_flags & SHF_COMPRESSED) ||
		    (h.sh_type != SHT_STRTAB && !h.sh_entsize))
			return false;
		has_symbols |= h.sh_type != SHT_STRTAB;
	}
	return has_symbols;
}

static int find_elf(Dwfl_Module *mod, void **data, const char *name,
		    Dwarf_Addr base, char **path, Elf **elf)
{
	struct kf_symbol_file *f = *data;
	const char *of = f->code->path;
	int fd;

	if (f->elf) {
		*elf = f->elf;
		if (f->how->pid)
			fd = asprintf(path, "%s/%d/root%s", f->how->procfs,
				      f->how->pid, of);
		else
			fd = asprintf(path, "%s", of);
		if (fd < 0)
			*path = NULL;
		return -1;
	}
	if (!f->how->debug || !f->code->build_id_size)
		return -1;
	fd = dwfl_build_id_find_elf(mod, data, name, base, path, elf);
	if (fd >= 0 || *elf)
		return fd;
	/* A separate debug file has the names of stripped functions. */
	return dwfl_standard_find_debuginfo(mod, data, name, base, of, NULL, 0,
					    path);
}

/* libdw accepts any file with the right name, so the build id is checked. */
static int find_debuginfo(Dwfl_Module *mod, void **data, const char *name,
			  Dwarf_Addr base, const char *file, const char *link,
			  GElf_Word crc, char **path)
{
	const struct kf_symbol_file *f = *data;

	if (!f->how->debug ||
	    (!link && !f->code->build_id_size && !f->key.build_id_size))
		return -1;
	return dwfl_standard_find_debuginfo(mod, data, name, base, file, link,
					    crc, path);
}

static const Dwfl_Callbacks dwfl_callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
};

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

/* A second change within the resolution of the file's time cannot be seen. */
static bool symbol_file_is_settled(const struct kf_file_key *key)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec - key->changed.tv_sec > SETTLED_S;
}

/*
 * Without a build id a file is known by what it was, and by its ctime, which
 * changes if the file is moved, and which users cannot set.
 */
static const char *symbol_file_differs(const struct kf_symbol_file *f)
{
	const struct timespec *changed = &f->key.changed;
	struct stat st;
	const char *why;

	if (f->code->build_id_size)
		return NULL;
	if (fstat(f->fd, &st))
		return "cannot be examined";
	why = kf_code_differs(&st, f->code);
	if (!why &&
	    (uint64_t)changed->tv_sec * NS_PER_S + (uint64_t)changed->tv_nsec >
		    f->how->recorded_ns)
		why = "has changed since the recording";
	return why;
}

/* Opens a file without a build id, of a process that has ended. */
static int open_unidentified(struct kf_symbol_file *f)
{
	const struct kf_code *code = f->code;

	if (f->how->pid || code->build_id_size || code->deleted ||
	    !f->how->recorded_ns)
		return -1;
	return kf_regular_open(code->path);
}

void kf_symbol_file_open(struct kf_symbol_file *f)
{
	const struct kf_symbols_how *how = f->how;

	f->opened = true;
	f->fd = kf_code_open(how->procfs, how->pid, f->code);
	if (f->fd < 0)
		f->fd = open_unidentified(f);
	if (!read_state(f->fd, &f->key))
		return;
	if (!how->pid)
		f->refused = symbol_file_differs(f);
	if (f->refused) {
		close(f->fd);
		f->fd = -1;
		return;
	}
	f->kept = how->cache && symbol_file_is_settled(&f->key);
	f->key.build_id_size = kf_elf_build_id(f->fd, f->key.build_id,
					       sizeof(f->key.build_id));
}

static void symbol_file_report(struct kf_symbol_file *f)
{
	const struct kf_code *code = f->code;
	void **data;

	dwfl_report_begin(f->dwfl);
	f->mod = dwfl_report_module(f->dwfl, kf_code_name(code), code->base,
				    code->end);
	if (f->mod && code->build_id_size)
		dwfl_module_report_build_id(f->mod, code->build_id,
					    code->build_id_size, 0);
	dwfl_report_end(f->dwfl, NULL, NULL);
	if (!f->mod)
		return;
	dwfl_module_info(f->mod, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = f;
	/* libdwfl owns the file from here on, and may refuse it */
	if (!dwfl_module_getelf(f->mod, &f->bias))
		f->mod = NULL;
}

/* Whether the file at the path is another one than that of the build id. */
static bool has_other_build_id(const struct kf_symbol_file *f)
{
	int fd = -1;

	if (f->fd < 0 && f->code->build_id_size && !f->how->pid &&
	    f->code->path[0] == '/')
		fd = kf_regular_open(f->code->path);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void symbol_file_read_elf(struct kf_symbol_file *f)
{
	bool debug = f->how->debug;

	if (f->code->base > f->code->begin)
		return;
	f->dwfl = dwfl_begin(&dwfl_callbacks);
	if (!f->dwfl)
		return;
	elf_version(EV_CURRENT);
	if (f->fd >= 0)
		f->elf = elf_begin(f->fd,
				   debug ? ELF_C_READ_MMAP_PRIVATE : ELF_C_READ,
				   NULL);
	else if (debug)
		kf_symbol_memory_open(f);
	if (f->elf && (elf_kind(f->elf) != ELF_K_ELF ||
		       (!debug && !is_moderate(f->elf)))) {
		elf_end(f->elf);
		f->elf = NULL;
	}
	if (f->elf || debug)
		symbol_file_report(f);
}

/* Parts of a sentence, as other reasons are. */
static const char *const lacks_texts[KF_NR_LACKS] = {
	[KF_LACKS_RULE] =
		"may be read by its modes, but a rule of this process "
		"forbids it",
	[KF_LACKS_PTRACE] = "must be opened through the process, which needs "
			    "CAP_SYS_PTRACE",
	[KF_LACKS_RESTORE] = "was deleted or replaced; opening it by the "
			     "mapping needs CAP_CHECKPOINT_RESTORE",
	[KF_LACKS_SEARCH] = "was deleted or replaced; opening it by the "
			    "mapping needs CAP_CHECKPOINT_RESTORE and "
			    "CAP_DAC_READ_SEARCH",
};

void kf_symbol_file_load(struct kf_symbol_file *f)
{
	f->loaded = true;
	symbol_file_read_elf(f);
	if (f->mod)
		return;
	if (f->fd < 0)
		f->lacks = kf_code_lacks(f->how->procfs, f->how->pid, f->code);
	if (!f->refused && has_other_build_id(f))
		f->refused = "has another build id";
	if (!f->refused)
		f->refused = lacks_texts[f->lacks];
	if (f->refused && f->how->refused)
		f->how->refused(f->code->path, f->refused);
}

bool kf_symbol_file_address(const struct kf_symbol_file *f, uint64_t address,
			    uint64_t *pc)
{
	uint64_t offset = address - f->code->begin + f->code->offset;
	size_t nr = 0;
	GElf_Phdr ph;

	*pc = address;
	if (!f->elf)
		return true;
	elf_getphdrnum(f->elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(f->elf, (int)i, &ph) ||
		    ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) ||
		    offset < ph.p_offset || offset - ph.p_offset >= ph.p_filesz)
			continue;
		*pc = offset - ph.p_offset + ph.p_vaddr + f->bias;
		return true;
	}
	return false;
}

static int symbols_by_begin(const void *a, const void *b)
{
	const struct kf_symbol *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The rank: global before weak before local, then by leading underscores. */
static int rank_of(const GElf_Sym *sym, const char *name)
{
	unsigned int bind = GELF_ST_BIND(sym->st_info);
	int rank = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;

	return 256 * rank + KF_MIN((int)strspn(name, "_"), 255);
}

static void symbol_file_read(struct kf_symbol_file *f)
{
	int nr = dwfl_module_getsymtab(f->mod);

	f->sorted = true;
	f->symbol = calloc(nr > 0 ? (size_t)nr : 1, sizeof(*f->symbol));
	for (int i = 0; f->symbol && i < nr; i++) {
		GElf_Sym sym;
		GElf_Addr at;
		const char *name = dwfl_module_getsym_info(f->mod, i, &sym, &at,
							   NULL, NULL, NULL);

		if (!name || !name[0] || sym.st_shndx == SHN_UNDEF ||
		    !sym.st_size ||
		    (GELF_ST_TYPE(sym.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC))
			continue;
		f->symbol[f->nr++] = (struct kf_symbol){
			.begin = at,
			.end = at + sym.st_size,
			.name = name,
			.rank = rank_of(&sym, name),
		};
	}
	if (f->symbol)
		qsort(f->symbol, f->nr, sizeof(*f->symbol), symbols_by_begin);
}

const char *kf_symbol_file_function(struct kf_symbol_file *f, uint64_t pc)
{
	size_t low = 0, high, mid;

	if (!f->sorted)
		symbol_file_read(f);
	high = f->nr;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (f->symbol[mid].begin <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	for (int i = 0; low && i < MAX_AROUND; i++, low--) {
		const struct kf_symbol *s = &f->symbol[low - 1];

		if (pc >= s->end)
			continue;
		while (low > 1 && s[-1].begin == s->begin && pc < s[-1].end) {
			s--;
			low--;
		}
		return s->name;
	}
	return NULL;
}

bool kf_symbol_file_is_same(const struct kf_symbol_file *f)
{
	struct kf_file_key now = f->key;

	return read_state(f->fd, &now) &&
	       memcmp(&now, &f->key, sizeof(now)) == 0;
}

void kf_symbol_file_close(struct kf_symbol_file *f)
{
	if (f->dwfl)
		dwfl_end(f->dwfl);
	kf_symbol_memory_close(f);
	free(f->symbol);
	if (f->fd >= 0)
		close(f->fd);
}
