/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The calling thread's stack: see walk.h.
 *
 * A cursor has the registers of one frame after the other, from this file's own
 * upwards. Buffers are claimed by compare and swap, because a thread's stack
 * may be too small for a long one.
 */
#define _GNU_SOURCE
#include "sample/walk.h"

#include "sample/python.h"
#include "sample/rows.h"
#include "sys/call.h"
#include "sys/process.h"
#include "sys/thread.h"
#include "sys/vm.h"

#include <string.h>
#include <ucontext.h>

/* The most frames of the library before those of the program. */
#define OWN 16

#define NR_BUFFERS 32

/* A thread that is in a list of Python's calls is waited for so long. */
#define MOST_YIELDS 1000

/* The widest gap between the frame of a function that aligns its stack and its
 * return address. */
#define WIDEST_GAP 256

struct buffer {
	uint64_t owner; /* the thread that uses it; 0: free; atomic */
	bool asks;	/* whether it is in kf_python_merge(); atomic */
	struct kf_walked stack;
	/* For calls of Python: where frames begin, and room to merge in. */
	uint64_t sp[KF_STATS_STACK_MAX + 1];
	uint64_t calls[KF_STATS_STACK_MAX];
	struct kf_walked merged;
};

/* NR_BUFFERS of them, mapped for the first stack; atomic. */
static struct buffer *pool;

struct cursor {
	uintptr_t pc;
	uintptr_t sp;		    /* all the frame's callers are above */
	uintptr_t kept[KF_NR_KEPT]; /* as in struct kf_row; 0: unknown */
	uintptr_t page;		    /* that can be read; 0: none */
	uint32_t mapping;	    /* of kf_modules_has() */
	bool barred; /* pages cannot be checked: only tables are followed */
};

extern const char __ehdr_start[] __kf_hidden;
extern const char etext[] __kf_hidden;

/* The registers here, as long as the calling function does not return. */
#ifdef __x86_64__
#define WALK_HERE(c)                                      \
	__asm__ volatile("movq %%rbx, (%2)\n\t"           \
			 "movq %%rbp, 8(%2)\n\t"          \
			 "movq %%r12, 16(%2)\n\t"         \
			 "movq %%r13, 24(%2)\n\t"         \
			 "movq %%r14, 32(%2)\n\t"         \
			 "movq %%r15, 40(%2)\n\t"         \
			 "movq %%rsp, %1\n\t"             \
			 "leaq 1f(%%rip), %0\n"           \
			 "1:"                             \
			 : "=&r"((c)->pc), "=&r"((c)->sp) \
			 : "r"((c)->kept)                 \
			 : "memory")
#define WALK_STRIP(pc) (pc)
#define WALK_OF(c, m)                                   \
	((c)->pc = (uintptr_t)(m)->gregs[REG_RIP],      \
	 (c)->sp = (uintptr_t)(m)->gregs[REG_RSP],      \
	 (c)->kept[0] = (uintptr_t)(m)->gregs[REG_RBX], \
	 (c)->kept[1] = (uintptr_t)(m)->gregs[REG_RBP], \
	 (c)->kept[2] = (uintptr_t)(m)->gregs[REG_R12], \
	 (c)->kept[3] = (uintptr_t)(m)->gregs[REG_R13], \
	 (c)->kept[4] = (uintptr_t)(m)->gregs[REG_R14], \
	 (c)->kept[5] = (uintptr_t)(m)->gregs[REG_R15])
/* mov $15, %rax; syscall */
#define WALK_SIGRETURN "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
#else
#define WALK_HERE(c)                                      \
	__asm__ volatile("stp x19, x20, [%2]\n\t"         \
			 "stp x21, x22, [%2, #16]\n\t"    \
			 "stp x23, x24, [%2, #32]\n\t"    \
			 "stp x25, x26, [%2, #48]\n\t"    \
			 "stp x27, x28, [%2, #64]\n\t"    \
			 "stp x29, x30, [%2, #80]\n\t"    \
			 "mov %1, sp\n\t"                 \
			 "adr %0, 1f\n"                   \
			 "1:"                             \
			 : "=&r"((c)->pc), "=&r"((c)->sp) \
			 : "r"((c)->kept)                 \
			 : "memory")
/* A return address may be signed in its upper bits. */
#define WALK_STRIP(pc) ((pc) & (((uintptr_t)1 << KF_ADDRESS_BITS) - 1))
#define WALK_OF(c, m)                          \
	((c)->pc = (m)->pc, (c)->sp = (m)->sp, \
	 memcpy((c)->kept, &(m)->regs[19], sizeof((c)->kept)))
/* mov x8, #139; svc #0 */
#define WALK_SIGRETURN "\x68\x11\x80\xd2\x01\x00\x00\xd4"
#endif

bool kf_walk_is_own(uintptr_t pc)
{
	return pc - (uintptr_t)__ehdr_start <
	       (uintptr_t)etext - (uintptr_t)__ehdr_start;
}

static bool walk_read(struct cursor *c, uintptr_t at, uintptr_t *value)
{
	uintptr_t page = KF_ALIGN_DOWN(at, (uintptr_t)KF_PAGE);

	if (at % sizeof(*value))
		return false;
	if (page != c->page && !c->barred &&
	    !kf_vm_is_readable((const void *)at))
		return false;
	c->page = page;
	memcpy(value, (const void *)at, sizeof(*value));
	return true;
}

/* Whether the code at @pc, which a table has, ends a signal handler. */
static bool is_sigreturn(uintptr_t pc)
{
	const unsigned char *code = (const unsigned char *)pc;
	size_t i = 0;

	while (i < sizeof(WALK_SIGRETURN) - 1 &&
	       code[i] == (unsigned char)WALK_SIGRETURN[i])
		i++;
	return i == sizeof(WALK_SIGRETURN) - 1;
}

static bool step_by_row(struct cursor *c, const struct kf_row *row)
{
	uintptr_t base = row->base == KF_NR_KEPT ? c->sp : c->kept[row->base];
	uintptr_t cfa = base + (uintptr_t)row->cfa;
	uintptr_t pc;

	if (!base || cfa <= c->sp ||
	    !walk_read(c, cfa + (uintptr_t)row->ra * sizeof(void *), &pc))
		return false;
	for (unsigned int i = 0; i < KF_NR_KEPT; i++) {
		uintptr_t at = cfa + (uintptr_t)row->at[i] * sizeof(void *);

		if (row->at[i] == KF_ROW_SAME)
			continue;
		if (row->at[i] == KF_ROW_LOST || !walk_read(c, at, &c->kept[i]))
			c->kept[i] = 0;
	}
	c->pc = WALK_STRIP(pc);
	c->sp = cfa;
	return true;
}

/* The saved frame pointer and the return address are at a frame pointer. */
static bool step_by_frame(struct cursor *c)
{
	uintptr_t frame = c->kept[KF_KEPT_FRAME], pc, up;

	if (c->barred || frame < c->sp || !walk_read(c, frame, &up) ||
	    !walk_read(c, frame + sizeof(void *), &pc))
		return false;
	memset(c->kept, 0, sizeof(c->kept));
	c->kept[KF_KEPT_FRAME] = up;
	c->pc = WALK_STRIP(pc);
	c->sp = frame + 2 * sizeof(void *);
	return true;
}

/*
 * A function that aligns its stack has a copy of its return address in its
 * frame, and the true one at the next of the addresses that it may have come
 * from.
 */
static bool step_by_aligned(struct cursor *c)
{
	uintptr_t at, found;

	if (is_sigreturn(c->pc) || !step_by_frame(c))
		return false;
	for (at = c->sp; at < c->sp + WIDEST_GAP; at += sizeof(void *)) {
		if (!walk_read(c, at, &found))
			break;
		if (WALK_STRIP(found) == c->pc) {
			c->sp = at + sizeof(void *);
			break;
		}
	}
	return true;
}

static bool walk_step(struct cursor *c, const struct kf_row *row)
{
	switch (row->kind) {
	case KF_ROW_TABLE:
		return step_by_row(c, row);
	case KF_ROW_ALIGNS:
		return step_by_aligned(c);
	case KF_ROW_NONE:
		return step_by_frame(c);
	}
	return false;
}

static void walk_up(struct cursor *c, struct buffer *buffer, uint32_t most)
{
	struct kf_walked *stack = &buffer->stack;
	unsigned int own = 0;
	struct kf_row row;

	kf_rows_begin();
	kf_rows_find(c->pc, &row);
	while (walk_step(c, &row) && c->pc) {
		kf_rows_find(c->pc, &row);
		if (row.kind == KF_ROW_NONE &&
		    !kf_modules_has(c->pc, &c->mapping))
			return;
		if (!stack->nr && kf_walk_is_own(c->pc) && ++own <= OWN)
			continue;
		if (stack->nr == most) {
			stack->flags |= KF_STACK_CUT;
			return;
		}
		buffer->sp[stack->nr] = c->sp;
		stack->frame[stack->nr++] = c->pc;
	}
	/* What a signal interrupted has no call there. */
	if (row.kind == KF_ROW_ALIGNS && is_sigreturn(c->pc))
		stack->nr = 0;
}

static struct buffer *take_buffer(void)
{
	size_t bytes = KF_ALIGN_UP(NR_BUFFERS * sizeof(*pool), KF_PAGE);
	struct buffer *all = kf_load_acquire(&pool), *other = NULL;

	if (unlikely(!all)) {
		all = kf_vm_map(bytes, KF_PAGE);
		if (all && !kf_cas(&pool, &other, all)) {
			kf_vm_drop(all, bytes);
			all = other;
		}
	}
	for (int i = 0; all && i < NR_BUFFERS; i++) {
		if (kf_claim(&all[i].owner, kf_thread_self()))
			return &all[i];
	}
	return NULL;
}

/* Whether another thread is in kf_python_merge(). */
static bool is_asked(void)
{
	struct buffer *all = kf_load_acquire(&pool);

	for (int i = 0; all && i < NR_BUFFERS; i++) {
		if (__atomic_load_n(&all[i].asks, __ATOMIC_SEQ_CST) &&
		    kf_load(&all[i].owner) != kf_thread_self())
			return true;
	}
	return false;
}

bool kf_walk_wait_python(void)
{
	for (int i = 0; i < MOST_YIELDS; i++) {
		if (!is_asked())
			return true;
		kf_sys(SYS_sched_yield);
	}
	return false;
}

static void walk_merge(struct buffer *buffer, uint32_t most)
{
	/* Whoever unloads the interpreter switches it off, then looks here. */
	__atomic_store_n(&buffer->asks, true, __ATOMIC_SEQ_CST);
	if (kf_python_is_on())
		kf_python_merge(&buffer->stack, buffer->sp, &buffer->merged,
				buffer->calls, most);
	kf_store_release(&buffer->asks, false);
}

/* Takes the stack above a cursor, whose buffer has the frames before it. */
static struct kf_walked *walk_from(struct cursor *c, struct buffer *buffer,
				   uint32_t most)
{
	buffer->stack.flags = kf_rows_lack() ? KF_STACK_NO_TABLES : 0;
	walk_up(c, buffer, most);
	buffer->sp[buffer->stack.nr] = c->sp;
	if (kf_python_is_on() && !c->barred)
		walk_merge(buffer, most);
	return &buffer->stack;
}

__noinline struct kf_walked *kf_walk(uint32_t most)
{
	struct buffer *buffer = take_buffer();
	struct cursor c = {.barred = kf_process_is_barred()};

	if (!buffer)
		return NULL;
	buffer->stack.nr = 0;
	WALK_HERE(&c);
	return walk_from(&c, buffer, most);
}

struct kf_walked *kf_walk_context(const void *context, uint32_t most)
{
	const ucontext_t *at = context;
	struct buffer *buffer = take_buffer();
	struct cursor c = {.barred = kf_process_is_barred()};

	if (!buffer)
		return NULL;
	WALK_OF(&c, &at->uc_mcontext);
	/* As a return address, which is behind its instruction. */
	c.pc++;
	buffer->stack.nr = 0;
	if (!kf_walk_is_own(c.pc)) {
		buffer->sp[0] = c.sp;
		buffer->stack.frame[buffer->stack.nr++] = c.pc;
	}
	return walk_from(&c, buffer, most);
}

bool kf_walk_is_inside(const struct kf_walked *stack)
{
	uint32_t i = 0;

	while (i < stack->nr && !kf_walk_is_own(stack->frame[i]))
		i++;
	return i < stack->nr;
}

void kf_walk_done(struct kf_walked *stack)
{
	struct buffer *buffer = kf_container_of(stack, struct buffer, stack);

	kf_store_release(&buffer->owner, 0);
}

/* A handler of a signal may have forked inside of a walk, which goes on. */
void kf_walk_fork_child(void)
{
	struct buffer *all = kf_load(&pool);

	for (int i = 0; all && i < NR_BUFFERS; i++) {
		if (kf_load(&all[i].owner) == kf_thread_self())
			continue;
		kf_store(&all[i].asks, false);
		kf_store(&all[i].owner, 0);
	}
}
