/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Linear probing. A key's index is the lower half of its hash times the table's
 * size, so that a table may have any size and grow by half. A removal moves
 * later entries back into the hole, so that there are no tombstones (Knuth, The
 * Art of Computer Programming 3, 6.4, algorithm R).
 */
#include "reader/map.h"

#include <stdlib.h>
#include <string.h>

#define NR_TABLES 256
#define MIN_SLOTS 8

/* A slot with key 0 is empty; a table always has an empty slot. */
struct kf_map_table {
	char *slots;
	uint32_t nr_slots;
	uint32_t nr; /* in use */
};

static uint64_t map_hash(uint64_t key)
{
	uint64_t z = key * 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93;
	return z ^ (z >> 32);
}

static char *slot_at(const struct kf_map *m, const struct kf_map_table *t,
		     uint32_t i)
{
	return t->slots + (size_t)i * m->entry_size;
}

static uint64_t key_at(const struct kf_map *m, const struct kf_map_table *t,
		       uint32_t i)
{
	uint64_t key;

	memcpy(&key, slot_at(m, t, i), sizeof(key));
	return key;
}

static struct kf_map_table *table_of(const struct kf_map *m, uint64_t key)
{
	return &m->tables[map_hash(key) >> 56];
}

static uint32_t home_of(const struct kf_map_table *t, uint64_t key)
{
	return (uint32_t)((map_hash(key) & UINT32_MAX) * t->nr_slots >> 32);
}

static uint32_t map_after(const struct kf_map_table *t, uint32_t i)
{
	return i + 1 < t->nr_slots ? i + 1 : 0;
}

/* The slot with this key, or the empty slot for it. */
static uint32_t map_seek(const struct kf_map *m, const struct kf_map_table *t,
			 uint64_t key)
{
	uint32_t i = home_of(t, key);

	for (;;) {
		uint64_t there = key_at(m, t, i);

		if (!there || there == key)
			return i;
		i = map_after(t, i);
	}
}

/* Grows a table by half when it is five sixths full. */
static bool map_grow(const struct kf_map *m, struct kf_map_table *t)
{
	struct kf_map_table old = *t;
	uint64_t nr = (uint64_t)old.nr_slots + old.nr_slots / 2;

	if (((uint64_t)t->nr + 1) * 6 <= (uint64_t)t->nr_slots * 5)
		return true;
	nr = KF_MAX(nr, (uint64_t)MIN_SLOTS);
	if (nr > UINT32_MAX)
		return false;
	t->slots = calloc(nr, m->entry_size);
	if (!t->slots) {
		*t = old;
		return false;
	}
	t->nr_slots = (uint32_t)nr;
	for (uint32_t i = 0; i < old.nr_slots; i++) {
		uint64_t key = key_at(m, &old, i);

		if (key)
			memcpy(slot_at(m, t, map_seek(m, t, key)),
			       slot_at(m, &old, i), m->entry_size);
	}
	free(old.slots);
	return true;
}

void *kf_map_find(const struct kf_map *m, uint64_t key)
{
	const struct kf_map_table *t;
	uint32_t i;

	if (!m->tables)
		return NULL;
	t = table_of(m, key);
	if (!t->nr)
		return NULL;
	i = map_seek(m, t, key);
	return key_at(m, t, i) ? slot_at(m, t, i) : NULL;
}

void *kf_map_add(struct kf_map *m, uint64_t key)
{
	struct kf_map_table *t;
	uint32_t i;

	if (!m->tables) {
		m->tables = calloc(NR_TABLES, sizeof(*m->tables));
		if (!m->tables)
			return NULL;
	}
	t = table_of(m, key);
	if (!map_grow(m, t))
		return NULL;
	i = map_seek(m, t, key);
	if (!key_at(m, t, i)) {
		memcpy(slot_at(m, t, i), &key, sizeof(key));
		t->nr++;
		m->nr++;
	}
	return slot_at(m, t, i);
}

/* Whether an entry that belongs at @home and is at @i may move to @hole. */
static bool may_fill(uint32_t hole, uint32_t home, uint32_t i)
{
	if (hole <= i)
		return home <= hole || home > i;
	return home <= hole && home > i;
}

void kf_map_remove(struct kf_map *m, uint64_t key)
{
	struct kf_map_table *t = m->tables ? table_of(m, key) : NULL;
	uint32_t hole, i;

	if (!t || !t->nr)
		return;
	hole = i = map_seek(m, t, key);
	if (!key_at(m, t, i))
		return;
	for (;;) {
		uint64_t there;

		i = map_after(t, i);
		there = key_at(m, t, i);
		if (!there)
			break;
		if (may_fill(hole, home_of(t, there), i)) {
			memcpy(slot_at(m, t, hole), slot_at(m, t, i),
			       m->entry_size);
			hole = i;
		}
	}
	memset(slot_at(m, t, hole), 0, m->entry_size);
	t->nr--;
	m->nr--;
}

void kf_map_each(const struct kf_map *m,
		 void (*see)(const void *entry, void *arg), void *arg)
{
	for (int k = 0; m->tables && k < NR_TABLES; k++) {
		const struct kf_map_table *t = &m->tables[k];

		for (uint32_t i = 0; i < t->nr_slots; i++) {
			if (key_at(m, t, i))
				see(slot_at(m, t, i), arg);
		}
	}
}

void kf_map_release(struct kf_map *m)
{
	for (int k = 0; m->tables && k < NR_TABLES; k++)
		free(m->tables[k].slots);
	free(m->tables);
	m->tables = NULL;
	m->nr = 0;
}
