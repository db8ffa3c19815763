/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory calls by the C library's names.
 *
 * Other tools intercept mmap, munmap, madvise and mremap to follow the
 * program's pages: they define these names or patch their code. UCX does, as
 * network cards continue to read pages that it does not know to be unmapped. So
 * memory that the program had goes back to the kernel by these names; memory
 * that it never had does not, see vm.h.
 *
 * The intercepting code may allocate, and may wait for a lock of its own that
 * another thread holds while it allocates. So the caller holds no lock of the
 * library and is not in the middle of a change to a heap. A build with
 * --enable-debug aborts where a lock is held.
 *
 * errno is kept. Before kf_named_begin() the calls are system calls, as other
 * libraries may not be ready.
 */
#ifndef KF_SYS_NAMED_H
#define KF_SYS_NAMED_H

#include "base/compiler.h"

/**
 * kf_named_begin() - make calls by name from now on
 *
 * Context: once, after relocation.
 */
void kf_named_begin(void);

/**
 * kf_named_map() - kf_vm_map() by name
 * @size:	bytes
 * @align:	power of two, at least a page
 *
 * Context: no lock held, errno kept.
 * Return: the address, or NULL when the kernel has no more.
 */
void *kf_named_map(size_t size, size_t align) __must_check;

/**
 * kf_named_drop() - unmap memory
 * @addr:	first byte
 * @size:	bytes
 *
 * Where the kernel refuses (max_map_count), the pages are purged and the
 * addresses stay mapped.
 *
 * Context: no lock held, errno kept. The memory is the caller's alone.
 */
void kf_named_drop(void *addr, size_t size);

/**
 * kf_named_purge() - kf_vm_purge() by name
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: no lock held, errno kept. The memory is the caller's alone.
 * Return: as kf_vm_purge().
 */
bool kf_named_purge(void *addr, size_t size);

/**
 * kf_named_resize() - kf_vm_resize() by name
 * @addr:	first byte
 * @old:	bytes it has
 * @size:	bytes wanted
 *
 * Context: no lock held, errno kept.
 * Return: false when the mapping cannot grow at its address.
 */
bool kf_named_resize(void *addr, size_t old, size_t size) __must_check;

/**
 * kf_named_move() - kf_vm_move() by name
 * @addr:	first byte
 * @old:	bytes it has
 * @size:	bytes wanted
 * @to:		the new address; replaces the mapping there
 *
 * Context: no lock held, errno kept.
 * Return: as kf_vm_move().
 */
bool kf_named_move(void *addr, size_t old, size_t size, void *to) __must_check;

#endif
