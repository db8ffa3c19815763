/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * operator new and delete as C declarations; the tags are references.
 */
#ifndef KF_ABI_NEW_H
#define KF_ABI_NEW_H

#include "base/compiler.h"

/**
 * _Znwm() - operator new(size_t)
 * _Znam() - operator new[](size_t)
 * _ZnwmRKSt9nothrow_t() - operator new(size_t, nothrow_t const &)
 * _ZnamRKSt9nothrow_t() - operator new[](size_t, nothrow_t const &)
 * _ZnwmSt11align_val_t() - operator new(size_t, align_val_t)
 * _ZnamSt11align_val_t() - operator new[](size_t, align_val_t)
 * _ZnwmSt11align_val_tRKSt9nothrow_t() - the same, nothrow
 * _ZnamSt11align_val_tRKSt9nothrow_t() - the same, nothrow
 * @size:	bytes
 * @align:	power of two
 * @tag:	std::nothrow, not looked at
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

/**
 * _ZdlPv() - operator delete(void *)
 * _ZdlPvSt11align_val_t() - operator delete(void *, align_val_t)
 * @p:		a block or NULL
 * @align:	not looked at
 *
 * Context: any thread. The other forms are in delete.def.
 */
__kf_public void _ZdlPv(void *p);
__kf_public void _ZdlPvSt11align_val_t(void *p, size_t align);
#define KF_DELETE(name, base, args, pass, how) __kf_public void name args;
#include "abi/delete.def"
#undef KF_DELETE

/* Positive: the program kept our operators; 0: not looked at yet. */
extern signed char kf_new_answer __kf_hidden;

/**
 * kf_new_look() - find out whether the program kept our operators
 *
 * Context: any thread; the answer does not change.
 * Return: false where the program defines some of them itself.
 */
bool kf_new_look(void) __kf_hidden;

/* Whether kf_new_look() has said yes. */
static inline bool kf_new_is_known_ours(void)
{
	return likely(kf_new_answer > 0);
}

/* kf_new_look(), remembered. */
static inline bool kf_new_is_ours(void)
{
	return kf_new_is_known_ours() || kf_new_look();
}

#endif
