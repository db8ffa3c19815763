/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files whose code is in the stacks, for readers of the stats file after
 * the end of the process.
 *
 * A new stack with an address in no known mapping lets a thread read the
 * process' mappings. Only one thread reads at a time; another thread sets a
 * flag that there is more to find, and does not wait. Known mappings are in
 * private memory; those of files are in the stats file as well. Broken chains
 * of frames have addresses in no mapping: after a read that found nothing, the
 * next ones are skipped, twice as many each time.
 */
#include "sample/internal.h"

#include "stats/stats.h"
#include "sys/maps.h"
#include "sys/process.h"

#include <string.h>

#define NR_KNOWN 2048
#define MOST_SKIPPED 256

#define DELETED " (deleted)"

/* A known mapping; constant once @nr_known counts it. */
struct known {
	uint64_t begin;
	uint64_t end;
	uint64_t inode;
	uint64_t offset;
};

static struct known known[NR_KNOWN];
static uint32_t nr_known; /* atomic; written by the reading thread */
static bool reading;	  /* the right to read the mappings; atomic */
static bool more;	  /* there may be more to find; atomic */
static uint32_t skips;	  /* reads to skip; atomic */

/* Guarded by @reading. */
static struct kf_maps maps;
static uint32_t nr_modules;
static uint32_t next_skips;

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

/* A return address may be behind the last byte of its code. */
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

/* Of a long path the end is stored, which has the file's name. */
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
	/* readers in other processes: an entry with a begin is whole */
	kf_store_release(&out->begin, m->begin);
}

/* Returns whether the mapping is new. */
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

static bool modules_read(void)
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

static void read_and_settle(void)
{
	bool found = modules_read();

	if (found)
		next_skips = 0;
	else
		next_skips = KF_MIN(2 * next_skips + 1, (uint32_t)MOST_SKIPPED);
	kf_store(&skips, next_skips);
}

static bool is_skipped(void)
{
	uint32_t n = kf_load(&skips);

	if (n)
		kf_store(&skips, n - 1);
	return n;
}

static void look_for_more(void)
{
	if (!kf_stats_path() || is_skipped())
		return;
	__atomic_store_n(&more, true, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&more, __ATOMIC_SEQ_CST)) {
		if (__atomic_exchange_n(&reading, true, __ATOMIC_SEQ_CST))
			return;
		if (__atomic_exchange_n(&more, false, __ATOMIC_SEQ_CST))
			read_and_settle();
		__atomic_store_n(&reading, false, __ATOMIC_SEQ_CST);
	}
}

void kf_modules_note(const struct kf_walked *stack)
{
	if (unlikely(!all_known(stack)))
		look_for_more();
}

bool kf_modules_has(uint64_t pc, uint32_t *last)
{
	if (is_known(pc - 1, kf_load_acquire(&nr_known), last))
		return true;
	if (!kf_stats_path() || kf_process_is_barred())
		return true;
	look_for_more();
	return is_known(pc - 1, kf_load_acquire(&nr_known), last);
}

void kf_modules_fork_child(void)
{
	uint32_t nr;
	const struct kf_stats_module *table =
		kf_stats_area(KF_AREA_MODULES, &nr);

	kf_store(&reading, false);
	/* The child's copy of the table may lack the parent's last entries. */
	if (nr_modules && (nr_modules > nr || !table[nr_modules - 1].begin))
		kf_store(&nr_known, 0);
}
