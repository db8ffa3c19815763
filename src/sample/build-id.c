/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The build id of a mapped file, from its notes in memory: the file at the path
 * may be another one by now. Each length is checked.
 */
#include "sample/internal.h"

#include "sys/vm.h"

#include <string.h>

#define MAX_NOTES 1024

/* Guarded by the right to read the mappings, see modules.c. */
static struct kf_elf elf;
static char notes[MAX_NOTES];

static uint32_t build_id_find_in(size_t size, size_t align, uint8_t *id)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, desc;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		desc = name + KF_ALIGN_UP((size_t)note.n_namesz, align);
		at = desc + KF_ALIGN_UP((size_t)note.n_descsz, align);
		if (at > size)
			return 0;
		if (note.n_type != NT_GNU_BUILD_ID ||
		    note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) ||
		    note.n_descsz > KF_STATS_BUILD_ID)
			continue;
		memcpy(id, notes + desc, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

uint32_t kf_build_id_read(uint64_t base, uint8_t id[KF_STATS_BUILD_ID])
{
	uint32_t n = 0;

	if (!kf_elf_read(base, &elf))
		return 0;
	for (unsigned int i = 0; i < elf.nr && !n; i++) {
		const Elf64_Phdr *p = &elf.segment[i];
		size_t size = KF_MIN(p->p_filesz, (uint64_t)MAX_NOTES);

		if (p->p_type == PT_NOTE &&
		    kf_vm_copy(notes, elf.bias + p->p_vaddr, size))
			n = build_id_find_in(size, p->p_align == 8 ? 8 : 4, id);
	}
	return n;
}
