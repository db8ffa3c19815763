/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions of other objects of the process, found by name: those that come
 * after this library in the order of look-up, and those of an object that is
 * loaded for it.
 *
 * No other preloaded library is asked for that, whatever it defines. To load an
 * object is the dynamic linker's, which may allocate meanwhile.
 */
#ifndef KF_SYS_NEXT_H
#define KF_SYS_NEXT_H

#include "base/compiler.h"

/**
 * kf_next() - what a name means behind this library
 * @name:	the symbol
 *
 * Where nothing behind it has the name, as when it was loaded late, what the
 * first object before it has.
 *
 * Context: once the process is relocated; not from a signal handler. Allocates
 *	    nothing.
 * Return: its address, or NULL.
 */
void *kf_next(const char *name);

/**
 * kf_next_libc() - what a name means in the C library
 * @name:	the symbol
 *
 * Context: any, as soon as the C library is relocated. Takes no lock and
 *	    allocates nothing.
 * Return: its address, or NULL where the process has no C library that
 *	   debuggers would find.
 */
void *kf_next_libc(const char *name);

/**
 * kf_next_before() - what a name means before this library
 * @name:	the symbol
 *
 * Context: as kf_next().
 * Return: its address, or NULL: then the name is this library's, where it has
 * it.
 */
void *kf_next_before(const char *name);

/**
 * kf_next_of() - kf_next(), in one object only
 * @name:	the symbol
 * @beside:	an address in the object it must be of
 *
 * Context: as kf_next().
 * Return: its address, or NULL where it is missing or another object's.
 */
void *kf_next_of(const char *name, const void *beside);

/**
 * kf_next_path() - the object that an address lies in
 * @addr:	the address
 *
 * Context: as kf_next().
 * Return: its path, or "?".
 */
const char *kf_next_path(const void *addr);

/**
 * kf_next_load() - load an object, for good, for this library alone
 * @path:	the file
 * @name:	a symbol of it
 * @symbol:	out: its address
 *
 * Context: as kf_next(); runs the object's constructors.
 * Return: NULL, or why not, mostly in the dynamic linker's words; valid until
 *	   the next call.
 */
const char *kf_next_load(const char *path, const char *name, void **symbol);

/**
 * kf_next_keep() - a symbol of an object that then stays
 * @soname:	the object, as the dynamic linker finds it
 * @may_load:	load it for this library alone where the process has not; false:
 *		only if it is there
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
 * kf_next_span() - where the object of an address begins and ends
 * @addr:	the address
 * @from:	out: its first
 * @to:		out: the one behind its last
 *
 * Context: as kf_next().
 * Return: false where the address is of no object.
 */
bool kf_next_span(const void *addr, uintptr_t *from, uintptr_t *to);

/**
 * kf_next_imports() - whether the object of an address uses a symbol of others
 * @addr:	the address
 * @name:	the symbol
 *
 * Context: as kf_next().
 * Return: true if it does; false too where that cannot be told.
 */
bool kf_next_imports(const void *addr, const char *name);

#endif
