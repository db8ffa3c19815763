/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames of Python, and their places in a native stack: see python.h.
 *
 * The frames that one call of the evaluator runs are a run. Its place is told
 * by something of the run that is on the native stack, in the evaluator's
 * frame: a struct _cframe, or a frame without code. In 3.8 and 3.9 there is no
 * such thing: each frame is a run, and evaluators are known by their address.
 */
#include "sample/python.h"

#include "sys/process.h"
#include "sys/vm.h"

#include <string.h>

/* Owners from this one on are frames without code. */
#define OWNER_NATIVE 3

/* From 3.14 on the lowest bits of a code's address are a tag. */
#define TAGGED 0x030e
#define TAG_BITS ((uintptr_t)3)

/* A chain that comes back to itself ends. */
#define MAX_FRAMES 8192

struct chain {
	struct kf_python_reader reader;
	uintptr_t frame;  /* the next one; 0: none */
	uintptr_t cframe; /* of the evaluator that runs it; 0: none */
	unsigned int left;
};

/* The frames of one call of the evaluator. */
struct run {
	uintptr_t anchor; /* on the native stack; 0: unknown */
	uint32_t nr;	  /* calls */
	bool lost;	  /* not all frames have an entry */
	bool last;	  /* no further one is known */
};

bool kf_python_can_read(struct kf_python_reader *r, uintptr_t at, size_t size)
{
	uintptr_t end = at + size - 1;

	if (at >= KF_PAGE && at - r->last < KF_PAGE && end - r->last < KF_PAGE)
		return true;
	if (at < KF_PAGE || end < at)
		return false;
	for (uintptr_t page = KF_ALIGN_DOWN(at, (uintptr_t)KF_PAGE);
	     page <= end; page += KF_PAGE) {
		uintptr_t *known = &r->page[page * 0x9e3779b97f4a7c15ULL >>
					    KF_PYTHON_SHIFT];

		if (*known != page && !kf_vm_is_readable((const void *)page))
			return false;
		*known = r->last = page;
	}
	return true;
}

bool kf_python_read(struct kf_python_reader *r, uintptr_t at, void *to,
		    size_t size)
{
	if (!kf_python_can_read(r, at, size))
		return false;
	memcpy(to, (const void *)at, size);
	return true;
}

/* Reads an address in a structure, 0 where there is none. */
static uintptr_t chain_pointer(struct chain *c, uintptr_t at, uint16_t field)
{
	uintptr_t value;

	if (!at || field == KF_PYTHON_NO || at % sizeof(value) ||
	    !kf_python_read(&c->reader, at + field, &value, sizeof(value)))
		return 0;
	return value;
}

static uint8_t chain_byte(struct chain *c, uintptr_t at, uint16_t field)
{
	uint8_t value;

	return field != KF_PYTHON_NO &&
			       kf_python_read(&c->reader, at + field, &value, 1)
		       ? value
		       : 0;
}

static bool chain_begin(struct chain *c)
{
	const struct kf_python_layout *at = &kf_python.at;
	uintptr_t state = (uintptr_t)kf_python.state();

	c->left = MAX_FRAMES;
	c->frame = 0;
	c->cframe = chain_pointer(c, state, at->state_cframe);
	if (at->state_frame != KF_PYTHON_NO)
		c->frame = chain_pointer(c, state, at->state_frame);
	else
		c->frame = chain_pointer(c, c->cframe, at->cframe_frame);
	return c->frame;
}

/* Where the frame's evaluator is, if the run ends with this frame; else 0. */
static uintptr_t chain_anchor(struct chain *c, bool *ends)
{
	const struct kf_python_layout *at = &kf_python.at;
	uintptr_t anchor = 0;

	if (at->frame_owner != KF_PYTHON_NO) {
		*ends = chain_byte(c, c->frame, at->frame_owner) >=
			OWNER_NATIVE;
		return *ends ? c->frame : 0;
	}
	*ends = at->frame_entry == KF_PYTHON_NO ||
		chain_byte(c, c->frame, at->frame_entry);
	if (*ends) {
		anchor = c->cframe;
		c->cframe = chain_pointer(c, c->cframe, at->cframe_before);
	}
	return anchor;
}

/* The word of the next frame; 0: it has none. */
static uint64_t chain_call(struct chain *c)
{
	const struct kf_python_layout *at = &kf_python.at;
	uintptr_t code = chain_pointer(c, c->frame, at->frame_code);
	uint64_t where = 0;

	if (kf_python.version >= TAGGED)
		code &= ~TAG_BITS;
	if (kf_python.version < 0x030b) {
		int32_t last;

		if (!kf_python_read(&c->reader, c->frame + at->frame_at, &last,
				    sizeof(last)))
			return 0;
		where = (uint32_t)last;
	} else {
		where = chain_pointer(c, c->frame, at->frame_at);
	}
	return kf_python_call(&c->reader, code, where);
}

/* Reads the frames of the next run, the newest first. */
static struct run chain_run(struct chain *c, uint64_t *calls, uint32_t most)
{
	struct run run = {0};
	bool ends = false;

	while (!ends && c->frame && c->left) {
		run.anchor = chain_anchor(c, &ends);
		if (!ends || kf_python.at.frame_owner == KF_PYTHON_NO) {
			uint64_t call =
				run.nr < most && !run.lost ? chain_call(c) : 0;

			run.lost |= run.nr < most && !call;
			if (call)
				calls[run.nr++] = call;
		}
		c->frame =
			chain_pointer(c, c->frame, kf_python.at.frame_before);
		c->left--;
	}
	run.last = !ends;
	return run;
}

static bool is_evaluator(uint64_t pc)
{
	return pc - 1 - kf_python.evaluator <
	       kf_python.evaluator_end - kf_python.evaluator;
}

static bool has_anchors(void)
{
	return kf_python.at.state_cframe != KF_PYTHON_NO ||
	       kf_python.at.frame_owner != KF_PYTHON_NO;
}

/* The frame of the evaluator, from @i on; stack->nr: not found. */
static uint32_t merge_find(const struct kf_walked *stack, const uint64_t *sp,
			   uint32_t i, uintptr_t anchor)
{
	for (; i < stack->nr; i++) {
		if (anchor ? anchor - sp[i] < sp[i + 1] - sp[i]
			   : is_evaluator(stack->frame[i]))
			break;
	}
	return i;
}

/*
 * Where evaluators are known by their address, there have to be as many as
 * frames: further ones are of other interpreters or stacks.
 */
static bool merge_is_sound(const struct kf_walked *stack, struct chain *c)
{
	uint32_t evaluators = 0, frames = 0;

	if (has_anchors())
		return true;
	for (uint32_t i = 0; i < stack->nr; i++)
		evaluators += is_evaluator(stack->frame[i]);
	for (chain_begin(c); c->frame && frames <= evaluators; frames++)
		c->frame =
			chain_pointer(c, c->frame, kf_python.at.frame_before);
	return stack->flags & KF_STACK_CUT ? frames >= evaluators
					   : frames == evaluators;
}

static void merge_put(struct kf_walked *to, const uint64_t *from, uint32_t nr,
		      uint32_t most)
{
	uint32_t fits = KF_MIN(nr, most - to->nr);

	memcpy(&to->frame[to->nr], from, fits * sizeof(*from));
	to->nr += fits;
	if (fits < nr)
		to->flags |= KF_STACK_CUT;
}

static struct run merge_next(struct chain *c, uint64_t *calls, uint32_t most,
			     struct kf_walked *to)
{
	struct run run = chain_run(c, calls, most);

	if (run.lost)
		to->flags |= KF_STACK_NO_CALLS;
	return run;
}

void kf_python_merge(struct kf_walked *stack, uint64_t *sp,
		     struct kf_walked *room, uint64_t *calls, uint32_t most)
{
	struct run run = {0};
	struct chain c = {0};
	uint32_t i = 0, e;

	if (!merge_is_sound(stack, &c))
		stack->flags |= KF_STACK_NO_CALLS;
	if (stack->flags & KF_STACK_NO_CALLS || !chain_begin(&c))
		return;
	room->nr = 0;
	room->flags = stack->flags;
	while (!run.last) {
		run = merge_next(&c, calls, most, room);
		e = merge_find(stack, sp, i, run.anchor);
		if (run.last || (has_anchors() && !run.anchor) ||
		    e == stack->nr)
			break;
		/* An evaluator without a frame, or with a lost one, stays. */
		if (run.lost || !run.nr)
			run.nr = 0;
		merge_put(room, &stack->frame[i], e - i + !run.nr, most);
		merge_put(room, calls, run.nr, most);
		i = e + 1;
	}
	merge_put(room, &stack->frame[i], stack->nr - i, most);
	/* Callers of a native stack that ends early. */
	while (run.anchor >= sp[stack->nr] && run.nr && !run.lost) {
		merge_put(room, calls, run.nr, most);
		run = merge_next(&c, calls, most, room);
	}
	memcpy(stack->frame, room->frame, room->nr * sizeof(room->frame[0]));
	stack->nr = room->nr;
	stack->flags = room->flags;
}
