/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the start has read and nobody needs: see self.h.
 */
#include "sys/self.h"

#include "base/compiler.h"
#include "sys/call.h"
#include "sys/file.h"
#include "sys/vm.h"

#include <fcntl.h>
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

static const ElfW(Phdr) * parts(const ElfW(Ehdr) * head)
{
	return (const void *)((const char *)head + head->e_phoff);
}

/*
 * By src/layout.list: what only the start runs, what all programs need, what
 * they run later, what few of them run, where that ends, and all else. NULL
 * where the linker was not told.
 */
extern const char kf_self_start[] __kf_hidden __attribute__((weak));
extern const char kf_self_ended[] __kf_hidden __attribute__((weak));
extern const char kf_self_later[] __kf_hidden __attribute__((weak));
extern const char kf_self_seldom[] __kf_hidden __attribute__((weak));
extern const char kf_self_last[] __kf_hidden __attribute__((weak));
extern const char kf_self_behind[] __kf_hidden __attribute__((weak));

/* A system call that the C library has no part in. */
static void advise(uintptr_t from, size_t size, long advice)
{
#if KF_SELF_PARTS_EARLY
	long result = SYS_madvise;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(from), "S"(size), "d"(advice)
			 : "rcx", "r11", "memory");
#else
	kf_sys(SYS_madvise, from, size, advice);
#endif
}

static bool has_small_pages(void)
{
	return KF_SELF_PARTS_EARLY || kf_vm_page() == KF_PAGE;
}

/*
 * Kept out of a core, where what a file has is not in any case, it is another
 * mapping to the kernel than what lies beside it.
 */
static void set_apart(uintptr_t from, uintptr_t to)
{
	if (from < to)
		advise(from, to - from, MADV_DONTDUMP);
}

void kf_self_part(void)
{
	const ElfW(Ehdr) *head = &__ehdr_start;
	const ElfW(Phdr) *part = parts(head);

	if (!kf_self_behind || !has_small_pages())
		return;
	for (int i = 0; i < head->e_phnum; i++) {
		uintptr_t from = (uintptr_t)head + part[i].p_vaddr;

		/* The first page has what most names are not found by. */
		if (is_constant(&part[i]) && !part[i].p_offset)
			set_apart(from + KF_PAGE, from + part[i].p_memsz);
	}
	set_apart((uintptr_t)kf_self_start, (uintptr_t)kf_self_ended);
	set_apart((uintptr_t)kf_self_later, (uintptr_t)kf_self_seldom);
	set_apart((uintptr_t)kf_self_last, (uintptr_t)kf_self_behind);
}

static void drop(uintptr_t from, uintptr_t to)
{
	kf_vm_unload((void *)from, to - from);
}

/* From the last one on: the first has what is read here. */
static void drop_constants(const ElfW(Ehdr) * head, bool names)
{
	uintptr_t page = kf_vm_page();

	for (int i = head->e_phnum - 1; i >= 0; i--) {
		const ElfW(Phdr) *part = &parts(head)[i];
		uintptr_t from = (uintptr_t)head + part->p_vaddr;

		if (is_constant(part) && (names || part->p_offset))
			drop(KF_ALIGN_DOWN(from, page),
			     KF_ALIGN_UP(from + part->p_memsz, page));
	}
}

#define PAGES 48 /* of the code that may be given back, at most */

/* What the kernel tells of pages from @from on; false: nothing. */
static bool look_up(uint64_t pages[PAGES], uintptr_t from, size_t nr)
{
	size_t bytes = nr * sizeof(pages[0]);
	long got;
	int fd;

	if (nr > PAGES)
		return false;
	fd = kf_file_open(AT_FDCWD, "/proc/self/pagemap", O_RDONLY, 0);
	if (fd < 0)
		return false;
	got = kf_sys(SYS_pread64, fd, pages, bytes,
		     (from >> KF_PAGE_SHIFT) * sizeof(pages[0]));
	kf_file_close(fd);
	return got == (long)bytes;
}

/*
 * Whether these are as the file has them: one that a debugger wrote to is the
 * process' own. See "pagemap" in the kernel's documentation.
 */
static bool are_clean(const uint64_t *pages, uintptr_t from, uintptr_t to)
{
	const uint64_t has = 3ULL << 62, file = 1ULL << 61;

	for (size_t i = 0; i < (to - from) >> KF_PAGE_SHIFT; i++) {
		if (pages[i] & has && !(pages[i] & file))
			return false;
	}
	return true;
}

enum { START = 1, LATER = 2 };

/* The code that may be given back, of these two. */
static __noinline unsigned int clean_code(void)
{
	uintptr_t start = (uintptr_t)kf_self_start;
	uintptr_t later = (uintptr_t)kf_self_later;
	uintptr_t behind = (uintptr_t)kf_self_behind;
	uint64_t pages[PAGES];
	unsigned int clean = 0;

	if (!behind || !has_small_pages())
		return 0;
	if (!look_up(pages, start, (behind - start) >> KF_PAGE_SHIFT))
		return 0;
	if (are_clean(pages, start, (uintptr_t)kf_self_ended))
		clean |= START;
	if (are_clean(pages + ((later - start) >> KF_PAGE_SHIFT), later,
		      behind))
		clean |= LATER;
	return clean;
}

/*
 * The kernel has mapped all of the code that the start ran a part of; what is
 * needed of it comes again. Here the start is over: bench/layout.py goes by the
 * name.
 */
static __noinline void start_is_over(unsigned int clean)
{
	if (clean & LATER)
		drop((uintptr_t)kf_self_later, (uintptr_t)kf_self_behind);
	if (clean & START)
		drop((uintptr_t)kf_self_start, (uintptr_t)kf_self_ended);
	drop_constants(&__ehdr_start, true);
}

void kf_self_rest(void)
{
	/* Which does not come back here, as this is the start's. */
	start_is_over(clean_code());
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
	/* Everybody looks for names there. */
	if (head)
		drop_constants(head, false);
}
