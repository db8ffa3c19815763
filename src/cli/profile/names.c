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

static void maker_put_body(struct kf_maker *m, uint64_t address,
			   const struct kf_code *code, size_t nr,
			   const struct body *body)
{
	struct kf_profile_name name = {
		.record.kind = KF_PROFILE_NAME,
		.address = address,
		.nr = (uint32_t)nr,
		.number = code ? code->number : 0,
	};

	kf_maker_put(m, &name, sizeof(name), body->bytes, body->size);
}

static struct body body_of(const struct kf_frame *frame, size_t nr)
{
	struct body body = {.size = nr * sizeof(struct kf_profile_call)};

	body.bytes = kf_alloc(1, body.size);
	for (size_t i = 0; i < nr; i++, frame++) {
		struct kf_profile_call call = {.line = frame->line};

		call.function =
			body_add(&body, frame->named ? frame->function : NULL);
		call.file = body_add(&body, frame->file);
		memcpy(body.bytes + i * sizeof(call), &call, sizeof(call));
	}
	return body;
}

static void maker_put_name(struct kf_maker *m, const struct kf_frame *frame,
			   size_t nr)
{
	struct body body = body_of(frame, nr);

	maker_put_body(m, frame->address, frame->code, nr, &body);
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

/* The names of a place in a file; none where @nr is 0. */
struct shared_name {
	uint64_t key;
	uint64_t nr;
	struct body body;
};

/* 0: the file is not known well enough. */
static uint64_t shared_key(const struct kf_code *code, uint64_t address)
{
	uint64_t key = KF_MAP_KEY;
	uint64_t place;

	if (!code || (!code->build_id_size && !code->inode))
		return 0;
	place = address - code->begin + code->offset;
	key = kf_map_key(key, code->build_id, code->build_id_size);
	if (!code->build_id_size) {
		key = kf_map_key(key, &code->inode, sizeof(code->inode));
		key = kf_map_key(key, &code->size, sizeof(code->size));
		key = kf_map_key(key, &code->modified, sizeof(code->modified));
	}
	return kf_map_key(key, &place, sizeof(place));
}

/* Children have the files of their parent: each name is looked up once. */
static struct shared_name *shared_find(struct kf_maker *m,
				       const struct kf_code *code,
				       uint64_t address, bool *is_new)
{
	uint64_t key = m->names ? shared_key(code, address) : 0;

	*is_new = true;
	if (!key)
		return NULL;
	m->names->map.entry_size = sizeof(struct shared_name);
	return kf_entry(&m->names->map, key, is_new);
}

static void shared_free(const void *entry, void *arg)
{
	struct shared_name shared;

	(void)arg;
	memcpy(&shared, entry, sizeof(shared));
	free(shared.body.bytes);
}

void kf_names_release(struct kf_names *names)
{
	kf_map_each(&names->map, shared_free, NULL);
	kf_map_release(&names->map);
}

static const struct kf_codes *maker_codes(const struct kf_maker *m)
{
	return m->symbols ? kf_symbols_codes(m->symbols) : &m->codes;
}

/* Opened late: most children have no names but those that are known. */
static bool maker_open_symbols(struct kf_maker *m, int pid, uint64_t real_ns)
{
	if (!m->symbols)
		m->symbols = kf_symbols_open(&m->codes,
					     &(struct kf_symbols_how){
						     .procfs = "/proc",
						     .pid = pid,
						     .debug = true,
						     .recorded_ns = real_ns,
						     .refused = kf_prof_refused,
					     });
	return m->symbols;
}

/* Returns false when out of memory. */
static bool look_up_name(struct kf_maker *m, const struct kf_unnamed *u,
			 int pid, uint64_t real_ns)
{
	const struct kf_code *code =
		kf_codes_find(maker_codes(m), u->address - 1, u->generation);
	uint64_t number = code ? code->number : 0;
	const struct kf_frame *frame;
	struct shared_name *shared;
	bool is_new;
	size_t nr;

	if (!u->address || u->address & KF_STATS_CALL)
		return true;
	kf_entry(&m->named, u->address ^ number << 52, &is_new);
	if (!is_new)
		return true;
	shared = shared_find(m, code, u->address, &is_new);
	if (!is_new) {
		if (shared->nr)
			maker_put_body(m, u->address, code, shared->nr,
				       &shared->body);
		return true;
	}
	if (!maker_open_symbols(m, pid, real_ns))
		return false;
	frame = kf_symbols_frames(m->symbols, u->address, u->generation, &nr);
	if (!frame || !frame->named) {
		/* of a process that runs more may be known */
		if (shared && !pid)
			kf_map_remove(&m->names->map, shared->key);
		return true;
	}
	maker_put_name(m, frame, nr);
	if (shared) {
		shared->nr = nr;
		shared->body = body_of(frame, nr);
	}
	return true;
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
	for (size_t i = 0; i < m->nr_unnamed; i++) {
		if (!look_up_name(m, &m->unnamed[i], f->pid, real_ns))
			break;
	}
	m->nr_unnamed = 0;
}
