/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The build id of a mapped file, from its notes in memory: the file at the path
 * may be another one by now. Memory at an address may hold anything and may be
 * unmapped at any time, so the kernel copies it and each length is checked.
 */
#include "sample/internal.h"

#include "sys/vm.h"

#include <elf.h>
#include <string.h>

#define MAX_HEADERS 32
#define MAX_NOTES 1024

/* Guarded by the right to read the mappings, see modules.c. */
static struct {
	Elf64_Ehdr file;
	Elf64_Phdr segment[MAX_HEADERS];
	char notes[MAX_NOTES];
} elf;

static unsigned int read_segments(uint64_t base)
{
	const char *at = (const char *)(uintptr_t)base;
	unsigned int nr;

	if (!kf_vm_copy(&elf.file, at, sizeof(elf.file)) ||
	    memcmp(elf.file.e_ident, ELFMAG, SELFMAG) ||
	    elf.file.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.file.e_phentsize != sizeof(elf.segment[0]))
		return 0;
	nr = KF_MIN(elf.file.e_phnum, (unsigned int)MAX_HEADERS);
	if (!nr || !kf_vm_copy(elf.segment, at + elf.file.e_phoff,
			       nr * sizeof(elf.segment[0])))
		return 0;
	return nr;
}

static uint32_t build_id_find_in(size_t size, size_t align, uint8_t *id)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, desc;

		memcpy(&note, elf.notes + at, sizeof(note));
		name = at + sizeof(note);
		desc = name + KF_ALIGN_UP((size_t)note.n_namesz, align);
		at = desc + KF_ALIGN_UP((size_t)note.n_descsz, align);
		if (at > size)
			return 0;
		if (note.n_type != NT_GNU_BUILD_ID ||
		    note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(elf.notes + name, ELF_NOTE_GNU,
			   sizeof(ELF_NOTE_GNU)) ||
		    note.n_descsz > KF_STATS_BUILD_ID)
			continue;
		memcpy(id, elf.notes + desc, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

uint32_t kf_build_id_read(uint64_t base, uint8_t id[KF_STATS_BUILD_ID])
{
	unsigned int nr = read_segments(base);
	uint64_t bias = base;
	uint32_t n = 0;

	for (unsigned int i = nr; i-- > 0;) {
		if (elf.segment[i].p_type == PT_LOAD)
			bias = base - (elf.segment[i].p_vaddr -
				       elf.segment[i].p_offset);
	}
	for (unsigned int i = 0; i < nr && !n; i++) {
		const Elf64_Phdr *p = &elf.segment[i];
		size_t size = KF_MIN(p->p_filesz, (uint64_t)MAX_NOTES);

		if (p->p_type == PT_NOTE &&
		    kf_vm_copy(elf.notes,
			       (const void *)(uintptr_t)(bias + p->p_vaddr),
			       size))
			n = build_id_find_in(size, p->p_align == 8 ? 8 : 4, id);
	}
	return n;
}
