/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Short stacks: see trace.h.
 */
#include "sample/trace.h"

#include "base/text.h"
#include "sample/walk.h"
#include "sys/maps.h"
#include "sys/out.h"
#include "sys/process.h"

#include <string.h>

/* Calls of interpreters have no address. */
static void trace_copy(struct kf_trace *trace, const struct kf_walked *stack)
{
	for (uint32_t i = 0; i < stack->nr && trace->nr < KF_TRACE_FRAMES;
	     i++) {
		if (!(stack->frame[i] & KF_STATS_CALL))
			trace->frame[trace->nr++] = stack->frame[i];
	}
}

void kf_trace_take(struct kf_trace *trace, const void *context)
{
	struct kf_walked *stack =
		context ? kf_walk_context(context, KF_TRACE_FRAMES)
			: kf_walk(KF_TRACE_FRAMES);

	trace->nr = 0;
	trace->thread = kf_process_tid();
	if (!stack)
		return;
	trace_copy(trace, stack);
	kf_walk_done(stack);
}

/* The mapping of a return address, and where its file's first one begins. */
static bool trace_find(struct kf_maps *maps, uint64_t pc, uint64_t *base,
		       struct kf_mapping *m)
{
	uint64_t inode = 0;

	while (kf_maps_next(maps, m)) {
		if (!m->inode || m->inode != inode)
			*base = m->begin;
		inode = m->inode;
		if (pc - m->begin < m->end - m->begin)
			return true;
	}
	return false;
}

static void trace_put_module(struct kf_text *text, uint64_t pc)
{
	static struct kf_maps maps; /* too large for a signal's stack */
	struct kf_mapping m;
	uint64_t base = 0;

	if (kf_process_is_barred() || kf_maps_open(&maps))
		return;
	if (trace_find(&maps, pc - 1, &base, &m) && m.path_len) {
		kf_text_char(text, ' ');
		kf_text_ascii(text, m.path, m.path_len);
		kf_text_char(text, '+');
		kf_text_hex(text, pc - base);
	}
	kf_maps_close(&maps);
}

void kf_trace_print(const struct kf_trace *trace)
{
	char buf[512];
	struct kf_text text;

	for (uint32_t i = 0; i < trace->nr; i++) {
		kf_text_init(&text, buf, sizeof(buf) - 1);
		kf_text_str(&text, "konfiscator:     #");
		kf_text_u64(&text, i);
		kf_text_char(&text, ' ');
		kf_text_hex(&text, trace->frame[i]);
		trace_put_module(&text, trace->frame[i]);
		kf_text_char(&text, '\n');
		kf_out(&text);
	}
}
