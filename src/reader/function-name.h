/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a function's demangled name says: its template arguments, and whether it
 * is a wrapper of malloc (wrappers.def).
 */
#ifndef KF_READER_FUNCTION_NAME_H
#define KF_READER_FUNCTION_NAME_H

#include "base/compiler.h"

/**
 * kf_function_fold() - replace the template arguments of a name
 * @name:	the name, demangled
 * @by:		what each list of arguments becomes, between < and >
 *
 * Names that begin with <, as <module> of Python and <T as Trait>::f of Rust,
 * and operators keep theirs. A name with unpaired brackets stays as it is.
 *
 * Context: anywhere; allocates.
 * Return: the new name, to be freed; NULL when out of memory.
 */
char *kf_function_fold(const char *name, const char *by);

/**
 * kf_function_is_wrapper() - whether a function only passes a request to malloc
 * @name:	its name, demangled
 *
 * Context: anywhere; allocates.
 * Return: true if wrappers.def has it.
 */
bool kf_function_is_wrapper(const char *name);

#endif
