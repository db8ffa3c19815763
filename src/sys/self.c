/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The library's own file in memory: see self.h.
 */
#include "sys/self.h"

#include "base/compiler.h"
#include "sys/call.h"
#include "sys/vm.h"

#include <link.h>
#include <sys/mman.h>

/* The head of the file that this is linked into, by the linker. */
extern const ElfW(Ehdr) __ehdr_start __kf_hidden;

/* Nobody writes to these, so that the file has them as they are. */
static bool is_constant(const ElfW(Phdr) * part)
{
	return part->p_type == PT_LOAD && part->p_flags == PF_R;
}

void kf_self_rest(void)
{
	const char *base = (const char *)&__ehdr_start;
	const ElfW(Phdr) *part = (const void *)(base + __ehdr_start.e_phoff);
	uintptr_t page = kf_vm_page();

	for (int i = 0; i < __ehdr_start.e_phnum; i++) {
		uintptr_t from = (uintptr_t)base + part[i].p_vaddr;
		uintptr_t to = KF_ALIGN_UP(from + part[i].p_memsz, page);

		/* The first part has the names that ld.so looks for. */
		if (!is_constant(&part[i]) || !part[i].p_offset)
			continue;
		from = KF_ALIGN_DOWN(from, page);
		kf_sys(SYS_madvise, from, to - from, MADV_DONTNEED);
	}
}
