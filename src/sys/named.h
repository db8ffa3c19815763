/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory calls by the C library's names.
 *
 * Other tools hear by these of pages that come and go: they define them, or
 * patch the code behind them (UCX does, as network cards go on reading pages
 * that it does not know to be gone). So what was the program's goes back to the
 * kernel by name; what it never had does not, see vm.h.
 *
 * Behind a name may be code that allocates, and that waits for a lock of its
 * own which another thread holds while it allocates. So nobody here may hold a
 * lock of the library or be in the middle of a change to a thread's heap. A
 * build with --enable-debug aborts where a lock is held.
 *
 * errno is kept, whatever such code does to it. Before kf_named_begin() the
 * calls go to the kernel at once, as other libraries may not be ready.
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
 * kf_named_drop() - give memory and addresses back
 * @addr:	first byte
 * @size:	bytes
 *
 * Where the kernel refuses the addresses (max_map_count) the pages alone go.
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
 * Return: false when it cannot stay in its place.
 */
bool kf_named_resize(void *addr, size_t old, size_t size) __must_check;

/**
 * kf_named_move() - kf_vm_move() by name
 * @addr:	first byte
 * @old:	bytes it has
 * @size:	bytes wanted
 * @to:		where; whatever is mapped there goes
 *
 * Context: no lock held, errno kept.
 * Return: as kf_vm_move().
 */
bool kf_named_move(void *addr, size_t old, size_t size, void *to) __must_check;

#endif
