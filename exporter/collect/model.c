/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The page: a bump allocator, a list of families, and a hash table with an
 * entry for every sample name and every series, which detects duplicates.
 */
#include "config.h"

#include "exporter/collect/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE (64 * KF_KIB)
#define FIRST_BUCKETS 1024

struct kf_chunk {
	struct kf_chunk *next;
	size_t used;
	size_t size;
	_Alignas(16) char data[];
};

/*
 * A used name: a sample name if @labels is NULL, otherwise a series of @family.
 */
struct kf_entry {
	struct kf_entry *next;
	uint64_t hash;
	struct kf_family *family;
	const char *name;
	const char *labels;
};

void *kf_page_alloc(struct kf_page *page, size_t size)
{
	struct kf_chunk *c = page->chunks;
	size_t room = KF_MAX(size, CHUNK_SIZE);
	void *p;

	size = KF_ALIGN_UP(size, (size_t)16);
	if (!c || c->size - c->used < size) {
		room = KF_ALIGN_UP(room, (size_t)16);
		c = malloc(sizeof(*c) + room);
		if (!c) {
			page->failed = true;
			return NULL;
		}
		c->next = page->chunks;
		c->used = 0;
		c->size = room;
		page->chunks = c;
	}
	p = c->data + c->used;
	c->used += size;
	return memset(p, 0, size);
}

static char *page_strdup(struct kf_page *page, const char *s)
{
	size_t len = strlen(s) + 1;
	char *copy = kf_page_alloc(page, len);

	return copy ? memcpy(copy, s, len) : NULL;
}

/* Hash eight bytes at a time: a page has megabytes of names. */
static uint64_t hash_mix(uint64_t h, const char *s)
{
	size_t len = strlen(s);
	uint64_t word;

	for (; len >= sizeof(word); s += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, s, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	word = len;
	memcpy((char *)&word + 1, s, len);
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

static uint64_t series_hash(const char *name, const char *labels)
{
	uint64_t h = hash_mix(14695981039346656037ull, name);

	return labels ? hash_mix(~h, labels) : h;
}

static bool page_grow_table(struct kf_page *page)
{
	size_t nr = page->nr_buckets ? page->nr_buckets * 4 : FIRST_BUCKETS;
	struct kf_entry **table, *e;
	size_t i;

	if (page->nr_entries < page->nr_buckets)
		return true;
	table = calloc(nr, sizeof(struct kf_entry *));
	if (!table) {
		page->failed = true;
		return false;
	}
	for (i = 0; i < page->nr_buckets; i++) {
		while ((e = page->table[i])) {
			page->table[i] = e->next;
			e->next = table[e->hash % nr];
			table[e->hash % nr] = e;
		}
	}
	free(page->table);
	page->table = table;
	page->nr_buckets = nr;
	return true;
}

static struct kf_entry *page_find_entry(struct kf_page *page, uint64_t hash,
					const char *name, const char *labels)
{
	struct kf_entry *e;

	if (!page->nr_buckets)
		return NULL;
	for (e = page->table[hash % page->nr_buckets]; e; e = e->next) {
		if (e->hash != hash || strcmp(e->name, name) != 0)
			continue;
		if (!labels == !e->labels &&
		    (!labels || strcmp(e->labels, labels) == 0))
			return e;
	}
	return NULL;
}

static bool page_add_entry(struct kf_page *page, uint64_t hash,
			   struct kf_family *family, const char *name,
			   const char *labels)
{
	struct kf_entry *e;

	if (!page_grow_table(page))
		return false;
	e = kf_page_alloc(page, sizeof(*e));
	if (!e)
		return false;
	e->family = family;
	e->name = name;
	e->labels = labels;
	e->hash = hash;
	e->next = page->table[e->hash % page->nr_buckets];
	page->table[e->hash % page->nr_buckets] = e;
	page->nr_entries++;
	return true;
}

#define MAX_SAMPLE_NAMES 6

/* The suffixes that replace _total, or are added to a histogram's name. */
static const char *const sample_suffixes[][5] = {
	[KF_METRIC_COUNTER] = {"", "_created"},
	[KF_METRIC_GAUGE] = {NULL},
	[KF_METRIC_HISTOGRAM] = {"_bucket", "_sum", "_count", "_created"},
};

/* The sample names of a family in all formats, NULL-terminated. */
static bool family_sample_names(struct kf_page *page, const char *name,
				enum kf_metric_type type,
				const char *out[MAX_SAMPLE_NAMES])
{
	const char *const *suffix = sample_suffixes[type];
	size_t len = strlen(name), i;
	char *s;

	memset(out, 0, MAX_SAMPLE_NAMES * sizeof(out[0]));
	out[0] = page_strdup(page, name);
	if (!out[0])
		return false;
	if (type == KF_METRIC_COUNTER) {
		if (len < 7 || strcmp(name + len - 6, "_total") != 0)
			return false;
		len -= 6;
	}
	for (i = 0; suffix[i]; i++) {
		s = kf_page_alloc(page, len + 9);
		if (!s)
			return false;
		snprintf(s, len + 9, "%.*s%s", (int)len, name, suffix[i]);
		out[i + 1] = s;
	}
	return true;
}

static const char *family_unit(const char *name, enum kf_metric_type type,
			       const char *unit)
{
	size_t len = strlen(name), n = strlen(unit);

	if (type == KF_METRIC_COUNTER)
		len -= 6;
	if (!n || len <= n + 1 || name[len - n - 1] != '_' ||
	    strncmp(name + len - n, unit, n) != 0)
		return "";
	return unit;
}

static struct kf_family *page_begin_family(struct kf_page *page,
					   const char *name,
					   enum kf_metric_type type,
					   const char *unit, const char *help)
{
	const char *names[MAX_SAMPLE_NAMES];
	struct kf_family *f;
	unsigned int i;

	if (!family_sample_names(page, name, type, names)) {
		page->refused++;
		return NULL;
	}
	for (i = 0; names[i]; i++) {
		if (page_find_entry(page, series_hash(names[i], NULL), names[i],
				    NULL)) {
			page->refused++;
			return NULL;
		}
	}
	f = kf_page_alloc(page, sizeof(*f));
	if (!f)
		return NULL;
	f->name = names[0];
	f->help = page_strdup(page, help);
	f->unit = page_strdup(page, family_unit(name, type, unit));
	f->type = type;
	if (!f->help || !f->unit)
		return NULL;
	for (i = 0; names[i]; i++) {
		if (!page_add_entry(page, series_hash(names[i], NULL), f,
				    names[i], NULL))
			return NULL;
	}
	if (page->last)
		page->last->next = f;
	else
		page->first = f;
	page->last = f;
	return f;
}

struct kf_family *kf_page_family(struct kf_page *page, const char *name,
				 enum kf_metric_type type, const char *unit,
				 const char *help)
{
	struct kf_entry *e =
		page_find_entry(page, series_hash(name, NULL), name, NULL);

	if (!e)
		return page_begin_family(page, name, type, unit, help);
	if (strcmp(e->family->name, name) == 0 && e->family->type == type)
		return e->family;
	page->refused++;
	return NULL;
}

const char *kf_page_labels(struct kf_page *page, const struct kf_label *label,
			   unsigned int nr)
{
	struct kf_buf b = {0};
	const char *text = NULL;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		kf_buf_str(&b, i ? "," : "");
		kf_buf_str(&b, label[i].name);
		kf_buf_str(&b, "=\"");
		kf_buf_escape(&b, label[i].value, true);
		kf_buf_str(&b, "\"");
	}
	if (b.failed)
		page->failed = true;
	else if (b.len)
		text = page_strdup(page, b.data);
	kf_buf_free(&b);
	return text ? text : "";
}

const char *kf_page_join(struct kf_page *page, const char *a, const char *b)
{
	size_t nr_a = strlen(a), nr_b = strlen(b);
	char *text;

	if (!nr_a || !nr_b)
		return nr_a ? a : b;
	text = kf_page_alloc(page, nr_a + nr_b + 2);
	if (!text)
		return "";
	memcpy(text, a, nr_a);
	text[nr_a] = ',';
	memcpy(text + nr_a + 1, b, nr_b + 1);
	return text;
}

/* Undo kf_buf_escape(): copy up to the closing quote, and return it. */
static const char *label_unescape(char *to, const char *from)
{
	for (; *from && *from != '"'; from++) {
		bool escaped = *from == '\\' && from[1];

		from += escaped;
		*to++ = escaped && *from == 'n' ? '\n' : *from;
	}
	return from;
}

bool kf_labels_next(struct kf_page *page, const char **text,
		    struct kf_label *label)
{
	const char *eq = strchr(*text, '='), *end;
	char *name, *value;

	if (!eq)
		return false;
	name = kf_page_alloc(page, (size_t)(eq - *text) + 1);
	value = kf_page_alloc(page, strlen(eq));
	if (!name || !value)
		return false;
	memcpy(name, *text, (size_t)(eq - *text));
	end = label_unescape(value, eq + 2);
	*text = end + (*end == '"');
	*text += **text == ',';
	*label = (struct kf_label){name, value};
	return true;
}

static struct kf_series *
family_add_series(struct kf_page *page, struct kf_family *f, const char *labels)
{
	struct kf_series *s;
	uint64_t hash;

	if (!f)
		return NULL;
	hash = series_hash(f->name, labels);
	if (page_find_entry(page, hash, f->name, labels)) {
		page->refused++;
		return NULL;
	}
	s = kf_page_alloc(page, sizeof(*s));
	if (!s || !page_add_entry(page, hash, f, f->name, labels))
		return NULL;
	s->labels = labels;
	if (f->last)
		f->last->next = s;
	else
		f->first = s;
	f->last = s;
	return s;
}

struct kf_series *kf_family_int(struct kf_page *page, struct kf_family *family,
				const char *labels, uint64_t value)
{
	struct kf_series *s = family_add_series(page, family, labels);

	if (s) {
		s->kind = KF_VALUE_INT;
		s->integer = value;
	}
	return s;
}

struct kf_series *kf_family_double(struct kf_page *page,
				   struct kf_family *family, const char *labels,
				   double value)
{
	struct kf_series *s = family_add_series(page, family, labels);

	if (s) {
		s->kind = KF_VALUE_DOUBLE;
		s->number = value;
	}
	return s;
}

static const uint64_t *page_copy_counts(struct kf_page *page,
					const uint64_t *count, unsigned int nr)
{
	uint64_t *copy = kf_page_alloc(page, nr * sizeof(*copy));

	if (copy && nr)
		memcpy(copy, count, nr * sizeof(*copy));
	return copy;
}

struct kf_series *kf_family_histogram(struct kf_page *page,
				      struct kf_family *family,
				      const char *labels,
				      const struct kf_histogram *value)
{
	const struct kf_native *native = &value->native;
	const uint64_t *count =
		page_copy_counts(page, value->count, value->nr + 1);
	const uint64_t *of_native =
		page_copy_counts(page, native->count, native->nr);
	struct kf_series *s;

	if (!count || !of_native)
		return NULL;
	s = family_add_series(page, family, labels);
	if (!s)
		return NULL;
	s->kind = KF_VALUE_HISTOGRAM;
	s->histogram = *value;
	s->histogram.count = count;
	s->histogram.native.count = of_native;
	return s;
}

bool kf_native_next(const struct kf_native *native, struct kf_native_run *span)
{
	unsigned int end = span->first + span->length, i = end;
	bool is_first = !span->length;

	while (i < native->nr && !native->count[i])
		i++;
	span->offset = (int)(i - end) + (is_first ? native->first : 0);
	span->first = i;
	while (i < native->nr && native->count[i])
		i++;
	span->length = i - span->first;
	return span->length;
}

void kf_series_created(struct kf_series *series, uint64_t ns)
{
	if (series)
		series->created_ns = ns;
}

void kf_page_release(struct kf_page *page)
{
	struct kf_chunk *c;

	while ((c = page->chunks)) {
		page->chunks = c->next;
		free(c);
	}
	free(page->table);
	*page = (struct kf_page){0};
}
