/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of other objects led to this library, in a process that runs already.
 *
 * Two places say where a call of malloc goes. A slot of an object's GOT holds
 * the address that a relocation found; and the symbol table of the object that
 * defines malloc says what relocations will find, in objects loaded later, in
 * slots of lazy binding that no call has used yet, and in dlsym(). Both are
 * changed. A slot is changed only if it holds the function that is to be
 * replaced, so that a program's own allocator is left alone, and so that slots
 * are put back without a list of them.
 *
 * Not reached: addresses that the program has stored itself, and calls inside
 * the object that defines the function, other than the C library.
 */
#ifndef KF_SYS_BIND_H
#define KF_SYS_BIND_H

#include "base/compiler.h"

/* A function, and the one that replaces it. */
struct kf_bind {
	const char *name;
	uintptr_t ours;
	uintptr_t theirs; /* 0: the process has no such function */
};

/**
 * kf_bind_find() - find the functions to replace
 * @bind:	the functions, malloc first; names and ours are set
 * @nr:		their number
 *
 * Context: as kf_next(); before kf_bind(), once.
 */
void kf_bind_find(struct kf_bind *bind, size_t nr);

/**
 * kf_bind() - lead calls to this library, or back
 * @bind:	the functions
 * @nr:		their number
 * @on:		true: to this library
 *
 * Other threads may call the functions meanwhile, and may load objects. They
 * may also resolve a slot of lazy binding, which has then the former address:
 * so all slots are looked at twice, with a pause in between.
 *
 * Where @on, weak references to functions of this library that were NULL are
 * resolved too. They stay.
 *
 * Context: one thread at a time. Keeps errno.
 * Return: the number of slots changed.
 */
size_t kf_bind(const struct kf_bind *bind, size_t nr, bool on);

#endif
