/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attributes, constants and small macros for all of the library.
 *
 * Every file includes this header; it includes only freestanding headers and
 * has neither state nor code.
 */
#ifndef KF_BASE_COMPILER_H
#define KF_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KF_CACHE_LINE 64

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define __must_check __attribute__((warn_unused_result))
#define __cold __attribute__((cold))
#define __noinline __attribute__((noinline))
#define __always_inline_kf inline __attribute__((always_inline))
#define __kf_aligned(n) __attribute__((aligned(n)))
#define __kf_unused __attribute__((unused))
#define __kf_public __attribute__((visibility("default")))
#define __kf_hidden __attribute__((visibility("hidden")))

#define KF_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define KF_ALIGN_UP(x, a) (((x) + (a)-1) & ~((__typeof__(x))(a)-1))
#define KF_ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a)-1))
/* Each evaluates its values once; not for constant expressions. */
#define KF_MIN(a, b) KF_CHOOSE(a, b, <, __COUNTER__)
#define KF_MAX(a, b) KF_CHOOSE(a, b, >, __COUNTER__)
#define KF_CHOOSE(a, b, op, nr) KF_CHOOSE_NAMED(a, b, op, nr)
#define KF_CHOOSE_NAMED(a, b, op, nr)                       \
	({                                                  \
		__auto_type kf_a##nr = (a);                 \
		__auto_type kf_b##nr = (b);                 \
		kf_a##nr op kf_b##nr ? kf_a##nr : kf_b##nr; \
	})

/* The struct that holds the member that @ptr points to. */
#define kf_container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define KF_KIB ((size_t)1 << 10)
#define KF_MIB ((size_t)1 << 20)
#define KF_GIB ((size_t)1 << 30)

/* Bits of the addresses that the kernel gives out where no address is asked. */
#ifdef __x86_64__
#define KF_ADDRESS_BITS 47
#else
#define KF_ADDRESS_BITS 48
#endif

/* Every block has fewer bytes than this, and its alignment is at most this. */
#define KF_SIZE_LIMIT ((size_t)1 << KF_ADDRESS_BITS)

/* A function that ends in a jump to another one, and the jump itself. */
#if defined(__has_attribute) && __has_attribute(musttail)
#define __kf_jumps
#define __kf_jump __attribute__((musttail))
#else
#define __kf_jumps __attribute__((optimize("O2")))
#define __kf_jump
#endif

/*
 * Atomic access to a word that other threads use at the same time. An acquire
 * load and the release store that it reads from are commented with each other's
 * place. kf_cas() stores @value where the word has the value *@expected, and
 * else sets *@expected to the value found; it is acquire and release, as is
 * kf_claim(), which stores @value where the word is 0.
 */
#define kf_load(word) __atomic_load_n(word, __ATOMIC_RELAXED)
#define kf_store(word, value) __atomic_store_n(word, value, __ATOMIC_RELAXED)
#define kf_load_acquire(word) __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define kf_store_release(word, value) \
	__atomic_store_n(word, value, __ATOMIC_RELEASE)
#define kf_fetch_add(word, n) __atomic_fetch_add(word, n, __ATOMIC_RELAXED)
#define kf_cas(word, expected, value)                             \
	__atomic_compare_exchange_n(word, expected, value, false, \
				    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#define kf_claim(word, value)                  \
	({                                     \
		__typeof__(*(word)) zero_ = 0; \
		kf_cas(word, &zero_, (value)); \
	})

/*
 * kf_load() for fast paths. Compilers do not fold an atomic load into the
 * instruction that uses its value, so only ThreadSanitizer sees an atomic one.
 */
#ifdef KF_THREAD_SANITIZER
#define KF_READ_ONCE(word) kf_load(word)
#else
#define KF_READ_ONCE(word) (*(word))
#endif

/*
 * Keep a pointer in the register of a function's result, or in that of its
 * first argument; or copy it to the former, so that the pointer itself may be
 * in any register.
 */
#ifdef __x86_64__
#define kf_keep_in_result(p) __asm__("" : "+a"(p))
#define kf_keep_in_argument(p) __asm__("" : "+D"(p))
#define kf_copy_to_result(to, p) __asm__("mov %1, %0" : "=a"(to) : "r"(p))
#else
#define kf_keep_in_result(p) ((void)(p))
#define kf_keep_in_argument(p) ((void)(p))
#define kf_copy_to_result(to, p) ((to) = (p))
#endif

/*
 * Hide from the optimizer where a value came from. If clang knows that a
 * function returns its own argument, it calls that function and keeps the
 * argument, where a jump would do.
 */
#define kf_hide(p) __asm__("" : "+r"(p))

/*
 * Keep clang from changing two neighbouring words as one vector, which takes
 * more instructions.
 */
#ifdef __clang__
#define kf_stays_alone(word) __asm__("" : "+m"(word))
#else
#define kf_stays_alone(word) ((void)(word))
#endif

/*
 * A counter of another thread, which changes it by plain stores: an estimate,
 * and a race that is meant.
 */
static inline __attribute__((no_sanitize("thread"))) uint64_t
kf_counter_read(const uint64_t *counter)
{
	return kf_load(counter);
}

#endif
