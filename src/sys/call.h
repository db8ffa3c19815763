/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System calls without the C library.
 *
 * A wrapper of the C library may be a cancellation point, and other preloaded
 * libraries (torsocks, uid_wrapper) define wrappers, syscall() too, that
 * allocate. kf_sys() enters the kernel directly: errno stays as it is, and a
 * failure is a negative errno.
 *
 * Each thread has the number of its last one, so that core/realtime.h can tell
 * which calls of malloc made one.
 */
#ifndef KF_SYS_CALL_H
#define KF_SYS_CALL_H

#include "base/compiler.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
static __always_inline_kf long kf_sys_call(long nr, long a, long b, long c,
					   long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static __always_inline_kf long kf_sys_call(long nr, long a, long b, long c,
					   long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "only x86-64 and aarch64 are supported"
#endif

/* What the calling thread has done since somebody cleared it. */
struct kf_toll {
	uint32_t system_call; /* number of the last one, plus 1; 0: none */
	bool waited;	      /* for a lock of sys/lock.h */
};

extern __thread struct kf_toll kf_toll __kf_hidden
	__attribute__((tls_model("initial-exec")));

/* Note a system call that the C library makes. */
static inline void kf_sys_note(long nr)
{
	kf_toll.system_call = (uint32_t)nr + 1;
}

static __always_inline_kf long kf_sys_noted(long nr, long a, long b, long c,
					    long d, long e, long f)
{
	kf_sys_note(nr);
	return kf_sys_call(nr, a, b, c, d, e, f);
}

#define KF_SYS_SIX(nr, a, b, c, d, e, f, ...)                                \
	kf_sys_noted((long)(nr), (long)(a), (long)(b), (long)(c), (long)(d), \
		     (long)(e), (long)(f))

/*
 * kf_sys() - make a system call: its number, then up to six arguments, which
 *	      are numbers or addresses
 *
 * Context: any, signal handlers too. Keeps errno.
 * Return: the kernel's result; on failure a negative errno.
 */
#define kf_sys(...) KF_SYS_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

#endif
