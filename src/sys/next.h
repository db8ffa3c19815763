/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions of other objects of the process, found by name: those that come
 * after this library in the order of symbol lookup, and those of an object that
 * is loaded for this library.
 *
 * The lookup uses no function that another preloaded library may define. Only
 * the dynamic linker can load an object; it may allocate.
 */
#ifndef KF_SYS_NEXT_H
#define KF_SYS_NEXT_H

#include "base/compiler.h"

#include <elf.h>

/* A loaded object. */
struct kf_object {
	uintptr_t base;
	const Elf64_Dyn *dynamic; /* its dynamic section, or NULL */
	const Elf64_Phdr *segment;
	size_t nr_segments;
};

/**
 * kf_next() - find a symbol in the objects after this library
 * @name:	the symbol
 *
 * Where no object after this library defines it, as when this library was
 * loaded late, the first object before it that does is taken.
 *
 * Context: once the process is relocated; not from a signal handler. Allocates
 *	    nothing.
 * Return: its address, or NULL.
 */
void *kf_next(const char *name);

/**
 * kf_next_libc() - find a symbol in the C library
 * @name:	the symbol
 *
 * Context: any, once the C library is relocated. Takes no lock and allocates
 *	    nothing.
 * Return: its address, or NULL where the linker's list for debuggers has no C
 *	   library.
 */
void *kf_next_libc(const char *name);

/**
 * kf_next_before() - find a symbol in the objects before this library
 * @name:	the symbol
 *
 * Context: as kf_next().
 * Return: its address, or NULL: a definition in this library is the first.
 */
void *kf_next_before(const char *name);

/**
 * kf_next_of() - kf_next(), for a symbol of one object
 * @name:	the symbol
 * @beside:	an address in that object
 *
 * Context: as kf_next().
 * Return: its address, or NULL where it is missing or in another object.
 */
void *kf_next_of(const char *name, const void *beside);

/**
 * kf_next_path() - the path of the object at an address
 * @addr:	the address
 *
 * Context: as kf_next().
 * Return: its path, or "?".
 */
const char *kf_next_path(const void *addr);

/**
 * kf_next_load() - load an object for this library alone and find a symbol
 * @path:	the file
 * @name:	the symbol
 * @symbol:	out: its address
 *
 * The object is never unloaded.
 *
 * Context: as kf_next(); runs the object's constructors.
 * Return: NULL, or an error message, valid until the next call.
 */
const char *kf_next_load(const char *path, const char *name, void **symbol);

/**
 * kf_next_each() - call a function for each object but this library, the
 *		    dynamic linker and the vDSO
 * @see:	the function; returns whether to end the walk
 * @arg:	its argument
 *
 * Context: as kf_next(). @see runs under the linker's lock.
 * Return: whether @see ended the walk.
 */
bool kf_next_each(bool (*see)(const struct kf_object *o, void *arg), void *arg);

/**
 * kf_next_dynamic() - the address in an entry of an object's dynamic section
 * @o:		the object
 * @tag:	DT_SYMTAB and the like
 *
 * Context: any.
 * Return: the address, or NULL.
 */
const void *kf_next_dynamic(const struct kf_object *o, Elf64_Sxword tag);

/**
 * kf_next_entry() - an object's entry of a symbol that it defines
 * @o:		the object
 * @name:	the symbol
 *
 * Context: any.
 * Return: the entry, or NULL.
 */
const Elf64_Sym *kf_next_entry(const struct kf_object *o, const char *name);

/**
 * kf_next_own() - the address of a symbol that this library exports
 * @name:	the symbol
 *
 * Context: as kf_next().
 * Return: the address, or NULL.
 */
void *kf_next_own(const char *name);

#endif
