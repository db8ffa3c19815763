// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A library before the library: it takes the place of syscall(), by which all
 * of the library's calls go, and refuses memory calls as the kernel would.
 *
 * REFUSE=FROM,NR	refuse NR calls, the FROMth of all and those behind it
 *
 * It is asked before the C library is ready: so it makes its calls itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#define NR_ARGUMENTS 6

/* Of the calls that are counted. @until: 0: none is refused. */
unsigned long refuse_seen, refuse_refused;
static unsigned long first, until;
static int ready;

static long raw(long nr, const long a[NR_ARGUMENTS])
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10),
			   "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a[0];
	register long x1 __asm__("x1") = a[1];
	register long x2 __asm__("x2") = a[2];
	register long x3 __asm__("x3") = a[3];
	register long x4 __asm__("x4") = a[4];
	register long x5 __asm__("x5") = a[5];

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "say how to call the kernel on this machine"
#endif
}

static unsigned long number(const char **p)
{
	unsigned long n = 0;

	for (; **p >= '0' && **p <= '9'; ++*p)
		n = n * 10 + (unsigned long)(**p - '0');
	return n;
}

/* The environment is not set up yet when the first call comes. */
static void get_ready(void)
{
	static const char path[] = "/proc/self/environ", key[] = "REFUSE=";
	static char text[65536];
	long fd, n;

	ready = 1;
	fd = raw(SYS_openat, (long[]){AT_FDCWD, (long)path, O_RDONLY, 0, 0, 0});
	if (fd < 0)
		return;
	n = raw(SYS_read, (long[]){fd, (long)text, sizeof(text) - 1, 0, 0, 0});
	raw(SYS_close, (long[]){fd, 0, 0, 0, 0, 0});
	for (long i = 0; i < n; i += (long)strlen(text + i) + 1) {
		const char *p = text + i + sizeof(key) - 1;

		if (strncmp(text + i, key, sizeof(key) - 1))
			continue;
		first = number(&p);
		p += *p == ',';
		until = first + number(&p);
	}
}

static int is_refused(long nr)
{
	unsigned long seen;

	if (nr != SYS_mmap && nr != SYS_munmap && nr != SYS_mprotect &&
	    nr != SYS_madvise && nr != SYS_mremap)
		return 0;
	seen = __atomic_add_fetch(&refuse_seen, 1, __ATOMIC_RELAXED);
	if (seen < first || seen >= until)
		return 0;
	__atomic_add_fetch(&refuse_refused, 1, __ATOMIC_RELAXED);
	return 1;
}

/* From now on nothing is refused. */
void refuse_no_more(void);
void refuse_no_more(void)
{
	until = 0;
}

long syscall(long nr, ...)
{
	long a[NR_ARGUMENTS], result;
	va_list list;

	va_start(list, nr);
	for (int i = 0; i < NR_ARGUMENTS; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (!ready)
		get_ready();
	result = is_refused(nr) ? -ENOMEM : raw(nr, a);
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}
