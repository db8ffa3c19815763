/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the compiler is asked for, under the names the tree uses.
 *
 * The lowest room of the house: included by everything, includes only the
 * freestanding headers. It promises no state and no code.
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
#define KF_MIN(a, b) ((a) < (b) ? (a) : (b))
#define KF_MAX(a, b) ((a) > (b) ? (a) : (b))

/* The struct that holds the member that @ptr points to. */
#define kf_container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define KF_KIB ((size_t)1 << 10)
#define KF_MIB ((size_t)1 << 20)
#define KF_GIB ((size_t)1 << 30)

/* Of the addresses that the kernel gives to who asks for none in particular. */
#ifdef __x86_64__
#define KF_ADDRESS_BITS 47
#else
#define KF_ADDRESS_BITS 48
#endif

/* No block can have as many bytes, or begin at a multiple of more. */
#define KF_SIZE_LIMIT ((size_t)1 << KF_ADDRESS_BITS)

/* A function that ends in a jump to another, and where it does. */
#if defined(__has_attribute) && __has_attribute(musttail)
#define __kf_jumps
#define __kf_jump __attribute__((musttail))
#else
#define __kf_jumps __attribute__((optimize("O2")))
#define __kf_jump
#endif

/*
 * A word that others may be writing, where it is enough to see some value that
 * it had. Compilers do not fold an atomic load into what uses it, and on the
 * fast paths that is an instruction; so it is one for ThreadSanitizer alone.
 */
#ifdef KF_THREAD_SANITIZER
#define KF_READ_ONCE(word) __atomic_load_n(word, __ATOMIC_RELAXED)
#else
#define KF_READ_ONCE(word) (*(word))
#endif

/*
 * Have a pointer in the register that functions return it in, or in that of the
 * first argument; or have a copy in the former, so that the pointer itself may
 * be elsewhere.
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
 * Have the compiler forget what it knows of a value. A function that returns
 * its argument is called by clang, with the argument kept meanwhile, where its
 * caller could jump to it: so it returns one that is unknown.
 */
#define kf_hide(p) __asm__("" : "+r"(p))

/*
 * A word that was added to: clang makes one vector of two neighbours, which
 * takes more instructions.
 */
#ifdef __clang__
#define kf_stays_alone(word) __asm__("" : "+m"(word))
#else
#define kf_stays_alone(word) ((void)(word))
#endif

#endif
