/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The functions that set or ask for the action of a signal: so that the program
 * never meets the handler of guarded blocks (sys/fault.h), and SIGSEGV stays
 * unblocked while there may be such blocks, as the kernel kills a thread that
 * faults while it blocks the signal. All calls are passed on.
 */
#define _GNU_SOURCE
#include "abi/abi.h"

#include "core/guarding.h"
#include "sys/fault.h"
#include "sys/next.h"

#include <errno.h>
#include <signal.h>

typedef int action_fn(int sig, const struct sigaction *act,
		      struct sigaction *old);
typedef int mask_fn(int how, const sigset_t *set, sigset_t *old);
typedef int flag_fn(int sig, int flag);
typedef int ignore_fn(int sig);
typedef sighandler_t handler_fn(int sig, sighandler_t handler);

/* NULL until the constructor, or the first call before it. Atomic. */
static struct {
	action_fn *sigaction;
	mask_fn *sigprocmask;
	mask_fn *pthread_sigmask;
	handler_fn *signal;
	handler_fn *bsd_signal;
	handler_fn *ssignal;
	handler_fn *sysv_signal;
	handler_fn *__sysv_signal;
	handler_fn *sigset;
	ignore_fn *sigignore;
	flag_fn *siginterrupt;
} next;

#define FIND(name)                                                   \
	({                                                           \
		__typeof__(next.name) fn_ = kf_load(&next.name);     \
		if (unlikely(!fn_)) {                                \
			fn_ = (__typeof__(next.name))kf_next(#name); \
			kf_store(&next.name, fn_);                   \
		}                                                    \
		fn_;                                                 \
	})

/* Calls may come in signal handlers, and in the child of many threads. */
__attribute__((constructor(102))) static void signal_find(void)
{
	(void)FIND(sigaction);
	(void)FIND(sigprocmask);
	(void)FIND(pthread_sigmask);
	(void)FIND(signal);
	(void)FIND(bsd_signal);
	(void)FIND(ssignal);
	(void)FIND(sysv_signal);
	(void)FIND(__sysv_signal);
	(void)FIND(sigset);
	(void)FIND(sigignore);
	(void)FIND(siginterrupt);
}

/* Make a call while the handler of guarded blocks is out of the way. */
#define ASIDE(sig, call)                                                 \
	({                                                               \
		bool watched_ = (sig) == SIGSEGV && kf_guarding_is_on(); \
		bool claimed_ = watched_ && kf_fault_step_aside();       \
		__typeof__(call) result_ = (call);                       \
		kf_fault_step_back(claimed_);                            \
		result_;                                                 \
	})

/* A set without SIGSEGV, in @copy if the set has it. */
static const sigset_t *without_fault(const sigset_t *set, sigset_t *copy)
{
	if (!set || !kf_guarding_is_on() || sigismember(set, SIGSEGV) != 1)
		return set;
	*copy = *set;
	sigdelset(copy, SIGSEGV);
	return copy;
}

__kf_public int sigaction(int sig, const struct sigaction *act,
			  struct sigaction *old)
{
	action_fn *fn = FIND(sigaction);
	struct sigaction copy;

	if (act && sig != SIGSEGV) {
		copy = *act;
		if (without_fault(&act->sa_mask, &copy.sa_mask) !=
		    &act->sa_mask)
			act = &copy;
	}
	return ASIDE(sig, fn(sig, act, old));
}

__kf_public int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	if (how != SIG_UNBLOCK)
		set = without_fault(set, &copy);
	return FIND(sigprocmask)(how, set, old);
}

__kf_public int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	if (how != SIG_UNBLOCK)
		set = without_fault(set, &copy);
	return FIND(pthread_sigmask)(how, set, old);
}

/* bsd_signal is not declared where other names are. */
sighandler_t bsd_signal(int sig, sighandler_t handler);

#define SETS_HANDLER(name)                                           \
	__kf_public sighandler_t name(int sig, sighandler_t handler) \
	{                                                            \
		handler_fn *fn = FIND(name);                         \
                                                                     \
		return ASIDE(sig, fn(sig, handler));                 \
	}

SETS_HANDLER(signal)
SETS_HANDLER(bsd_signal)
SETS_HANDLER(ssignal)
SETS_HANDLER(sysv_signal)
SETS_HANDLER(__sysv_signal)
SETS_HANDLER(sigset)

__kf_public int sigignore(int sig)
{
	ignore_fn *fn = FIND(sigignore);

	return ASIDE(sig, fn(sig));
}

__kf_public int siginterrupt(int sig, int flag)
{
	flag_fn *fn = FIND(siginterrupt);

	return ASIDE(sig, fn(sig, flag));
}
