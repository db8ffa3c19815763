// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Refuses memory calls of the library as the kernel would. A filter in the
 * kernel sends those here that the library's own code makes; those that it
 * makes by the C library's names come here as these names are defined here.
 *
 * REFUSE=FROM,NR	refuse NR calls, the FROMth of all and those behind it
 *
 * It is to be named behind the library in LD_PRELOAD: its own relocation is
 * made first then, and by that it stands before the library's first call. The C
 * library is not ready: so it makes its calls itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define NR_ARGUMENTS 6

/* Of the calls that are counted. @until: 0: none is refused. */
unsigned long refuse_seen, refuse_refused;
static unsigned long first, until;

/* The library's code. */
static uintptr_t library, library_end;

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

static long call(long nr, long a, long b, long c, long d, long e)
{
	return raw(nr, (long[NR_ARGUMENTS]){a, b, c, d, e, 0});
}

static long read_whole(const char *path, char *text, size_t size)
{
	long fd = call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY, 0, 0);
	long len = 0, n;

	while (fd >= 0 && (n = call(SYS_read, fd, (long)text + len,
				    (long)size - 1 - len, 0, 0)) > 0)
		len += n;
	if (fd >= 0)
		call(SYS_close, fd, 0, 0, 0, 0);
	text[len] = '\0';
	return len;
}

/* The environment is not set up yet. */
static void read_order(void)
{
	static const char key[] = "REFUSE=";
	static char text[65536];
	long n = read_whole("/proc/self/environ", text, sizeof(text));

	for (long i = 0; i < n; i += (long)strlen(text + i) + 1) {
		const char *p = text + i + sizeof(key) - 1;

		if (strncmp(text + i, key, sizeof(key) - 1))
			continue;
		first = number(&p);
		p += *p == ',';
		until = first + number(&p);
	}
}

static uintptr_t hexadecimal(const char **p)
{
	uintptr_t n = 0;

	for (;; ++*p) {
		if (**p >= '0' && **p <= '9')
			n = n << 4 | (uintptr_t)(**p - '0');
		else if (**p >= 'a' && **p <= 'f')
			n = n << 4 | (uintptr_t)(**p - 'a' + 10);
		else
			return n;
	}
}

static void find_library(void)
{
	static char maps[65536];
	const char *line = maps, *end, *name;

	read_whole("/proc/self/maps", maps, sizeof(maps));
	for (; *line; line = end + 1) {
		uintptr_t from, to;

		end = strchr(line, '\n');
		if (!end)
			break;
		from = hexadecimal(&line);
		line++;
		to = hexadecimal(&line);
		name = strstr(line, "libkonfiscator");
		if (!name || name > end)
			continue;
		if (!library)
			library = from;
		library_end = to;
	}
}

static int is_librarys(const void *code)
{
	return (uintptr_t)code >= library && (uintptr_t)code < library_end;
}

static int is_refused(const void *code)
{
	unsigned long seen;

	if (!is_librarys(code))
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

#if defined(__x86_64__)
#define REGISTER(u, i) ((u)->uc_mcontext.gregs[i])
static const int arguments[] = {REG_RDI, REG_RSI, REG_RDX,
				REG_R10, REG_R8,  REG_R9};
#define RESULT REG_RAX
__asm__("restore: mov $15, %eax\n\tsyscall\n");
void restore(void) __attribute__((visibility("hidden")));
#define RESTORER 0x04000000
#else
#define REGISTER(u, i) ((u)->uc_mcontext.regs[i])
static const int arguments[] = {0, 1, 2, 3, 4, 5};
#define RESULT 0
#define restore 0
#define RESTORER 0
#endif

/* A memory call of the library's own code. */
static void judge(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	long a[NR_ARGUMENTS];

	(void)sig;
	for (int i = 0; i < NR_ARGUMENTS; i++)
		a[i] = (long)REGISTER(u, arguments[i]);
	REGISTER(u, RESULT) = is_refused(info->si_call_addr)
				      ? -ENOMEM
				      : raw(info->si_syscall, a);
}

/* As the kernel takes it. */
struct action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

#define LOAD(name, part)                   \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		 offsetof(struct seccomp_data, name) + (part))
#define IS(how, what, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_##how | BPF_K, what, yes, no)

/* The library's own memory calls come to judge(). */
static void trap(void)
{
	struct sock_filter filter[] = {
		LOAD(nr, 0),
		IS(JEQ, SYS_mmap, 5, 0),
		IS(JEQ, SYS_munmap, 4, 0),
		IS(JEQ, SYS_mprotect, 3, 0),
		IS(JEQ, SYS_madvise, 2, 0),
		IS(JEQ, SYS_mremap, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		LOAD(instruction_pointer, 4),
		IS(JEQ, (uint32_t)(library >> 32), 0, 4),
		LOAD(instruction_pointer, 0),
		IS(JGE, (uint32_t)library, 0, 2),
		IS(JGE, (uint32_t)library_end, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	struct action action = {judge, SA_SIGINFO | SA_NODEFER | RESTORER,
				restore, 0};

	call(SYS_rt_sigaction, SIGSYS, (long)&action, 0, 8, 0);
	call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0, 0);
}

static void nothing(void)
{
}

static __attribute__((used)) void (*resolve(void))(void)
{
	read_order();
	find_library();
	trap();
	return nothing;
}

static void early(void) __attribute__((ifunc("resolve")));

/* Its relocation calls the resolver. */
extern void (*const volatile refuse_early)(void);
void (*const volatile refuse_early)(void) = early;

static long by_name(const void *caller, long nr, long a, long b, long c, long d,
		    long e, long f)
{
	long result = is_refused(caller)
			      ? -ENOMEM
			      : raw(nr, (long[NR_ARGUMENTS]){a, b, c, d, e, f});

	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

#define CALLER __builtin_return_address(0)

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	return (void *)by_name(CALLER, SYS_mmap, (long)addr, (long)size, prot,
			       flags, fd, offset);
}

int munmap(void *addr, size_t size)
{
	return (int)by_name(CALLER, SYS_munmap, (long)addr, (long)size, 0, 0, 0,
			    0);
}

int madvise(void *addr, size_t size, int advice)
{
	return (int)by_name(CALLER, SYS_madvise, (long)addr, (long)size, advice,
			    0, 0, 0);
}

void *mremap(void *addr, size_t old, size_t size, int flags, ...)
{
	va_list list;
	long to;

	va_start(list, flags);
	to = va_arg(list, long);
	va_end(list);
	return (void *)by_name(CALLER, SYS_mremap, (long)addr, (long)old,
			       (long)size, flags, to, 0);
}
