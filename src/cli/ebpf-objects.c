/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The loader's list is read from the memory of the process, as a debugger does:
 * by its auxiliary vector to the program's headers, its dynamic section,
 * DT_DEBUG, and from there on. Nothing found there is believed: what is no
 * mapped file is left out, and the list is read up to a limit.
 */
#include "config.h"

#include "cli/ebpf-objects.h"

#include "cli/cli.h"
#include "reader/regular.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAX_OBJECTS 4096
#define MAX_HEADERS 256
#define MAX_DYNAMIC 1024

/* A process whose loader is asked. */
struct asked {
	int32_t pid;
	int mem;
	struct kf_objects *to;
};

static bool asked_read(const struct asked *a, uint64_t at, void *to,
		       size_t size)
{
	return pread(a->mem, to, size, (off_t)at) == (ssize_t)size;
}

/* Adds the file that is mapped at an address, unless it is there. */
static void asked_add(const struct asked *a, uint64_t address)
{
	char *name = kf_format("/proc/%d/maps", a->pid);
	FILE *maps = fopen(name, "re");
	char *line = NULL;
	size_t size = 0;

	free(name);
	while (maps && getline(&line, &size, maps) > 0) {
		unsigned long long begin, end, inode;
		unsigned int major, minor;
		struct kf_objects *o = a->to;
		char *path = strchr(line, '/');

		if (sscanf(line, "%llx-%llx %*s %*x %x:%x %llu", &begin, &end,
			   &major, &minor, &inode) != 5 ||
		    address < begin || address >= end || !inode || !path)
			continue;
		for (size_t i = 0; i < o->nr; i++) {
			if (o->object[i].inode == inode &&
			    o->object[i].device == makedev(major, minor))
				path = NULL;
		}
		if (!path || o->nr == MAX_OBJECTS)
			break;
		path[strcspn(path, "\n")] = '\0';
		o->object[o->nr++] = (struct kf_object){
			.device = makedev(major, minor),
			.inode = inode,
			.file = kf_format("/proc/%d/map_files/%llx-%llx",
					  a->pid, begin, end),
			.path = kf_format("%s", path),
		};
		break;
	}
	free(line);
	if (maps)
		fclose(maps);
}

/* A value of the auxiliary vector, or 0. */
static uint64_t asked_auxv(const struct asked *a, uint64_t type)
{
	char *name = kf_format("/proc/%d/auxv", a->pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	uint64_t value = 0;
	Elf64_auxv_t v;

	free(name);
	while (fd >= 0 && read(fd, &v, sizeof(v)) == sizeof(v)) {
		if (v.a_type == type)
			value = v.a_un.a_val;
	}
	if (fd >= 0)
		close(fd);
	return value;
}

/* The address of the loader's struct r_debug; 0: there is no loader. */
static uint64_t asked_debug(const struct asked *a, uint64_t headers)
{
	uint64_t nr = asked_auxv(a, AT_PHNUM), base = 0, dynamic = 0;
	Elf64_Phdr ph;
	Elf64_Dyn d;

	for (uint64_t i = 0; i < KF_MIN(nr, (uint64_t)MAX_HEADERS); i++) {
		if (!asked_read(a, headers + i * sizeof(ph), &ph, sizeof(ph)))
			return 0;
		if (ph.p_type == PT_PHDR)
			base = headers - ph.p_vaddr;
		if (ph.p_type == PT_DYNAMIC)
			dynamic = ph.p_vaddr;
	}
	for (size_t i = 0; dynamic && i < MAX_DYNAMIC; i++) {
		if (!asked_read(a, base + dynamic + i * sizeof(d), &d,
				sizeof(d)) ||
		    d.d_tag == DT_NULL)
			return 0;
		if (d.d_tag == DT_DEBUG)
			return d.d_un.d_ptr;
	}
	return 0;
}

static void asked_loader(const struct asked *a, uint64_t debug)
{
	struct link_map map = {0};
	struct r_debug r;
	uint64_t at;

	if (!debug || !asked_read(a, debug, &r, sizeof(r)))
		return;
	at = (uint64_t)(uintptr_t)r.r_map;
	for (size_t i = 0; at && i < MAX_OBJECTS; i++) {
		if (!asked_read(a, at, &map, sizeof(map)))
			return;
		asked_add(a, (uint64_t)(uintptr_t)map.l_ld);
		at = (uint64_t)(uintptr_t)map.l_next;
	}
}

void kf_objects_read(int32_t pid, struct kf_objects *o)
{
	char *name = kf_format("/proc/%d/mem", pid);
	struct asked a = {pid, open(name, O_RDONLY | O_CLOEXEC), o};
	uint64_t headers = asked_auxv(&a, AT_PHDR);

	free(name);
	*o = (struct kf_objects){
		.object = kf_alloc(MAX_OBJECTS, sizeof(*o->object)),
	};
	asked_add(&a, headers);
	if (a.mem >= 0) {
		asked_loader(&a, asked_debug(&a, headers));
		close(a.mem);
	}
}

void kf_objects_release(struct kf_objects *o)
{
	for (size_t i = 0; i < o->nr; i++) {
		free(o->object[i].file);
		free(o->object[i].path);
	}
	free(o->object);
	*o = (struct kf_objects){0};
}

static bool table_has(Elf *e, Elf_Scn *scn, const GElf_Shdr *sh,
		      const char *name, uint64_t *address)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym sym;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		const char *is = elf_strptr(e, sh->sh_link, sym.st_name);

		if (is && !strcmp(is, name) && sym.st_shndx != SHN_UNDEF &&
		    sym.st_value && GELF_ST_TYPE(sym.st_info) == STT_FUNC &&
		    GELF_ST_BIND(sym.st_info) != STB_LOCAL) {
			*address = sym.st_value;
			return true;
		}
	}
	return false;
}

bool kf_object_function(const struct kf_object *o, bool is_program,
			const char *name, uint64_t *address)
{
	int fd = kf_regular_open(o->file);
	Elf *e = NULL;
	Elf_Scn *scn = NULL;
	bool found = false;
	GElf_Shdr sh;

	elf_version(EV_CURRENT);
	if (fd >= 0)
		e = elf_begin(fd, ELF_C_READ, NULL);
	while (e && !found && (scn = elf_nextscn(e, scn))) {
		if (gelf_getshdr(scn, &sh) &&
		    (sh.sh_type == SHT_DYNSYM ||
		     (is_program && sh.sh_type == SHT_SYMTAB)))
			found = table_has(e, scn, &sh, name, address);
	}
	elf_end(e);
	if (fd >= 0)
		close(fd);
	return found;
}
