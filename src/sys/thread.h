/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads for the allocator: identity, futexes, a function at a thread's end,
 * the state of the process, and the monotonic clock.
 */
#ifndef KF_SYS_THREAD_H
#define KF_SYS_THREAD_H

#include "base/compiler.h"

/* The value of *kf_process_state for which the thread chose its front. */
extern __thread uint32_t kf_process_seen __kf_hidden
	__attribute__((tls_model("initial-exec")));

/* An address in the thread's own TLS, which differs between live threads. */
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
 * @nr:		the most threads to wake
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
 * kf_thread_faults() - page faults of the calling thread since it began
 * @faults:	out: their number, minor and major ones
 *
 * Context: any; a system call.
 * Return: false where it is not known.
 */
bool kf_thread_faults(uint64_t *faults) __must_check;

/**
 * kf_thread_is_alone() - whether the process has no other thread
 *
 * Context: any.
 * Return: false where the C library cannot tell, or is not ready to.
 */
bool kf_thread_is_alone(void);

/**
 * kf_thread_exit_init() - set the function that runs at the end of threads
 * @fn:		called late; other destructors may follow, so it may call
 *		kf_thread_on_exit() to be called once more
 *
 * Context: once, at start.
 */
void kf_thread_exit_init(void (*fn)(void));

/**
 * kf_thread_on_exit() - have that function called at the calling thread's end
 *
 * Context: any thread. pthread_setspecific may call calloc: the thread's heap
 *	    must be in place.
 * Return: false when the C library has no key left.
 */
bool kf_thread_on_exit(void);

/*
 * The state of the process, a number that grows with each change of the facts
 * by which threads choose their fronts: a recording, samples, an engine, a
 * fork. The kernel wipes its page in a child, so 0 means a fork that ran no
 * handlers. Where the kernel cannot wipe pages, it is never 0. Atomic.
 */
extern uint32_t *kf_process_state __kf_hidden;

/* Values before the first state; KF_STATE_NONE equals no state ever. */
enum { KF_STATE_FORKED, KF_STATE_STARTING, KF_STATE_NONE, KF_STATE_FIRST };

/**
 * kf_process_is_known() - whether this process has called kf_process_know()
 *
 * Context: any; two loads.
 * Return: false in a child of a fork without handlers.
 */
static inline bool kf_process_is_known(void)
{
	return kf_load(kf_process_state) != KF_STATE_FORKED;
}

/**
 * kf_process_is_current() - whether the thread has seen the present state
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
 * kf_process_know() - begin a new state, at the start or in a forked child
 *
 * Context: one thread at a time.
 */
void kf_process_know(void);

/**
 * kf_process_change() - begin a new state, so that threads choose anew
 *
 * Context: any thread, after the change.
 */
void kf_process_change(void);

/**
 * kf_process_see() - note that the calling thread has seen the present state
 *
 * Context: any thread, before it reads the facts by which it chooses.
 */
void kf_process_see(void);

/**
 * kf_now_ms() - the coarse monotonic clock in milliseconds
 *
 * Context: any; no system call where the kernel's vDSO has the clock.
 * Return: the time; wraps after 49 days, so compare differences.
 */
uint32_t kf_now_ms(void);

/**
 * kf_now_coarse_ns() - the monotonic clock at the kernel's last tick
 *
 * Context: any; no system call where the kernel's vDSO has the clock.
 * Return: nanoseconds; 0 where there is no such clock.
 */
uint64_t kf_now_coarse_ns(void);

/**
 * kf_now_ns() - the monotonic clock
 *
 * Context: any; no system call where the kernel's vDSO has the clock.
 * Return: nanoseconds; 0 where there is no such clock.
 */
uint64_t kf_now_ns(void);

#endif
