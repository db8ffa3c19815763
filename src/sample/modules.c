/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What code the addresses of stacks are in, for who reads the stats file when
 * the process has gone.
 *
 * A new stack with an address in no known mapping has the process' mappings
 * read, by one thread at a time; others leave word that there is more to find,
 * and nobody waits. Known mappings are ours alone; those of files are in the
 * stats file as well. Addresses that are in no mapping come from broken chains
 * of frames: after looks that found nothing the next are left out, twice as
 * many each time.
 */
#include "sample/internal.h"

#include "stats/stats.h"
#include "sys/maps.h"
#include "sys/process.h"

#include <string.h>

#define NR_KNOWN 2048
#define MOST_LEFT_OUT 256

#define DELETED " (deleted)"

/* Of a mapping; constant once it is counted. */
struct known {
	uint64_t begin;
	uint64_t end;
	uint64_t inode;
	uint64_t offset;
};

static struct known known[NR_KNOWN];
static uint32_t nr_known; /* atomic; stored by who looks */
static bool looking;	  /* atomic: the right to look */
static bool more;	  /* atomic: there may be more to find */
static uint32_t left_out; /* atomic: looks to leave out */

/* Who looks has these. */
static struct kf_maps maps;
static uint32_t nr_modules;
static uint32_t next_left_out;

static bool is_known(uint64_t pc, uint32_t nr, uint32_t *last)
{
	if (*last < nr &&
	    pc - known[*last].begin < known[*last].end - known[*last].begin)
		return true;
	for (uint32_t i = nr; i-- > 0;) {
		*last = i;
		if (pc - known[i].begin < known[i].end - known[i].begin)
			return true;
	}
	return false;
}

/* A return address may lie behind the last byte of its code. */
static bool all_known(const struct kf_walked *stack)
{
	uint32_t nr = kf_load_acquire(&nr_known);
	uint32_t last = 0;

	for (uint32_t i = 0; i < stack->nr; i++) {
		if (!is_known(stack->frame[i] - 1, nr, &last))
			return false;
	}
	return true;
}

static bool modules_is_same(const struct known *k, const struct kf_mapping *m)
{
	return k->begin == m->begin && k->end == m->end &&
	       k->inode == m->inode && k->offset == m->offset;
}

/* Keeps the end of a path that has no room: the name is there. */
static void put_path(struct kf_stats_module *out, const struct kf_mapping *m)
{
	const char *path = m->path;
	size_t len = m->path_len, tail = strlen(DELETED);

	if (len > tail && !memcmp(path + len - tail, DELETED, tail)) {
		out->flags |= KF_MODULE_DELETED;
		len -= tail;
	}
	if (len >= sizeof(out->path)) {
		out->flags |= KF_MODULE_CUT;
		path += len - (sizeof(out->path) - 1);
		len = sizeof(out->path) - 1;
	}
	memcpy(out->path, path, len);
}

static void modules_put(const struct kf_mapping *m, uint64_t base)
{
	struct kf_stats_module *table, *out;

	table = kf_stats_area_grow(KF_AREA_MODULES, nr_modules + 1);
	if (!table)
		return;
	out = &table[nr_modules++];
	out->end = m->end;
	out->offset = m->offset;
	out->base = base;
	out->flags = 0;
	out->build_id_size = kf_build_id_read(base, out->build_id);
	put_path(out, m);
	/* pairs with the loads of readers: whole once it has a begin */
	kf_store_release(&out->begin, m->begin);
}

/* Returns whether it was not known. */
static bool learn(const struct kf_mapping *m, uint64_t base)
{
	uint32_t nr = nr_known;

	for (uint32_t i = 0; i < nr; i++) {
		if (modules_is_same(&known[i], m))
			return false;
	}
	if (nr == NR_KNOWN)
		return false;
	known[nr] = (struct known){m->begin, m->end, m->inode, m->offset};
	if (m->path[0] == '/')
		modules_put(m, base);
	/* pairs with the acquire load of all_known() */
	kf_store_release(&nr_known, nr + 1);
	return true;
}

static bool modules_look(void)
{
	uint64_t inode = 0, base = 0;
	struct kf_mapping m;
	bool found = false;

	if (kf_process_is_barred() || kf_maps_open(&maps))
		return false;
	while (kf_maps_next(&maps, &m)) {
		if (m.inode != inode || !m.offset)
			base = m.begin;
		inode = m.inode;
		if (m.executable && learn(&m, base))
			found = true;
	}
	kf_maps_close(&maps);
	return found;
}

static void look_and_settle(void)
{
	bool found = modules_look();

	if (found)
		next_left_out = 0;
	else
		next_left_out =
			KF_MIN(2 * next_left_out + 1, (uint32_t)MOST_LEFT_OUT);
	kf_store(&left_out, next_left_out);
}

static bool is_left_out(void)
{
	uint32_t n = kf_load(&left_out);

	if (n)
		kf_store(&left_out, n - 1);
	return n;
}

void kf_modules_note(const struct kf_walked *stack)
{
	if (likely(all_known(stack)) || !kf_stats_path() || is_left_out())
		return;
	__atomic_store_n(&more, true, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&more, __ATOMIC_SEQ_CST)) {
		if (__atomic_exchange_n(&looking, true, __ATOMIC_SEQ_CST))
			return;
		if (__atomic_exchange_n(&more, false, __ATOMIC_SEQ_CST))
			look_and_settle();
		__atomic_store_n(&looking, false, __ATOMIC_SEQ_CST);
	}
}

void kf_modules_fork_child(void)
{
	uint32_t nr;
	const struct kf_stats_module *table =
		kf_stats_area(KF_AREA_MODULES, &nr);

	kf_store(&looking, false);
	/* The child's table was copied before: what came since is known anew.
	 */
	if (nr_modules && (nr_modules > nr || !table[nr_modules - 1].begin))
		kf_store(&nr_known, 0);
}
