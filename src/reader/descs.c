/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The descriptions of a file's counters: each name, label and text is checked,
 * as it may become part of a metric. A table with the same bytes as the one
 * before costs one comparison.
 */
#include "reader/internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int counters_by_name(const void *a, const void *b)
{
	const struct kf_counter *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/*
 * Names must be unique; they are hashed, as comparing all pairs would take
 * long.
 */
static bool names_differ(const struct kf_snapshot *s)
{
	const struct kf_counter **sorted =
		calloc((size_t)s->nr_counters + 1, sizeof(*sorted));
	unsigned int i = 1;

	if (!sorted)
		return false;
	for (unsigned int k = 0; k < s->nr_counters; k++)
		sorted[k] = &s->counters[k];
	qsort(sorted, s->nr_counters, sizeof(*sorted), counters_by_name);
	while (i < s->nr_counters &&
	       counters_by_name(&sorted[i - 1], &sorted[i]))
		i++;
	free(sorted);
	return i >= s->nr_counters;
}

static bool name_is_plain(const char *s)
{
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

/*
 * Label pairs are copied into metrics unchanged: a name, a quoted plain value,
 * and commas between pairs.
 */
static bool labels_are_plain(const char *s)
{
	static const char in_name[] = "abcdefghijklmnopqrstuvwxyz_";
	static const char in_value[] = "abcdefghijklmnopqrstuvwxyz_"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789.-+ ";
	size_t n;

	if (!*s)
		return true;
	for (;;) {
		n = strspn(s, in_name);
		if (!n || s[n] != '=' || s[n + 1] != '"')
			return false;
		s += n + 2;
		s += strspn(s, in_value);
		if (*s++ != '"')
			return false;
		if (!*s)
			return true;
		if (*s++ != ',')
			return false;
	}
}

static void copy_text(char *dst, const char *src, size_t size)
{
	memcpy(dst, src, size);
	dst[size] = '\0';
	for (char *p = dst; *p; p++) {
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = ' ';
	}
}

static void note_large(struct kf_described *t, const struct kf_counter *c)
{
	if (!strcmp(c->name, "large_allocated"))
		t->large_allocated = c;
	else if (!strcmp(c->name, "large_freed"))
		t->large_freed = c;
}

static bool take_desc(struct kf_snapshot *s, struct kf_described *t,
		      const struct kf_stats_desc *d)
{
	struct kf_counter *c = &s->counters[s->nr_counters];

	copy_text(c->name, d->name, sizeof(d->name));
	copy_text(c->metric, d->metric, sizeof(d->metric));
	copy_text(c->labels, d->labels, sizeof(d->labels));
	copy_text(c->help, d->help, sizeof(d->help));
	if (!c->name[0] || !name_is_plain(c->name) ||
	    !name_is_plain(c->metric) || !labels_are_plain(c->labels))
		return false;
	c->scope = d->scope;
	c->type = d->type;
	c->unit = d->unit;
	if (d->scope == KF_SCOPE_SLOT) {
		if (d->index >= KF_STATS_SLOT_SCALARS || t->scalar[d->index])
			return false;
		t->scalar[d->index] = c;
		note_large(t, c);
	} else if (d->scope == KF_SCOPE_WORD) {
		if (d->index >= t->nr_words)
			return false;
		c->value = t->words[d->index];
	} else {
		/* A scope of a later minor version is skipped. */
		memset(c, 0, sizeof(*c));
		return true;
	}
	s->nr_counters++;
	return true;
}

/* The index in @to of counter @c of @from. */
static const struct kf_counter *counter_same_in(const struct kf_counter *to,
						const struct kf_counter *from,
						const struct kf_counter *c)
{
	return c ? to + (c - from) : NULL;
}

static void descs_forget(struct kf_desc_cache *cache)
{
	free(cache->raw);
	free(cache->counters);
	free(cache->index);
	cache->raw = NULL;
	cache->counters = NULL;
	cache->index = NULL;
}

static uint64_t next_id(void)
{
	static atomic_ullong last;

	return atomic_fetch_add(&last, 1) + 1;
}

/* Equal descriptions have the same number in all caches that share @ids. */
static uint64_t id_of(struct kf_desc_ids *ids,
		      const struct kf_stats_section *sec, const char *table)
{
	size_t bytes = (size_t)sec->entry_size * sec->nr;
	unsigned int i, nr = KF_ARRAY_SIZE(ids->known);
	uint64_t id = 0;

	pthread_mutex_lock(&ids->lock);
	for (i = 0; i < nr && !id; i++) {
		if (ids->known[i].id && ids->known[i].bytes == bytes &&
		    ids->known[i].entry_size == sec->entry_size &&
		    !memcmp(ids->known[i].raw, table, bytes))
			id = ids->known[i].id;
	}
	if (!id) {
		id = next_id();
		i = ids->next++ % nr;
		free(ids->known[i].raw);
		ids->known[i].raw = malloc(bytes + 1);
		ids->known[i].id = ids->known[i].raw ? id : 0;
		ids->known[i].bytes = bytes;
		ids->known[i].entry_size = sec->entry_size;
		if (ids->known[i].raw)
			memcpy(ids->known[i].raw, table, bytes);
	}
	pthread_mutex_unlock(&ids->lock);
	return id;
}

void kf_desc_ids_release(struct kf_desc_ids *ids)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(ids->known); i++)
		free(ids->known[i].raw);
	pthread_mutex_destroy(&ids->lock);
}

/* Stores a table in a cache, completely or not at all. */
static void descs_remember(struct kf_desc_cache *cache, struct kf_snapshot *s,
			   const struct kf_described *t, const char *table,
			   const struct kf_stats_section *sec)
{
	size_t bytes = (size_t)sec->entry_size * sec->nr;
	size_t size = s->nr_counters * sizeof(*s->counters);

	descs_forget(cache);
	/* skipped scopes make the numbers of counters and entries differ */
	if (s->nr_counters != sec->nr)
		return;
	cache->raw = malloc(bytes + 1);
	cache->counters = malloc(size + 1);
	cache->index = calloc(s->nr_counters + 1, sizeof(*cache->index));
	if (!cache->raw || !cache->counters || !cache->index) {
		descs_forget(cache);
		return;
	}
	memcpy(cache->raw, table, bytes);
	memcpy(cache->counters, s->counters, size);
	for (uint32_t i = 0; i < sec->nr; i++) {
		struct kf_stats_desc d;

		memcpy(&d, table + (size_t)i * sec->entry_size, sizeof(d));
		cache->index[i] = d.index;
	}
	cache->bytes = bytes;
	cache->entry_size = sec->entry_size;
	cache->nr_words = t->nr_words;
	cache->nr_counters = s->nr_counters;
	cache->large_allocated = counter_same_in(cache->counters, s->counters,
						 t->large_allocated);
	cache->large_freed =
		counter_same_in(cache->counters, s->counters, t->large_freed);
	cache->id = cache->ids ? id_of(cache->ids, sec, table) : next_id();
	s->described = cache->id;
}

/* The counters of a cache for a snapshot: shared, or a copy. */
static bool use_counters(const struct kf_desc_cache *cache,
			 struct kf_snapshot *s)
{
	size_t size = (cache->nr_counters + 1) * sizeof(*s->counters);

	s->counters = cache->room.lend ? cache->counters : malloc(size);
	if (!s->counters)
		return false;
	if (!cache->room.lend)
		memcpy(s->counters, cache->counters,
		       cache->nr_counters * sizeof(*s->counters));
	s->nr_counters = cache->nr_counters;
	s->described = cache->id;
	return true;
}

static bool descs_recall(const struct kf_desc_cache *cache,
			 struct kf_snapshot *s, struct kf_described *t)
{
	if (cache->nr_words != t->nr_words || !use_counters(cache, s))
		return false;
	t->large_allocated = counter_same_in(s->counters, cache->counters,
					     cache->large_allocated);
	t->large_freed = counter_same_in(s->counters, cache->counters,
					 cache->large_freed);
	for (unsigned int i = 0; i < s->nr_counters; i++) {
		struct kf_counter *c = &s->counters[i];

		c->value = 0;
		if (c->scope == KF_SCOPE_WORD)
			c->value = t->words[cache->index[i]];
		else
			t->scalar[cache->index[i]] = c;
	}
	return true;
}

static bool descs_is_same(const struct kf_desc_cache *cache, const char *table,
			  const struct kf_stats_section *sec)
{
	return cache->raw && cache->entry_size == sec->entry_size &&
	       cache->bytes == (size_t)sec->entry_size * sec->nr &&
	       !memcmp(cache->raw, table, cache->bytes);
}

bool kf_descs_recall(uint64_t id, struct kf_snapshot *s, struct kf_described *t,
		     struct kf_desc_cache *cache)
{
	return id && cache && cache->raw && cache->id == id &&
	       descs_recall(cache, s, t);
}

void kf_desc_cache_release(struct kf_desc_cache *cache)
{
	descs_forget(cache);
	free(cache->room.piece);
	free(cache->room.words);
	free(cache->room.counters);
	free(cache->room.slot);
	free(cache->room.classes);
	free(cache->room.threads);
	*cache = (struct kf_desc_cache){0};
}

static bool take_all(const char *table, const struct kf_stats_section *sec,
		     struct kf_snapshot *s, struct kf_described *t)
{
	for (uint32_t i = 0; i < sec->nr; i++) {
		struct kf_stats_desc d;

		memcpy(&d, table + (size_t)i * sec->entry_size, sizeof(d));
		if (!take_desc(s, t, &d))
			return false;
	}
	return names_differ(s);
}

bool kf_descs_take(const char *table, const struct kf_stats_section *sec,
		   struct kf_snapshot *s, struct kf_described *t,
		   struct kf_desc_cache *cache)
{
	if (cache && descs_is_same(cache, table, sec) &&
	    descs_recall(cache, s, t))
		return true;
	s->counters = calloc((size_t)sec->nr + 1, sizeof(*s->counters));
	if (!s->counters)
		return false;
	if (cache && cache->room.lend) {
		free(cache->room.counters);
		cache->room.counters = s->counters;
	}
	if (!take_all(table, sec, s, t))
		return false;
	if (cache)
		descs_remember(cache, s, t, table, sec);
	return true;
}
