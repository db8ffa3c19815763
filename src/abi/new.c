/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * operator new and delete under their mangled names, without any C++.
 *
 * When there is no memory the next definition (libstdc++'s) is called: it
 * runs the new_handler and throws. The calls are tail calls, so no exception
 * passes through a frame of ours.
 */
#define _GNU_SOURCE
#include "abi/abi.h"

#include "abi/new.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Looked up only on failure: dlsym may allocate. */
static __cold void *next(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (!fn)
		abort();
	return fn;
}

__kf_public void *_Znwm(size_t size)
{
	void *p = malloc(size);

	if (likely(p))
		return p;
	return ((void *(*)(size_t))next("_Znwm"))(size);
}

__kf_public void *_Znam(size_t size)
{
	void *p = malloc(size);

	if (likely(p))
		return p;
	return ((void *(*)(size_t))next("_Znam"))(size);
}

__kf_public void *_ZnwmRKSt9nothrow_t(size_t size, const void *tag)
{
	void *p = malloc(size);

	if (likely(p))
		return p;
	return ((void *(*)(size_t, const void *))next("_ZnwmRKSt9nothrow_t"))(
		size, tag);
}

__kf_public void *_ZnamRKSt9nothrow_t(size_t size, const void *tag)
{
	void *p = malloc(size);

	if (likely(p))
		return p;
	return ((void *(*)(size_t, const void *))next("_ZnamRKSt9nothrow_t"))(
		size, tag);
}

__kf_public void *_ZnwmSt11align_val_t(size_t size, size_t align)
{
	void *p = memalign(align, size);

	if (likely(p))
		return p;
	return ((void *(*)(size_t, size_t))next("_ZnwmSt11align_val_t"))(size,
									 align);
}

__kf_public void *_ZnamSt11align_val_t(size_t size, size_t align)
{
	void *p = memalign(align, size);

	if (likely(p))
		return p;
	return ((void *(*)(size_t, size_t))next("_ZnamSt11align_val_t"))(size,
									 align);
}

__kf_public void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align,
						     const void *tag)
{
	void *p = memalign(align, size);

	if (likely(p))
		return p;
	return ((void *(*)(size_t, size_t, const void *))next(
		"_ZnwmSt11align_val_tRKSt9nothrow_t"))(size, align, tag);
}

__kf_public void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t align,
						     const void *tag)
{
	void *p = memalign(align, size);

	if (likely(p))
		return p;
	return ((void *(*)(size_t, size_t, const void *))next(
		"_ZnamSt11align_val_tRKSt9nothrow_t"))(size, align, tag);
}

/* Every delete is free(): sizes and alignments are hints. */
#define KF_DELETE(name)                \
	__kf_public void name(void *p) \
	{                              \
		free(p);               \
	}
#include "abi/delete.def"
#undef KF_DELETE
