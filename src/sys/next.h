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

#endif
