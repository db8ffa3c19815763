/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names of return addresses, as records. They are looked up while the
 * process runs: its files may be in a mount namespace that ends with it, or be
 * deleted or replaced later.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/profile/make.h"
#include "cli/profile/profile.h"

#include <stdlib.h>
#include <string.h>

/* The part of a record behind its head: the calls, then the strings. */
struct body {
	char *bytes;
	size_t size;
};

/* Returns the place of the string, from the begin of the record on. */
static uint32_t body_add(struct body *b, const char *text)
{
	size_t at = b->size, len;
	char *more;

	if (!text)
		return 0;
	len = strlen(text) + 1;
	more = realloc(b->bytes, at + len);
	if (!more) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	memcpy(more + at, text, len);
	b->bytes = more;
	b->size += len;
	return (uint32_t)(sizeof(struct kf_profile_name) + at);
}

static void maker_put_name(struct kf_maker *m, const struct kf_frame *frame,
			   size_t nr)
{
	struct kf_profile_name name = {
		.record.kind = KF_PROFILE_NAME,
		.address = frame->address,
		.nr = (uint32_t)nr,
		.number = frame->code ? frame->code->number : 0,
	};
	struct body body = {.size = nr * sizeof(struct kf_profile_call)};

	body.bytes = kf_alloc(1, body.size);
	for (size_t i = 0; i < nr; i++, frame++) {
		struct kf_profile_call call = {.line = frame->line};

		call.function =
			body_add(&body, frame->named ? frame->function : NULL);
		call.file = body_add(&body, frame->file);
		memcpy(body.bytes + i * sizeof(call), &call, sizeof(call));
	}
	kf_maker_put(m, &name, sizeof(name), body.bytes, body.size);
	free(body.bytes);
}

void kf_maker_calls(struct kf_maker *m, const struct kf_snapshot *s,
		    const uint64_t *address, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct kf_stats_call *call =
			kf_snapshot_call(s, address[i]);
		bool is_new = false;

		if (call)
			kf_entry(&m->named, address[i], &is_new);
		if (is_new)
			maker_put_name(m,
				       &(struct kf_frame){
					       .address = address[i],
					       .function = call->function,
					       .file = call->file[0]
							       ? call->file
							       : NULL,
					       .line = call->line,
					       .named = true,
				       },
				       1);
	}
}

static void look_up_name(struct kf_maker *m, const struct kf_unnamed *u)
{
	const struct kf_codes *codes = kf_symbols_codes(m->symbols);
	const struct kf_code *code =
		kf_codes_find(codes, u->address - 1, u->generation);
	uint64_t number = code ? code->number : 0;
	const struct kf_frame *frame;
	bool is_new;
	size_t nr;

	if (!u->address || u->address & KF_STATS_CALL)
		return;
	kf_entry(&m->named, u->address ^ number << 52, &is_new);
	if (!is_new)
		return;
	frame = kf_symbols_frames(m->symbols, u->address, u->generation, &nr);
	if (frame && frame->named)
		maker_put_name(m, frame, nr);
}

void kf_maker_unnamed(struct kf_maker *m, const uint64_t *address, uint32_t nr,
		      uint32_t generation)
{
	if (m->nr_unnamed + nr > m->room_unnamed) {
		size_t room = 2 * (m->nr_unnamed + nr);
		struct kf_unnamed *more = kf_alloc(room, sizeof(*more));

		if (m->nr_unnamed)
			memcpy(more, m->unnamed, m->nr_unnamed * sizeof(*more));
		free(m->unnamed);
		m->unnamed = more;
		m->room_unnamed = room;
	}
	for (uint32_t i = 0; i < nr; i++)
		m->unnamed[m->nr_unnamed++] =
			(struct kf_unnamed){address[i], generation};
}

void kf_maker_names(struct kf_maker *m, const struct kf_file *f,
		    uint64_t real_ns)
{
	if (m->nr_unnamed && !m->symbols)
		m->symbols = kf_symbols_open(&m->codes,
					     &(struct kf_symbols_how){
						     .procfs = "/proc",
						     .pid = f->pid,
						     .debug = true,
						     .recorded_ns = real_ns,
						     .refused = kf_prof_refused,
					     });
	for (size_t i = 0; m->symbols && i < m->nr_unnamed; i++)
		look_up_name(m, &m->unnamed[i]);
	m->nr_unnamed = 0;
}
