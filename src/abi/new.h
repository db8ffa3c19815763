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
 * Return: a block; what the C++ library's does when there is no memory.
 */
__kf_public void *_Znwm(size_t size);
__kf_public void *_Znam(size_t size);
__kf_public void *_ZnwmRKSt9nothrow_t(size_t size, const void *tag);
__kf_public void *_ZnamRKSt9nothrow_t(size_t size, const void *tag);
__kf_public void *_ZnwmSt11align_val_t(size_t size, size_t align);
__kf_public void *_ZnamSt11align_val_t(size_t size, size_t align);
__kf_public void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align,
						     const void *tag);
__kf_public void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t align,
						     const void *tag);

/* operator delete - as C++ says. Context: any thread. */
__kf_public void _ZdlPv(void *p);
__kf_public void _ZdlPvSt11align_val_t(void *p, size_t align);
#define KF_DELETE(name, base, args, pass) __kf_public void name args;
#include "abi/delete.def"
#undef KF_DELETE

/**
 * kf_new_is_ours() - whether the program kept our operators
 *
 * Context: any thread.
 * Return: false where the program defines some of them itself.
 */
bool kf_new_is_ours(void);

#endif
