// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * For make check-tsan: what the sanitizer does not know of the library, and
 * what of the kernel's it must be spared.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The library asks for the last round of a thread's destructors, as others
 * still allocate before. In that round ThreadSanitizer forgets the thread,
 * before us, and crashes in whatever runs then: the library leaves a round
 * early.
 */
#define ROUNDS 3

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	static __thread int nr;

	return ++nr > ROUNDS ? EAGAIN : __real_pthread_setspecific(key, value);
}

/*
 * That the kernel gives addresses to one thread after another gave them back
 * is an order between these threads, of which the sanitizer knows nothing.
 * Programs without the library have these calls neither.
 */
void __tsan_acquire(void *at);
void __tsan_release(void *at);
void *__real_kf_vm_map(size_t size, size_t align) __attribute__((weak));
void *__wrap_kf_vm_map(size_t size, size_t align);
void __real_kf_vm_drop(void *at, size_t size) __attribute__((weak));
void __wrap_kf_vm_drop(void *at, size_t size);
void *__real_kf_vm_reserve(size_t size, size_t align) __attribute__((weak));
void *__wrap_kf_vm_reserve(size_t size, size_t align);
bool __real_kf_vm_unmap(void *at, size_t size) __attribute__((weak));
bool __wrap_kf_vm_unmap(void *at, size_t size);
bool __real_kf_vm_resize(void *at, size_t old, size_t size)
	__attribute__((weak));
bool __wrap_kf_vm_resize(void *at, size_t old, size_t size);
bool __real_kf_vm_move(void *at, size_t old, size_t size, void *to)
	__attribute__((weak));
bool __wrap_kf_vm_move(void *at, size_t old, size_t size, void *to);
void __real_kf_heap_detach(void) __attribute__((weak));
void __wrap_kf_heap_detach(void);
void kf_tsan_limit(size_t more);

static char addresses;

/*
 * The sanitizer maps memory of its own at any time, and ends the process where
 * it has none: a test's limit on addresses is held for the library alone.
 */
#define NO_LIMIT (LLONG_MAX / 2)

/* What is unmapped may not have been counted: less than nothing is possible. */
static atomic_llong mapped, limit = NO_LIMIT;

void kf_tsan_limit(size_t more)
{
	limit = more == SIZE_MAX ? NO_LIMIT : mapped + (long long)more;
}

static bool may_map(size_t size)
{
	long long before = mapped;

	do {
		if ((long long)size > limit - before)
			return false;
	} while (!atomic_compare_exchange_weak(&mapped, &before,
					       before + (long long)size));
	return true;
}

static void uncount(size_t size)
{
	atomic_fetch_sub(&mapped, (long long)size);
}

static void *counted(void *at, size_t size)
{
	__tsan_acquire(&addresses);
	if (!at)
		uncount(size);
	return at;
}

void *__wrap_kf_vm_map(size_t size, size_t align)
{
	return may_map(size) ? counted(__real_kf_vm_map(size, align), size)
			     : NULL;
}

void *__wrap_kf_vm_reserve(size_t size, size_t align)
{
	return may_map(size) ? counted(__real_kf_vm_reserve(size, align), size)
			     : NULL;
}

bool __wrap_kf_vm_unmap(void *at, size_t size)
{
	__tsan_release(&addresses);
	if (!__real_kf_vm_unmap(at, size))
		return false;
	uncount(size);
	return true;
}

void __wrap_kf_vm_drop(void *at, size_t size)
{
	__tsan_release(&addresses);
	__real_kf_vm_drop(at, size);
	uncount(size);
}

bool __wrap_kf_vm_resize(void *at, size_t old, size_t size)
{
	size_t more = size > old ? size - old : 0;

	if (!may_map(more))
		return false;
	if (__real_kf_vm_resize(at, old, size)) {
		uncount(old + more - size);
		return true;
	}
	uncount(more);
	return false;
}

/* Where it goes to is mapped already. */
bool __wrap_kf_vm_move(void *at, size_t old, size_t size, void *to)
{
	if (!__real_kf_vm_move(at, old, size, to))
		return false;
	uncount(old);
	return true;
}

/* The C library gives back the stack of a thread that has ended. */
void __wrap_kf_heap_detach(void)
{
	__real_kf_heap_detach();
	__tsan_release(&addresses);
}
