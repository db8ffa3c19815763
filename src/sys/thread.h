/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads as the allocator sees them: who am I, wait, wake, be told of the
 * end, and whether this process is a fork that nobody announced.
 */
#ifndef KF_SYS_THREAD_H
#define KF_SYS_THREAD_H

#include "base/compiler.h"

/* The state (kf_process_state) by which the calling thread has chosen. */
extern __thread uint32_t kf_process_seen __kf_hidden
	__attribute__((tls_model("initial-exec")));

/* An address in the thread's own TLS: tells live threads apart. */
static inline uintptr_t kf_thread_self(void)
{
	return (uintptr_t)&kf_process_seen;
}

static inline void kf_cpu_relax(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/**
 * kf_futex_wait() - sleep while a word has a value
 * @word:	the word
 * @value:	the value
 *
 * Context: any; may return early. Keeps errno.
 */
void kf_futex_wait(uint32_t *word, uint32_t value);

/**
 * kf_futex_wake() - wake threads that sleep on a word
 * @word:	the word
 * @nr:		at most so many
 *
 * Context: any. Keeps errno.
 */
void kf_futex_wake(uint32_t *word, int nr);

/**
 * kf_thread_yield() - let another thread run
 *
 * Context: any. Keeps errno.
 */
void kf_thread_yield(void);

/**
 * kf_thread_exit_init() - name the function that thread ends call
 * @fn:		called late, but other destructors may follow; it may call
 *		kf_thread_on_exit() again to be called once more
 *
 * Context: once, at start.
 */
void kf_thread_exit_init(void (*fn)(void));

/**
 * kf_thread_on_exit() - have that function called when this thread ends
 *
 * Context: any thread. pthread_setspecific may call calloc: the thread's heap
 *	    must be in place.
 * Return: false when the C library has no key left.
 */
bool kf_thread_on_exit(void);

/*
 * The state of the process, a number that changes whenever something happens by
 * which threads choose how their calls go: a recording, samples, an engine, a
 * fork. It lies in a page that the kernel wipes in a child, so 0 tells of a
 * fork that ran no handlers; where the kernel cannot wipe, it never is 0.
 */
extern uint32_t *kf_process_state __kf_hidden;

/* The numbers that are no state of a process that has started. */
enum { KF_STATE_FORKED, KF_STATE_STARTING, KF_STATE_NONE, KF_STATE_FIRST };

/**
 * kf_process_is_known() - whether this process is the one that last said so
 *
 * Context: any; two loads.
 * Return: false in a forked child until kf_process_know().
 */
static inline bool kf_process_is_known(void)
{
	return kf_load(kf_process_state) != KF_STATE_FORKED;
}

/**
 * kf_process_is_current() - whether the calling thread has chosen by what holds
 *
 * Context: any; three loads.
 * Return: false before the start has ended, in a forked child, and after each
 *	   kf_process_change(), until kf_process_see().
 */
static inline bool kf_process_is_current(void)
{
	return likely(kf_process_seen == kf_load(kf_process_state));
}

/**
 * kf_process_know() - this process has started; its state is a new one
 *
 * Context: one thread at a time.
 */
void kf_process_know(void);

/**
 * kf_process_change() - what threads choose by is another from now on
 *
 * Context: any thread, after the change.
 */
void kf_process_change(void);

/**
 * kf_process_see() - the calling thread chooses by what holds now
 *
 * Context: any thread, before it looks at what it chooses by.
 */
void kf_process_see(void);

/**
 * kf_now_ms() - milliseconds of the monotonic clock, to some milliseconds
 *
 * Context: any; no system call where the kernel's vDSO has the clock.
 * Return: the time; wraps after 49 days, so compare differences.
 */
uint32_t kf_now_ms(void);

/**
 * kf_now_coarse_ns() - nanoseconds of the monotonic clock at the last tick
 *
 * Context: any; no system call where the kernel's vDSO has the clock.
 * Return: the time; 0 where there is no such clock.
 */
uint64_t kf_now_coarse_ns(void);

/**
 * kf_now_ns() - nanoseconds of the monotonic clock
 *
 * Context: any; no system call where the kernel's vDSO has the clock.
 * Return: the time; 0 where there is no such clock.
 */
uint64_t kf_now_ns(void);

#endif
