/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A module as a process has it in memory, for a file that cannot be opened: it
 * was unlinked after dlopen(), and its user may not open what is mapped.
 *
 * The segments are copied to their places in an image of the file. It has no
 * sections, so there are only the functions of the dynamic symbol table, which
 * libdwfl finds by the program headers. What the process has there may be
 * anything: lengths are checked, and the image must have the build id of the
 * module, or, if that is unknown, still be mapped from the same file.
 */
#include "config.h"

#include "reader/symbols-internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define MAX_IMAGE (64 * KF_MIB)
#define MAX_HELD (256 * KF_MIB) /* of all images that are open */
#define MAX_HEADERS 32

static size_t memory_held; /* atomic */

static bool memory_copy(int pid, uint64_t from, void *to, size_t size)
{
	struct iovec here = {to, size};
	struct iovec there = {(void *)(uintptr_t)from, size};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool memory_is_load(const Elf64_Phdr *ph)
{
	return ph->p_type == PT_LOAD && ph->p_filesz;
}

/* The bytes of the image; 0: it has none, or too many. */
static size_t memory_size(const Elf64_Phdr *ph, size_t nr)
{
	uint64_t size = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!memory_is_load(&ph[i]))
			continue;
		if (ph[i].p_offset > MAX_IMAGE || ph[i].p_filesz > MAX_IMAGE)
			return 0;
		size = KF_MAX(size, ph[i].p_offset + ph[i].p_filesz);
	}
	return size <= MAX_IMAGE ? (size_t)size : 0;
}

/* Reads the head and the program headers; returns the number of these. */
static size_t memory_read_headers(int pid, uint64_t base, Elf64_Ehdr *head,
				  Elf64_Phdr ph[MAX_HEADERS])
{
	size_t nr;

	if (!memory_copy(pid, base, head, sizeof(*head)) ||
	    memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    head->e_phentsize != sizeof(*ph))
		return 0;
	nr = head->e_phnum;
	if (nr > MAX_HEADERS ||
	    !memory_copy(pid, base + head->e_phoff, ph, nr * sizeof(*ph)))
		return 0;
	return nr;
}

static char *memory_take(size_t size)
{
	char *image = NULL;

	if (kf_fetch_add(&memory_held, size) + size <= MAX_HELD)
		image = calloc(1, size);
	if (!image)
		kf_fetch_add(&memory_held, -size);
	return image;
}

/* What cannot be read stays zero. */
static char *memory_read(int pid, uint64_t base, size_t *size)
{
	Elf64_Phdr ph[MAX_HEADERS];
	Elf64_Ehdr head;
	size_t nr = memory_read_headers(pid, base, &head, ph);
	uint64_t bias = base;
	char *image;

	*size = memory_size(ph, nr);
	if (*size < sizeof(head) + nr * sizeof(*ph))
		return NULL;
	image = memory_take(*size);
	if (!image)
		return NULL;
	for (size_t i = nr; i-- > 0;) {
		if (memory_is_load(&ph[i]))
			bias = base - (ph[i].p_vaddr - ph[i].p_offset);
	}
	for (size_t i = 0; i < nr; i++) {
		if (memory_is_load(&ph[i]))
			memory_copy(pid, bias + ph[i].p_vaddr,
				    image + ph[i].p_offset, ph[i].p_filesz);
	}
	head.e_phoff = sizeof(head);
	head.e_shoff = head.e_shnum = head.e_shstrndx = 0;
	memcpy(image, &head, sizeof(head));
	memcpy(image + sizeof(head), ph, nr * sizeof(*ph));
	return image;
}

void kf_symbol_memory_close(struct kf_symbol_file *f)
{
	if (f->image)
		kf_fetch_add(&memory_held, -f->image_size);
	free(f->image);
	f->image = NULL;
}

/* Without a build id the mapping is still that of the file. */
static bool memory_is_of(const struct kf_symbol_file *f)
{
	const struct kf_code *code = f->code;
	uint8_t id[KF_STATS_BUILD_ID];

	if (!code->build_id_size)
		return code->inode &&
		       kf_code_is_mapped(f->how->procfs, f->how->pid, code);
	return kf_elf_build_id_of(f->elf, id, sizeof(id)) ==
		       code->build_id_size &&
	       !memcmp(id, code->build_id, code->build_id_size);
}

bool kf_symbol_memory_open(struct kf_symbol_file *f)
{
	if (!f->how->pid || f->code->path[0] != '/')
		return false;
	f->image = memory_read(f->how->pid, f->code->base, &f->image_size);
	if (f->image)
		f->elf = elf_memory(f->image, f->image_size);
	if (f->elf && memory_is_of(f))
		return true;
	elf_end(f->elf);
	f->elf = NULL;
	kf_symbol_memory_close(f);
	return false;
}
