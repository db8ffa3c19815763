/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inlined calls from debug information: the DW_TAG_inlined_subroutine entries
 * around an address, from the innermost to the function that has the code. Each
 * entry has the source line of its call in the entry around it.
 */
#include "config.h"

#include "reader/symbols-internal.h"

#include <dwarf.h>
#include <stdlib.h>

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *linkage;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attr))
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr);
	linkage = dwarf_formstring(&attr);
	return linkage ? linkage : dwarf_diename(die);
}

static bool die_is_call(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_entry_point;
}

/* The source line at which @die was inlined, in the function around it. */
static void call_place(Dwarf_Die *cu, Dwarf_Die *die, struct kf_raw_call *raw)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word word;

	raw->file = NULL;
	raw->line = 0;
	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &word) &&
	    !dwarf_getsrcfiles(cu, &files, NULL))
		raw->file = dwarf_filesrc(files, word, NULL, NULL);
	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &word))
		raw->line = (int)word;
}

/*
 * With an inlined function, the scopes of the address end with the abstract
 * function; the scopes of the innermost entry itself end with the real one.
 */
static int real_scopes(Dwarf_Die *cu, Dwarf_Addr pc, Dwarf_Die **scopes)
{
	Dwarf_Die *around = NULL, inmost;
	int nr = dwarf_getscopes(cu, pc, &around);

	*scopes = NULL;
	if (nr <= 0)
		return 0;
	inmost = around[0];
	free(around);
	return dwarf_getscopes_die(&inmost, scopes);
}

/*
 * libdw finds units by .debug_aranges only, which clang does not write, so the
 * ranges of each unit are searched too.
 */
static Dwarf_Die *module_unit(Dwfl_Module *mod, Dwarf_Addr pc, Dwarf_Addr *bias)
{
	Dwarf_Die *cu = dwfl_module_addrdie(mod, pc, bias);

	if (cu)
		return cu;
	while ((cu = dwfl_module_nextcu(mod, cu, bias))) {
		if (dwarf_haspc(cu, pc - *bias) == 1)
			return cu;
	}
	return NULL;
}

/* The source line of a call. */
static void die_place(Dwarf_Die *cu, Dwarf_Addr addr, struct kf_raw_call *raw)
{
	Dwarf_Line *line = dwarf_getsrc_die(cu, addr);

	if (!line)
		return;
	raw->file = dwarf_linesrc(line, NULL, NULL);
	dwarf_lineno(line, &raw->line);
}

/* Fills in the calls, the innermost first; returns their number. */
static size_t die_inlined(Dwarf_Die *cu, Dwarf_Addr addr,
			  struct kf_raw_call *raw)
{
	Dwarf_Die *scopes = NULL;
	int nr_scopes = real_scopes(cu, addr, &scopes);
	size_t nr = 0;

	for (int i = 0; i < nr_scopes && nr < KF_MAX_INLINED - 1; i++) {
		if (!die_is_call(&scopes[i]))
			continue;
		raw[nr].function = die_name(&scopes[i]);
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) {
			nr++;
			break;
		}
		call_place(cu, &scopes[i], &raw[nr + 1]);
		nr++;
	}
	free(scopes);
	return nr;
}

/* The unit with the functions: with -gsplit-dwarf in a file of its own. */
static Dwarf_Die unit_with_functions(Dwarf_Die *cu)
{
	Dwarf_Die split = {0};
	uint8_t type = 0;

	if (!dwarf_cu_info(cu->cu, NULL, &type, NULL, &split, NULL, NULL,
			   NULL) &&
	    type == DW_UT_skeleton && split.addr)
		return split;
	return *cu;
}

size_t kf_dwarf_calls(Dwfl_Module *mod, uint64_t pc,
		      struct kf_raw_call raw[KF_MAX_INLINED])
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *cu = module_unit(mod, pc, &bias), unit;

	if (!cu)
		return 0;
	die_place(cu, pc - bias, &raw[0]);
	unit = unit_with_functions(cu);
	return die_inlined(&unit, pc - bias, raw);
}
