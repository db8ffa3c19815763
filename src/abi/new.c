/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * operator new and delete under their mangled names, without any C++.
 *
 * When there is no memory the C++ library's own definition is called: it runs
 * the new_handler and throws. It is called too where the program has replaced
 * the form that another form is defined by: the standard has operator new[]
 * call operator new, and so on; and where malloc is not ours, so that the two
 * have one heap. The calls are tail calls, so no exception passes through a
 * frame of ours.
 */
#define _GNU_SOURCE
#include "abi/abi.h"

#include "abi/new.h"
#include "abi/replaced.h"
#include "abi/own.h"
#include "mode/mode.h"
#include "sys/next.h"

#include <stdlib.h>

/* Looked up only when it is needed. */
static __cold __noinline void *new_next(const char *name)
{
	void *fn = kf_next(name);

	if (!fn)
		abort();
	return fn;
}

/* libstdc++ rounds sizes up without a look at what comes out. */
static size_t clip(size_t size)
{
	return KF_MIN(size, (size_t)PTRDIFF_MAX);
}

static __noinline void *new_missed(struct kf_front *front, size_t size)
{
	void *p = NULL;

	if (likely(!kf_malloc_replaced))
		p = front->mode->alloc(size, front);
	return likely(p) ? p
			 : ((__typeof__(&_Znwm))new_next("_Znwm"))(clip(size));
}

KF_LEAF void *_Znwm(size_t size)
{
	struct kf_front *front = kf_front_self;
	void *p;

	if (unlikely(size > KF_TINY_MAX))
		return new_missed(front, size);
	p = kf_front_quick(front, size);
	return likely(p) ? p : new_missed(front, size);
}

static inline void *new_alloc(size_t size)
{
	return kf_front_malloc(kf_front_self, size);
}

void *_ZnwmSt11align_val_t(size_t size, size_t align)
{
	void *p = memalign(align, size);

	return likely(p) ? p
			 : ((__typeof__(&_ZnwmSt11align_val_t))new_next(
				   "_ZnwmSt11align_val_t"))(clip(size), align);
}

/* The forms that the standard defines by one of the two above. */
#define KF_NEW(name, args, pass, alloc)                                      \
	void *name args                                                      \
	{                                                                    \
		void *p = kf_new_is_ours() ? alloc : NULL;                   \
                                                                             \
		return likely(p) ? p : ((void *(*)args)new_next(#name))pass; \
	}
/* clang-format off */
KF_NEW(_Znam, (size_t size), (clip(size)), new_alloc(size))
KF_NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (clip(size), tag), new_alloc(size))
KF_NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (clip(size), tag), new_alloc(size))
KF_NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (clip(size), align), memalign(align, size))
KF_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), (clip(size), align, tag), memalign(align, size))
KF_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), (clip(size), align, tag), memalign(align, size))
/* clang-format on */
#undef KF_NEW

/* Alignments are hints; sizes are looked at, in sized.c. */
KF_LEAF void _ZdlPv(void *p)
{
	kf_free(p);
}

KF_LEAF void _ZdlPvSt11align_val_t(void *p, size_t align)
{
	kf_free(p);
}

#define KF_DELETE(name, base, args, pass, how)                \
	static __cold __noinline void name##_other args       \
	{                                                     \
		if (kf_new_is_ours())                         \
			how;                                  \
		else                                          \
			((void(*) args)new_next(#name)) pass; \
	}                                                     \
	KF_LEAF void name args                                \
	{                                                     \
		if (unlikely(!kf_new_is_known_ours())) {      \
			name##_other pass;                    \
			return;                               \
		}                                             \
		how;                                          \
	}
#include "abi/delete.def"
#undef KF_DELETE
