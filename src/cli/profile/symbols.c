/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names by libdwfl of elfutils, demangled by libiberty. Inlined calls are the
 * DW_TAG_inlined_subroutine entries around an address, from the inmost out to
 * the function that has the code; each gives the place of its call to the one
 * outside it.
 */
#include "config.h"

#include "cli/profile/symbols.h"

#include "cli/cli.h"
#include "cli/profile/guard.h"
#include "reader/code.h"
#include "reader/regular.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INLINED 64

struct found {
	uint64_t key;
	struct kf_frame *frames;
	uint64_t nr;
};

struct kf_symbols {
	const struct kf_profile *profile;
	Dwfl *dwfl;
	struct kf_map found; /* by address */
};

static const struct kf_profile_module *by_name(const char *name)
{
	unsigned long long at;

	/* dwfl's names are ours: see report() */
	return sscanf(name, "%llx", &at) == 1 ? (void *)(uintptr_t)at : NULL;
}

static int open_if_same(const struct kf_profile_module *m, const char *path)
{
	uint8_t id[KF_PROFILE_BUILD_ID];
	int fd = kf_regular_open(path);
	size_t n = fd < 0 ? 0 : kf_elf_build_id(fd, id, sizeof(id));

	if (n && n == m->build_id_size && !memcmp(id, m->build_id, n))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Without a build id the path is all there is. */
static int find_elf(Dwfl_Module *mod, void **data, const char *name,
		    Dwarf_Addr base, char **file, Elf **elf)
{
	const struct kf_profile_module *m = by_name(name);
	const char *path = m ? kf_profile_path(m) : "";
	int fd = -1;

	if (m)
		fd = m->build_id_size ? open_if_same(m, path)
				      : kf_regular_open(path);
	if (fd >= 0) {
		*file = kf_format("%s", path);
		return fd;
	}
	fd = dwfl_build_id_find_elf(mod, data, name, base, file, elf);
	if (fd >= 0 || *elf)
		return fd;
	/* Its debug information alone has its names, too. */
	return dwfl_standard_find_debuginfo(mod, data, name, base, path, NULL,
					    0, file);
}

static char *debuginfo_path;
static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debuginfo_path,
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Of mappings that lie on each other, the later one was seen last. */
static bool is_covered(const struct kf_profile *p, size_t i)
{
	const struct kf_profile_module *m = p->modules[i];

	for (size_t k = i + 1; k < p->nr_modules; k++) {
		const struct kf_profile_module *later = p->modules[k];

		if (later->base < m->end && m->base < later->end)
			return true;
	}
	return false;
}

static void report(struct kf_symbols *s)
{
	const struct kf_profile *p = s->profile;

	dwfl_report_begin(s->dwfl);
	for (size_t i = 0; i < p->nr_modules; i++) {
		const struct kf_profile_module *m = p->modules[i];
		char name[32];
		Dwfl_Module *mod;

		if (is_covered(p, i) || m->base > m->begin)
			continue;
		snprintf(name, sizeof(name), "%llx",
			 (unsigned long long)(uintptr_t)m);
		mod = dwfl_report_module(s->dwfl, name, m->base, m->end);
		if (mod && m->build_id_size)
			dwfl_module_report_build_id(mod, m->build_id,
						    m->build_id_size, 0);
	}
	dwfl_report_end(s->dwfl, NULL, NULL);
}

struct kf_symbols *kf_symbols_open(const struct kf_profile *p)
{
	struct kf_symbols *s = kf_alloc(1, sizeof(*s));

	s->profile = p;
	s->found.entry_size = sizeof(struct found);
	kf_guard_begin();
	s->dwfl = dwfl_begin(&callbacks);
	if (s->dwfl)
		report(s);
	kf_guard_end();
	return s;
}

/* What a call at an address is made of, before it has its strings for good. */
struct raw {
	const char *function;
	const char *file;
	int line;
};

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *linkage;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attr))
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr);
	linkage = dwarf_formstring(&attr);
	return linkage ? linkage : dwarf_diename(die);
}

static bool is_call(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_entry_point;
}

/* Where @die was inlined: the place in the function outside of it. */
static void call_place(Dwarf_Die *cu, Dwarf_Die *die, struct raw *raw)
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
 * The scopes around an address end with the abstract function where there is
 * an inlined one; those around the inmost one's own entry are the real ones.
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
 * libdw looks a unit up in .debug_aranges alone, which clang does not write:
 * the ranges of each unit say it too.
 */
static Dwarf_Die *unit_of(Dwfl_Module *mod, Dwarf_Addr pc, Dwarf_Addr *bias)
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

/* Where a call is in the source. */
static void place(Dwarf_Die *cu, Dwarf_Addr addr, struct raw *raw)
{
	Dwarf_Line *line = dwarf_getsrc_die(cu, addr);

	if (!line)
		return;
	raw->file = dwarf_linesrc(line, NULL, NULL);
	dwarf_lineno(line, &raw->line);
}

/* Fills in the calls from the inmost on; returns how many there are. */
static size_t inlined(Dwarf_Die *cu, Dwarf_Addr addr, struct raw *raw)
{
	Dwarf_Die *scopes = NULL;
	int nr_scopes = real_scopes(cu, addr, &scopes);
	size_t nr = 0;

	for (int i = 0; i < nr_scopes && nr < MAX_INLINED - 1; i++) {
		if (!is_call(&scopes[i]))
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

static size_t look_up(Dwfl_Module *mod, Dwarf_Addr pc, struct raw *raw)
{
	const char *symbol = dwfl_module_addrname(mod, pc);
	Dwarf_Addr bias = 0;
	Dwarf_Die *cu = unit_of(mod, pc, &bias);
	size_t nr = 0;

	memset(raw, 0, MAX_INLINED * sizeof(*raw));
	if (cu) {
		place(cu, pc - bias, &raw[0]);
		nr = inlined(cu, pc - bias, raw);
	}
	/* the symbol table has the name with which the linker knows it */
	if (symbol && (!nr || !raw[nr - 1].function))
		raw[nr ? nr - 1 : 0].function = symbol;
	return nr ? nr : 1;
}

static char *pretty(const char *name)
{
	char *plain = name[0] == '_'
			      ? cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS |
							     DMGL_ANSI)
			      : NULL;

	return plain ? plain : kf_format("%s", name);
}

static ptrdiff_t module_at(const struct kf_profile *p, uint64_t pc)
{
	for (size_t i = p->nr_modules; i-- > 0;) {
		if (pc >= p->modules[i]->begin && pc < p->modules[i]->end)
			return (ptrdiff_t)i;
	}
	return -1;
}

static void settle(const struct kf_profile *p, uint64_t address,
		   const struct raw *raw, size_t nr, struct found *f)
{
	ptrdiff_t module = module_at(p, address - 1);
	const struct kf_profile_module *m =
		module < 0 ? NULL : p->modules[module];
	const char *library = m ? base_name(kf_profile_path(m)) : "?";

	f->nr = nr;
	f->frames = kf_alloc(nr, sizeof(*f->frames));
	for (size_t i = 0; i < nr; i++) {
		struct kf_frame *frame = &f->frames[i];

		frame->address = address;
		frame->library = library;
		frame->module = module;
		frame->inlined = i + 1 < nr;
		frame->named = raw[i].function != NULL;
		frame->line = raw[i].line > 0 ? (unsigned int)raw[i].line : 0;
		if (raw[i].file)
			frame->file = kf_format("%s", raw[i].file);
		if (raw[i].function)
			frame->function = pretty(raw[i].function);
		else if (m)
			frame->function = kf_format(
				"%s+0x%llx", library,
				(unsigned long long)(address - m->begin +
						     m->offset));
		else
			frame->function = kf_format(
				"0x%llx", (unsigned long long)address);
	}
}

const struct kf_frame *kf_symbols_frames(struct kf_symbols *s, uint64_t address,
					 size_t *nr)
{
	struct raw raw[MAX_INLINED] = {{0}};
	struct found f = {.key = address ? address : 1};
	void *entry = kf_map_find(&s->found, f.key);
	Dwfl_Module *mod;
	size_t n = 1;

	if (!entry) {
		/* the call lies before the address that it returns to */
		mod = s->dwfl ? dwfl_addrmodule(s->dwfl, address - 1) : NULL;
		kf_guard_begin();
		if (mod)
			n = look_up(mod, address - 1, raw);
		kf_guard_end();
		settle(s->profile, address, raw, n, &f);
		entry = kf_map_add(&s->found, f.key);
		if (!entry) {
			kf_error("out of memory");
			exit(KF_EXIT_FAILED);
		}
		memcpy(entry, &f, sizeof(f));
	}
	memcpy(&f, entry, sizeof(f));
	*nr = f.nr;
	return f.frames;
}

static void free_found(const void *entry, void *arg)
{
	struct found f;

	memcpy(&f, entry, sizeof(f));
	for (uint64_t i = 0; i < f.nr; i++) {
		free((char *)f.frames[i].function);
		free((char *)f.frames[i].file);
	}
	free(f.frames);
}

void kf_symbols_close(struct kf_symbols *s)
{
	if (!s)
		return;
	kf_map_each(&s->found, free_found, NULL);
	kf_map_release(&s->found);
	if (s->dwfl)
		dwfl_end(s->dwfl);
	free(s);
}
