/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The format of pprof: its messages by protobuf-c, packed by zlib. The four
 * values are those of Go's heap profiles, so that its tools choose as they are
 * used to.
 */
#include "config.h"

#include "cli/profile-views.h"
#include "src/cli/profile.pb-c.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS, INUSE_SPACE, NR_VALUES };

static const char *const values[NR_VALUES][2] = {
	[ALLOC_OBJECTS] = {"alloc_objects", "count"},
	[ALLOC_SPACE] = {"alloc_space", "bytes"},
	[INUSE_OBJECTS] = {"inuse_objects", "count"},
	[INUSE_SPACE] = {"inuse_space", "bytes"},
};

struct string {
	uint64_t key; /* a hash of the text, moved on where two have the same */
	int64_t index;
};

struct location {
	uint64_t key; /* address */
	uint64_t id;
};

struct writer {
	const struct kf_prof *prof;
	Kf__Pprof__Profile p;
	struct kf_map strings;
	struct kf_map locations;
	struct kf_map functions; /* by the string of the name, plus 1 */
};

/* Room for one more; all that is here is freed by protobuf-c. */
static void *grow(void *list, size_t nr, size_t size)
{
	void *more = list;

	if (!(nr & (nr - 1)))
		more = realloc(list, (nr ? 2 * nr : 1) * size);
	if (more)
		return more;
	kf_error("out of memory");
	exit(KF_EXIT_FAILED);
}

#define APPEND(p, field, value)                                                \
	do {                                                                   \
		(p)->field =                                                   \
			grow((p)->field, (p)->n_##field, sizeof(*(p)->field)); \
		(p)->field[(p)->n_##field++] = (value);                        \
	} while (0)

static uint64_t hash(const char *text)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h ? h : 1;
}

static int64_t string(struct writer *w, const char *raw)
{
	char text[4096], *entry;
	int64_t index;
	bool is_new;

	kf_escape(text, sizeof(text), raw);
	for (uint64_t key = hash(text);; key = key + 1 ? key + 1 : 1) {
		entry = (char *)kf_entry(&w->strings, key, &is_new) +
			offsetof(struct string, index);
		if (is_new)
			break;
		memcpy(&index, entry, sizeof(index));
		if (!strcmp(w->p.string[index], text))
			return index;
	}
	index = (int64_t)w->p.n_string;
	memcpy(entry, &index, sizeof(index));
	APPEND(&w->p, string, kf_format("%s", text));
	return index;
}

static uint64_t function(struct writer *w, const struct kf_frame *f)
{
	int64_t name = string(w, f->function);
	Kf__Pprof__Function *message;
	uint64_t id;
	bool is_new;
	char *entry =
		(char *)kf_entry(&w->functions, (uint64_t)name + 1, &is_new) +
		offsetof(struct location, id);

	if (!is_new) {
		memcpy(&id, entry, sizeof(id));
		return id;
	}
	message = kf_alloc(1, sizeof(*message));
	kf__pprof__function__init(message);
	message->id = id = w->p.n_function + 1;
	message->name = message->system_name = name;
	message->file = f->file ? string(w, f->file) : 0;
	memcpy(entry, &id, sizeof(id));
	APPEND(&w->p, function, message);
	return id;
}

/* The location of the call whose frames begin at @f: some may be inlined. */
static uint64_t location(struct writer *w, const struct kf_frame *const *f,
			 size_t nr)
{
	Kf__Pprof__Location *message;
	uint64_t id;
	bool is_new;
	char *entry =
		(char *)kf_entry(&w->locations,
				 f[0]->address ? f[0]->address : 1, &is_new) +
		offsetof(struct location, id);

	if (!is_new) {
		memcpy(&id, entry, sizeof(id));
		return id;
	}
	message = kf_alloc(1, sizeof(*message));
	kf__pprof__location__init(message);
	message->id = id = w->p.n_location + 1;
	message->mapping = (uint64_t)(f[0]->module + 1);
	message->address = f[0]->address - 1;
	for (size_t i = 0; i < nr; i++) {
		Kf__Pprof__Line *line = kf_alloc(1, sizeof(*line));

		kf__pprof__line__init(line);
		line->function = function(w, f[i]);
		line->line = f[i]->line;
		APPEND(message, line, line);
	}
	memcpy(entry, &id, sizeof(id));
	APPEND(&w->p, location, message);
	return id;
}

static void label(struct writer *w, Kf__Pprof__Sample *s, const char *key,
		  const char *str, int64_t num)
{
	Kf__Pprof__Label *message = kf_alloc(1, sizeof(*message));

	kf__pprof__label__init(message);
	message->key = string(w, key);
	message->str = str ? string(w, str) : 0;
	message->num = num;
	APPEND(s, label, message);
}

static void labels(struct writer *w, Kf__Pprof__Sample *s,
		   const struct kf_site *site)
{
	char comm[17];

	kf_profile_thread_name(&w->prof->profile, site->stack->tid, comm);
	if (site->tag[0])
		label(w, s, "tag", site->tag, 0);
	if (site->stack->tid)
		label(w, s, "tid", NULL, site->stack->tid);
	if (comm[0])
		label(w, s, "comm", comm, 0);
}

static void sample(struct writer *w, const struct kf_site *site)
{
	const struct kf_profile_count *c = &site->now;
	uint64_t blocks = c->allocated_blocks > c->freed_blocks
				  ? c->allocated_blocks - c->freed_blocks
				  : 0;
	uint64_t live = c->allocated > c->freed ? c->allocated - c->freed : 0;
	Kf__Pprof__Sample *s = kf_alloc(1, sizeof(*s));

	kf__pprof__sample__init(s);
	for (size_t i = 0; i < site->nr_frames;) {
		size_t nr = 1;

		while (site->frames[i + nr - 1]->inlined &&
		       i + nr < site->nr_frames)
			nr++;
		APPEND(s, location, location(w, &site->frames[i], nr));
		i += nr;
	}
	APPEND(s, value, (int64_t)(c->allocated_blocks / 256));
	APPEND(s, value, (int64_t)c->allocated);
	APPEND(s, value, (int64_t)(blocks / 256));
	APPEND(s, value, (int64_t)live);
	labels(w, s, site);
	APPEND(&w->p, sample, s);
}

static void build_id(const struct kf_profile_module *m,
		     char text[2 * KF_PROFILE_BUILD_ID + 1])
{
	text[0] = '\0';
	for (uint32_t i = 0; i < m->build_id_size; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", m->build_id[i]);
}

static void mapping(struct writer *w, size_t i)
{
	const struct kf_profile_module *m = w->prof->profile.modules[i];
	Kf__Pprof__Mapping *message = kf_alloc(1, sizeof(*message));
	char id[2 * KF_PROFILE_BUILD_ID + 1];

	build_id(m, id);
	kf__pprof__mapping__init(message);
	message->id = i + 1;
	message->begin = m->begin;
	message->end = m->end;
	message->offset = m->offset;
	message->file = string(w, kf_profile_path(m));
	message->build_id = string(w, id);
	message->has_functions = message->has_files = message->has_lines =
		message->has_inlined = true;
	APPEND(&w->p, mapping, message);
}

static Kf__Pprof__ValueType *value_type(struct writer *w, const char *type,
					const char *unit)
{
	Kf__Pprof__ValueType *message = kf_alloc(1, sizeof(*message));

	kf__pprof__value_type__init(message);
	message->type = string(w, type);
	message->unit = string(w, unit);
	return message;
}

static void fill(struct writer *w)
{
	const struct kf_profile *p = &w->prof->profile;

	string(w, ""); /* index 0 is for what is not there */
	for (int i = 0; i < NR_VALUES; i++)
		APPEND(&w->p, sample_type,
		       value_type(w, values[i][0], values[i][1]));
	w->p.period_type = value_type(w, "space", "bytes");
	w->p.default_sample_type = string(w, values[INUSE_SPACE][0]);
	w->p.time_ns = (int64_t)(p->head.real_ns + w->prof->time_ns);
	w->p.duration_ns = (int64_t)w->prof->time_ns;
	for (size_t i = 0; i < p->nr_modules; i++)
		mapping(w, i);
	for (size_t i = 0; i < w->prof->nr_sites; i++)
		sample(w, &w->prof->sites[i]);
}

/* zlib closes the descriptor that it is given. */
static int pack(const uint8_t *bytes, size_t size, FILE *out)
{
	int fd = fflush(out) ? -1 : dup(fileno(out));
	gzFile gz = fd < 0 ? NULL : gzdopen(fd, "wb");
	bool good = gz && gzfwrite(bytes, 1, size, gz) == size;

	if (!gz && fd >= 0)
		close(fd);
	if (gz && gzclose(gz) != Z_OK)
		good = false;
	if (good)
		return 0;
	kf_error("report: packing: %s", strerror(errno));
	return -1;
}

static int write_pprof(const struct kf_prof *prof, FILE *out)
{
	struct writer w = {
		.prof = prof,
		.strings = {.entry_size = sizeof(struct string)},
		.locations = {.entry_size = sizeof(struct location)},
		.functions = {.entry_size = sizeof(struct location)},
	};
	Kf__Pprof__Profile *p = kf_alloc(1, sizeof(*p));
	uint8_t *bytes;
	size_t size;
	int rc;

	kf__pprof__profile__init(&w.p);
	fill(&w);
	*p = w.p;
	size = kf__pprof__profile__get_packed_size(p);
	bytes = kf_alloc(size, 1);
	kf__pprof__profile__pack(p, bytes);
	rc = pack(bytes, size, out);
	free(bytes);
	kf__pprof__profile__free_unpacked(p, NULL);
	kf_map_release(&w.strings);
	kf_map_release(&w.locations);
	kf_map_release(&w.functions);
	return rc;
}

const struct kf_prof_format kf_prof_format_pprof = {"pb.gz", write_pprof};
