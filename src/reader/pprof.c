/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The format of pprof: see pprof.h.
 */
#include "config.h"

#include "reader/pprof.h"

#include "reader/map.h"
#include "reader/reader.h"
#include "src/reader/pprof.pb-c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char *const pprof_values[KF_PPROF_NR_VALUES][2] = {
	[KF_PPROF_ALLOC_OBJECTS] = {"alloc_objects", "count"},
	[KF_PPROF_ALLOC_SPACE] = {"alloc_space", "bytes"},
	[KF_PPROF_INUSE_OBJECTS] = {"inuse_objects", "count"},
	[KF_PPROF_INUSE_SPACE] = {"inuse_space", "bytes"},
};

/* Keys: a string's hash, calls, or the string indices of a name and a file. */
struct known {
	uint64_t key;
	uint64_t id;
};

struct kf_pprof {
	Kf__Pprof__Profile p;
	struct kf_map strings;
	struct kf_map locations;
	struct kf_map functions;
	bool in_use; /* a sample is of live memory */
	bool failed; /* out of memory */
};

/* Makes room for one more element; protobuf-c frees the array. */
static bool pprof_grow(struct kf_pprof *w, void *list, size_t nr, size_t size)
{
	void **at = list, *more;

	if (nr & (nr - 1))
		return true;
	more = realloc(*at, (nr ? 2 * nr : 1) * size);
	if (more)
		*at = more;
	else
		w->failed = true;
	return more;
}

/* False: nothing was appended. */
#define APPEND(w, p, field, value)                                          \
	(pprof_grow(w, &(p)->field, (p)->n_##field, sizeof(*(p)->field)) && \
	 ((p)->field[(p)->n_##field++] = (value), true))

/* A message, initialized; NULL when out of memory. */
static void *pprof_make(struct kf_pprof *w,
			const ProtobufCMessageDescriptor *descriptor)
{
	void *m = calloc(1, descriptor->sizeof_message);

	if (m)
		protobuf_c_message_init(descriptor, m);
	else
		w->failed = true;
	return m;
}

/* The id of @key; 0 if there is none. */
static uint64_t pprof_look_up(const struct kf_map *map, uint64_t key)
{
	const char *entry = kf_map_find(map, key);
	uint64_t id = 0;

	if (entry)
		memcpy(&id, entry + offsetof(struct known, id), sizeof(id));
	return id;
}

static void pprof_remember(struct kf_pprof *w, struct kf_map *map, uint64_t key,
			   uint64_t id)
{
	char *entry = kf_map_add(map, key);

	if (entry)
		memcpy(entry + offsetof(struct known, id), &id, sizeof(id));
	else
		w->failed = true;
}

static uint64_t pprof_hash(const char *text)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h ? h : 1;
}

/* The index of a string. "", the first string, is never looked up */
static int64_t pprof_string(struct kf_pprof *w, const char *raw)
{
	char text[4096], *copy;
	uint64_t key, index;

	if (!raw[0])
		return 0;
	kf_escape(text, sizeof(text), raw);
	/* strings with the same hash use the next key */
	for (key = pprof_hash(text); (index = pprof_look_up(&w->strings, key));
	     key = key + 1 ? key + 1 : 1) {
		if (!strcmp(w->p.string[index], text))
			return (int64_t)index;
	}
	index = w->p.n_string;
	copy = strdup(text);
	if (!copy || !APPEND(w, &w->p, string, copy)) {
		w->failed = true;
		free(copy);
		return 0;
	}
	pprof_remember(w, &w->strings, key, index);
	return (int64_t)index;
}

/* Functions of one name in different files are different functions. */
static uint64_t pprof_function(struct kf_pprof *w, const struct kf_frame *frame)
{
	int64_t name = pprof_string(w, frame->function);
	int64_t file = frame->file ? pprof_string(w, frame->file) : 0;
	uint64_t key = (uint64_t)file << 32 | ((uint64_t)name + 1);
	uint64_t id = pprof_look_up(&w->functions, key);
	Kf__Pprof__Function *f;

	if (id)
		return id;
	f = pprof_make(w, &kf__pprof__function__descriptor);
	if (!f || !APPEND(w, &w->p, function, f)) {
		free(f);
		return 0;
	}
	f->id = id = w->p.n_function;
	f->name = f->system_name = name;
	f->file = file;
	pprof_remember(w, &w->functions, key, id);
	return id;
}

void kf_pprof_process(struct kf_pprof *w)
{
	kf_map_release(&w->locations);
}

/* Of its first call and the number: pointers have less than 58 bits. */
static uint64_t pprof_place(const struct kf_frame *frame, size_t nr)
{
	return (uint64_t)(uintptr_t)frame * KF_PROFILE_CALLS + nr - 1;
}

uint64_t kf_pprof_known(const struct kf_pprof *w, const struct kf_frame *frame,
			size_t nr)
{
	return pprof_look_up(&w->locations, pprof_place(frame, nr));
}

uint64_t kf_pprof_location(struct kf_pprof *w, const struct kf_frame *frame,
			   size_t nr, uint64_t mapping)
{
	Kf__Pprof__Location *l =
		pprof_make(w, &kf__pprof__location__descriptor);

	if (!l || !APPEND(w, &w->p, location, l)) {
		free(l);
		return 0;
	}
	l->id = w->p.n_location;
	l->mapping = mapping;
	/* the call lies before the address that it returns to */
	l->address = frame->address - 1;
	for (size_t i = 0; i < nr && (nr > 1 || frame->named); i++) {
		Kf__Pprof__Line *message =
			pprof_make(w, &kf__pprof__line__descriptor);

		if (!message || !APPEND(w, l, line, message)) {
			free(message);
			break;
		}
		message->function = pprof_function(w, &frame[i]);
		message->line = frame[i].line;
	}
	pprof_remember(w, &w->locations, pprof_place(frame, nr), l->id);
	return l->id;
}

static int64_t pprof_difference(uint64_t a, uint64_t b)
{
	return a > b ? (int64_t)(a - b) : 0;
}

void kf_pprof_sample(struct kf_pprof *w, const uint64_t *location, size_t nr,
		     const struct kf_pprof_count *c)
{
	const int64_t value[KF_PPROF_NR_VALUES] = {
		[KF_PPROF_ALLOC_OBJECTS] =
			(int64_t)(c->allocated_blocks / KF_STATS_BLOCK_PARTS),
		[KF_PPROF_ALLOC_SPACE] = (int64_t)c->allocated,
		[KF_PPROF_INUSE_OBJECTS] =
			pprof_difference(c->allocated_blocks, c->freed_blocks) /
			KF_STATS_BLOCK_PARTS,
		[KF_PPROF_INUSE_SPACE] =
			pprof_difference(c->allocated, c->freed),
	};
	Kf__Pprof__Sample *s = pprof_make(w, &kf__pprof__sample__descriptor);

	w->in_use |= value[KF_PPROF_INUSE_SPACE] > 0;
	if (!s || !APPEND(w, &w->p, sample, s)) {
		free(s);
		return;
	}
	for (size_t i = 0; i < nr; i++) {
		if (!APPEND(w, s, location, location[i]))
			return;
	}
	for (size_t i = 0; i < KF_PPROF_NR_VALUES; i++) {
		if (!APPEND(w, s, value, value[i]))
			return;
	}
}

void kf_pprof_label(struct kf_pprof *w, const char *key, const char *str,
		    int64_t num)
{
	Kf__Pprof__Label *l;

	if (w->failed || !w->p.n_sample)
		return;
	l = pprof_make(w, &kf__pprof__label__descriptor);
	if (!l || !APPEND(w, w->p.sample[w->p.n_sample - 1], label, l)) {
		free(l);
		return;
	}
	l->key = pprof_string(w, key);
	l->str = str ? pprof_string(w, str) : 0;
	l->num = num;
}

void kf_pprof_comment(struct kf_pprof *w, const char *text)
{
	int64_t index = pprof_string(w, text);

	APPEND(w, &w->p, comment, index);
}

static int64_t build_id(struct kf_pprof *w, const struct kf_pprof_mapping *m)
{
	char text[129] = "";

	for (size_t i = 0; i < m->build_id_size && i < sizeof(text) / 2; i++)
		snprintf(text + 2 * i, 3, "%02x", m->build_id[i]);
	return pprof_string(w, text);
}

uint64_t kf_pprof_mapping(struct kf_pprof *w, const struct kf_pprof_mapping *m)
{
	Kf__Pprof__Mapping *message =
		pprof_make(w, &kf__pprof__mapping__descriptor);

	if (!message || !APPEND(w, &w->p, mapping, message)) {
		free(message);
		return 0;
	}
	message->id = w->p.n_mapping;
	message->begin = m->begin;
	message->end = m->end;
	message->offset = m->offset;
	message->file = pprof_string(w, m->path);
	message->build_id = build_id(w, m);
	return message->id;
}

static Kf__Pprof__ValueType *value_type(struct kf_pprof *w, const char *type,
					const char *unit)
{
	Kf__Pprof__ValueType *v =
		pprof_make(w, &kf__pprof__value_type__descriptor);

	if (v) {
		v->type = pprof_string(w, type);
		v->unit = pprof_string(w, unit);
	}
	return v;
}

/* Index 0 means "none". */
static void fill_head(struct kf_pprof *w)
{
	Kf__Pprof__ValueType *type;
	char *nothing = strdup("");

	if (!nothing || !APPEND(w, &w->p, string, nothing)) {
		free(nothing);
		w->failed = true;
		return;
	}
	for (int i = 0; i < KF_PPROF_NR_VALUES; i++) {
		type = value_type(w, pprof_values[i][0], pprof_values[i][1]);
		if (!type || !APPEND(w, &w->p, sample_type, type)) {
			free(type);
			return;
		}
	}
	w->p.period_type = value_type(w, "space", "bytes");
	kf_pprof_comment(w, "konfiscator " PACKAGE_VERSION
			    ": estimates from samples; inuse is live memory, "
			    "alloc all allocations since sampling began");
}

struct kf_pprof *kf_pprof_begin(uint64_t real_ns, uint64_t duration_ns)
{
	struct kf_pprof *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->strings.entry_size = sizeof(struct known);
	w->locations.entry_size = sizeof(struct known);
	w->functions.entry_size = sizeof(struct known);
	kf__pprof__profile__init(&w->p);
	w->p.time_ns = (int64_t)real_ns;
	w->p.duration_ns = (int64_t)duration_ns;
	fill_head(w);
	return w;
}

/* zlib's compressor, in gzip format. */
static char *pprof_zip(uint8_t *bytes, size_t size, size_t *zipped)
{
	z_stream z = {.next_in = bytes, .avail_in = (uInt)size};
	size_t room;
	char *out;

	if (size > UINT32_MAX ||
	    deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	room = deflateBound(&z, size);
	out = malloc(room);
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)room;
	if (out && deflate(&z, Z_FINISH) != Z_STREAM_END) {
		free(out);
		out = NULL;
	}
	*zipped = room - z.avail_out;
	deflateEnd(&z);
	return out;
}

/*
 * Programs look for the names of a mapping unless its flags say that it has
 * them. The flags are for all its locations.
 */
static void set_flags(struct kf_pprof *w)
{
	bool *nameless = calloc(w->p.n_mapping + 1, sizeof(*nameless));

	w->failed |= !nameless;
	for (size_t i = 0; nameless && i < w->p.n_location; i++) {
		const Kf__Pprof__Location *l = w->p.location[i];
		Kf__Pprof__Mapping *m;

		if (!l->mapping || l->mapping > w->p.n_mapping)
			continue;
		m = w->p.mapping[l->mapping - 1];
		nameless[l->mapping] |= !l->n_line;
		m->has_functions |= l->n_line > 0;
		for (size_t k = 0; k < l->n_line; k++)
			m->has_files |= l->line[k]->line > 0;
	}
	for (size_t i = 0; nameless && i < w->p.n_mapping; i++) {
		Kf__Pprof__Mapping *m = w->p.mapping[i];

		m->has_functions &= !nameless[i + 1];
		m->has_files &= m->has_functions;
		m->has_lines = m->has_inlined = m->has_files;
	}
	free(nameless);
}

static void fill_tail(struct kf_pprof *w)
{
	enum kf_pprof_value usual =
		w->in_use ? KF_PPROF_INUSE_SPACE : KF_PPROF_ALLOC_SPACE;

	set_flags(w);
	w->p.default_sample_type = pprof_string(w, pprof_values[usual][0]);
}

char *kf_pprof_end(struct kf_pprof *w, size_t *size)
{
	Kf__Pprof__Profile *p = malloc(sizeof(*p));
	uint8_t *bytes = NULL;
	char *out = NULL;
	size_t len;

	/* protobuf-c frees a message together with the struct itself */
	if (!p)
		return NULL;
	fill_tail(w);
	*p = w->p;
	if (!w->failed) {
		len = kf__pprof__profile__get_packed_size(p);
		bytes = malloc(len);
		if (bytes) {
			kf__pprof__profile__pack(p, bytes);
			out = pprof_zip(bytes, len, size);
		}
	}
	free(bytes);
	kf__pprof__profile__free_unpacked(p, NULL);
	kf_map_release(&w->strings);
	kf_map_release(&w->locations);
	kf_map_release(&w->functions);
	free(w);
	return out;
}
