/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads as the allocator sees them: who am I, wait, wake, be told of the
 * end, and whether this process is a fork that nobody announced.
 */
#ifndef KF_SYS_THREAD_H
#define KF_SYS_THREAD_H

#include "base/compiler.h"

/* An address in the thread's own TLS: tells live threads apart, costs nothing.
 */
extern __thread uint64_t kf_thread_mark
	__attribute__((tls_model("initial-exec")));

static inline uintptr_t kf_thread_self(void)
{
	return (uintptr_t)&kf_thread_mark;
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
 * Points at words in a page that children find wiped, or elsewhere; see
 * below.
 */
extern uint32_t *kf_process_mark __kf_hidden;

/* Its words. */
enum {
	KF_PROCESS_KNOWN,
	KF_PROCESS_SETTLED,
	KF_PROCESS_QUIET,
	KF_PROCESS_GATE,
	KF_PROCESS_SEAL,
	KF_NR_PROCESS_WORDS
};

/**
 * kf_process_is_known() - whether this process is the one that last said so
 *
 * A page that the kernel wipes in a child tells of a fork that ran no
 * handlers. Where the kernel cannot, the answer is always true.
 *
 * Context: any; one load.
 * Return: false in a forked child until kf_process_know().
 */
static inline bool kf_process_is_known(void)
{
	const uint32_t *mark = kf_process_mark;

	return !mark || __atomic_load_n(mark, __ATOMIC_RELAXED);
}

/**
 * kf_process_know() - this process is known from now on, not settled nor quiet
 *
 * Context: one thread at a time.
 */
void kf_process_know(void);

/**
 * kf_process_is_settled() - whether a call has nothing to look after first
 *
 * Context: any; two loads.
 * Return: false in a forked child, and before kf_process_settle().
 */
static inline bool kf_process_is_settled(void)
{
	const uint32_t *mark = kf_process_mark;

	return mark &&
	       __atomic_load_n(&mark[KF_PROCESS_SETTLED], __ATOMIC_RELAXED);
}

/**
 * kf_process_settle() - say what kf_process_is_settled() answers
 * @settled:	the answer
 *
 * Context: any thread; before kf_process_know() it does nothing.
 */
void kf_process_settle(bool settled);

/**
 * kf_process_is_quiet() - whether nobody wants to see each call
 *
 * Context: any, after kf_process_know(); two loads.
 * Return: false in a forked child, and before kf_process_quiet().
 */
static inline bool kf_process_is_quiet(void)
{
	return __atomic_load_n(&kf_process_mark[KF_PROCESS_QUIET],
			       __ATOMIC_RELAXED);
}

/**
 * kf_process_quiet() - say what kf_process_is_quiet() answers
 * @quiet:	the answer
 *
 * Context: one thread at a time, after kf_process_know().
 */
void kf_process_quiet(bool quiet);

/**
 * kf_process_sealed() - which detour's calls may go the short way
 *
 * Context: any, after kf_process_know(); two loads.
 * Return: what kf_process_seal() was given last; 0 in a forked child.
 */
static inline uint32_t kf_process_sealed(void)
{
	return __atomic_load_n(&kf_process_mark[KF_PROCESS_SEAL],
			       __ATOMIC_RELAXED);
}

/**
 * kf_process_seal() - say what kf_process_sealed() answers
 * @number:	the answer
 *
 * Context: one thread at a time; before kf_process_know() it does nothing.
 */
void kf_process_seal(uint32_t number);

/**
 * kf_process_is_open() - whether calls may go the shortest way
 *
 * Context: any, after kf_process_know(); two loads.
 * Return: false in a forked child, and before kf_process_open().
 */
static inline bool kf_process_is_open(void)
{
	return kf_process_mark[KF_PROCESS_GATE] & 1;
}

/**
 * kf_process_gate() - how often the way was closed, for kf_process_open()
 * kf_process_open() - open it, if it was not closed since
 * @gate:	what kf_process_gate() returned before the caller looked
 *		whether it may be opened
 *
 * Context: any thread, after kf_process_know().
 * Return: of kf_process_gate(), a number that changes when the way is closed.
 */
uint32_t kf_process_gate(void);
void kf_process_open(uint32_t gate);

/**
 * kf_process_close() - close the way: what forbids it stands already
 *
 * Context: any thread; before kf_process_know() it does nothing.
 */
void kf_process_close(void);

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
