/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of modules in the stats file: see struct kf_stats_stack for how
 * readers find the module of an address.
 */
#include "sample/modules.h"

#include "sample/internal.h"
#include "stats/stats.h"
#include "sys/file.h"

#include <fcntl.h>
#include <string.h>

#define DELETED " (deleted)"

/* The mapping of each entry; atomic, as @nr_modules. */
static const struct kf_known *owners[NR_KNOWN];
static uint32_t nr_modules;

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

/* The entry for another module; NULL: there is no room. */
static struct kf_stats_module *modules_take(struct kf_known *k)
{
	struct kf_stats_module *table;
	uint32_t nr = nr_modules;

	table = nr < NR_KNOWN ? kf_stats_area_grow(KF_AREA_MODULES, nr + 1)
			      : NULL;
	if (!table)
		return NULL;
	kf_store(&owners[nr], k);
	kf_store_release(&nr_modules, nr + 1);
	kf_store(&k->module, nr + 1);
	return &table[nr];
}

/* The file at the path, if it is the mapped one. */
static bool modules_look(const struct kf_mapping *m, struct kf_file_stat *st)
{
	return m->path[0] == '/' && !kf_file_look(AT_FDCWD, m->path, st) &&
	       st->ino == m->inode;
}

void kf_module_put(struct kf_known *k, const struct kf_mapping *m,
		   uint64_t base)
{
	struct kf_stats_module *out = modules_take(k);
	struct kf_file_stat st;

	if (!out)
		return;
	out->end = m->end;
	out->offset = m->offset;
	out->base = base;
	out->flags = k->stays ? KF_MODULE_STAYS : 0;
	out->build_id_size = kf_build_id_read(base, out->build_id);
	out->inode = m->inode;
	if (modules_look(m, &st)) {
		out->size = st.size;
		out->modified = st.modified;
	}
	put_path(out, m);
	/* readers in other processes: an entry with a begin is whole */
	kf_store_release(&out->begin, m->begin);
}

/* The same file again, as the last entry at its addresses. */
bool kf_module_repeat(struct kf_known *k)
{
	uint32_t old = kf_load(&k->module), nr;
	struct kf_stats_module *out = old ? modules_take(k) : NULL;
	const struct kf_stats_module *from;
	uint64_t begin;

	if (!out)
		return false;
	from = kf_stats_area(KF_AREA_MODULES, &nr);
	begin = from[old - 1].begin;
	memcpy((char *)out + sizeof(begin),
	       (const char *)&from[old - 1] + sizeof(begin),
	       sizeof(*out) - sizeof(begin));
	kf_store_release(&out->begin, begin);
	return true;
}

/*
 * Tells apart files that follow each other at the same addresses with the same
 * inode number, as the next version of an object may have it.
 */
uint64_t kf_module_stamp(const struct kf_mapping *m, uint64_t base)
{
	uint8_t id[KF_STATS_BUILD_ID];
	uint64_t stamp = 1;
	struct kf_file_stat st;
	uint32_t nr;

	if (!m->inode)
		return 0;
	nr = kf_build_id_read(base, id);
	for (uint32_t i = 0; i < nr; i++)
		stamp = (stamp ^ id[i]) * 0x100000001b3ULL;
	if (!nr && modules_look(m, &st))
		stamp = (st.modified ^ st.size) | 1;
	return stamp;
}

/* The mapping that readers take for the address, as kf_stats_stack says. */
const struct kf_known *kf_module_of(uint64_t pc, uint32_t generation)
{
	uint32_t nr = kf_load_acquire(&nr_modules);
	const struct kf_known *found = NULL;

	for (uint32_t i = 0; i < nr && (i < generation || !found); i++) {
		const struct kf_known *k = kf_load(&owners[i]);

		if (kf_known_has(k, pc))
			found = k;
	}
	return found;
}

uint32_t kf_module_last(void)
{
	return kf_load_acquire(&nr_modules);
}

/* The child's copy of the table may lack the parent's last entries. */
uint32_t kf_module_fork_child(void)
{
	uint32_t nr;
	const struct kf_stats_module *all = kf_stats_area(KF_AREA_MODULES, &nr);

	nr_modules = KF_MIN(nr_modules, all ? nr : 0);
	while (nr_modules && !all[nr_modules - 1].begin)
		nr_modules--;
	return nr_modules;
}
