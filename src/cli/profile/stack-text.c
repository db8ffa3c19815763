/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stacks as text: see stack-text.h.
 */
#include "config.h"

#include "cli/profile/stack-text.h"

#include "cli/profile/profile.h"
#include "reader/calls.h"

#include <stdlib.h>
#include <string.h>

/* Longer than any stack of the file, with inlined calls. */
#define CALLS_MOST 4096

void kf_stack_texts_open(struct kf_stack_texts *t, const struct kf_cli *cli,
			 const struct kf_file *f)
{
	struct kf_codes codes = {0};

	*t = (struct kf_stack_texts){.cli = cli, .s = &f->snap};
	if (kf_codes_read("/proc", f->pid, &f->snap, &codes))
		t->symbols = kf_symbols_open(
			&codes, &(struct kf_symbols_how){
					.procfs = "/proc",
					.pid = f->pid,
					.debug = true,
					.recorded_ns = f->snap.id.created_ns,
					.snapshot = &f->snap,
					.refused = kf_prof_refused,
				});
	if (!t->symbols) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
}

static size_t stack_frames(const struct kf_stack_texts *t, uint32_t entry,
			   const struct kf_frame *frames[CALLS_MOST])
{
	static uint64_t address[KF_STATS_STACK_MAX];
	const struct kf_stats_stack *stack = &t->s->stacks[entry];
	uint32_t nr = kf_snapshot_frames(t->s, stack, address);
	size_t all = 0;

	for (uint32_t i = 0; i < nr; i++) {
		size_t here;
		const struct kf_frame *f =
			kf_symbols_frames(t->symbols, address[i],
					  kf_stats_generation(stack), &here);

		for (size_t k = 0; f && k < here && all < CALLS_MOST; k++)
			frames[all++] = &f[k];
	}
	return all;
}

char *kf_stack_text(const struct kf_stack_texts *t, uint32_t entry, size_t most)
{
	static const struct kf_frame *frames[CALLS_MOST];
	static bool recursive[CALLS_MOST];
	char *stack, *safe;
	size_t room;
	unsigned int how = (t->cli->raw ? KF_CALLS_RAW : 0) |
			   (t->cli->no_fold ? KF_CALLS_ALL : 0);
	struct kf_site site = {.frames = frames, .recursive = recursive};

	if (!entry)
		return NULL;
	site.nr_frames = kf_calls_simplify(frames, recursive,
					   stack_frames(t, entry, frames), how);
	stack = kf_site_callers(&site, 0, most);
	room = 4 * strlen(stack) + 1;
	safe = kf_alloc(room, 1);
	kf_escape(safe, room, stack);
	free(stack);
	return safe;
}

void kf_stack_texts_close(struct kf_stack_texts *t)
{
	kf_symbols_close(t->symbols);
}
