/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only door to the kernel's memory calls.
 *
 * Every call keeps errno: who asks for memory decides what errno to leave.
 * Sizes and addresses are bytes and multiples of the page. What the kernel
 * refuses is reported, never fatal. Counting and probing are the callers'
 * business. These are system calls: what goes back to the kernel of what the
 * program had is for named.h, so that other tools hear of it.
 *
 * The kf_vm_put_*() are for addresses that stay while what stands behind them
 * changes; the others are for memory that is taken and given back.
 */
#ifndef KF_SYS_VM_H
#define KF_SYS_VM_H

#include "base/compiler.h"

#define KF_PAGE_SHIFT 12
#define KF_PAGE ((size_t)1 << KF_PAGE_SHIFT)
#define KF_HUGE_PAGE ((size_t)2 * KF_MIB)

/*
 * How memory is taken and given back: by system calls, or by names. @map is
 * NULL where there is no more, the others false where the kernel refuses.
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
 * kf_vm_reserve() - take address space without memory behind it
 * @size:	bytes
 * @align:	power of two, at least a page
 *
 * Context: any; no lock.
 * Return: the address, or NULL when there is no room.
 */
void *kf_vm_reserve(size_t size, size_t align) __must_check;

/**
 * kf_vm_claim() - take these addresses, without memory behind them
 * @addr:	first byte, a multiple of the kernel's page
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false where somebody has one of them; nothing changed.
 */
bool kf_vm_claim(void *addr, size_t size) __must_check;

/**
 * kf_vm_map() - take zeroed memory that can be read and written
 * @size:	bytes
 * @align:	power of two, at least a page
 *
 * Context: any; no lock.
 * Return: the address, or NULL when the kernel has no more.
 */
void *kf_vm_map(size_t size, size_t align) __must_check;

/**
 * kf_vm_map_by() - take an aligned piece of addresses
 * @by:		how
 * @size:	bytes
 * @align:	power of two, at least a page
 *
 * Context: as @by's functions.
 * Return: the address, or NULL when the kernel has no more.
 */
void *kf_vm_map_by(const struct kf_vm_names *by, size_t size,
		   size_t align) __must_check;

/**
 * kf_vm_purge_by() - kf_vm_purge(), by other means
 * @by:		how
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: as @by's functions.
 * Return: as kf_vm_purge().
 */
bool kf_vm_purge_by(const struct kf_vm_names *by, void *addr,
		    size_t size) __must_check;

/**
 * kf_vm_commit() - make reserved memory usable; it reads as zeroes
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
 * Return: false when the kernel refused; the memory is as it was.
 */
bool kf_vm_decommit(void *addr, size_t size) __must_check;

/**
 * kf_vm_hide() - let addresses fault, keep the pages behind them
 * @addr:	first byte
 * @size:	bytes; kf_vm_commit() shows what they held
 *
 * Context: any; no lock.
 * Return: false when the kernel refused; the memory is as it was.
 */
bool kf_vm_hide(void *addr, size_t size) __must_check;

/**
 * kf_vm_take() - move pages to another place, and leave the old addresses
 * @to:		where; whatever is mapped there goes
 * @size:	bytes
 * @from:	private memory, which has no pages then and reads as zeroes
 *
 * Context: any; no lock.
 * Return: false when the kernel refused (before Linux 5.7 always) and nothing
 *	   changed.
 */
bool kf_vm_take(void *to, size_t size, void *from) __must_check;

/**
 * kf_vm_purge() - give pages back, keep the memory usable; it reads as zeroes
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false when the kernel refused (locked pages) or none of its pages is
 *	   whole in it; contents are kept.
 */
bool kf_vm_purge(void *addr, size_t size) __must_check;

/**
 * kf_vm_huge() - ask for huge pages behind some memory
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false when the kernel has none, or too many mappings.
 */
bool kf_vm_huge(void *addr, size_t size) __must_check;

/**
 * kf_vm_populate() - have pages behind some memory now, not when it is touched
 * @addr:	first byte; contents stay
 * @size:	bytes
 *
 * Context: any; no lock. The memory is the caller's alone.
 * Return: false when the kernel has not enough.
 */
bool kf_vm_populate(void *addr, size_t size) __must_check;

/**
 * kf_vm_lock() - have pages behind some memory that stay in RAM
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock. Children of a fork have them unlocked.
 * Return: 0, or a negative errno: -ENOMEM or -EPERM above RLIMIT_MEMLOCK.
 */
int kf_vm_lock(void *addr, size_t size) __must_check;

/**
 * kf_vm_wipe_on_fork() - let a forked child find zeroes there
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false when the kernel cannot (before Linux 4.14).
 */
bool kf_vm_wipe_on_fork(void *addr, size_t size) __must_check;

/**
 * kf_vm_unmap() - give memory and addresses back
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; no lock.
 * Return: false when the kernel refused (max_map_count); nothing changed.
 */
bool kf_vm_unmap(void *addr, size_t size) __must_check;

/**
 * kf_vm_drop() - give memory and addresses back, if the kernel takes them
 * @addr:	first byte
 * @size:	bytes
 *
 * For what nobody will look at again: what is refused stays mapped.
 *
 * Context: any, signal handlers too.
 */
void kf_vm_drop(void *addr, size_t size);

/**
 * kf_vm_resize() - grow or shrink a mapping where it stands
 * @addr:	first byte
 * @old:	bytes it has
 * @size:	bytes wanted
 *
 * Context: any; no lock.
 * Return: false when it cannot stay in its place.
 */
bool kf_vm_resize(void *addr, size_t old, size_t size) __must_check;

/**
 * kf_vm_move() - move a mapping's pages to another place without copying
 * @addr:	first byte
 * @old:	bytes it has
 * @size:	bytes wanted
 * @to:		where; whatever is mapped there goes
 *
 * Context: any; no lock.
 * Return: false when the kernel refused; @addr is as it was then, but what
 *	   was mapped at @to may have gone.
 */
bool kf_vm_move(void *addr, size_t old, size_t size, void *to) __must_check;

/**
 * kf_vm_put_memory() - put zeroed memory somewhere
 * @addr:	where; whatever is mapped there goes. NULL: anywhere
 * @size:	bytes
 *
 * Where private memory is refused (RLIMIT_DATA), shared memory is tried.
 *
 * Context: any, signal handlers too.
 * Return: the address, or NULL when the kernel has no more.
 */
void *kf_vm_put_memory(void *addr, size_t size) __must_check;

/**
 * kf_vm_put_file() - put a file's bytes behind addresses, shared
 * @addr:	where; whatever is mapped there goes
 * @size:	bytes
 * @fd:		the file, open for reading and writing
 * @offset:	of the first byte
 *
 * Context: any.
 * Return: 0, or a negative errno and nothing changed.
 */
int kf_vm_put_file(void *addr, size_t size, int fd,
		   uint64_t offset) __must_check;

/**
 * kf_vm_put_mapping() - move a mapping over another place in one step
 * @addr:	where; whatever is mapped there goes
 * @size:	bytes
 * @from:	the mapping
 *
 * Context: any.
 * Return: false when the kernel refused and nothing changed.
 */
bool kf_vm_put_mapping(void *addr, size_t size, void *from) __must_check;

/**
 * kf_vm_copy() - read memory that may be gone, or go meanwhile
 * @to:		out: the bytes
 * @from:	where they are
 * @size:	how many
 *
 * Context: any, signal handlers too.
 * Return: whether all of them could be read; false also where the kernel does
 *	   not allow it.
 */
bool kf_vm_copy(void *to, const void *from, size_t size) __must_check;

/**
 * kf_vm_is_readable() - whether a byte can be read
 * @addr:	any address
 *
 * Asked of the kernel, by a call that every program makes and that does
 * nothing (as Abseil does).
 *
 * Context: any, signal handlers too.
 * Return: true if it can, at this moment.
 */
bool kf_vm_is_readable(const void *addr) __must_check;

#endif
