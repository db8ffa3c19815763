/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's memory calls: see vm.h.
 */
#include "config.h"

#include "sys/vm.h"

#include "sys/call.h"
#include "sys/process.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#define READ_WRITE (PROT_READ | PROT_WRITE)
#define MEMORY (MAP_PRIVATE | MAP_ANONYMOUS)

/* Addresses of user space are positive, so a negative result is an errno. */
static void *address(long result)
{
	return result < 0 ? NULL : (void *)result;
}

static void *vm_map(void *addr, size_t size, long prot, long flags)
{
	return address(kf_sys(SYS_mmap, addr, size, prot, flags, -1, 0));
}

static void *map_memory(size_t size)
{
	return vm_map(NULL, size, READ_WRITE, MEMORY);
}

static void *map_addresses(size_t size)
{
	return vm_map(NULL, size, PROT_NONE, MEMORY);
}

static bool vm_purge(void *addr, size_t size)
{
	return kf_sys(SYS_madvise, addr, size, MADV_DONTNEED) == 0;
}

static const struct kf_vm_names memory = {map_memory, kf_vm_unmap, vm_purge};
static const struct kf_vm_names addresses = {map_addresses, kf_vm_unmap,
					     vm_purge};

static void vm_drop(const struct kf_vm_names *by, void *addr, size_t size)
{
	if (size)
		by->unmap(addr, size);
}

/* Cut a mapping down to @size bytes from @start. */
static void *vm_cut(const struct kf_vm_names *by, char *p, size_t mapped,
		    char *start, size_t size)
{
	size_t head = (size_t)(start - p);

	vm_drop(by, p, head);
	vm_drop(by, start + size, mapped - head - size);
	return start;
}

/*
 * The kernel places mappings directly below each other, so a mapping of a
 * multiple of the alignment is nearly always aligned at the first try.
 */
void *kf_vm_map_by(const struct kf_vm_names *by, size_t size, size_t align)
{
	size_t round = KF_ALIGN_UP(size, align);
	char *p, *start;

	if (round < size || round + align < round)
		return NULL;
	p = by->map(round);
	if (!p)
		return NULL;
	if (!((uintptr_t)p & (align - 1)))
		return vm_cut(by, p, round, p, size);
	vm_drop(by, p, round);
	p = by->map(size + align);
	if (!p)
		return NULL;
	start = (char *)KF_ALIGN_UP((uintptr_t)p, align);
	return vm_cut(by, p, size + align, start, size);
}

size_t kf_vm_page(void)
{
	return getauxval(AT_PAGESZ);
}

void *kf_vm_reserve(size_t size, size_t align)
{
	return kf_vm_map_by(&addresses, size, align);
}

/* Kernels before 4.17 ignore the flag and take the address as a hint. */
bool kf_vm_claim(void *addr, size_t size)
{
	void *p = vm_map(addr, size, PROT_NONE, MEMORY | MAP_FIXED_NOREPLACE);

	if (p && p != addr)
		kf_vm_drop(p, size);
	return p == addr;
}

void *kf_vm_map(size_t size, size_t align)
{
	return kf_vm_map_by(&memory, size, align);
}

/* The kernel's pages may be larger than KF_PAGE: commit all that it touches. */
bool kf_vm_commit(void *addr, size_t size)
{
	uintptr_t page = kf_vm_page();
	uintptr_t from = KF_ALIGN_DOWN((uintptr_t)addr, page);
	uintptr_t to = KF_ALIGN_UP((uintptr_t)addr + size, page);

	return kf_sys(SYS_mprotect, from, to - from, READ_WRITE) == 0;
}

bool kf_vm_decommit(void *addr, size_t size)
{
	return vm_map(addr, size, PROT_NONE, MEMORY | MAP_FIXED);
}

/* Whole pages of the kernel only, as the caller uses the rest of a page. */
bool kf_vm_hide(void *addr, size_t size)
{
	uintptr_t page = kf_vm_page();

	return !(((uintptr_t)addr | size) & (page - 1)) &&
	       kf_sys(SYS_mprotect, addr, size, (long)PROT_NONE) == 0;
}

bool kf_vm_take(void *to, size_t size, void *from)
{
	return kf_sys(SYS_mremap, from, size, size,
		      (long)MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
		      to) >= 0;
}

/*
 * The kernel rounds the end up to its page, which may be larger than KF_PAGE:
 * so only whole pages are purged, and the rest is zeroed here.
 */
bool kf_vm_purge_by(const struct kf_vm_names *by, void *addr, size_t size)
{
	uintptr_t page = kf_vm_page();
	uintptr_t start = (uintptr_t)addr, end = start + size;
	uintptr_t from = KF_ALIGN_UP(start, page);
	uintptr_t to = KF_ALIGN_DOWN(end, page);

	if (from >= to || !by->purge((void *)from, to - from))
		return false;
	memset((void *)start, 0, from - start);
	memset((void *)to, 0, end - to);
	return true;
}

bool kf_vm_purge(void *addr, size_t size)
{
	return kf_vm_purge_by(&memory, addr, size);
}

bool kf_vm_huge(void *addr, size_t size)
{
	return kf_sys(SYS_madvise, addr, size, MADV_HUGEPAGE) == 0;
}

bool kf_vm_name(void *addr, size_t size, const char *name)
{
	return !kf_process_is_barred() &&
	       kf_sys(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, addr, size,
		      name) == 0;
}

/* Kernels before 5.14 lack the call: write to each page. */
bool kf_vm_populate(void *addr, size_t size)
{
	long r = kf_sys(SYS_madvise, addr, size, MADV_POPULATE_WRITE);
	volatile char *p = addr;

	if (r != -EINVAL)
		return r == 0;
	for (size_t at = 0; at < size; at += KF_PAGE)
		p[at] = p[at];
	return true;
}

int kf_vm_lock(void *addr, size_t size)
{
	return kf_process_is_barred() ? -EPERM
				      : (int)kf_sys(SYS_mlock, addr, size);
}

bool kf_vm_wipe_on_fork(void *addr, size_t size)
{
	return kf_sys(SYS_madvise, addr, size, MADV_WIPEONFORK) == 0;
}

bool kf_vm_unmap(void *addr, size_t size)
{
	return kf_sys(SYS_munmap, addr, size) == 0;
}

void kf_vm_drop(void *addr, size_t size)
{
	kf_sys(SYS_munmap, addr, size);
}

bool kf_vm_resize(void *addr, size_t old, size_t size)
{
	return kf_sys(SYS_mremap, addr, old, size, 0, NULL) >= 0;
}

bool kf_vm_move(void *addr, size_t old, size_t size, void *to)
{
	return kf_sys(SYS_mremap, addr, old, size,
		      MREMAP_MAYMOVE | MREMAP_FIXED, to) >= 0;
}

void *kf_vm_put_memory(void *addr, size_t size)
{
	long flags = MAP_ANONYMOUS | MAP_NORESERVE | (addr ? MAP_FIXED : 0);
	void *p = vm_map(addr, size, READ_WRITE, flags | MAP_PRIVATE);

	return p ? p : vm_map(addr, size, READ_WRITE, flags | MAP_SHARED);
}

int kf_vm_put_file(void *addr, size_t size, int fd, uint64_t offset)
{
	long r = kf_sys(SYS_mmap, addr, size, READ_WRITE,
			MAP_SHARED | MAP_FIXED, fd, offset);

	return r < 0 ? (int)r : 0;
}

int kf_vm_put_table(void *addr, size_t size, int fd, uint64_t offset)
{
	int r = kf_vm_put_file(addr, size, fd, offset);

	if (!r)
		kf_sys(SYS_madvise, addr, size, MADV_RANDOM);
	return r;
}

/* The kernel reads the set before it rejects the invalid operation. */
bool kf_vm_is_readable(const void *addr)
{
	const void *word =
		(const void *)KF_ALIGN_DOWN((uintptr_t)addr, (uintptr_t)8);

	return !kf_process_is_barred() &&
	       kf_sys(SYS_rt_sigprocmask, -1, word, NULL, 8) != -EFAULT;
}

bool kf_vm_copy(void *to, uintptr_t from, size_t size)
{
	struct iovec here = {to, size};
	struct iovec there = {(void *)from, size};

	long pid = kf_process_pid();

	return pid && kf_sys(SYS_process_vm_readv, pid, &here, 1, &there, 1,
			     0) == (long)size;
}
