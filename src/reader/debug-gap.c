/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gaps in debug information: units that were split off with -gsplit-dwarf, and
 * sections that are compressed in a way that libelf does not know.
 */
#include "config.h"

#include "reader/debug-gap.h"

#include "reader/guard.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_UNITS 1000	/* units that are looked at */
#define COMPRESS_ZSTD 2 /* newer elf.h: ELFCOMPRESS_ZSTD */

/* Whether a section is compressed by zstd and libelf cannot unpack it. */
static bool gap_is_packed(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) ||
		    !(shdr.sh_flags & SHF_COMPRESSED) ||
		    !gelf_getchdr(scn, &chdr))
			continue;
		if (chdr.ch_type == COMPRESS_ZSTD &&
		    elf_compress(scn, 0, 0) < 0)
			return true;
	}
	return false;
}

/* The name of a split unit whose file is not there; NULL: there is none. */
static const char *gap_split(Dwarf *dw)
{
	Dwarf_Attribute attr;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	for (int i = 0; i < MAX_UNITS; i++) {
		memset(&split, 0, sizeof(split));
		if (dwarf_get_units(dw, cu, &cu, NULL, &type, &die, &split))
			return NULL;
		if (type != DW_UT_skeleton || split.addr)
			continue;
		if (!dwarf_attr(&die, DW_AT_dwo_name, &attr))
			dwarf_attr(&die, DW_AT_GNU_dwo_name, &attr);
		return dwarf_formstring(&attr);
	}
	return NULL;
}

static enum kf_debug_gap gap_of(int fd, char *name, size_t size)
{
	enum kf_debug_gap gap = KF_DEBUG_GAP_NONE;
	const char *split = NULL;
	Dwarf *dw = NULL;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (elf && gap_is_packed(elf))
		gap = KF_DEBUG_GAP_ZSTD;
	else if (elf)
		dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (dw)
		split = gap_split(dw);
	if (split) {
		gap = KF_DEBUG_GAP_SPLIT;
		snprintf(name, size, "%s", split);
	}
	dwarf_end(dw);
	elf_end(elf);
	return gap;
}

enum kf_debug_gap kf_debug_gap(int pid, const struct kf_code *code, char *name,
			       size_t size)
{
	enum kf_debug_gap gap = KF_DEBUG_GAP_NONE;
	int fd;

	kf_guard_begin();
	fd = kf_code_open("/proc", pid, code);
	if (fd >= 0) {
		gap = gap_of(fd, name, size);
		close(fd);
	}
	kf_guard_end();
	return gap;
}
