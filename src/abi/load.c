/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dlopen: so that unwind tables are read anew where a library may come to the
 * addresses of an unloaded one, and so that libraries loaded with RTLD_DEEPBIND
 * have the same malloc.
 *
 * A library loaded with RTLD_DEEPBIND looks for names in itself and in what it
 * needs before it looks in the program: its malloc and free would be the C
 * library's, while it exchanges blocks with others that have ours. PHP loads
 * its extensions so.
 *
 * And dlclose: after it, other code may be at the addresses of known stacks.
 */
#define _GNU_SOURCE
#include "abi/abi.h"

#include "core/conf.h"
#include "sample/rows.h"
#include "sample/sample.h"
#include "sys/next.h"

#include <dlfcn.h>

typedef void *dlopen_fn(const char *file, int mode);

typedef int dlclose_fn(void *object);

/* NULL until the first call, which may come before any constructor. */
static dlopen_fn *next;
static dlclose_fn *next_close;

static __noinline dlopen_fn *load_find(void)
{
	dlopen_fn *fn = (dlopen_fn *)kf_next("dlopen");

	__atomic_store_n(&next, fn, __ATOMIC_RELAXED);
	return fn;
}

static dlclose_fn *load_find_close(void)
{
	dlclose_fn *fn = (dlclose_fn *)kf_next("dlclose");

	__atomic_store_n(&next_close, fn, __ATOMIC_RELAXED);
	return fn;
}

/* Before attach.c leads these names here. */
__attribute__((constructor(102))) static void load_find_all(void)
{
	load_find();
	load_find_close();
}

/*
 * The dynamic linker asks whose call it is by the return address, for RUNPATH
 * and the namespace: so this must go on by a jump, in all builds.
 */
__kf_public __kf_jumps void *dlopen(const char *file, int mode)
{
	dlopen_fn *fn = __atomic_load_n(&next, __ATOMIC_RELAXED);

	if (unlikely(!fn))
		fn = load_find();
	if (unlikely(!fn))
		return NULL;
	kf_rows_loading();
	if (!kf_conf.deepbind)
		mode &= ~RTLD_DEEPBIND;
	kf_sample_load();
	__kf_jump return fn(file, mode);
}

__kf_public int dlclose(void *object)
{
	dlclose_fn *fn = __atomic_load_n(&next_close, __ATOMIC_RELAXED);
	int result;

	if (unlikely(!fn))
		fn = load_find_close();
	if (unlikely(!fn))
		return -1;
	kf_sample_unload(false);
	result = fn(object);
	kf_sample_unload(true);
	return result;
}
