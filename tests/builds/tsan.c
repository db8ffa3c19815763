// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * For make check-tsan: has the library leave a thread a round early.
 *
 * It asks for the last round of a thread's destructors, as others still
 * allocate before. In that round ThreadSanitizer forgets the thread, before us,
 * and crashes in whatever runs then.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

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
void __real_kf_heap_detach(void) __attribute__((weak));
void __wrap_kf_heap_detach(void);

static char addresses;

/* It has memory for its own part while no test limits that. */
__attribute__((constructor)) static void begin(void)
{
	__tsan_release(&addresses);
}

void *__wrap_kf_vm_map(size_t size, size_t align)
{
	void *at = __real_kf_vm_map(size, align);

	__tsan_acquire(&addresses);
	return at;
}

void *__wrap_kf_vm_reserve(size_t size, size_t align)
{
	void *at = __real_kf_vm_reserve(size, align);

	__tsan_acquire(&addresses);
	return at;
}

bool __wrap_kf_vm_unmap(void *at, size_t size)
{
	__tsan_release(&addresses);
	return __real_kf_vm_unmap(at, size);
}

void __wrap_kf_vm_drop(void *at, size_t size)
{
	__tsan_release(&addresses);
	__real_kf_vm_drop(at, size);
}

/* The C library gives back the stack of a thread that has ended. */
void __wrap_kf_heap_detach(void)
{
	__real_kf_heap_detach();
	__tsan_release(&addresses);
}
