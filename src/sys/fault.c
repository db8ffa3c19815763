/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handler of SIGSEGV: see fault.h.
 */
#define _GNU_SOURCE
#include "sys/fault.h"

#include "sys/call.h"
#include "sys/process.h"
#include "sys/thread.h"

#include <ucontext.h>

/* A thread waits so often for one that changes the action, then goes on. */
#define MOST_YIELDS 10000

/*
 * glibc's own name: the sigaction() of another preloaded library may allocate
 * before this library is ready.
 */
extern int __sigaction(int sig, const struct sigaction *act,
		       struct sigaction *old);

typedef void handler_fn(int sig, siginfo_t *info, void *context);

/*
 * The program's action is in one of two places in turn, so that a handler that
 * runs while the action changes reads a whole one.
 */
static struct sigaction places[2];
static unsigned int place;		    /* of the last action; owner */
static const struct sigaction *under;	    /* the program's action; atomic */
static const struct kf_fault_hooks *hooked; /* constant once installed */
static bool is_on;			    /* atomic */
static bool is_lost;			    /* for good; atomic */
static uint64_t owner; /* the thread that changes these; 0: none; atomic */

static bool fault_is_default(const struct sigaction *act)
{
	return !(act->sa_flags & SA_SIGINFO) && act->sa_handler == SIG_DFL;
}

static bool is_ignored(const struct sigaction *act)
{
	return !(act->sa_flags & SA_SIGINFO) && act->sa_handler == SIG_IGN;
}

void kf_fault_die(int sig, siginfo_t *info)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	int saved = errno;

	__sigaction(sig, &dfl, NULL);
	/* A fault repeats on return; a signal that was sent is sent again. */
	if (info->si_code <= 0)
		kf_sys(SYS_rt_tgsigqueueinfo, kf_process_pid(),
		       kf_process_tid(), sig, info);
	errno = saved;
}

static void on_fault(int sig, siginfo_t *info, void *context);

static bool is_ours(const struct sigaction *act)
{
	return act->sa_flags & SA_SIGINFO && act->sa_sigaction == on_fault;
}

/* With the flags and the mask of the program's action, if it has one. */
static bool fault_put_over(const struct sigaction *act)
{
	struct sigaction ours = *act;

	if (fault_is_default(act))
		ours = (struct sigaction){.sa_flags = SA_ONSTACK};
	ours.sa_flags |= SA_SIGINFO;
	ours.sa_sigaction = on_fault;
	return !__sigaction(SIGSEGV, &ours, NULL);
}

/* The kernel has set the default action already. */
static void fault_was_reset(void)
{
	kf_store(&is_on, false);
	hooked->open();
}

/*
 * Passes on by a jump, as if the kernel had called the program's handler. It
 * gives all handlers three arguments, as the kernel does.
 */
static __kf_jumps void on_fault(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *act = kf_load_acquire(&under);

	if (info->si_code > 0 && hooked->repair(info, context)) {
		if (act->sa_flags & SA_RESETHAND && kf_load(&is_on))
			fault_put_over(act);
		return;
	}
	if (fault_is_default(act)) {
		kf_fault_die(sig, info);
		return;
	}
	if (act->sa_flags & SA_RESETHAND)
		fault_was_reset();
	__kf_jump return act->sa_sigaction(sig, info, context);
}

static bool fault_claim(unsigned int yields)
{
	uint64_t self = kf_thread_self();

	do {
		if (kf_claim(&owner, self))
			return true;
		/* A signal handler may come in between. */
		if (kf_load(&owner) == self || !yields)
			return false;
		kf_thread_yield();
	} while (yields--);
	return false;
}

static void fault_drop(void)
{
	kf_store_release(&owner, 0);
}

static void fault_lose(const struct kf_fault_hooks *hooks)
{
	kf_store(&is_lost, true);
	kf_store(&is_on, false);
	hooks->open();
}

static bool fault_begin(const struct sigaction *now,
			const struct kf_fault_hooks *hooks)
{
	if (is_ignored(now))
		return false;
	place ^= 1;
	places[place] = *now;
	hooked = hooks;
	/* pairs with the acquire of on_fault() */
	kf_store_release(&under, &places[place]);
	return fault_put_over(now);
}

static bool fault_try(const struct kf_fault_hooks *hooks)
{
	struct sigaction now;
	bool was = kf_load(&is_on);

	if (kf_load(&is_lost) || __sigaction(SIGSEGV, NULL, &now))
		return false;
	if (was && is_ours(&now))
		return true;
	if (was) {
		fault_lose(hooks);
		return false;
	}
	/* A child of vfork() stepped aside for itself alone. */
	if (!is_ours(&now) && !fault_begin(&now, hooks))
		return false;
	kf_store(&is_on, true);
	hooks->close();
	return true;
}

bool kf_fault_install(const struct kf_fault_hooks *hooks)
{
	int saved = errno;
	bool done;

	if (!fault_claim(0))
		return false;
	done = fault_try(hooks);
	fault_drop();
	errno = saved;
	return done;
}

bool kf_fault_step_aside(void)
{
	struct sigaction now;
	int saved = errno;
	bool claimed = fault_claim(MOST_YIELDS);

	if (kf_load(&is_on)) {
		kf_store(&is_on, false);
		hooked->open();
		if (!__sigaction(SIGSEGV, NULL, &now) && is_ours(&now))
			__sigaction(SIGSEGV, under, NULL);
	}
	errno = saved;
	return claimed;
}

void kf_fault_step_back(bool claimed)
{
	if (claimed)
		fault_drop();
}

bool kf_fault_is_blocked(void)
{
	uint64_t mask = 0;

	return kf_process_is_barred() ||
	       kf_sys(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8) < 0 ||
	       mask & (uint64_t)1 << (SIGSEGV - 1);
}

#ifdef __x86_64__
int kf_fault_is_write(const void *context)
{
	const ucontext_t *at = context;

	return at->uc_mcontext.gregs[REG_ERR] & 2 ? 1 : 0;
}
#else
#define RECORD_OF_SYNDROME 0x45535201

/* The kernel's record of the exception's syndrome: bit 6 is set for a write. */
int kf_fault_is_write(const void *context)
{
	const ucontext_t *at = context;
	const char *from = (const char *)at->uc_mcontext.__reserved;
	const char *end = from + sizeof(at->uc_mcontext.__reserved);
	const struct {
		uint32_t magic;
		uint32_t size;
		uint64_t syndrome;
	} *record = (const void *)from;

	while (from + sizeof(*record) <= end && record->magic &&
	       record->size >= 8) {
		if (record->magic == RECORD_OF_SYNDROME)
			return record->syndrome >> 6 & 1;
		from += record->size;
		record = (const void *)from;
	}
	return -1;
}
#endif

void kf_fault_fork_child(void)
{
	kf_store(&owner, 0);
}
