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
 * kf_next_keep() - find a symbol of an object and keep the object loaded
 * @soname:	the object, as the dynamic linker finds it
 * @may_load:	true: load the object where the process has not loaded it
 * @name:	the symbol
 * @symbol:	out: its address
 *
 * Context: as kf_next(); may run the object's constructors. Leaves no
 *	    dlerror().
 * Return: false where there is no such object or symbol.
 */
bool kf_next_keep(const char *soname, bool may_load, const char *name,
		  void **symbol);

/**
 * kf_next_span() - the addresses of the object at an address
 * @addr:	the address
 * @from:	out: the object's first byte
 * @to:		out: the byte behind its last
 *
 * Context: as kf_next().
 * Return: false where there is no object at the address.
 */
bool kf_next_span(const void *addr, uintptr_t *from, uintptr_t *to);

/**
 * kf_next_imports() - whether the object at an address imports a symbol
 * @addr:	the address
 * @name:	the symbol
 *
 * Context: as kf_next().
 * Return: true if it does; false also where that is unknown.
 */
bool kf_next_imports(const void *addr, const char *name);

#endif
