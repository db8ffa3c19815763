/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's memory calls, as system calls.
 *
 * Every call keeps errno, which the caller decides on. Sizes and addresses are
 * bytes and multiples of the page. A refusal of the kernel is reported, never
 * fatal. Counters and probes are left to the callers. Memory that the program
 * had goes back to the kernel through named.h, so that other tools see it.
 *
 * The kf_vm_put_*() replace the mapping at addresses that stay in use; the
 * others map and unmap memory.
 */
#ifndef KF_SYS_VM_H
#define KF_SYS_VM_H

#include "base/compiler.h"

#define KF_PAGE_SHIFT 12
#define KF_PAGE ((size_t)1 << KF_PAGE_SHIFT)
#define KF_HUGE_PAGE ((size_t)2 * KF_MIB)

/*
 * Functions that map, unmap and purge: system calls, or the C library's names.
 * On failure @map returns NULL, the others false.
 */
struct kf_vm_names {
	void *(*map)(size_t size);
	bool (*unmap)(void *addr, size_t size);
	bool (*purge)(void *addr, size_t size);
};

/**
 * kf_vm_page() - bytes of a page as the kernel maps them
 *
 * Context: any.
 * Return: 4096 to 65536.
 */
size_t kf_vm_page(void);

/**
 * kf_vm_reserve() - reserve addresses without memory
 * @size:	bytes
 * @align:	power of two, at least a page
 *
 * Context: any; no lock.
 * Return: the address, or NULL when there is no room.
 */
void *kf_vm_reserve(size_t size, size_t align) __must_check;

/**
 * kf_vm_claim() - reserve certain addresses, without memory
 * @addr:	first byte, a multiple of the kernel's page
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false where one of them is mapped already; nothing changed.
 */
bool kf_vm_claim(void *addr, size_t size) __must_check;

/**
 * kf_vm_map() - map zeroed memory
 * @size:	bytes
 * @align:	power of two, at least a page
 *
 * Context: any; no lock.
 * Return: the address, or NULL when the kernel has no more.
 */
void *kf_vm_map(size_t size, size_t align) __must_check;

/**
 * kf_vm_map_by() - map aligned memory or addresses
 * @by:		the functions that map and unmap
 * @size:	bytes
 * @align:	power of two, at least a page
 *
 * Context: as @by's functions.
 * Return: the address, or NULL when the kernel has no more.
 */
void *kf_vm_map_by(const struct kf_vm_names *by, size_t size,
		   size_t align) __must_check;

/**
 * kf_vm_purge_by() - kf_vm_purge() by another function
 * @by:		the functions
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: as @by's functions.
 * Return: as kf_vm_purge().
 */
bool kf_vm_purge_by(const struct kf_vm_names *by, void *addr,
		    size_t size) __must_check;

/**
 * kf_vm_commit() - make reserved addresses usable; they read as zeroes
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false when the kernel has no more.
 */
bool kf_vm_commit(void *addr, size_t size) __must_check;

/**
 * kf_vm_decommit() - give memory back, keep its addresses reserved
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false when the kernel refused; nothing changed.
 */
bool kf_vm_decommit(void *addr, size_t size) __must_check;

/**
 * kf_vm_hide() - make accesses fault, keep the pages
 * @addr:	first byte
 * @size:	bytes; kf_vm_commit() makes their contents accessible again
 *
 * Context: any; no lock.
 * Return: false when the kernel refused; nothing changed.
 */
bool kf_vm_hide(void *addr, size_t size) __must_check;

/**
 * kf_vm_take() - move pages to other addresses, keep the old ones mapped
 * @to:		the new address; replaces the mapping there
 * @size:	bytes
 * @from:	private memory, which reads as zeroes afterwards
 *
 * Context: any; no lock.
 * Return: false when the kernel refused (always before Linux 5.7); nothing
 *	   changed.
 */
bool kf_vm_take(void *to, size_t size, void *from) __must_check;

/**
 * kf_vm_purge() - give pages back, keep the memory usable; it reads as zeroes
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false when the kernel refused (locked pages) or the range has no
 *	   whole page of the kernel; contents are kept.
 */
bool kf_vm_purge(void *addr, size_t size) __must_check;

/**
 * kf_vm_huge() - ask for huge pages
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false when the kernel has none, or too many mappings.
 */
bool kf_vm_huge(void *addr, size_t size) __must_check;

/**
 * kf_vm_name() - name anonymous memory in /proc/PID/maps and smaps
 * @addr:	first byte
 * @size:	bytes
 * @name:	up to 79 characters, shown as [anon:NAME]
 *
 * Memory that is mapped at these addresses later has no name.
 *
 * Context: any; no lock. No system call where these are barred.
 * Return: false where the kernel has no such names (before Linux 5.17, or built
 *	   without CONFIG_ANON_VMA_NAME).
 */
bool kf_vm_name(void *addr, size_t size, const char *name);

/**
 * kf_vm_populate() - allocate the pages of memory before it is touched
 * @addr:	first byte; contents stay
 * @size:	bytes
 *
 * Context: any; no lock. The memory is the caller's alone.
 * Return: false when the kernel has too little memory.
 */
bool kf_vm_populate(void *addr, size_t size) __must_check;

/**
 * kf_vm_lock() - lock memory in RAM
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock. Forked children do not inherit the lock.
 * Return: 0, or a negative errno: -ENOMEM or -EPERM above RLIMIT_MEMLOCK.
 */
int kf_vm_lock(void *addr, size_t size) __must_check;

/**
 * kf_vm_wipe_on_fork() - have the kernel zero memory in forked children
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false when the kernel cannot (before Linux 4.14).
 */
bool kf_vm_wipe_on_fork(void *addr, size_t size) __must_check;

/**
 * kf_vm_unmap() - unmap memory
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false when the kernel refused (max_map_count); nothing changed.
 */
bool kf_vm_unmap(void *addr, size_t size) __must_check;

/**
 * kf_vm_drop() - unmap memory that stays unused even if the kernel refuses
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any, signal handlers too.
 */
void kf_vm_drop(void *addr, size_t size);

/**
 * kf_vm_resize() - grow or shrink a mapping at its address
 * @addr:	first byte
 * @old:	bytes it has
 * @size:	bytes wanted
 *
 * Context: any; no lock.
 * Return: false when the mapping cannot grow at its address.
 */
bool kf_vm_resize(void *addr, size_t old, size_t size) __must_check;

/**
 * kf_vm_move() - move a mapping to another address without copying
 * @addr:	first byte
 * @old:	bytes it has
 * @size:	bytes wanted
 * @to:		the new address; replaces the mapping there
 *
 * Context: any, signal handlers too.
 * Return: false when the kernel refused; the mapping at @addr is unchanged, but
 *	   that at @to may be gone.
 */
bool kf_vm_move(void *addr, size_t old, size_t size, void *to) __must_check;

/**
 * kf_vm_put_memory() - map zeroed memory at an address
 * @addr:	the address; replaces the mapping there. NULL: any address
 * @size:	bytes
 *
 * Where private memory is refused (RLIMIT_DATA), shared memory is tried.
 *
 * Context: any, signal handlers too.
 * Return: the address, or NULL when the kernel has no more.
 */
void *kf_vm_put_memory(void *addr, size_t size) __must_check;

/**
 * kf_vm_put_file() - map a part of a file at an address, shared
 * @addr:	the address; replaces the mapping there
 * @size:	bytes
 * @fd:		the file, open for reading and writing
 * @offset:	of the first byte
 *
 * Context: any.
 * Return: 0, or a negative errno: nothing changed.
 */
int kf_vm_put_file(void *addr, size_t size, int fd,
		   uint64_t offset) __must_check;

/**
 * kf_vm_put_table() - kf_vm_put_file() of a part with holes around it
 * @addr:	as kf_vm_put_file()
 * @size:	as kf_vm_put_file()
 * @fd:		as kf_vm_put_file()
 * @offset:	as kf_vm_put_file()
 *
 * On a disk the kernel would read ahead of a page that is used, megabytes of
 * zeroes.
 *
 * Context: any; no lock.
 * Return: as kf_vm_put_file().
 */
int kf_vm_put_table(void *addr, size_t size, int fd,
		    uint64_t offset) __must_check;

/**
 * kf_vm_copy() - read memory that another thread may unmap meanwhile
 * @to:		out: the bytes
 * @from:	their address
 * @size:	number of bytes
 *
 * Context: any, signal handlers too.
 * Return: whether all bytes were read; false also where the kernel does not
 *	   allow the call.
 */
bool kf_vm_copy(void *to, uintptr_t from, size_t size) __must_check;

/**
 * kf_vm_is_readable() - whether a byte can be read
 * @addr:	any address
 *
 * The kernel reads the byte in a system call that every program makes and that
 * changes nothing (as in Abseil).
 *
 * Context: any, signal handlers too.
 * Return: true if it can be read at this moment.
 */
bool kf_vm_is_readable(const void *addr) __must_check;

#endif
