/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Program headers of a mapped object. Memory may hold anything and may be
 * unmapped at any time, so the kernel copies it.
 */
#include "sample/internal.h"

#include "sys/vm.h"

#include <string.h>

bool kf_elf_read(uint64_t base, struct kf_elf *elf)
{
	const Elf64_Phdr *p = elf->segment;
	Elf64_Ehdr file;

	if (!kf_vm_copy(&file, base, sizeof(file)) ||
	    memcmp(file.e_ident, ELFMAG, SELFMAG) ||
	    file.e_ident[EI_CLASS] != ELFCLASS64 ||
	    file.e_phentsize != sizeof(*p))
		return false;
	elf->nr = KF_MIN(file.e_phnum, KF_ARRAY_SIZE(elf->segment));
	if (!elf->nr || !kf_vm_copy(elf->segment, base + file.e_phoff,
				    elf->nr * sizeof(*p)))
		return false;
	while (p->p_type != PT_LOAD) {
		if (++p == elf->segment + elf->nr)
			return false;
	}
	elf->bias = base - (p->p_vaddr - p->p_offset);
	return true;
}
