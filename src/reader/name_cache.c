/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A table of names for each file; the least recently used file is dropped
 * first.
 */
#include "config.h"

#include "reader/name_cache.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64

_Static_assert(sizeof(struct kf_file_key) ==
		       4 * sizeof(uint64_t) + 2 * sizeof(struct timespec) + 64,
	       "keys are compared as bytes");

void kf_name_cache_init(struct kf_name_cache *c, const char *procfs)
{
	memset(c, 0, sizeof(*c));
	c->procfs = procfs;
	pthread_mutex_init(&c->lock, NULL);
}

static void names_forget(struct kf_name_cache *c, struct kf_cached_file *f)
{
	for (size_t i = 0; i < f->room; i++)
		free(f->name[i].text);
	free(f->name);
	c->bytes -= f->bytes;
	memset(f, 0, sizeof(*f));
}

void kf_name_cache_free(struct kf_name_cache *c)
{
	for (size_t i = 0; i < KF_NAME_CACHE_FILES; i++)
		names_forget(c, &c->file[i]);
	pthread_mutex_destroy(&c->lock);
}

static struct kf_cached_file *names_find_file(struct kf_name_cache *c,
					      const struct kf_file_key *key)
{
	for (size_t i = 0; i < KF_NAME_CACHE_FILES; i++) {
		struct kf_cached_file *f = &c->file[i];

		if (f->used && memcmp(&f->key, key, sizeof(*key)) == 0) {
			f->used = ++c->uses;
			return f;
		}
	}
	return NULL;
}

/* With @from 0 an unused entry is chosen first. */
static struct kf_cached_file *names_oldest(struct kf_name_cache *c,
					   uint64_t from)
{
	struct kf_cached_file *found = NULL;

	for (size_t i = 0; i < KF_NAME_CACHE_FILES; i++) {
		struct kf_cached_file *f = &c->file[i];

		if (f->used >= from && (!found || f->used < found->used))
			found = f;
	}
	return found;
}

/* The index of a name, or of the empty place for it. */
static struct kf_cached_name *names_place(const struct kf_cached_file *f,
					  uint64_t offset)
{
	/* Knuth, The Art of Computer Programming 3, 6.4: the golden ratio */
	size_t i = (size_t)((offset * 0x9e3779b97f4a7c15) >> 32);

	while (f->name[i & (f->room - 1)].text &&
	       f->name[i & (f->room - 1)].offset != offset)
		i++;
	return &f->name[i & (f->room - 1)];
}

static bool names_grow(struct kf_name_cache *c, struct kf_cached_file *f)
{
	struct kf_cached_file old = *f;
	size_t room = f->room ? 2 * f->room : FIRST_ROOM;
	struct kf_cached_name *name = calloc(room, sizeof(*name));

	if (!name)
		return false;
	f->name = name;
	f->room = room;
	for (size_t i = 0; i < old.room; i++) {
		if (old.name[i].text)
			*names_place(f, old.name[i].offset) = old.name[i];
	}
	free(old.name);
	f->bytes += (room - old.room) * sizeof(*name);
	c->bytes += (room - old.room) * sizeof(*name);
	return true;
}

char *kf_name_cache_get(struct kf_name_cache *c, const struct kf_file_key *key,
			uint64_t offset)
{
	const struct kf_cached_file *f;
	const struct kf_cached_name *name;
	char *text = NULL;

	pthread_mutex_lock(&c->lock);
	f = names_find_file(c, key);
	name = f && f->room ? names_place(f, offset) : NULL;
	if (name && name->text)
		text = strdup(name->text);
	pthread_mutex_unlock(&c->lock);
	return text;
}

static void names_add(struct kf_name_cache *c, struct kf_cached_file *f,
		      uint64_t offset, const char *text)
{
	struct kf_cached_name *name;
	size_t bytes = strlen(text) + 1;

	if (2 * (f->nr + 1) > f->room && !names_grow(c, f))
		return;
	name = names_place(f, offset);
	if (name->text)
		return;
	name->text = malloc(bytes);
	if (!name->text)
		return;
	memcpy(name->text, text, bytes);
	name->offset = offset;
	f->nr++;
	f->bytes += bytes;
	c->bytes += bytes;
}

void kf_name_cache_put(struct kf_name_cache *c, const struct kf_file_key *key,
		       uint64_t offset, const char *text)
{
	struct kf_cached_file *f;

	pthread_mutex_lock(&c->lock);
	f = names_find_file(c, key);
	if (!f) {
		f = names_oldest(c, 0);
		names_forget(c, f);
		f->key = *key;
		f->used = ++c->uses;
	}
	names_add(c, f, offset, text);
	/* a single file may fill the cache: it is dropped last */
	while (c->bytes > KF_NAME_CACHE_BYTES)
		names_forget(c, names_oldest(c, 1));
	pthread_mutex_unlock(&c->lock);
}
