/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The calling thread's stack: see walk.h.
 *
 * Where the program has frame pointers and the C library has none, the chain
 * ends in the C library's start of the program or thread, a few frames before
 * the unwinder's stack. These frames, the tail, are always the same behind one
 * address: so they are kept by that address, and a chain agrees with a stack if
 * only the tail differs.
 *
 * The unwinder of libgcc 12 and later finds its tables without a lock, by
 * _dl_find_object() of glibc 2.35. An older one takes the dynamic linker's
 * lock, which in a forked child may never be released. Where code was
 * registered at run time the unwinder takes a lock of its own and may call
 * malloc while it holds it: there is no stack for such a call.
 */
#include "sample/walk.h"

#include "sys/next.h"
#include "sys/vm.h"

#include <string.h>
#include <unwind.h>

#define MAX KF_STATS_STACK_FRAMES

#define UNWINDER "libgcc_s.so.1"

/* The most frames of the library before those of the program. */
#define OWN 16

#define NR_BELIEVED 1024
#define NR_TAILS 16
#define TAIL 3

typedef _Unwind_Reason_Code backtrace_fn(_Unwind_Trace_Fn fn, void *arg);
typedef _Unwind_Word ip_fn(struct _Unwind_Context *context, int *before);

/* Constant once @backtrace is set, but for @barred. */
static struct {
	backtrace_fn *backtrace; /* atomic */
	ip_fn *ip;
	uintptr_t from, to; /* addresses of the unwinder's object */
	bool locks;	    /* it takes the dynamic linker's lock */
	bool barred;	    /* in a forked child, if @locks: do not use it */
} unwinder;

static uint64_t believed[NR_BELIEVED]; /* hashes of chains; atomic */

/* Frames behind the outermost frame @key of chains; @key is stored last. */
static struct {
	uint64_t claimed; /* atomic */
	uint64_t key;	  /* atomic */
	uint32_t nr;
	uint64_t frame[TAIL];
} tails[NR_TAILS];

static __thread bool walking __attribute__((tls_model("initial-exec")));

extern const char __ehdr_start[] __kf_hidden;
extern const char etext[] __kf_hidden;

static bool walk_is_own(uintptr_t pc)
{
	return pc - (uintptr_t)__ehdr_start <
	       (uintptr_t)etext - (uintptr_t)__ehdr_start;
}

/* The saved frame pointer and the return address of a function. */
struct frame {
	uintptr_t up;
	uintptr_t pc;
};

/* @page: the last page found readable; the walk goes upwards. */
static bool is_readable(uintptr_t at, uintptr_t *page)
{
	uintptr_t end = at + sizeof(struct frame) - 1;

	if (*page != at >> KF_PAGE_SHIFT &&
	    !kf_vm_is_readable((const void *)at))
		return false;
	if (end >> KF_PAGE_SHIFT != at >> KF_PAGE_SHIFT &&
	    !kf_vm_is_readable((const void *)end))
		return false;
	*page = end >> KF_PAGE_SHIFT;
	return true;
}

static void walk_add(struct kf_walked *stack, uintptr_t pc)
{
	if (stack->nr < MAX)
		stack->frame[stack->nr++] = pc;
	else
		stack->flags |= KF_STACK_CUT;
}

static void walk_chain(struct kf_walked *stack, uintptr_t at)
{
	uintptr_t page = 0;
	unsigned int own = 0;

	for (;;) {
		struct frame frame;

		if (at % sizeof(void *) || !is_readable(at, &page))
			return;
		memcpy(&frame, (const void *)at, sizeof(frame));
		frame.pc = (uintptr_t)__builtin_extract_return_addr(
			(void *)frame.pc);
		if (!frame.pc)
			return;
		if (stack->nr || !walk_is_own(frame.pc) || ++own > OWN)
			walk_add(stack, frame.pc);
		if (stack->flags & KF_STACK_CUT || frame.up <= at)
			return;
		at = frame.up;
	}
}

struct unwinding {
	struct kf_walked *stack;
	unsigned int own;
	bool gave_up;
};

static _Unwind_Reason_Code see_frame(struct _Unwind_Context *context, void *arg)
{
	struct unwinding *u = arg;
	int before = 0;
	uintptr_t pc = unwinder.ip(context, &before);

	if (!pc)
		return _URC_END_OF_STACK;
	/* The address of a signal frame is not a return address. */
	if (before) {
		u->gave_up = true;
		return _URC_END_OF_STACK;
	}
	if (u->stack->nr || !walk_is_own(pc) || ++u->own > OWN)
		walk_add(u->stack, pc);
	return u->stack->flags & KF_STACK_CUT ? _URC_END_OF_STACK
					      : _URC_NO_REASON;
}

static bool unwind(struct kf_walked *stack)
{
	struct unwinding u = {.stack = stack};

	unwinder.backtrace(see_frame, &u);
	return !u.gave_up;
}

static uint64_t walk_hash_of(const struct kf_walked *stack)
{
	uint64_t hash = stack->nr + 1;

	for (uint32_t i = 0; i < stack->nr; i++) {
		hash = (hash ^ stack->frame[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	return hash;
}

/* The tail behind a frame; NULL: unknown. */
static const uint64_t *tail_of(uint64_t key, uint32_t *nr)
{
	for (int i = 0; i < NR_TAILS; i++) {
		if (kf_load_acquire(&tails[i].key) != key)
			continue;
		*nr = tails[i].nr;
		return tails[i].frame;
	}
	return NULL;
}

static bool is_tail(uint64_t key, const uint64_t *frame, uint32_t nr)
{
	uint32_t known;
	const uint64_t *tail = tail_of(key, &known);

	return tail && known == nr && !memcmp(tail, frame, nr * sizeof(*frame));
}

/*
 * Store the tail behind @key, or compare it with the stored one. Two threads
 * that store the same tail at once use a place each; the first one is found.
 */
static bool learn_tail(uint64_t key, const uint64_t *frame, uint32_t nr)
{
	uint32_t known;
	int i = 0;

	if (tail_of(key, &known))
		return is_tail(key, frame, nr);
	while (i < NR_TAILS && !kf_claim(&tails[i].claimed, key))
		i++;
	if (i == NR_TAILS)
		return false;
	tails[i].nr = nr;
	memcpy(tails[i].frame, frame, nr * sizeof(*frame));
	kf_store_release(&tails[i].key, key);
	return true;
}

static bool agree(const struct kf_walked *chain, const struct kf_walked *full)
{
	uint32_t more = full->nr - chain->nr;

	if (!chain->nr || chain->nr > full->nr || more > TAIL ||
	    chain->flags != full->flags ||
	    memcmp(chain->frame, full->frame,
		   chain->nr * sizeof(chain->frame[0])))
		return false;
	return learn_tail(chain->frame[chain->nr - 1], &full->frame[chain->nr],
			  more);
}

static bool append_tail(struct kf_walked *stack)
{
	uint32_t nr;
	const uint64_t *tail = tail_of(stack->frame[stack->nr - 1], &nr);

	for (uint32_t i = 0; tail && i < nr; i++)
		walk_add(stack, tail[i]);
	return tail != NULL;
}

static bool is_unwinder(uintptr_t pc)
{
	return pc - unwinder.from < unwinder.to - unwinder.from;
}

static void walk_stack(struct kf_walked *stack, uintptr_t from)
{
	struct kf_walked full = {0};
	uint64_t *belief, hash;

	walk_chain(stack, from);
	if (!kf_walk_is_loaded())
		return;
	if (stack->nr && is_unwinder(stack->frame[0])) {
		stack->nr = 0;
		return;
	}
	hash = walk_hash_of(stack);
	belief = &believed[hash % NR_BELIEVED];
	if (stack->nr && kf_load(belief) == hash && append_tail(stack))
		return;
	if (unwinder.barred || !unwind(&full))
		full = (struct kf_walked){0};
	else if (agree(stack, &full))
		kf_store(belief, hash);
	*stack = full;
}

void kf_walk(struct kf_walked *stack)
{
	stack->nr = 0;
	stack->flags = 0;
	if (walking)
		return;
	walking = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	walk_stack(stack, (uintptr_t)__builtin_frame_address(0));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	walking = false;
}

bool kf_walk_is_loaded(void)
{
	return kf_load_acquire(&unwinder.backtrace) != NULL;
}

void kf_walk_fork_child(void)
{
	unwinder.barred = unwinder.locks;
}

bool kf_walk_load(bool load)
{
	void *backtrace, *ip;
	struct kf_walked stack = {0};

	if (kf_walk_is_loaded())
		return true;
	if (!kf_next_keep(UNWINDER, load, "_Unwind_Backtrace", &backtrace) ||
	    !kf_next_keep(UNWINDER, load, "_Unwind_GetIPInfo", &ip) ||
	    !kf_next_span(backtrace, &unwinder.from, &unwinder.to))
		return false;
	unwinder.ip = (ip_fn *)ip;
	unwinder.locks = !kf_next_imports(backtrace, "_dl_find_object");
	/* The unwinder initializes itself at its first use: now. */
	((backtrace_fn *)backtrace)(see_frame,
				    &(struct unwinding){.stack = &stack});
	kf_store_release(&unwinder.backtrace, (backtrace_fn *)backtrace);
	return true;
}
