/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mappings whose address is chosen by us, with or without a file behind them.
 *
 * What the stats file needs beside vm.h: its addresses stay while what stands
 * behind them changes. Every call keeps errno and is one or two system calls;
 * sizes and addresses are multiples of kf_map_page().
 */
#ifndef KF_SYS_MAP_H
#define KF_SYS_MAP_H

#include "base/compiler.h"

/**
 * kf_map_page() - bytes of a page as the kernel maps them
 *
 * Context: any.
 * Return: 4096 to 65536.
 */
size_t kf_map_page(void);

/**
 * kf_map_reserve() - take address space without memory behind it
 * @size:	bytes
 *
 * Context: any.
 * Return: the address, or NULL when there is no room.
 */
void *kf_map_reserve(size_t size) __must_check;

/**
 * kf_map_anon() - put zeroed memory somewhere
 * @addr:	where; whatever is mapped there goes. NULL: anywhere
 * @size:	bytes
 *
 * Where private memory is refused (RLIMIT_DATA), shared memory is tried.
 *
 * Context: any, signal handlers too.
 * Return: the address, or NULL when the kernel has no more.
 */
void *kf_map_anon(void *addr, size_t size) __must_check;

/**
 * kf_map_file() - put a file's bytes behind addresses, shared
 * @addr:	where; whatever is mapped there goes
 * @size:	bytes
 * @fd:		the file, open for reading and writing
 * @offset:	of the first byte
 *
 * Context: any.
 * Return: 0, or a negative errno and nothing changed.
 */
int kf_map_file(void *addr, size_t size, int fd, uint64_t offset) __must_check;

/**
 * kf_map_replace() - move a mapping over another place in one step
 * @from:	the mapping
 * @size:	bytes
 * @to:		where; whatever is mapped there goes
 *
 * Context: any.
 * Return: false when the kernel refused and nothing changed.
 */
bool kf_map_replace(void *from, size_t size, void *to) __must_check;

/**
 * kf_map_drop() - give memory and addresses back
 * @addr:	first byte
 * @size:	bytes
 *
 * What the kernel refuses to unmap stays mapped.
 *
 * Context: any.
 */
void kf_map_drop(void *addr, size_t size);

#endif
