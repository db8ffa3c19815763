/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions of other objects of the process, found by name: those that come
 * after this library in the order of look-up, and those of an object that is
 * loaded for it.
 *
 * The dynamic linker may allocate meanwhile.
 */
#ifndef KF_SYS_NEXT_H
#define KF_SYS_NEXT_H

#include "base/compiler.h"

/**
 * kf_next() - what a name means behind this library
 * @name:	the symbol
 *
 * Context: once the process is relocated; not from a signal handler. Leaves no
 *	    dlerror().
 * Return: its address, or NULL.
 */
void *kf_next(const char *name);

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
 * Return: NULL, or the dynamic linker's words why not, valid until it is asked
 *	   again.
 */
const char *kf_next_load(const char *path, const char *name, void **symbol);

#endif
