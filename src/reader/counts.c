/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The counters of a stats file: words, classes, slots. The header was checked,
 * so each section is within the file. The part of the file that was read ahead
 * is used from memory, the rest is read piece by piece.
 */
#include "reader/internal.h"

#include "base/saturate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_TABLE (4u << 20) /* largest table that is read whole, in bytes */
#define NR_SEQ_BRIEF 10	     /* attempts if the caller does not wait */
#define NR_SEQ_EAGER 100     /* attempts before the first pause */
#define MAX_SEQ_TRIES 600
#define SLOTS_AT_ONCE 16
#define MAX_INHERITED ((int64_t)1 << 50) /* blocks: more than any heap has */

/* The part of a class that files of all versions have. */
#define CLASS_MIN offsetof(struct kf_stats_class, carved)

const char *kf_source_get(const struct kf_source *src, uint64_t offset,
			  uint64_t len)
{
	if (offset < src->begin || offset - src->begin > src->nr_piece ||
	    len > src->nr_piece - (offset - src->begin))
		return NULL;
	return src->piece + (offset - src->begin);
}

/*
 * Reads a checked section; the caller frees @own. NULL: out of memory, or the
 * section is too large.
 */
static const char *read_section(struct kf_source *src,
				const struct kf_stats_section *sec, char **own)
{
	size_t bytes = (size_t)sec->entry_size * sec->nr;
	const char *table = kf_source_get(src, sec->offset, bytes);

	*own = table || bytes > MAX_TABLE ? NULL : malloc(bytes + 1);
	if (table || !*own)
		return table;
	if (kf_read_at(src->fd, *own, bytes, sec->offset))
		return *own;
	free(*own);
	*own = NULL;
	return NULL;
}

/* Memory for a snapshot's classes and threads: the cache's, or its own. */
static bool counts_make_room(const struct kf_source *src, struct kf_room *room,
			     struct kf_snapshot *s)
{
	uint32_t nr_classes = src->h.classes.nr;
	uint32_t nr_threads = src->h.slots.nr + src->h.more.nr;

	if (!room->lend) {
		s->classes = malloc((nr_classes + 1) * sizeof(*s->classes));
		s->threads = malloc((nr_threads + 1) * sizeof(*s->threads));
		return s->classes && s->threads;
	}
	if (!room->classes || room->nr_classes < nr_classes) {
		free(room->classes);
		room->nr_classes = nr_classes;
		room->classes = malloc((nr_classes + 1) * sizeof(*s->classes));
	}
	if (!room->threads || room->nr_threads < nr_threads) {
		free(room->threads);
		room->nr_threads = nr_threads;
		room->threads = malloc((nr_threads + 1) * sizeof(*s->threads));
	}
	s->lent = true;
	s->classes = room->classes;
	s->threads = room->threads;
	return s->classes && s->threads;
}

/* A negative level means a damaged file. */
static uint64_t level_of(int64_t n)
{
	return n > 0 ? KF_MIN((uint64_t)n, KF_MOST) : 0;
}

static void take_class(struct kf_class_count *to,
		       const struct kf_stats_class *c)
{
	*to = (struct kf_class_count){
		.bytes = KF_MIN(c->bytes, KF_MOST),
		.inherited = KF_MAX(-MAX_INHERITED,
				    KF_MIN(c->inherited, MAX_INHERITED)),
		.carved = level_of(c->carved),
		.slabs = level_of(c->slabs),
	};
}

static bool read_classes(struct kf_source *src, struct kf_snapshot *s)
{
	const struct kf_stats_section *sec = &src->h.classes;
	char *own;
	const char *table = read_section(src, sec, &own);

	if (!table)
		return false;
	s->nr_classes = sec->nr;
	s->knows_slabs = sec->entry_size >= sizeof(struct kf_stats_class);
	for (uint32_t i = 0; i < sec->nr; i++, table += sec->entry_size) {
		struct kf_stats_class c = {0};

		if (s->knows_slabs)
			memcpy(&c, table, sizeof(c));
		else
			memcpy(&c, table, CLASS_MIN);
		take_class(&s->classes[i], &c);
	}
	free(own);
	return true;
}

/*
 * A consistent group of words, or NULL. Words that were read ahead are
 * consistent if a second read finds the same even sequence number.
 */
static const uint64_t *same_twice(struct kf_source *src, uint64_t *words,
				  size_t bytes)
{
	uint64_t offset = src->h.words.offset;
	const char *first = kf_source_get(src, offset, bytes);

	if (first && kf_read_at(src->fd, words, bytes, offset) &&
	    words[0] % 2 == 0 && !memcmp(first, words, bytes))
		return words + 1;
	return NULL;
}

uint64_t kf_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool kf_late(uint64_t until_ns)
{
	if (!until_ns || kf_clock_ns() < until_ns)
		return false;
	errno = ETIME;
	return true;
}

/*
 * Words that belong together are consistent if the sequence number before and
 * after is the same even number. A writer that was killed in between leaves an
 * odd number for ever.
 */
static bool counts_read_words(struct kf_source *src, uint64_t *words,
			      size_t bytes)
{
	uint64_t before = 1, after;
	uint64_t offset = src->h.words.offset;
	int tries = src->torn ? NR_SEQ_BRIEF : MAX_SEQ_TRIES;

	for (int i = 0; i < tries; i++) {
		if (!kf_read_at(src->fd, &before, sizeof(before), offset) ||
		    !kf_read_at(src->fd, words, bytes, offset + 8) ||
		    !kf_read_at(src->fd, &after, sizeof(after), offset))
			return false;
		if (before == after && before % 2 == 0)
			return true;
		if (kf_late(src->until_ns))
			return false;
		/*
		 * The writer may have been preempted in the middle of a change.
		 */
		if (i >= NR_SEQ_EAGER)
			usleep(100);
	}
	if (src->torn)
		*src->torn = true;
	return true;
}

/* The sequence number is the first of the words, 8 bytes each. */
static bool take_words(struct kf_source *src, struct kf_room *room,
		       struct kf_described *t)
{
	const struct kf_stats_section *sec = &src->h.words;
	size_t nr = (size_t)sec->entry_size * sec->nr / 8;

	if (!room->words || room->nr_words < nr) {
		free(room->words);
		room->nr_words = nr;
		room->words = calloc(nr + 1, sizeof(*room->words));
	}
	if (!room->words)
		return false;
	t->nr_words = nr - 1;
	t->words = room->words + 1;
	if (same_twice(src, room->words, nr * 8))
		return true;
	return counts_read_words(src, room->words + 1, (nr - 1) * 8);
}

static bool read_counters(struct kf_source *src, struct kf_snapshot *s,
			  struct kf_described *t, struct kf_desc_cache *cache)
{
	const struct kf_stats_section *sec = &src->h.descs;
	char *own;
	const char *table = read_section(src, sec, &own);
	bool ok = table && kf_descs_take(table, sec, s, t, cache);

	free(own);
	return ok;
}

static void counts_take_thread(struct kf_snapshot *s,
			       const struct kf_slot *slot,
			       const struct kf_thread_count *sums)
{
	struct kf_thread_count *t = &s->threads[s->nr_threads];

	*t = *sums;
	t->tid = slot->tid;
	t->state = slot->state;
	memcpy(t->name, slot->name, sizeof(slot->name));
	t->name[sizeof(slot->name)] = '\0';
	s->nr_threads++;
}

static void counts_take_classes(struct kf_snapshot *s,
				const struct kf_stats_pair *pair,
				struct kf_thread_count *sums)
{
	for (unsigned int i = 0; i < s->nr_classes; i++) {
		struct kf_class_count *c = &s->classes[i];

		/* most classes are not used by a thread */
		if (!(pair[i].mallocs | pair[i].frees))
			continue;
		c->mallocs = kf_sum(c->mallocs, pair[i].mallocs);
		c->frees = kf_sum(c->frees, pair[i].frees);
		sums->mallocs = kf_sum(sums->mallocs, pair[i].mallocs);
		sums->frees = kf_sum(sums->frees, pair[i].frees);
		sums->allocated = kf_sum(sums->allocated,
					 kf_times(pair[i].mallocs, c->bytes));
		sums->freed =
			kf_sum(sums->freed, kf_times(pair[i].frees, c->bytes));
	}
}

static void take_slot(struct kf_snapshot *s, struct kf_described *t,
		      const struct kf_slot *slot)
{
	struct kf_thread_count sums = {0};

	for (size_t i = 0; i < KF_STATS_SLOT_SCALARS; i++) {
		struct kf_counter *c = t->scalar[i];

		if (!c)
			continue;
		/* one slot's share of a level may be negative */
		c->value += slot->scalar[i];
		if (c == t->large_allocated)
			sums.allocated =
				kf_sum(sums.allocated, slot->scalar[i]);
		else if (c == t->large_freed)
			sums.freed = kf_sum(sums.freed, slot->scalar[i]);
	}
	counts_take_classes(s, slot->class, &sums);
	counts_take_thread(s, slot, &sums);
}

/* Reads adjacent slots; most slots of a file are unused. */
static void take_slots(struct kf_snapshot *s, struct kf_described *t,
		       const char *slots, uint32_t nr, size_t size,
		       struct kf_slot *one)
{
	for (uint32_t i = 0; i < nr; i++, slots += size) {
		memcpy(&one->state, slots, sizeof(one->state));
		if (one->state == KF_SLOT_FREE)
			continue;
		/* entries may be unaligned if their size is odd */
		memcpy(one, slots, size);
		/* the slot was freed between the two reads */
		if (one->state != KF_SLOT_FREE)
			take_slot(s, t, one);
	}
}

static bool slot_room(struct kf_room *room, size_t size)
{
	if (room->slot && room->slot_size >= size)
		return true;
	free(room->slot);
	room->slot_size = KF_ALIGN_UP(size, (size_t)64);
	room->slot = aligned_alloc(64, room->slot_size);
	return room->slot;
}

static bool read_slots(struct kf_source *src, struct kf_snapshot *s,
		       struct kf_described *t, struct kf_room *room,
		       const struct kf_stats_section *sec)
{
	size_t size = sec->entry_size;
	const char *all =
		kf_source_get(src, sec->offset, (uint64_t)size * sec->nr);
	char *buf = all ? NULL : malloc(size * SLOTS_AT_ONCE + 1);
	bool ok = (all || buf) && slot_room(room, size);

	if (ok && all)
		take_slots(s, t, all, sec->nr, size, room->slot);
	for (uint32_t i = 0; ok && !all && i < sec->nr; i += SLOTS_AT_ONCE) {
		uint32_t n = KF_MIN(sec->nr - i, (uint32_t)SLOTS_AT_ONCE);

		ok = !kf_late(src->until_ns) &&
		     kf_read_at(src->fd, buf, n * size,
				sec->offset + (uint64_t)i * size);
		if (ok)
			take_slots(s, t, buf, n, size, room->slot);
	}
	free(buf);
	return ok;
}

/* Counters are never negative, but levels may be for a moment. */
static void bound_counters(struct kf_snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_counters; i++) {
		struct kf_counter *c = &s->counters[i];

		if (c->type != KF_TYPE_COUNTER)
			c->value = level_of((int64_t)c->value);
		c->value = KF_MIN(c->value, KF_MOST);
	}
}

bool kf_counts_read(struct kf_source *src, uint64_t described,
		    struct kf_desc_cache *cache, struct kf_snapshot *s)
{
	struct kf_described t = {0};
	bool ok;

	ok = counts_make_room(src, &cache->room, s) &&
	     take_words(src, &cache->room, &t) && read_classes(src, s) &&
	     (kf_descs_recall(described, s, &t, cache) ||
	      read_counters(src, s, &t, cache)) &&
	     read_slots(src, s, &t, &cache->room, &src->h.slots) &&
	     read_slots(src, s, &t, &cache->room, &src->h.more);
	if (ok)
		bound_counters(s);
	return ok;
}
