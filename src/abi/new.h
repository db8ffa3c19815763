/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * operator new and delete as C declarations; the tags are references.
 */
#ifndef KF_ABI_NEW_H
#define KF_ABI_NEW_H

#include "base/compiler.h"

/**
 * operator new - as C++ says
 *
 * Context: any thread.
 * Return: a block; what libstdc++'s does when there is no memory.
 */
void *_Znwm(size_t size);
void *_Znam(size_t size);
void *_ZnwmRKSt9nothrow_t(size_t size, const void *tag);
void *_ZnamRKSt9nothrow_t(size_t size, const void *tag);
void *_ZnwmSt11align_val_t(size_t size, size_t align);
void *_ZnamSt11align_val_t(size_t size, size_t align);
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align,
					 const void *tag);
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t align,
					 const void *tag);

/* operator delete - as C++ says. Context: any thread. */
#define KF_DELETE(name) void name(void *p);
#include "abi/delete.def"
#undef KF_DELETE

#endif
