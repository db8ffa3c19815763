/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads as the allocator sees them: see thread.h.
 */
#include "sys/thread.h"

#include "sys/call.h"
#include "sys/process.h"
#include "sys/vm.h"

#include <linux/futex.h>
#include <pthread.h>
#include <time.h>

__thread uint64_t kf_thread_mark __attribute__((tls_model("initial-exec")));

void kf_futex_wait(uint32_t *word, uint32_t value)
{
	kf_sys(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void kf_futex_wake(uint32_t *word, int nr)
{
	kf_sys(SYS_futex, word, FUTEX_WAKE_PRIVATE, nr, NULL, NULL, 0);
}

void kf_thread_yield(void)
{
	if (kf_process_is_barred())
		kf_process_pause();
	else
		kf_sys(SYS_sched_yield);
}

/* Constant after kf_thread_exit_init(). */
static pthread_key_t exit_key;
static bool exit_key_made;
static void (*exit_fn)(void);

static void run_exit_fn(void *unused)
{
	exit_fn();
}

void kf_thread_exit_init(void (*fn)(void))
{
	exit_fn = fn;
	exit_key_made = pthread_key_create(&exit_key, run_exit_fn) == 0;
}

bool kf_thread_on_exit(void)
{
	return exit_key_made &&
	       pthread_setspecific(exit_key, &kf_thread_mark) == 0;
}

/* Points at a wiped page, or here where there is none. */
static uint32_t always_known[KF_NR_PROCESS_WORDS];
uint32_t *kf_process_mark;

void kf_process_know(void)
{
	if (!kf_process_mark) {
		kf_process_mark = kf_vm_map(KF_PAGE, KF_PAGE);
		if (!kf_process_mark ||
		    !kf_vm_wipe_on_fork(kf_process_mark, KF_PAGE))
			kf_process_mark = always_known;
	}
	kf_process_settle(false);
	kf_process_quiet(false);
	kf_process_seal(0);
	__atomic_store_n(&kf_process_mark[KF_PROCESS_GATE], 0,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&kf_process_mark[KF_PROCESS_KNOWN], 1,
			 __ATOMIC_RELAXED);
}

void kf_process_settle(bool settled)
{
	if (kf_process_mark)
		__atomic_store_n(&kf_process_mark[KF_PROCESS_SETTLED], settled,
				 __ATOMIC_RELAXED);
}

void kf_process_quiet(bool quiet)
{
	__atomic_store_n(&kf_process_mark[KF_PROCESS_QUIET], quiet,
			 __ATOMIC_RELAXED);
}

void kf_process_seal(uint32_t number)
{
	if (kf_process_mark)
		__atomic_store_n(&kf_process_mark[KF_PROCESS_SEAL], number,
				 __ATOMIC_RELAXED);
}

/* The lowest bit: open. The others count how often it was closed. */
uint32_t kf_process_gate(void)
{
	/* pairs with the release of kf_process_close() */
	return __atomic_load_n(&kf_process_mark[KF_PROCESS_GATE],
			       __ATOMIC_ACQUIRE);
}

void kf_process_open(uint32_t gate)
{
	__atomic_compare_exchange_n(&kf_process_mark[KF_PROCESS_GATE], &gate,
				    gate | 1, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

void kf_process_close(void)
{
	uint32_t *gate = kf_process_mark + KF_PROCESS_GATE;
	uint32_t was;

	if (!kf_process_mark)
		return;
	was = __atomic_load_n(gate, __ATOMIC_RELAXED);
	/* pairs with the acquire of kf_process_gate() */
	while (!__atomic_compare_exchange_n(gate, &was, (was + 2) & ~1U, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

uint32_t kf_now_ms(void)
{
	return (uint32_t)(kf_now_coarse_ns() / 1000000);
}

uint64_t kf_now_coarse_ns(void)
{
	return kf_process_clock_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t kf_now_ns(void)
{
	return kf_process_clock_ns(CLOCK_MONOTONIC);
}
