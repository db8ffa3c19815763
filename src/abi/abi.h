/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names the C library knows, declared here so that no header of libc adds
 * attributes of its own to them; and how they are defined.
 */
#ifndef KF_ABI_ABI_H
#define KF_ABI_ABI_H

#include "base/compiler.h"

/*
 * The fast paths have no frame: they call nothing, they jump to the slow path,
 * and a stack taken there still starts at their caller.
 */
#define KF_LEAF __attribute__((optimize("omit-frame-pointer")))

/* A second name of a function; the types may differ in unused arguments. */
#define KF_ALIAS(type, name, args, of)                                     \
	_Pragma("GCC diagnostic push") _Pragma(                            \
		"GCC diagnostic ignored \"-Wattribute-alias\"")            \
		_Pragma("GCC diagnostic ignored \"-Wmissing-attributes\"") \
			type name args                                     \
		__attribute__((alias(#of), visibility("default")));        \
	_Pragma("GCC diagnostic pop") _Static_assert(1, "")

/**
 * malloc() and the rest - what C, POSIX and the C library's manual say
 *
 * Context: any thread, before main() too; not from signal handlers.
 * Return: as documented there.
 */
void *malloc(size_t size);
void free(void *p);
void *calloc(size_t nr, size_t size);
void *realloc(void *p, size_t size);
void *reallocarray(void *p, size_t nr, size_t size);
size_t malloc_usable_size(void *p);
void cfree(void *p);
void free_sized(void *p, size_t size);
void free_aligned_sized(void *p, size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);
void *memalign(size_t align, size_t size);
void *aligned_alloc(size_t align, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);
void *__libc_malloc(size_t size);
void __libc_free(void *p);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
int __posix_memalign(void **out, size_t align, size_t size);

#endif
