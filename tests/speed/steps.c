// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Counts the instructions of single calls of an allocator, exactly: the
 * program starts itself again under the library given, and steps through that
 * child. A call counts from the call instruction on, through a jump such as
 * the PLT has, to the return.
 *
 * Usage: steps [LIBRARY [small]]
 *
 * small: only the pairs of at most SMALL bytes without a tag.
 * One line a measure: name, bytes, then the median, the mean and the largest
 * count of its calls, and "tagged" for those under a tag. Status 77: this
 * machine or its rules do not let us step.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <dlfcn.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Blocks live at once; a round takes all of them and gives them back. */
#define NR_BLOCKS 64
#define NR_WARM 16
#define NR_COUNTED 2
#define NR_CALLS (NR_BLOCKS * NR_COUNTED)
#define MAX_STEPS 1000000
#define SMALL 200
#define PREFIX "konf_lib_"

typedef void (*any_fn)(void);

/*
 * A pair of calls: what takes a block of @bytes, what gives it back. @tag:
 * under a tag. @at_once: it is given back before the next is taken, and @give
 * gets the number 1.
 */
static const struct pair {
	const char *take;
	const char *give;
	/* First and second argument of @take; @block: the block comes first. */
	size_t first;
	size_t second;
	bool block;
	size_t bytes;
	const char *tag;
	bool at_once;
} pairs[] = {
	{"malloc", "free", 16, 0, false, 16},
	{"malloc", "free", 64, 0, false, 64},
	{"malloc", "free", 200, 0, false, 200},
	{"malloc", "free", 1024, 0, false, 1024},
	{"malloc", "free", 4096, 0, false, 4096},
	{"malloc", "free", 32768, 0, false, 32768},
	{"calloc", "free", 1, 64, false, 64},
	{"realloc", "free", 0, 60, true, 64},
	{"_Znwm", "_ZdlPvm", 64, 64, false, 64},
	{"malloc", "free", 64, 0, false, 64, .tag = "tagged"},
	{"malloc", "free", 1024, 0, false, 1024, .tag = "tagged"},
	{"calloc", "free", 1, 64, false, 64, .tag = "tagged"},
	{"konf_lib_tag_push", "konf_lib_tag_pop", 0, 0, false, 0,
	 .at_once = true},
	{"konf_lib_tag_push", "konf_lib_tag_pop", 0, 0, false, 0,
	 .tag = "tagged", .at_once = true},
};
#define NR_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

/*
 * steps_call(fn, index, first, second): stop with @index in rax where the
 * parent sees it, then call, through a jump like a PLT's.
 */
uintptr_t steps_call(any_fn fn, uintptr_t index, uintptr_t first,
		     uintptr_t second);
__asm__(".text\n"
	".globl steps_call\n"
	".type steps_call, @function\n"
	"steps_call:\n"
	"	push %rbp\n"
	"	mov %rdi, steps_target(%rip)\n"
	"	mov %rsi, %rax\n"
	"	mov %rdx, %rdi\n"
	"	mov %rcx, %rsi\n"
	"	int3\n"
	"	call steps_plt\n"
	"	pop %rbp\n"
	"	ret\n"
	".size steps_call, . - steps_call\n"
	"steps_plt:\n"
	"	jmp *steps_target(%rip)\n"
	".local steps_target\n"
	".comm steps_target, 8, 8\n");

#define CALL_BYTES 5

static any_fn find(const char *name)
{
	void *fn = dlsym(RTLD_DEFAULT, name);

	if (!fn && dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL))
		fn = dlsym(RTLD_DEFAULT, name);
	return (any_fn)fn;
}

static uintptr_t call(any_fn fn, bool counted, uintptr_t index, uintptr_t first,
		      uintptr_t second)
{
	if (counted)
		return steps_call(fn, index, first, second);
	return ((uintptr_t(*)(uintptr_t, uintptr_t))fn)(first, second);
}

static const char name[] = "a tag of 20 letters";

/* Take a block, or enter a tag. */
static uintptr_t take_one(any_fn fn, const struct pair *pair, bool counted,
			  uintptr_t index)
{
	uintptr_t first = pair->at_once ? (uintptr_t)name : pair->first;

	if (pair->block)
		first = (uintptr_t)malloc(pair->bytes);
	first = call(fn, counted, index, first, pair->second);
	return pair->at_once ? 1 : first;
}

static void enter(const struct pair *pair, bool on)
{
	any_fn push = find("konf_lib_tag_push"), pop = find("konf_lib_tag_pop");

	if (pair->tag && push && pop)
		call(on ? push : pop, false, 0, on ? (uintptr_t)pair->tag : 1,
		     0);
}

static void rounds(uintptr_t index)
{
	const struct pair *pair = &pairs[index];
	any_fn take = find(pair->take), give = find(pair->give);
	static uintptr_t block[NR_BLOCKS];

	if (!take || !give)
		return;
	enter(pair, true);
	for (int round = 0; round < NR_WARM + NR_COUNTED; round++) {
		bool counted = round >= NR_WARM;

		for (int i = 0; i < NR_BLOCKS; i++) {
			block[i] = take_one(take, pair, counted, index * 2);
			if (pair->at_once)
				call(give, counted, index * 2 + 1, block[i], 0);
		}
		for (int i = 0; !pair->at_once && i < NR_BLOCKS; i++)
			call(give, counted, index * 2 + 1, block[i],
			     pair->second);
	}
	enter(pair, false);
}

static int child(bool small)
{
	for (uintptr_t i = 0; i < NR_PAIRS; i++) {
		if (!small || (pairs[i].bytes <= SMALL && !pairs[i].tag &&
			       !pairs[i].at_once))
			rounds(i);
	}
	return 0;
}

static void die(const char *what)
{
	fprintf(stderr, "steps: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned int counts[NR_PAIRS * 2][NR_CALLS];
static unsigned int nr_counts[NR_PAIRS * 2];

static void get_regs(pid_t pid, struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_GETREGS, pid, NULL, regs))
		die("cannot read registers");
}

/* Step from the call instruction to behind it. */
static unsigned int count_steps(pid_t pid, const struct user_regs_struct *from)
{
	unsigned long long last = from->rip;
	unsigned int nr = 0;
	int status;

	while (nr < MAX_STEPS) {
		struct user_regs_struct at;

		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
			die("cannot step");
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
		    WSTOPSIG(status) != SIGTRAP)
			die("the child did not step");
		get_regs(pid, &at);
		/* A repeated instruction traps each time: it is one. */
		nr += at.rip != last;
		last = at.rip;
		if (at.rip == from->rip + CALL_BYTES && at.rsp == from->rsp)
			return nr;
	}
	fprintf(stderr, "steps: a call took over %d steps\n", MAX_STEPS);
	exit(1);
}

static void trace(pid_t pid)
{
	struct user_regs_struct regs;
	int status;

	for (;;) {
		if (ptrace(PTRACE_CONT, pid, NULL, NULL))
			die("cannot continue");
		if (waitpid(pid, &status, 0) != pid)
			die("cannot wait");
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			return;
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
			fprintf(stderr, "steps: the child ended: %#x\n",
				(unsigned int)status);
			exit(1);
		}
		get_regs(pid, &regs);
		if (regs.rax >= NR_PAIRS * 2 || nr_counts[regs.rax] == NR_CALLS)
			die("the child stopped where it should not");
		counts[regs.rax][nr_counts[regs.rax]++] =
			count_steps(pid, &regs);
	}
}

static int compare(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a;
	unsigned int y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

static void print(const struct pair *pair, const char *fn, unsigned int *count,
		  unsigned int nr)
{
	double sum = 0;

	if (!nr)
		return;
	qsort(count, nr, sizeof(*count), compare);
	for (unsigned int i = 0; i < nr; i++)
		sum += count[i];
	if (!strncmp(fn, PREFIX, sizeof(PREFIX) - 1))
		fn += sizeof(PREFIX) - 1;
	printf("%-8s %6zu %6u %9.1f %7u %s\n", fn, pair->bytes, count[nr / 2],
	       sum / nr, count[nr - 1], pair->tag ? pair->tag : "");
}

static pid_t start(const char *library, const char *small)
{
	static char traced[] = "--traced";
	pid_t pid = fork();

	if (pid)
		return pid;
	if (library && setenv("LD_PRELOAD", library, 1))
		_exit(1);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(77);
	execl("/proc/self/exe", "steps", traced, small, NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	pid_t pid;
	int status = 0;

	if (argc >= 2 && !strcmp(argv[1], "--traced"))
		return child(argc > 2);
	pid = start(argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("cannot start a child");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		puts("SKIP: ptrace is not allowed here");
		return 77;
	}
	if (!WIFSTOPPED(status)) {
		fputs("steps: the child did not start\n", stderr);
		return 1;
	}
	trace(pid);
	for (size_t i = 0; i < NR_PAIRS; i++) {
		print(&pairs[i], pairs[i].take, counts[i * 2],
		      nr_counts[i * 2]);
		print(&pairs[i], pairs[i].give, counts[i * 2 + 1],
		      nr_counts[i * 2 + 1]);
	}
	return 0;
}
#else
int main(void)
{
	puts("SKIP: instructions are counted on x86-64 only");
	return 77;
}
#endif
