/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads for the allocator: see thread.h.
 */
#include "sys/thread.h"

#include "sys/call.h"
#include "sys/process.h"
#include "sys/vm.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#ifndef RUSAGE_THREAD
#define RUSAGE_THREAD 1
#endif

__thread struct kf_toll kf_toll __attribute__((tls_model("initial-exec")));

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

bool kf_thread_faults(uint64_t *faults)
{
	struct rusage usage;

	if (kf_process_is_barred() ||
	    kf_sys(SYS_getrusage, RUSAGE_THREAD, &usage))
		return false;
	*faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
	return true;
}

/* Of glibc since 2.32. */
extern char __libc_single_threaded __attribute__((weak));

bool kf_thread_is_alone(void)
{
	return &__libc_single_threaded && kf_load(&__libc_single_threaded);
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
	       pthread_setspecific(exit_key, (void *)kf_thread_self()) == 0;
}

/* The state where there is no page that the kernel wipes. */
static uint32_t unwiped = KF_STATE_STARTING;

uint32_t *kf_process_state = &unwiped;

__thread uint32_t kf_process_seen __attribute__((tls_model("initial-exec"))) =
	KF_STATE_NONE;

/* The last state, in this process or before its fork; atomic. */
static uint32_t last = KF_STATE_NONE;

void kf_process_know(void)
{
	if (kf_process_state == &unwiped) {
		uint32_t *page = kf_vm_map(KF_PAGE, KF_PAGE);

		if (page && kf_vm_wipe_on_fork(page, KF_PAGE))
			kf_process_state = page;
	}
	/* pairs with the acquire of kf_process_see() */
	kf_store_release(kf_process_state,
			 __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED));
}

void kf_process_change(void)
{
	uint32_t was = kf_load(kf_process_state);
	uint32_t next = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);

	/* pairs with the acquire of kf_process_see() */
	while (was >= KF_STATE_FIRST && was < next &&
	       !kf_cas(kf_process_state, &was, next))
		;
}

void kf_process_see(void)
{
	/* pairs with the release of kf_process_change() */
	uint32_t state = kf_load_acquire(kf_process_state);

	kf_process_seen = state >= KF_STATE_FIRST ? state : KF_STATE_NONE;
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
