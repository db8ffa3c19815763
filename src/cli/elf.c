/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads ELF files by libelf, of any class and machine. A damaged file yields
 * the parts that could be read: the kernel and the loader decide about it.
 */
#include "config.h"

#include "cli/elf.h"

#include "reader/regular.h"

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NT_STAPSDT 3

static void elf_copy(char *dst, size_t size, const char *src)
{
	snprintf(dst, size, "%s", src ? src : "");
}

static void read_loader(Elf *e, const GElf_Phdr *ph, struct kf_elf *elf)
{
	Elf_Data *data = elf_getdata_rawchunk(e, (int64_t)ph->p_offset,
					      ph->p_filesz, ELF_T_BYTE);

	if (data && data->d_buf && data->d_size)
		snprintf(elf->loader, sizeof(elf->loader), "%.*s",
			 (int)data->d_size, (const char *)data->d_buf);
}

static void elf_read_segments(Elf *e, struct kf_elf *elf)
{
	size_t nr = 0;

	elf_getphdrnum(e, &nr);
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(e, (int)i, &ph))
			continue;
		if (ph.p_type == PT_INTERP)
			read_loader(e, &ph, elf);
		else if (ph.p_type == PT_DYNAMIC)
			elf->dynamic = true;
	}
}

/* gcc links the sanitizers' runtimes as libraries of these names. */
static const char *sanitizer_library(const char *needed)
{
	static const struct {
		const char *library;
		const char *name;
	} known[] = {
		{"libasan.so", "AddressSanitizer"},
		{"libhwasan.so", "HWAddressSanitizer"},
		{"liblsan.so", "LeakSanitizer"},
		{"libtsan.so", "ThreadSanitizer"},
		{"libclang_rt.asan", "AddressSanitizer"},
		{"libclang_rt.tsan", "ThreadSanitizer"},
		{"libclang_rt.hwasan", "HWAddressSanitizer"},
	};

	for (size_t i = 0; needed && i < KF_ARRAY_SIZE(known); i++) {
		if (!strncmp(needed, known[i].library,
			     strlen(known[i].library)))
			return known[i].name;
	}
	return NULL;
}

/* clang links them into the program, which then defines their start. */
static const char *sanitizer_symbol(const char *symbol)
{
	static const struct {
		const char *symbol;
		const char *name;
	} known[] = {
		{"__asan_init", "AddressSanitizer"},
		{"__hwasan_init", "HWAddressSanitizer"},
		{"__lsan_init", "LeakSanitizer"},
		{"__msan_init", "MemorySanitizer"},
		{"__tsan_init", "ThreadSanitizer"},
	};

	for (size_t i = 0; symbol && i < KF_ARRAY_SIZE(known); i++) {
		if (!strcmp(symbol, known[i].symbol))
			return known[i].name;
	}
	return NULL;
}

static void read_dynamic(Elf *e, Elf_Scn *scn, const GElf_Shdr *sh,
			 struct kf_elf *elf)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Dyn dyn;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn); i++) {
		const char *text = elf_strptr(e, sh->sh_link, dyn.d_un.d_val);

		if (dyn.d_tag == DT_NULL)
			return;
		if (dyn.d_tag == DT_SONAME)
			elf_copy(elf->soname, sizeof(elf->soname), text);
		else if (dyn.d_tag == DT_NEEDED && !elf->sanitizer)
			elf->sanitizer = sanitizer_library(text);
	}
}

static void elf_read_symbols(Elf *e, Elf_Scn *scn, const GElf_Shdr *sh,
			     struct kf_elf *elf)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym sym;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		if (!elf->sanitizer && sym.st_shndx != SHN_UNDEF)
			elf->sanitizer = sanitizer_symbol(
				elf_strptr(e, sh->sh_link, sym.st_name));
	}
}

/* A note's text: three addresses, then provider, probe, arguments. */
static void count_note(const Elf_Data *data, const GElf_Nhdr *nh,
		       size_t name_at, size_t desc_at, struct kf_elf *elf)
{
	static const char ours[] = "konfiscator\0";
	static const char glibc[] = "libc\0memory_";
	const char *base = data->d_buf;
	size_t at = 3 * sizeof(uint64_t), size;

	if (nh->n_type != NT_STAPSDT || nh->n_namesz != sizeof("stapsdt") ||
	    memcmp(base + name_at, "stapsdt", sizeof("stapsdt")) ||
	    nh->n_descsz < at)
		return;
	base += desc_at + at;
	size = nh->n_descsz - at;
	if (size >= sizeof(ours) && !memcmp(base, ours, sizeof(ours) - 1))
		elf->nr_probes++;
	if (size >= sizeof(glibc) && !memcmp(base, glibc, sizeof(glibc) - 1))
		elf->nr_marks++;
}

static void read_notes(Elf_Scn *scn, struct kf_elf *elf)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr nh;

	while (data &&
	       (at = gelf_getnote(data, at, &nh, &name_at, &desc_at)) > 0)
		count_note(data, &nh, name_at, desc_at, elf);
}

static void read_sections(Elf *e, struct kf_elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_DYNAMIC)
			read_dynamic(e, scn, &sh, elf);
		else if (sh.sh_type == SHT_DYNSYM || sh.sh_type == SHT_SYMTAB)
			elf_read_symbols(e, scn, &sh, elf);
		else if (sh.sh_type == SHT_NOTE)
			read_notes(scn, elf);
	}
}

enum kf_elf_result kf_elf_read(const char *path, struct kf_elf *elf)
{
	int fd = kf_regular_open(path);
	enum kf_elf_result result = KF_ELF_NOT_ELF;
	GElf_Ehdr eh;
	Elf *e;

	memset(elf, 0, sizeof(*elf));
	if (fd < 0)
		return KF_ELF_ERROR;
	elf_version(EV_CURRENT);
	e = elf_begin(fd, ELF_C_READ, NULL);
	if (e && elf_kind(e) == ELF_K_ELF && gelf_getehdr(e, &eh)) {
		elf->class = eh.e_ident[EI_CLASS];
		elf->machine = eh.e_machine;
		elf_read_segments(e, elf);
		read_sections(e, elf);
		result = KF_ELF_OK;
	}
	elf_end(e);
	close(fd);
	return result;
}
