/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * prctl and syscall, to be told when the program filters its system calls.
 *
 * A filter may kill whoever asks the kernel whether there is one: so that has
 * to be known before. Programs, and libseccomp for them, set filters by these
 * two names; what makes the call by an instruction of its own is not seen.
 *
 * Both are declared here as they are called: the C library's headers give them
 * any number of arguments. What the caller did not give is passed on unread.
 */
#include "abi/abi.h"

#include "sys/fault.h"
#include "sys/next.h"
#include "sys/process.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

/*
 * The seventh argument lies on the stack on x86-64, where nothing may touch it:
 * it may be a variable of a caller that gave fewer.
 */
#ifdef __x86_64__
#define SEVENTH(...)
#else
#define SEVENTH(...) , __VA_ARGS__
#endif

typedef long syscall_fn(long nr, long a, long b, long c, long d,
			long e SEVENTH(long f));
typedef int prctl_fn(int option, long a, long b, long c, long d);

__kf_public syscall_fn syscall;
__kf_public prctl_fn prctl;

/* NULL until the constructor, or the first call before it. Atomic. */
static syscall_fn *next_syscall;
static prctl_fn *next_prctl;

static __cold __noinline syscall_fn *find_syscall(void)
{
	syscall_fn *fn = (syscall_fn *)kf_next("syscall");

	__atomic_store_n(&next_syscall, fn, __ATOMIC_RELAXED);
	return fn;
}

static __cold __noinline prctl_fn *find_prctl(void)
{
	prctl_fn *fn = (prctl_fn *)kf_next("prctl");

	__atomic_store_n(&next_prctl, fn, __ATOMIC_RELAXED);
	return fn;
}

/* Calls may come in signal handlers, and in the child of many threads. */
__attribute__((constructor(102))) static void find(void)
{
	find_syscall();
	find_prctl();
}

/* Programs ask whether there could be a filter by giving none. */
static bool sets_filter(long nr, long a, long b, long c)
{
	if (nr == SYS_prctl)
		return a == PR_SET_SECCOMP && (b == SECCOMP_MODE_STRICT || c);
	return nr == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT ||
				     (a == SECCOMP_SET_MODE_FILTER && c));
}

/*
 * Before the filter, for other threads, which it may be for as well; guards
 * would need calls that it may forbid.
 */
static bool filter_bar(void)
{
	bool was = kf_process_bar(true);

	kf_fault_step_back(kf_fault_step_aside());
	return was;
}

static __cold __noinline long filter_by_syscall(syscall_fn *fn, long nr, long a,
						long b, long c, long d)
{
	bool was = filter_bar();
	long r = fn(nr, a, b, c, d, 0 SEVENTH(0));

	if (r < 0)
		kf_process_bar(was);
	return r;
}

static __cold __noinline int filter_by_prctl(prctl_fn *fn, int option, long a,
					     long b, long c, long d)
{
	bool was = filter_bar();
	int r = fn(option, a, b, c, d);

	if (r < 0)
		kf_process_bar(was);
	return r;
}

/* This must go on by a jump, with the stack as it was. */
__kf_public __kf_jumps long syscall(long nr, long a, long b, long c, long d,
				    long e SEVENTH(long f))
{
	syscall_fn *fn = __atomic_load_n(&next_syscall, __ATOMIC_RELAXED);

	if (unlikely(!fn))
		fn = find_syscall();
	if (unlikely(sets_filter(nr, a, b, c)))
		return filter_by_syscall(fn, nr, a, b, c, d);
	__kf_jump return fn(nr, a, b, c, d, e SEVENTH(f));
}

__kf_public __kf_jumps int prctl(int option, long a, long b, long c, long d)
{
	prctl_fn *fn = __atomic_load_n(&next_prctl, __ATOMIC_RELAXED);

	if (unlikely(!fn))
		fn = find_prctl();
	if (unlikely(sets_filter(SYS_prctl, option, a, b)))
		return filter_by_prctl(fn, option, a, b, c, d);
	__kf_jump return fn(option, a, b, c, d);
}
