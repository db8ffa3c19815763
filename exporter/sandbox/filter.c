/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The filter: see filter.h. For each call that is denied it has a comparison
 * and a return; the kernel knows beforehand which calls pass always, and does
 * not run it for them.
 */
#include "config.h"

#include "exporter/sandbox/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define NR_CLONE3 435
#define X32 0x40000000u /* calls of x32 begin here */
#define NAMESPACES                                                    \
	((unsigned int)CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | \
	 CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define KF_DENIED_X86(name) {SYS_##name, false},
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define KF_DENIED_X86(name)
#endif

#define KF_DENIED(name, number) {(unsigned int)(number), false},
#define KF_TRACER(name) {SYS_##name, true},

static const struct denied {
	unsigned int nr;
	bool by_tracers;
} denied[] = {
#include "exporter/sandbox/denied.def"
};

struct program {
	unsigned short len;
	struct sock_filter code[2 * KF_ARRAY_SIZE(denied) + 16];
};

static void filter_add(struct program *p, unsigned short op, unsigned char yes,
		       unsigned char no, unsigned int k)
{
	p->code[p->len++] = (struct sock_filter){op, yes, no, k};
}

static void filter_load(struct program *p, size_t offset)
{
	filter_add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned int)offset);
}

static void filter_return(struct program *p, unsigned int error)
{
	filter_add(p, BPF_RET | BPF_K, 0, 0,
		   error ? SECCOMP_RET_ERRNO | error : SECCOMP_RET_ALLOW);
}

static void filter_refuse(struct program *p, unsigned int nr,
			  unsigned int error)
{
	filter_add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, nr);
	filter_return(p, error);
}

/*
 * New namespaces are refused. A filter cannot read the arguments of clone3, and
 * the C library takes clone where there is no clone3.
 */
static void filter_add_clone(struct program *p)
{
	filter_refuse(p, NR_CLONE3, ENOSYS);
	filter_add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_clone);
	/* the lower half on both architectures */
	filter_load(p, offsetof(struct seccomp_data, args[0]));
	filter_add(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, NAMESPACES);
	filter_return(p, EPERM);
}

int kf_filter_enter(bool tracers)
{
	struct program p = {0};
	struct sock_fprog prog = {.filter = p.code};

	filter_load(&p, offsetof(struct seccomp_data, arch));
	filter_add(&p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
	filter_return(&p, EPERM);
	filter_load(&p, offsetof(struct seccomp_data, nr));
	filter_add(&p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32);
	filter_return(&p, EPERM);
	for (size_t i = 0; i < KF_ARRAY_SIZE(denied); i++) {
		if (!tracers || !denied[i].by_tracers)
			filter_refuse(&p, denied[i].nr, EPERM);
	}
	if (!tracers)
		filter_add_clone(&p);
	filter_return(&p, 0);
	prog.len = p.len;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}
