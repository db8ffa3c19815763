/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A heap profile for perfetto: a trace of one packet, with the stacks as
 * interned data.
 */
#include "config.h"

#include "cli/profile/views.h"
#include "src/cli/profile/perfetto.pb-c.h"

#include <stdlib.h>
#include <string.h>

#define SEQUENCE 1
#define FLAG_CLEARED 1 /* interned data begins with this packet */

/* Keys: the place of what has an id, or a text's hash. */
struct perfetto_id {
	uint64_t key;
	uint64_t id;
};

struct perfetto {
	Kf__Perfetto__Interned *to;
	struct kf_map frames;	/* by the frame */
	struct kf_map mappings; /* by the code, or the name of none */
	struct kf_map texts; /* by hash, of @functions, @paths and @sources */
};

/* An array that doubles; protobuf-c frees it. */
static void *perfetto_grow(void *list, size_t nr, size_t size)
{
	if (nr & (nr - 1))
		return list;
	list = realloc(list, (nr ? 2 * nr : 1) * size);
	if (list)
		return list;
	kf_error("out of memory");
	exit(KF_EXIT_FAILED);
}

static uint64_t perfetto_key(const char *text, uint64_t kind)
{
	return kf_map_key(KF_MAP_KEY + kind, text, strlen(text));
}

static bool text_is(const Kf__Perfetto__Text *t, const void *bytes, size_t size)
{
	return t->str.len == size && !memcmp(t->str.data, bytes, size);
}

/* The id of bytes in a list of texts, from 1. */
static uint64_t perfetto_text(struct perfetto *p, Kf__Perfetto__Text ***list,
			      size_t *nr, uint64_t kind, const void *bytes,
			      size_t size)
{
	Kf__Perfetto__Text *text;
	char *copy = kf_format("%.*s", (int)size, (const char *)bytes);
	uint64_t key = perfetto_key(copy, kind);
	struct perfetto_id *known;
	bool is_new;

	free(copy);
	/* Another text with the hash has the next key. */
	for (;; key += 2) {
		known = kf_entry(&p->texts, key, &is_new);
		if (is_new || text_is((*list)[known->id - 1], bytes, size))
			break;
	}
	if (!is_new)
		return known->id;
	text = kf_alloc(1, sizeof(*text));
	kf__perfetto__text__init(text);
	text->has_iid = text->has_str = true;
	text->iid = known->id = *nr + 1;
	text->str.len = size;
	text->str.data = kf_alloc(size + 1, 1);
	memcpy(text->str.data, bytes, size);
	*list = perfetto_grow(*list, *nr, sizeof(text));
	(*list)[(*nr)++] = text;
	return text->iid;
}

enum { FUNCTION, PATH, SOURCE, BUILD_ID };

/* A path is its parts. */
static void perfetto_path(struct perfetto *p, Kf__Perfetto__Mapping *m,
			  const char *path)
{
	Kf__Perfetto__Interned *to = p->to;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len) {
			uint64_t id = perfetto_text(p, &to->path, &to->n_path,
						    PATH, path, len);

			m->path = perfetto_grow(m->path, m->n_path, sizeof(id));
			m->path[m->n_path++] = id;
		}
		path += len + (path[len] == '/');
	}
}

static uint64_t perfetto_mapping(struct perfetto *p, const struct kf_frame *f)
{
	const struct kf_code *code = f->code;
	Kf__Perfetto__Interned *to = p->to;
	Kf__Perfetto__Mapping *m;
	struct perfetto_id *known;
	bool is_new;

	known = kf_entry(&p->mappings,
			 code ? (uintptr_t)code : perfetto_key(f->library, 0),
			 &is_new);
	if (!is_new)
		return known->id;
	m = kf_alloc(1, sizeof(*m));
	kf__perfetto__mapping__init(m);
	m->has_iid = true;
	m->iid = known->id = to->n_mapping + 1;
	perfetto_path(p, m, code ? code->path : f->library);
	if (code) {
		m->has_start = m->has_end = m->has_offset = true;
		m->start = code->begin;
		m->end = code->end;
		m->offset = code->offset;
		m->has_build_id = code->build_id_size != 0;
	}
	if (m->has_build_id)
		m->build_id = perfetto_text(p, &to->build_id, &to->n_build_id,
					    BUILD_ID, code->build_id,
					    code->build_id_size);
	to->mapping = perfetto_grow(to->mapping, to->n_mapping, sizeof(m));
	to->mapping[to->n_mapping++] = m;
	return m->iid;
}

static uint64_t perfetto_frame(struct perfetto *p, const struct kf_frame *f)
{
	Kf__Perfetto__Interned *to = p->to;
	struct perfetto_id *known;
	Kf__Perfetto__Frame *frame;
	bool is_new;

	known = kf_entry(&p->frames, (uintptr_t)f, &is_new);
	if (!is_new)
		return known->id;
	frame = kf_alloc(1, sizeof(*frame));
	kf__perfetto__frame__init(frame);
	known->id = frame->iid = to->n_frame + 1;
	frame->has_iid = frame->has_mapping = frame->has_address = true;
	frame->mapping = perfetto_mapping(p, f);
	frame->address = f->code ? f->address - f->code->begin + f->code->offset
				 : f->address & ~KF_STATS_CALL;
	frame->has_function = f->named;
	if (f->named)
		frame->function = perfetto_text(
			p, &to->function, &to->n_function, FUNCTION,
			f->function, strlen(f->function));
	frame->has_source = f->file != NULL;
	if (f->file)
		frame->source = perfetto_text(p, &to->source, &to->n_source,
					      SOURCE, f->file, strlen(f->file));
	frame->has_line = f->line != 0;
	frame->line = f->line;
	to->frame = perfetto_grow(to->frame, to->n_frame, sizeof(frame));
	to->frame[to->n_frame++] = frame;
	return frame->iid;
}

/* The outermost frame comes first. */
static uint64_t perfetto_stack(struct perfetto *p, const struct kf_site *site)
{
	Kf__Perfetto__Interned *to = p->to;
	Kf__Perfetto__Callstack *stack = kf_alloc(1, sizeof(*stack));

	kf__perfetto__callstack__init(stack);
	stack->has_iid = true;
	stack->iid = to->n_callstack + 1;
	stack->frame = kf_alloc(site->nr_frames + 1, sizeof(*stack->frame));
	for (size_t i = site->nr_frames; i-- > 0;)
		stack->frame[stack->n_frame++] =
			perfetto_frame(p, site->frames[i]);
	to->callstack =
		perfetto_grow(to->callstack, to->n_callstack, sizeof(stack));
	to->callstack[to->n_callstack++] = stack;
	return stack->iid;
}

static Kf__Perfetto__Sample *perfetto_sample(struct perfetto *p,
					     const struct kf_site *site)
{
	const struct kf_profile_count *now = &site->now;
	Kf__Perfetto__Sample *s = kf_alloc(1, sizeof(*s));

	kf__perfetto__sample__init(s);
	s->has_callstack = s->has_allocated = s->has_freed = true;
	s->has_alloc_count = s->has_free_count = true;
	s->callstack = perfetto_stack(p, site);
	s->allocated = now->allocated;
	s->freed = now->freed;
	s->alloc_count = now->allocated_blocks / KF_STATS_BLOCK_PARTS;
	s->free_count = now->freed_blocks / KF_STATS_BLOCK_PARTS;
	return s;
}

static Kf__Perfetto__Process *perfetto_process(struct perfetto *p,
					       const struct kf_prof *prof,
					       const struct kf_prof_process *of)
{
	const struct kf_profile *profile = of->profile;
	Kf__Perfetto__Process *process = kf_alloc(1, sizeof(*process));

	kf__perfetto__process__init(process);
	process->has_pid = process->has_time = true;
	process->pid = (uint64_t)(profile->pid ? profile->pid
					       : profile->head.identity.pid);
	process->time = prof->time_ns;
	process->heap = kf_format("konfiscator");
	process->sample = kf_alloc(prof->nr_sites + 1, sizeof(void *));
	for (size_t i = 0; i < prof->nr_sites; i++) {
		if (prof->sites[i].process == of)
			process->sample[process->n_sample++] =
				perfetto_sample(p, &prof->sites[i]);
	}
	return process;
}

static Kf__Perfetto__Packet *perfetto_packet(const struct kf_prof *prof)
{
	Kf__Perfetto__Packet *packet = kf_alloc(1, sizeof(*packet));
	Kf__Perfetto__Profile *profile = kf_alloc(1, sizeof(*profile));
	struct perfetto p = {
		.to = kf_alloc(1, sizeof(*p.to)),
		.frames = {.entry_size = sizeof(struct perfetto_id)},
		.mappings = {.entry_size = sizeof(struct perfetto_id)},
		.texts = {.entry_size = sizeof(struct perfetto_id)},
	};

	kf__perfetto__packet__init(packet);
	kf__perfetto__profile__init(profile);
	kf__perfetto__interned__init(p.to);
	profile->process = kf_alloc(prof->nr_processes, sizeof(void *));
	for (size_t i = 0; i < prof->nr_processes; i++) {
		if (prof->processes[i].chosen)
			profile->process[profile->n_process++] =
				perfetto_process(&p, prof, &prof->processes[i]);
	}
	profile->has_index = true;
	packet->has_time = packet->has_sequence = packet->has_flags = true;
	packet->time = prof->time_ns;
	packet->sequence = SEQUENCE;
	packet->flags = FLAG_CLEARED;
	packet->interned = p.to;
	packet->profile = profile;
	kf_map_release(&p.frames);
	kf_map_release(&p.mappings);
	kf_map_release(&p.texts);
	return packet;
}

static int write_perfetto(const struct kf_prof *prof, FILE *out)
{
	Kf__Perfetto__Trace *trace = kf_alloc(1, sizeof(*trace));
	uint8_t *bytes;
	size_t size;

	kf__perfetto__trace__init(trace);
	trace->packet = kf_alloc(1, sizeof(void *));
	trace->packet[trace->n_packet++] = perfetto_packet(prof);
	bytes = kf_alloc(kf__perfetto__trace__get_packed_size(trace), 1);
	size = kf__perfetto__trace__pack(trace, bytes);
	kf__perfetto__trace__free_unpacked(trace, NULL);
	/* Closing the file finds write errors. */
	fwrite(bytes, 1, size, out);
	free(bytes);
	return 0;
}

const struct kf_prof_format kf_prof_format_perfetto = {
	.suffix = "perfetto-trace",
	.write = write_perfetto,
};
