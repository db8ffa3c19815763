// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults, with each kind of action for SIGSEGV that a program may have. Prints
// what it sees, which must not depend on whether blocks are guarded.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char *closed; // a page without access
static sigjmp_buf back;
static volatile int faults;
static char alternate[65536];

// Enough for some guarded blocks.
static void feed(void)
{
	for (int i = 0; i < 3000; i++) {
		char *volatile p = malloc(64);

		free(p);
	}
}

static void fault(void)
{
	*(volatile char *)closed = 1;
}

static void print_mask(void)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	printf("  in the handler: SEGV %d USR1 %d USR2 %d\n",
	       sigismember(&now, SIGSEGV), sigismember(&now, SIGUSR1),
	       sigismember(&now, SIGUSR2));
}

static int is_alternate(void)
{
	char here;

	return &here >= alternate && &here < alternate + sizeof(alternate);
}

static void print_info(const siginfo_t *info)
{
	printf("  code %d address %s alternate %d\n", info->si_code,
	       info->si_addr == closed ? "right" : "wrong", is_alternate());
}

static void jumps(int sig, siginfo_t *info, void *context)
{
	faults++;
	if (faults == 1) {
		print_info(info);
		print_mask();
	}
	siglongjmp(back, sig);
}

// Of an action without SA_SIGINFO; the kernel gives it all three all the same.
static void plain(int sig, siginfo_t *info, void *context)
{
	printf("  plain handler of %d, alternate %d\n", sig, is_alternate());
	print_mask();
	mprotect(closed, 4096, PROT_READ | PROT_WRITE);
}

static void opens(int sig, siginfo_t *info, void *context)
{
	print_info(info);
	mprotect(closed, 4096, PROT_READ | PROT_WRITE);
}

static void print_action(const char *what)
{
	struct sigaction now;

	sigaction(SIGSEGV, NULL, &now);
	printf("  %s: flags %x handler %s\n", what,
	       (unsigned int)now.sa_flags & ~0x04000000u,
	       now.sa_handler == SIG_DFL   ? "default"
	       : now.sa_handler == SIG_IGN ? "ignored"
	       : now.sa_sigaction == plain ? "plain"
	       : now.sa_sigaction == jumps ? "jumps"
	       : now.sa_sigaction == opens ? "opens"
					   : "UNKNOWN");
}

static void set(void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = {.sa_flags = flags};

	act.sa_sigaction = handler;
	sigaddset(&act.sa_mask, SIGUSR1);
	feed();
	sigaction(SIGSEGV, &act, NULL);
	print_action("set");
	feed();
	print_action("kept");
	feed();
	mprotect(closed, 4096, PROT_NONE);
}

static void with_jumps(int flags)
{
	faults = 0;
	set(jumps, flags | SA_SIGINFO);
	while (faults < 100) {
		if (!sigsetjmp(back, 1))
			fault();
		if (faults % 10 == 0)
			feed();
	}
	printf("  %d faults\n", faults);
}

static void child(const char *what, void (*fn)(void))
{
	int status;
	pid_t pid;

	printf("%s\n", what);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		feed();
		fn();
		fflush(stdout);
		_exit(3);
	}
	waitpid(pid, &status, 0);
	printf("  status %x\n", (unsigned int)status & ~0x80u);
}

static void dies(void)
{
	feed();
	fault();
}

static void is_killed(void)
{
	kill(getpid(), SIGSEGV);
}

static void raises(void)
{
	raise(SIGSEGV);
}

static void ignores(void)
{
	signal(SIGSEGV, SIG_IGN);
	feed();
	print_action("ignored");
	raise(SIGSEGV);
	printf("  survived\n");
	fflush(stdout);
	fault();
}

static void jumps_out(void)
{
	with_jumps(0);
	with_jumps(SA_NODEFER);
	with_jumps(SA_ONSTACK);
	with_jumps(SA_ONSTACK | SA_NODEFER | SA_RESTART);
}

static void handles(void)
{
	set(plain, 0);
	fault();
	set(plain, SA_ONSTACK | SA_NODEFER);
	fault();
	set(opens, SA_SIGINFO | SA_ONSTACK);
	fault();
}

static void is_reset(void)
{
	set(opens, SA_SIGINFO | SA_RESETHAND);
	fault();
	print_action("after the fault");
	feed();
	mprotect(closed, 4096, PROT_NONE);
	fflush(stdout);
	fault();
}

static void named(int sig)
{
	_exit(sig);
}

static void names(void)
{
	sighandler_t old = signal(SIGSEGV, named);

	printf("  signal gave %s\n", old == SIG_DFL ? "default" : "UNKNOWN");
	feed();
	old = signal(SIGSEGV, SIG_DFL);
	printf("  signal gave %s\n", old == named ? "named" : "UNKNOWN");
	feed();
	old = sysv_signal(SIGSEGV, named);
	printf("  sysv_signal gave %s\n",
	       old == SIG_DFL ? "default" : "UNKNOWN");
	feed();
	fflush(stdout);
	if (!fork())
		fault();
	old = ssignal(SIGSEGV, SIG_DFL);
	printf("  ssignal gave %s\n", old == named ? "named" : "UNKNOWN");
	feed();
	print_action("end");
}

// A handler that gives up: default action, then the fault again.
static void gives_up(int sig, siginfo_t *info, void *context)
{
	signal(SIGSEGV, SIG_DFL);
}

static void gives_up_later(void)
{
	struct sigaction act = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

	act.sa_sigaction = gives_up;
	sigaction(SIGSEGV, &act, NULL);
	feed();
	fault();
}

int main(void)
{
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};

	setvbuf(stdout, NULL, _IOFBF, 65536);
	closed =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&stack, NULL);
	feed();
	print_action("at first");
	child("dies", dies);
	child("is killed", is_killed);
	child("raises", raises);
	child("ignores", ignores);
	child("jumps out", jumps_out);
	child("handles", handles);
	child("is reset", is_reset);
	child("names", names);
	child("gives up later", gives_up_later);
	return 0;
}
