/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The check whether other objects define our names: see replaced.h, and new.h
 * for operators new and delete. The GOT has the addresses of the operators that
 * the program uses; an address outside this library means another definition.
 * That test does not work for malloc and free: if the program takes their
 * address, the GOT may hold a place in the program, whatever object defines
 * them.
 */
#include "abi/replaced.h"

#include "abi/abi.h"
#include "abi/new.h"
#include "abi/own.h"
#include "mode/mode.h"
#include "sys/next.h"

extern const char __ehdr_start[] __kf_hidden;
extern const char _end[] __kf_hidden;

static bool ours(const void *fn)
{
	return (const char *)fn >= __ehdr_start && (const char *)fn < _end;
}

signed char kf_new_answer;
bool kf_malloc_replaced;

/* Of objects before this library, NULL if none has it. Constant likewise. */
static struct {
	__typeof__(malloc) *malloc;
	__typeof__(free) *free;
	__typeof__(realloc) *realloc;
	__typeof__(memalign) *memalign;
	__typeof__(posix_memalign) *posix_memalign;
	__typeof__(aligned_alloc) *aligned_alloc;
} before;

#define FIND(name) \
	(before.name = (__typeof__(before.name))kf_next_before(#name))

/*
 * The first of this library's constructors. Where the C library lies before it,
 * it was loaded late, for whoever asks it by name.
 */
__attribute__((constructor(101))) static void look_at_malloc(void)
{
	if (!FIND(malloc) || !FIND(free) ||
	    kf_next_before("gnu_get_libc_version"))
		return;
	FIND(realloc);
	FIND(memalign);
	FIND(posix_memalign);
	FIND(aligned_alloc);
	kf_mode_elsewhere = before.free;
	kf_malloc_replaced = true;
}

bool kf_new_look(void)
{
	bool all = ours(_Znwm) && ours(_Znam) && ours(_ZdlPv) && ours(_ZdaPv) &&
		   ours(_ZnwmSt11align_val_t) && ours(_ZnamSt11align_val_t) &&
		   ours(_ZdlPvSt11align_val_t) && ours(_ZdaPvSt11align_val_t) &&
		   ours(_ZnamRKSt9nothrow_t) && ours(_ZnwmRKSt9nothrow_t) &&
		   !kf_malloc_replaced;

	__atomic_store_n(&kf_new_answer, all ? 1 : -1, __ATOMIC_RELAXED);
	return all;
}

void kf_replaced_free(void *p)
{
	before.free(p);
}

void *kf_replaced_aligned(size_t align, size_t size)
{
	void *p;

	if (before.memalign)
		return before.memalign(align, size);
	if (before.posix_memalign) {
		align = KF_MAX(align, sizeof(void *));
		return before.posix_memalign(&p, align, size) ? NULL : p;
	}
	if (before.aligned_alloc)
		return before.aligned_alloc(align, size);
	return align <= 16 ? before.malloc(size) : kf_aligned_own(align, size);
}

__kf_public void *reallocarray(void *p, size_t nr, size_t size)
{
	size_t bytes;

	/* realloc refuses and counts it. */
	if (unlikely(__builtin_mul_overflow(nr, size, &bytes)))
		bytes = SIZE_MAX;
	return unlikely(before.realloc) ? before.realloc(p, bytes)
					: kf_realloc(p, bytes);
}

__kf_public void cfree(void *p)
{
	if (unlikely(kf_malloc_replaced))
		before.free(p);
	else
		kf_free(p);
}
