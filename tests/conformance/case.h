/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a case of the conformance test is made of.
 *
 * A case is one fact, by its name, and the code that shows it. Each case runs
 * in a process of its own, which passes by ending with status 0, so a case
 * may crash, hang or exhaust its process without hurting another. The facts
 * are those of C, POSIX and the glibc manual; the suite therefore runs under
 * any malloc, and says of each what holds.
 *
 * The names of the malloc family that a C library may lack are looked up, so
 * that the suite starts without them.
 */
#ifndef KF_TEST_CASE_H
#define KF_TEST_CASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kf_case {
	const char *name;
	void (*run)(void);
};

/* The cases of a program are an array that the linker puts together. */
#define CASE(id)                                                               \
	static void id(void);                                                  \
	static const struct kf_case id##_case                                  \
		__attribute__((section("kf_cases"), used, aligned(8))) = {#id, \
									  id}; \
	static void id(void)

#define CHECK(cond) ((cond) ? (void)0 : kf_case_fail(__FILE__, __LINE__, #cond))
#define CHECK_EQ(a, b)                                                  \
	kf_case_equal(__FILE__, __LINE__, #a " is " #b, (uintmax_t)(a), \
		      (uintmax_t)(b))

#define KF_PAGE 4096ul /* the smallest page; where it matters, ask sysconf */
#define KF_MIB_BYTES (1ul << 20)

/**
 * kf_case_fail() - end the case as failed, naming place and condition
 * @file: @line: where
 * @what:	what does not hold
 *
 * Context: any thread; allocates nothing. Does not return.
 */
void kf_case_fail(const char *file, int line, const char *what)
	__attribute__((noreturn));

/**
 * kf_case_equal() - fail unless two numbers are the same, showing both
 * @file: @line: where
 * @what:	what should be equal
 * @got: @want:	the numbers
 */
void kf_case_equal(const char *file, int line, const char *what, uintmax_t got,
		   uintmax_t want);

/**
 * kf_case_skip() - end the case as one that cannot be shown here
 * @why:	what is missing
 *
 * Context: any thread; allocates nothing. Does not return.
 */
void kf_case_skip(const char *why) __attribute__((noreturn));

/**
 * kf_size() - a number the compiler knows nothing about
 * @n:		the number
 *
 * Return: @n.
 */
size_t kf_size(size_t n);

/**
 * kf_ptr() - a pointer the compiler knows nothing about
 * @p:		the pointer
 *
 * Return: @p.
 */
void *kf_ptr(const void *p);

/**
 * kf_fill() - write a pattern that depends on the seed
 * @p: @n:	the block and its bytes
 * @seed:	which pattern
 */
void kf_fill(void *p, size_t n, unsigned int seed);

/**
 * kf_filled() - whether the pattern of kf_fill() is there
 * @p: @n: @seed: as given to kf_fill()
 *
 * Return: whether all @n bytes hold it.
 */
bool kf_filled(const void *p, size_t n, unsigned int seed);

/**
 * kf_all() - whether every byte has one value
 * @p: @n:	the block and its bytes
 * @byte:	the value
 *
 * Return: whether all @n bytes are @byte.
 */
bool kf_all(const void *p, size_t n, unsigned char byte);

/**
 * kf_symbol() - a function as the program's own lookup finds it
 * @name:	its name
 *
 * Fails the case where there is none.
 *
 * Return: the function; never NULL.
 */
void *kf_symbol(const char *name);

/**
 * kf_beside() - the path of a file beside the running program
 * @name:	relative to the program's directory
 *
 * Return: a static buffer.
 */
const char *kf_beside(const char *name);

/**
 * kf_resident() - the resident set of this process
 *
 * Context: allocates nothing.
 * Return: bytes.
 */
size_t kf_resident(void);

/**
 * kf_read_file() - the beginning of a file, as a string
 * @path:	the file
 * @buf: @size:	where to; ends in NUL
 *
 * Context: allocates nothing.
 * Return: bytes read, or -1.
 */
ssize_t kf_read_file(const char *path, char *buf, size_t size);

/**
 * kf_reap() - wait for a child and require that it ended with status 0
 * @pid:	the child
 */
void kf_reap(pid_t pid);

/**
 * kf_spawn() - run a program beside this one and wait for it
 * @name:	relative to the program's directory
 * @arg:	its only argument, or NULL
 *
 * Return: its wait status; the case fails where it cannot be started.
 */
int kf_spawn(const char *name, const char *arg);

/**
 * kf_in_thread() - run a function in a thread of its own, and wait
 * @fn: @arg:	what to run
 */
void kf_in_thread(void *(*fn)(void *), void *arg);

#ifdef __cplusplus
}
#endif

#endif
