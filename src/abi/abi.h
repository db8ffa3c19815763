/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names the C library knows, declared here so that no header of libc adds
 * attributes of its own to them; and how they are defined.
 */
#ifndef KF_ABI_ABI_H
#define KF_ABI_ABI_H

#include "base/compiler.h"

/* See early.c. */
extern void (*const volatile kf_abi_early)(void) __kf_hidden;

/* A second name of a function; the types may differ in unused arguments. */
#ifdef __clang__
#define KF_ALIAS(type, name, args, of) \
	type name args __attribute__((alias(#of), visibility("default")))
#else
#define KF_ALIAS(type, name, args, of)                                     \
	_Pragma("GCC diagnostic push") _Pragma(                            \
		"GCC diagnostic ignored \"-Wattribute-alias\"")            \
		_Pragma("GCC diagnostic ignored \"-Wmissing-attributes\"") \
			type name args                                     \
		__attribute__((alias(#of), visibility("default")));        \
	_Pragma("GCC diagnostic pop") _Static_assert(1, "")
#endif

/**
 * malloc() - a block of memory
 * @size:	bytes; 0 gives a block too, each its own
 *
 * Context: any thread, before main() too; not from signal handlers.
 * Return: a block aligned to 16 bytes, errno kept; or NULL with ENOMEM, at
 *	   once for KF_SIZE_LIMIT bytes and more.
 */
void *malloc(size_t size);

/**
 * free() - give a block back
 * @p:		a block or NULL
 *
 * Context: as malloc(). Keeps errno. Aborts on what is no block.
 */
void free(void *p);

/**
 * calloc() - a zeroed block for an array
 * @nr:		members
 * @size:	bytes of one
 *
 * Context: as malloc().
 * Return: as malloc(); every usable byte is 0.
 */
void *calloc(size_t nr, size_t size);

/**
 * realloc() - change the size of a block
 * @p:		a block, or NULL for a new one
 * @size:	bytes; 0 frees the block
 *
 * Context: as malloc().
 * Return: the block, moved perhaps; NULL with ENOMEM and the old block as it
 *	   was; NULL with errno kept after size 0.
 */
void *realloc(void *p, size_t size);

/**
 * reallocarray() - realloc() for an array
 * @p:		as realloc()
 * @nr:		members
 * @size:	bytes of one
 *
 * Context: as malloc().
 * Return: as realloc(); ENOMEM where the product does not fit.
 */
void *reallocarray(void *p, size_t nr, size_t size);

/**
 * malloc_usable_size() - bytes of a block that may be used
 * @p:		a block or NULL
 *
 * Context: as malloc().
 * Return: bytes; 0 for NULL and for what is no block.
 */
size_t malloc_usable_size(void *p);

/**
 * cfree() - free(), as old programs call it
 * @p:		a block or NULL
 *
 * Context: as malloc().
 */
void cfree(void *p);

/**
 * free_sized() - free(), as C23 has it
 * @p:		a block or NULL
 * @size:	bytes that were asked; others may be told as misuse
 *
 * Context: as malloc().
 */
void free_sized(void *p, size_t size);

/**
 * free_aligned_sized() - free(), as C23 has it
 * @p:		a block or NULL
 * @align:	alignment that was asked
 * @size:	bytes that were asked; others may be told as misuse
 *
 * Context: as malloc().
 */
void free_aligned_sized(void *p, size_t align, size_t size);

/**
 * posix_memalign() - an aligned block
 * @out:	out: the block; untouched on failure
 * @align:	power of two and multiple of sizeof(void *)
 * @size:	bytes
 *
 * Context: as malloc(). Keeps errno.
 * Return: 0, EINVAL or ENOMEM.
 */
int posix_memalign(void **out, size_t align, size_t size);

/**
 * memalign() - an aligned block
 * @align:	rounded up to a power of two
 * @size:	bytes
 *
 * Context: as malloc().
 * Return: as malloc(); NULL with EINVAL where no power of two is as large.
 */
void *memalign(size_t align, size_t size);

/**
 * aligned_alloc() - an aligned block
 * @align:	power of two
 * @size:	bytes, any number
 *
 * Context: as malloc().
 * Return: as malloc(); NULL with EINVAL for another alignment.
 */
void *aligned_alloc(size_t align, size_t size);

/**
 * valloc() - a block aligned to a page
 * @size:	bytes
 *
 * Context: as malloc().
 * Return: as malloc().
 */
void *valloc(size_t size);

/**
 * pvalloc() - a block of whole pages
 * @size:	bytes, rounded up to pages; 0 is one page
 *
 * Context: as malloc().
 * Return: as malloc(); ENOMEM where rounding overflows.
 */
void *pvalloc(size_t size);

/**
 * __libc_malloc() - the C library's own name of malloc()
 * __libc_free() - of free()
 * __libc_calloc() - of calloc()
 * __libc_realloc() - of realloc()
 * __libc_memalign() - of memalign()
 * __libc_valloc() - of valloc()
 * __libc_pvalloc() - of pvalloc()
 * __posix_memalign() - of posix_memalign()
 * @p:		as there
 * @out:	as there
 * @nr:		as there
 * @align:	as there
 * @size:	as there
 *
 * Context: as malloc().
 * Return: as the public names.
 */
void *__libc_malloc(size_t size);
void __libc_free(void *p);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
int __posix_memalign(void **out, size_t align, size_t size);

#endif
