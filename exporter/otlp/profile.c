/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile of pprof's format as one of OTLP's: the same tables by index in
 * place of id, with an empty entry 0. Each of the four values of a sample is a
 * profile of its own, as OTLP's have one.
 */
#include "config.h"

#include "exporter/otlp/message.h"
#include "reader/pprof.h"
#include "src/reader/pprof.pb-c.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAX_PPROF ((size_t)64 << 20) /* bytes */
#define ID_BYTES 16

struct converting {
	struct kf_page page; /* owns all but @from */
	Kf__Pprof__Profile *from;
	Kf__Otlp__Dictionary *to;
};

/* Unpack gzip; free the result. */
static uint8_t *profile_unzip(const struct kf_buf *b, size_t *size)
{
	z_stream z = {.next_in = (Bytef *)b->data, .avail_in = (uInt)b->len};
	size_t room = 8 * b->len + 4096;
	uint8_t *bytes = NULL;
	int rc = inflateInit2(&z, 15 + 16);

	while (rc == Z_OK) {
		uint8_t *more = room <= MAX_PPROF ? realloc(bytes, room) : NULL;

		if (!more)
			break;
		bytes = more;
		z.next_out = bytes + z.total_out;
		z.avail_out = (uInt)(room - z.total_out);
		rc = inflate(&z, Z_FINISH);
		if (rc == Z_BUF_ERROR && !z.avail_out)
			rc = Z_OK;
		room *= 2;
	}
	*size = z.total_out;
	inflateEnd(&z);
	if (rc == Z_STREAM_END)
		return bytes;
	free(bytes);
	return NULL;
}

/* Index of a string of the profile; those are the first of the dictionary. */
static int32_t profile_string(const struct converting *c, int64_t index)
{
	return index >= 0 && index < (int64_t)c->from->n_string ? (int32_t)index
								: 0;
}

static const char *profile_text_of(const struct converting *c, int64_t index)
{
	return c->from->string[profile_string(c, index)];
}

/* Append a string that the profile does not have. */
static int32_t profile_new_string(struct converting *c, const char *text)
{
	if (!OTLP_ADD(&c->page, c->to, string, (char *)(uintptr_t)text))
		return 0;
	return (int32_t)(c->to->n_string - 1);
}

/* An attribute of the table, by the names of its key and unit. */
static int32_t profile_attribute(struct converting *c, int32_t key,
				 const char *text, int64_t number, int32_t unit)
{
	Kf__Otlp__TableAttribute *a =
		OTLP_NEW(&c->page, Kf__Otlp__TableAttribute);
	Kf__Otlp__Value *v = OTLP_NEW(&c->page, Kf__Otlp__Value);

	if (!a || !v)
		return 0;
	kf__otlp__table_attribute__init(a);
	kf__otlp__value__init(v);
	a->key = key;
	a->unit = unit;
	a->value = v;
	v->kind_case = text ? KF__OTLP__VALUE__KIND_TEXT
			    : KF__OTLP__VALUE__KIND_NUMBER;
	if (text)
		v->text = (char *)(uintptr_t)text;
	else
		v->number = number;
	if (!OTLP_ADD(&c->page, c->to, attribute, a))
		return 0;
	return (int32_t)(c->to->n_attribute - 1);
}

/* An entry 0 of each table. */
static bool profile_begin(struct converting *c)
{
	struct kf_page *page = &c->page;
	Kf__Otlp__Dictionary *d = OTLP_NEW(page, Kf__Otlp__Dictionary);
	Kf__Otlp__Mapping *m = OTLP_NEW(page, Kf__Otlp__Mapping);
	Kf__Otlp__Location *l = OTLP_NEW(page, Kf__Otlp__Location);
	Kf__Otlp__Function *f = OTLP_NEW(page, Kf__Otlp__Function);
	Kf__Otlp__Link *k = OTLP_NEW(page, Kf__Otlp__Link);
	Kf__Otlp__TableAttribute *a = OTLP_NEW(page, Kf__Otlp__TableAttribute);
	Kf__Otlp__Stack *s = OTLP_NEW(page, Kf__Otlp__Stack);

	if (!d || !m || !l || !f || !k || !a || !s)
		return false;
	kf__otlp__dictionary__init(d);
	kf__otlp__mapping__init(m);
	kf__otlp__location__init(l);
	kf__otlp__function__init(f);
	kf__otlp__link__init(k);
	kf__otlp__table_attribute__init(a);
	kf__otlp__stack__init(s);
	c->to = d;
	for (size_t i = 0; i < c->from->n_string; i++) {
		if (!OTLP_ADD(page, d, string, c->from->string[i]))
			return false;
	}
	return OTLP_ADD(page, d, mapping, m) &&
	       OTLP_ADD(page, d, location, l) &&
	       OTLP_ADD(page, d, function, f) && OTLP_ADD(page, d, link, k) &&
	       OTLP_ADD(page, d, attribute, a) && OTLP_ADD(page, d, stack, s);
}

static bool profile_add_build_id(struct converting *c, Kf__Otlp__Mapping *m,
				 int32_t key, int64_t build_id)
{
	const char *text = profile_text_of(c, build_id);
	int32_t at;

	if (!*text)
		return true;
	at = profile_attribute(c, key, text, 0, 0);
	return OTLP_ADD(&c->page, m, attribute, at);
}

static bool profile_add_mappings(struct converting *c)
{
	int32_t key = profile_new_string(c, "process.executable.build_id.gnu");

	for (size_t i = 0; i < c->from->n_mapping; i++) {
		const Kf__Pprof__Mapping *from = c->from->mapping[i];
		Kf__Otlp__Mapping *m = OTLP_NEW(&c->page, Kf__Otlp__Mapping);

		if (!m)
			return false;
		kf__otlp__mapping__init(m);
		m->begin = from->begin;
		m->end = from->end;
		m->offset = from->offset;
		m->file = profile_string(c, from->file);
		if (!profile_add_build_id(c, m, key, from->build_id) ||
		    !OTLP_ADD(&c->page, c->to, mapping, m))
			return false;
	}
	return true;
}

static bool profile_add_functions(struct converting *c)
{
	for (size_t i = 0; i < c->from->n_function; i++) {
		const Kf__Pprof__Function *from = c->from->function[i];
		Kf__Otlp__Function *f = OTLP_NEW(&c->page, Kf__Otlp__Function);

		if (!f)
			return false;
		kf__otlp__function__init(f);
		f->name = profile_string(c, from->name);
		f->system_name = profile_string(c, from->system_name);
		f->file = profile_string(c, from->file);
		f->start_line = from->start_line;
		if (!OTLP_ADD(&c->page, c->to, function, f))
			return false;
	}
	return true;
}

/* Ids of a profile are 1, 2, ... in the order of its lists. */
static int32_t profile_index(uint64_t id, size_t nr)
{
	return id <= nr ? (int32_t)id : 0;
}

static bool profile_add_lines(struct converting *c, Kf__Otlp__Location *to,
			      const Kf__Pprof__Location *from)
{
	for (size_t i = 0; i < from->n_line; i++) {
		Kf__Otlp__Line *l = OTLP_NEW(&c->page, Kf__Otlp__Line);

		if (!l)
			return false;
		kf__otlp__line__init(l);
		l->function = profile_index(from->line[i]->function,
					    c->from->n_function);
		l->line = from->line[i]->line;
		if (!OTLP_ADD(&c->page, to, line, l))
			return false;
	}
	return true;
}

static bool profile_add_locations(struct converting *c)
{
	for (size_t i = 0; i < c->from->n_location; i++) {
		const Kf__Pprof__Location *from = c->from->location[i];
		Kf__Otlp__Location *l = OTLP_NEW(&c->page, Kf__Otlp__Location);

		if (!l)
			return false;
		kf__otlp__location__init(l);
		l->mapping = profile_index(from->mapping, c->from->n_mapping);
		l->address = from->address;
		if (!profile_add_lines(c, l, from) ||
		    !OTLP_ADD(&c->page, c->to, location, l))
			return false;
	}
	return true;
}

static int32_t profile_label(struct converting *c,
			     const Kf__Pprof__Label *label)
{
	return profile_attribute(
		c, profile_string(c, label->key),
		label->str ? profile_text_of(c, label->str) : NULL, label->num,
		profile_string(c, label->num_unit));
}

static bool profile_add_calls(struct converting *c, Kf__Otlp__Stack *s,
			      const Kf__Pprof__Sample *from)
{
	for (size_t i = 0; i < from->n_location; i++) {
		int32_t at =
			profile_index(from->location[i], c->from->n_location);

		if (!OTLP_ADD(&c->page, s, location, at))
			return false;
	}
	return true;
}

static bool profile_add_labels(struct converting *c, Kf__Otlp__Sample *to,
			       const Kf__Pprof__Sample *from)
{
	for (size_t i = 0; i < from->n_label; i++) {
		int32_t at = profile_label(c, from->label[i]);

		if (!OTLP_ADD(&c->page, to, attribute, at))
			return false;
	}
	return true;
}

/* Stacks and attributes of samples, which the profiles of all values share. */
static bool profile_add_stacks(struct converting *c, Kf__Otlp__Sample *shared)
{
	for (size_t i = 0; i < c->from->n_sample; i++) {
		const Kf__Pprof__Sample *from = c->from->sample[i];
		Kf__Otlp__Stack *s = OTLP_NEW(&c->page, Kf__Otlp__Stack);
		Kf__Otlp__Sample *to = &shared[i];

		if (!s)
			return false;
		kf__otlp__stack__init(s);
		kf__otlp__sample__init(to);
		if (!profile_add_calls(c, s, from) ||
		    !profile_add_labels(c, to, from))
			return false;
		to->stack = (int32_t)c->to->n_stack;
		if (!OTLP_ADD(&c->page, c->to, stack, s))
			return false;
	}
	return true;
}

static Kf__Otlp__ValueType *profile_type(struct converting *c,
					 const Kf__Pprof__ValueType *from)
{
	Kf__Otlp__ValueType *t = OTLP_NEW(&c->page, Kf__Otlp__ValueType);

	if (!t)
		return NULL;
	kf__otlp__value_type__init(t);
	t->type = profile_string(c, from->type);
	t->unit = profile_string(c, from->unit);
	return t;
}

static bool profile_add_samples(struct converting *c, Kf__Otlp__Profile *p,
				const Kf__Otlp__Sample *shared, size_t value)
{
	for (size_t i = 0; i < c->from->n_sample; i++) {
		const Kf__Pprof__Sample *from = c->from->sample[i];
		Kf__Otlp__Sample *to;

		if (value >= from->n_value || !from->value[value])
			continue;
		to = OTLP_NEW(&c->page, Kf__Otlp__Sample);
		if (!to)
			return false;
		*to = shared[i];
		if (!OTLP_ADD(&c->page, to, value, from->value[value]) ||
		    !OTLP_ADD(&c->page, p, sample, to))
			return false;
	}
	return true;
}

/* The profile of one of the values. */
static Kf__Otlp__Profile *
profile_of(struct converting *c, const Kf__Otlp__Sample *shared, size_t value)
{
	Kf__Otlp__Profile *p = OTLP_NEW(&c->page, Kf__Otlp__Profile);
	uint8_t *id = kf_page_alloc(&c->page, ID_BYTES);

	if (!p || !id || gnutls_rnd(GNUTLS_RND_NONCE, id, ID_BYTES) != 0)
		return NULL;
	kf__otlp__profile__init(p);
	p->id = (ProtobufCBinaryData){ID_BYTES, id};
	p->time_ns = (uint64_t)c->from->time_ns;
	p->duration_ns = (uint64_t)c->from->duration_ns;
	p->sample_type = profile_type(c, c->from->sample_type[value]);
	if (c->from->period_type)
		p->period_type = profile_type(c, c->from->period_type);
	p->period = c->from->period;
	return p->sample_type && profile_add_samples(c, p, shared, value)
		       ? p
		       : NULL;
}

static bool profile_add_values(struct converting *c,
			       Kf__Otlp__ScopeProfiles *to)
{
	Kf__Otlp__Sample *shared =
		kf_page_alloc(&c->page, c->from->n_sample * sizeof(*shared));

	if (!shared || !profile_add_stacks(c, shared))
		return false;
	for (size_t i = 0; i < c->from->n_sample_type; i++) {
		Kf__Otlp__Profile *p = profile_of(c, shared, i);

		if (!p || !OTLP_ADD(&c->page, to, profile, p))
			return false;
	}
	return true;
}

static struct kf_post_request *
profile_convert(struct converting *c, const char *name, const char *container)
{
	Kf__Otlp__ProfilesRequest q = KF__OTLP__PROFILES_REQUEST__INIT;
	Kf__Otlp__ResourceProfiles r = KF__OTLP__RESOURCE_PROFILES__INIT;
	Kf__Otlp__ScopeProfiles s = KF__OTLP__SCOPE_PROFILES__INIT;

	if (!profile_begin(c) || !profile_add_mappings(c) ||
	    !profile_add_functions(c) || !profile_add_locations(c) ||
	    !profile_add_values(c, &s))
		return NULL;
	s.scope = kf_otlp_scope(&c->page);
	r.resource = kf_otlp_resource(&c->page, name, container);
	if (!s.scope || !r.resource || !OTLP_ADD(&c->page, &r, scope, &s) ||
	    !OTLP_ADD(&c->page, &q, resource, &r) || c->page.failed)
		return NULL;
	q.dictionary = c->to;
	return kf_otlp_pack(&q.base, c->from->n_sample);
}

struct kf_post_request *kf_otlp_profile(const struct kf_buf *pprof,
					const char *name, const char *container)
{
	struct converting c = {0};
	struct kf_post_request *q = NULL;
	size_t size = 0;
	uint8_t *bytes = profile_unzip(pprof, &size);

	if (bytes)
		c.from = kf__pprof__profile__unpack(NULL, size, bytes);
	free(bytes);
	if (c.from && c.from->n_sample && c.from->n_string)
		q = profile_convert(&c, name, container);
	if (c.from)
		kf__pprof__profile__free_unpacked(c.from, NULL);
	kf_page_release(&c.page);
	return q;
}
