/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handler of SIGSEGV, for memory of ours that is closed on purpose. Memory
 * that is not of a file raises no SIGBUS.
 *
 * Whatever action the program has for the signal stays in force for all other
 * faults: the handler here is installed with the flags and the mask of that
 * action, so the kernel itself does what these ask for (alternate stack, mask,
 * SA_NODEFER, SA_RESETHAND, SA_RESTART), and passes on by a jump. Where there
 * is no action of the program, the default one is restored before the handler
 * returns, and the fault happens again: the core is the program's own.
 *
 * Before the program asks for its action or changes it, by a function of the C
 * library, the handler steps aside (kf_fault_step_aside()): so the program
 * never sees it. It is installed again, over what is there then, by the next
 * kf_fault_install(). A change by a bare system call is noticed there, and ends
 * the use of the handler for good: the new action may have kept this handler,
 * to call it.
 */
#ifndef KF_SYS_FAULT_H
#define KF_SYS_FAULT_H

#include "base/compiler.h"

#include <signal.h>

/*
 * @repair: makes an address accessible that is ours, so that the access can go
 * on; false: the address is not ours. Runs in the signal handler.
 * @open: makes all memory of ours accessible, as the handler goes.
 * @close: closes what is to be closed, as the handler is there.
 */
struct kf_fault_hooks {
	bool (*repair)(const siginfo_t *info, const void *context);
	void (*open)(void);
	void (*close)(void);
};

/**
 * kf_fault_install() - make sure that the handler is installed
 * @hooks:	constant, the same in each call
 *
 * Context: any thread, no lock of the library held. One or two system calls.
 * Return: false where it cannot be, or where another thread is at it: the
 *	   program ignores the signal, or has changed the action behind our
 * back.
 */
bool kf_fault_install(const struct kf_fault_hooks *hooks) __must_check;

/**
 * kf_fault_step_aside() - open all memory, and restore the program's action
 * kf_fault_step_back() - let kf_fault_install() install the handler again
 * @claimed:	what kf_fault_step_aside() returned
 *
 * Context: any thread, signal handlers too; around a call in which the program
 *	    asks for the action of SIGSEGV or sets it, and before it filters its
 *	    system calls. Makes none without the handler. Keeps errno.
 * Return: for kf_fault_step_back().
 */
bool kf_fault_step_aside(void) __must_check;
void kf_fault_step_back(bool claimed);

/**
 * kf_fault_is_blocked() - whether the calling thread blocks SIGSEGV
 *
 * The kernel kills a thread that faults then, whatever handler there is.
 *
 * Context: any.
 * Return: whether it does; true also where system calls are barred.
 */
bool kf_fault_is_blocked(void);

/**
 * kf_fault_is_write() - whether an access that faulted was a write
 * @context:	of the signal handler
 *
 * Context: the handler.
 * Return: 1: it wrote, 0: it read, -1: unknown.
 */
int kf_fault_is_write(const void *context);

/**
 * kf_fault_die() - let a signal have its default action
 * @sig:	the signal
 * @info:	of its handler, which returns next
 *
 * Context: a signal handler. Keeps errno.
 */
void kf_fault_die(int sig, siginfo_t *info);

/**
 * kf_fault_fork_child() - the process is a forked child
 *
 * Context: the child's only thread.
 */
void kf_fault_fork_child(void);

#endif
