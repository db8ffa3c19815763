/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the start has read and nobody needs: see self.h.
 */
#include "sys/self.h"

#include "base/compiler.h"
#include "sys/call.h"
#include "sys/vm.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The head of the file that this is linked into, by the linker. */
extern const ElfW(Ehdr) __ehdr_start __kf_hidden;

/* Nobody writes to these, so that the file has them as they are. */
static bool is_constant(const ElfW(Phdr) * part)
{
	return part->p_type == PT_LOAD && part->p_flags == PF_R;
}

/*
 * What only the start runs, and the last byte of what is run later, both by
 * src/layout.list; all NULL where the linker was not told.
 */
extern const char kf_self_start[] __kf_hidden __attribute__((weak));
extern const char kf_self_ended[] __kf_hidden __attribute__((weak));
extern const char kf_self_last[] __kf_hidden __attribute__((weak));

/* Give the whole pages among these back. */
static void drop(uintptr_t from, uintptr_t to)
{
	uintptr_t page = kf_vm_page();

	from = KF_ALIGN_UP(from, page);
	to = KF_ALIGN_DOWN(to, page);
	if (from < to)
		kf_sys(SYS_madvise, from, to - from, MADV_DONTNEED);
}

static void drop_constants(const ElfW(Ehdr) * head)
{
	const char *base = (const char *)head;
	const ElfW(Phdr) *part = (const void *)(base + head->e_phoff);
	uintptr_t page = kf_vm_page();

	for (int i = 0; i < head->e_phnum; i++) {
		uintptr_t from = (uintptr_t)base + part[i].p_vaddr;

		/* The first part has the names that ld.so looks for. */
		if (is_constant(&part[i]) && part[i].p_offset)
			drop(KF_ALIGN_DOWN(from, page),
			     KF_ALIGN_UP(from + part[i].p_memsz, page));
	}
}

void kf_self_rest(void)
{
	drop_constants(&__ehdr_start);
	/*
	 * Where the kernel maps at once may end before the last page: to touch
	 * that later would map what is given back here again.
	 */
	if (kf_self_last)
		(void)*(const volatile char *)kf_self_last;
	drop((uintptr_t)kf_self_start, (uintptr_t)kf_self_ended);
}

/*
 * What an object begins with, or NULL: one that prelink has placed does not
 * begin at its offset, and nothing may be there.
 */
static const ElfW(Ehdr) * head_at(uintptr_t base)
{
	const ElfW(Ehdr) *head = (const void *)base;
	unsigned char resident;

	if (!base || kf_sys(SYS_mincore, base, 1, (long)&resident) != 0 ||
	    memcmp(head->e_ident, ELFMAG, SELFMAG))
		return NULL;
	return head;
}

void kf_self_rest_libc(void)
{
	uintptr_t inside = (uintptr_t)&fork, base = 0;
	const ElfW(Ehdr) * head;

	for (struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		if (map->l_addr <= inside && map->l_addr > base)
			base = map->l_addr;
	}
	head = head_at(base);
	if (head)
		drop_constants(head);
}
