/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A scan of the ledgers, after the stats files were read:
 *
 *	1. calculate the growth of each changed row over its base
 *	2. subtract the counts of members that were folded into it since
 *	3. add the rest to the row's group, and raise the base
 *
 * A file that was folded after it was read and before its ledger is read is
 * found among the folds, and ends here. A file folded later is handled by the
 * next scan.
 */
#include "config.h"

#include "base/saturate.h"
#include "exporter/clock.h"
#include "exporter/groups/ledgers.h"
#include "exporter/groups/created.h"
#include "exporter/groups/ended.h"
#include "reader/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OF_USER 8 /* ledgers of a user in a directory */
#define SECOND_NS 1000000000ull

/* Numbers of a user's ledgers that were read, and that are unknown. */
struct unknown_ledgers {
	struct {
		uint32_t uid;
		unsigned int nr;
	} * of;
	size_t nr;
	size_t room;
};

/* The ledger being added. */
struct look {
	struct kf_groups *g;
	const struct kf_place *place;
	struct unknown_ledgers *unknown_ledgers; /* in @place */
	struct kf_ledger *l;
	struct kf_seen_ledger *seen;
	uint64_t began_ns; /* earliest start of a process folded into it */
	bool overflowed;   /* some folds are no longer listed */
	time_t now;
	uint64_t until_ns;
	unsigned int nr_new; /* folds since the last scan, by created_ns */
	const struct kf_ledger_fold *fold[KF_LEDGER_FOLDS];
	/* of changed rows: the growth, followed by the values */
	uint64_t *rest[KF_SEEN_ROWS];
};

static uint64_t ledger_ends_of(const struct kf_ledger_row *row)
{
	return row->exits + row->execs;
}

/* Rows keep their place and only grow; otherwise the ledger was replaced. */
static bool ledger_is_same(const struct kf_seen_ledger *seen,
			   const struct kf_ledger *l)
{
	if (l->nr_folds < seen->nr_folds)
		return false;
	for (unsigned int i = 0; i < KF_SEEN_ROWS; i++) {
		const struct kf_seen_row *was = &seen->row[i];

		if (was->key_hash &&
		    (i >= l->nr_rows || l->rows[i].key_hash != was->key_hash ||
		     l->rows[i].first_ns != was->first_ns ||
		     ledger_ends_of(&l->rows[i]) < was->ends))
			return false;
	}
	return true;
}

/* @len: length of the directory's name. */
static bool in_dir(const char *dir, size_t len, const char *path)
{
	return strncmp(path, dir, len) == 0 && path[len] == '/' &&
	       !strchr(path + len + 1, '/');
}

/* Count a user's ledgers in a directory; @all: including deleted ones. */
static unsigned int nr_ledgers(const struct kf_groups *g, const char *dir,
			       size_t len, uint32_t user, bool all)
{
	const struct kf_seen_ledger *seen;
	unsigned int nr = 0;
	uint32_t uid;

	for (seen = g->ledgers; seen; seen = seen->next)
		nr += (all || !seen->gone) && in_dir(dir, len, seen->path) &&
		      kf_ledger_is_name(strrchr(seen->path, '/') + 1, &uid) &&
		      uid == user;
	return nr;
}

bool kf_ledgers_cover(const struct kf_groups *g, const struct kf_member *m)
{
	size_t len = (size_t)(strrchr(m->path, '/') - m->path);

	return nr_ledgers(g, m->path, len, m->owner, false);
}

/* Its processes began after boot, or before its first fold. */
static uint64_t ledger_age_ns(const struct kf_ledger_row *row)
{
	uint64_t now = kf_clock_ns(CLOCK_REALTIME);
	uint64_t age = now > row->first_ns ? now - row->first_ns : 0;

	return row->first_ns ? age + kf_clock_ns(CLOCK_BOOTTIME) : 0;
}

static void ledger_refuse(struct kf_groups *g, const char *path,
			  enum kf_read_result result, int error)
{
	g->files[result]++;
	kf_groups_complain(g, path, result, error);
}

/* Calculate the growth of a row over its base, unless it is impossible. */
static bool ledger_take_row(struct look *k, unsigned int i)
{
	const struct kf_ledger_row *row = &k->l->rows[i];
	const struct kf_seen_row *was = &k->seen->row[i];
	struct kf_figures *t = &k->g->figures;
	const struct kf_snapshot *s;
	uint64_t *rest, *all;

	if (!row->key_hash || ledger_ends_of(row) == was->ends)
		return true;
	s = kf_ledger_row(k->l, i);
	rest = s ? calloc(KF_MAX_FIGURES, 2 * sizeof(*rest)) : NULL;
	if (!rest)
		return false;
	all = rest + KF_MAX_FIGURES;
	kf_figures_fill(t, s, all);
	all[KF_FIG_EXITS] = row->exits;
	all[KF_FIG_EXECS] = row->execs;
	if (!kf_figures_plausible(t, all, NULL, ledger_age_ns(row))) {
		free(rest);
		ledger_refuse(k->g, k->seen->path, KF_READ_IMPOSSIBLE, 0);
		return true;
	}
	for (unsigned int f = 0; f < t->nr; f++) {
		uint64_t base = was->base ? was->base[f] : 0;

		rest[f] = all[f] - KF_MIN(all[f], base);
	}
	k->rest[i] = rest;
	return true;
}

static int ledger_by_created(const void *a, const void *b)
{
	const struct kf_ledger_fold *const *x = a, *const *y = b;

	if ((*x)->created_ns != (*y)->created_ns)
		return (*x)->created_ns < (*y)->created_ns ? -1 : 1;
	return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

static void list_new_folds(struct look *k)
{
	for (unsigned int i = 0; i < KF_LEDGER_FOLDS; i++) {
		const struct kf_ledger_fold *f = &k->l->folds[i];

		if (f->number > k->seen->nr_folds && f->created_ns)
			k->fold[k->nr_new++] = f;
	}
	qsort(k->fold, k->nr_new, sizeof(k->fold[0]), ledger_by_created);
}

/* A member from an old state file has no pid. */
static const struct kf_ledger_fold *ledger_fold_of(const struct look *k,
						   const struct kf_member *m)
{
	unsigned int low = 0, high = k->nr_new, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (k->fold[mid]->created_ns < m->created_ns)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < k->nr_new && k->fold[low]->created_ns == m->created_ns;
	     low++) {
		if (!m->id_pid || k->fold[low]->pid == m->id_pid)
			return k->fold[low];
	}
	return NULL;
}

static unsigned int row_with(const struct kf_ledger *l, uint64_t key_hash)
{
	for (unsigned int i = 1; key_hash && i < l->nr_rows; i++) {
		if (l->rows[i].key_hash == key_hash)
			return i;
	}
	return 0;
}

/* Find the row of a member whose fold is no longer listed. */
static unsigned int member_row(const struct look *k, const struct kf_member *m)
{
	unsigned int row = row_with(k->l, m->key[0]);

	return row ? row : row_with(k->l, m->key[1]);
}

/* Whether the growth of a row is large enough to include a member's counts. */
static bool ledger_may_have(const struct look *k, unsigned int row,
			    const struct kf_member *m)
{
	const struct kf_figures *t = &k->g->figures;
	const uint64_t *rest = row < KF_SEEN_ROWS ? k->rest[row] : NULL;

	for (unsigned int i = 0; rest && i < t->nr; i++) {
		if (kf_kind_grows(t->kind[i]) && i != KF_FIG_EXITS &&
		    i != KF_FIG_EXECS && m->seen[i] > rest[i])
			return false;
	}
	return rest;
}

/*
 * The counts in the member's groups stay there; the rest is counted for the
 * row.
 */
static void ledger_subtract(struct look *k, unsigned int row,
			    enum kf_ledger_reason reason,
			    const struct kf_member *m)
{
	const struct kf_figures *t = &k->g->figures;
	uint64_t *rest = row < KF_SEEN_ROWS ? k->rest[row] : NULL;
	uint64_t ends;

	if (!rest || !m->base)
		return;
	for (unsigned int i = 0; i < t->nr; i++) {
		if (kf_kind_grows(t->kind[i]) && i != KF_FIG_EXITS &&
		    i != KF_FIG_EXECS)
			rest[i] -= KF_MIN(rest[i], m->base[i]);
	}
	/* this end may have been counted as an exec */
	ends = m->base[KF_FIG_EXITS] + m->base[KF_FIG_EXECS];
	row = reason == KF_LEDGER_EXEC ? KF_FIG_EXECS : KF_FIG_EXITS;
	rest[row] -= KF_MIN(rest[row], ends);
}

/* If the fold is no longer listed, use the row. */
static bool ledger_seems_folded(const struct look *k, const struct kf_member *m)
{
	if (!k->overflowed || m->created_ns < k->began_ns ||
	    !ledger_may_have(k, member_row(k, m), m))
		return false;
	return m->present ? m->read && m->marked : kf_file_is_gone(m->path);
}

static bool take_member(struct look *k, struct kf_member *m)
{
	const struct kf_ledger_fold *fold = ledger_fold_of(k, m);

	if (!fold && !ledger_seems_folded(k, m))
		return true;
	if (!kf_member_end_folded(k->g, m, k->now))
		return false;
	if (fold)
		ledger_subtract(k, fold->row, fold->reason, m);
	else
		ledger_subtract(k, member_row(k, m), KF_LEDGER_EXIT, m);
	return true;
}

static bool ledger_covers(const struct look *k, const struct kf_member *m)
{
	/* the owner is unknown for members of old state files */
	return !m->folded && (!m->owned || m->owner == k->l->uid) &&
	       in_dir(k->place->name, strlen(k->place->name), m->path);
}

static bool take_members(struct look *k)
{
	struct kf_groups *g = k->g;
	bool done = true;

	for (size_t i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (struct kf_member *m = g->members[i]; m && done;
		     m = m->next)
			done = !ledger_covers(k, m) || take_member(k, m);
	}
	return done;
}

static bool ledger_raise_base(struct kf_groups *g, struct kf_seen_row *was,
			      const uint64_t *all)
{
	if (!was->base)
		was->base = calloc(KF_MAX_FIGURES, sizeof(*was->base));
	if (!was->base)
		return false;
	for (unsigned int i = 0; i < g->figures.nr; i++) {
		if (kf_kind_grows(g->figures.kind[i]))
			was->base[i] = KF_MAX(was->base[i], all[i]);
	}
	return true;
}

static struct kf_group *ledger_group_of(struct look *k, unsigned int i)
{
	const struct kf_snapshot *s = kf_ledger_row(k->l, i);
	char name[KF_NAME_SIZE], container[KF_CONTAINER_SHORT];

	if (!s)
		return NULL;
	kf_ended_name(k->g, s, name, container);
	return kf_group_get(k->g, name, container);
}

static bool ledger_add_row(struct look *k, unsigned int i)
{
	const struct kf_figures *t = &k->g->figures;
	struct kf_group *group = ledger_group_of(k, i);

	if (!group)
		return false;
	if (!k->seen->row[i].key_hash)
		kf_group_began(group, k->l->rows[i].first_ns);
	for (unsigned int f = 0; f < t->nr; f++) {
		if (kf_kind_grows(t->kind[f]))
			group->total[f] =
				kf_sum(group->total[f], k->rest[i][f]);
	}
	group->last_alive = k->now;
	group->changed = true;
	return true;
}

static bool all_zero(const struct kf_figures *t, const uint64_t *value)
{
	for (unsigned int i = 0; i < t->nr; i++) {
		if (kf_kind_grows(t->kind[i]) && value[i])
			return false;
	}
	return true;
}

static bool settle_row(struct look *k, unsigned int i)
{
	const struct kf_ledger_row *row = &k->l->rows[i];
	struct kf_seen_row *was = &k->seen->row[i];

	if (!ledger_raise_base(k->g, was, k->rest[i] + KF_MAX_FIGURES) ||
	    (!all_zero(&k->g->figures, k->rest[i]) && !ledger_add_row(k, i)))
		return false;
	was->key_hash = row->key_hash;
	was->first_ns = row->first_ns;
	was->ends = ledger_ends_of(row);
	was->changed = true;
	return true;
}

static bool add_ledger(struct look *k)
{
	unsigned int nr = KF_MIN(k->l->nr_rows, (unsigned int)KF_SEEN_ROWS), i;
	bool done = true;

	list_new_folds(k);
	for (i = 0; done && i < nr; i++)
		done = ledger_take_row(k, i);
	done = done && take_members(k);
	for (i = 0; i < nr; i++) {
		done = done && (!k->rest[i] || settle_row(k, i));
		free(k->rest[i]);
	}
	k->seen->nr_folds = k->l->nr_folds;
	k->seen->changed = true;
	k->g->dirty = true;
	return done;
}

/* A ledger that replaces another has no processes from before boot. */
static void ledger_begin(struct look *k)
{
	uint64_t now = kf_clock_ns(CLOCK_REALTIME),
		 up = kf_clock_ns(CLOCK_BOOTTIME);

	if (!ledger_is_same(k->seen, k->l))
		kf_seen_ledger_reset(k->seen);
	k->began_ns = k->seen->nr_folds ? 0 : now - KF_MIN(now, up);
	k->overflowed = k->l->nr_folds - k->seen->nr_folds > KF_LEDGER_FOLDS;
}

static int take_ledger(struct look *k, const char *path)
{
	struct kf_groups *g = k->g;
	bool has_news;

	k->seen = kf_ledgers_get(g, path);
	if (!k->seen)
		return -1;
	k->seen->gone = 0;
	k->seen->present = true;
	ledger_begin(k);
	has_news = k->l->nr_folds != k->seen->nr_folds;
	return !has_news || add_ledger(k) ? 0 : -1;
}

static unsigned int count_unknown(const struct unknown_ledgers *all,
				  uint32_t uid)
{
	for (size_t i = 0; i < all->nr; i++) {
		if (all->of[i].uid == uid)
			return all->of[i].nr;
	}
	return 0;
}

static bool add_unknown(struct unknown_ledgers *all, uint32_t uid)
{
	for (size_t i = 0; i < all->nr; i++) {
		if (all->of[i].uid == uid)
			return ++all->of[i].nr;
	}
	if (all->nr == all->room) {
		size_t room = all->room ? 2 * all->room : 16;
		void *of = realloc(all->of, room * sizeof(*all->of));

		if (!of)
			return false;
		all->of = of;
		all->room = room;
	}
	all->of[all->nr].uid = uid;
	all->of[all->nr++].nr = 1;
	return true;
}

/*
 * A user may make any number of ledgers. Deleted ledgers count for the limit
 * until they are forgotten; otherwise the exporter would have to remember ever
 * more.
 */
static bool is_one_too_many(const struct look *k, const char *path,
			    uint32_t uid)
{
	const char *dir = k->place->name;

	return !kf_ledgers_find(k->g, path) &&
	       nr_ledgers(k->g, dir, strlen(dir), uid, true) +
			       count_unknown(k->unknown_ledgers, uid) >=
		       MAX_OF_USER;
}

static int ledger_take_result(struct look *k, const char *path, uint32_t uid)
{
	const struct kf_ledger *l = k->l;

	if (l->result == KF_READ_OK)
		return take_ledger(k, path);
	if (l->result != KF_READ_NOT_READY &&
	    !(l->result == KF_READ_ERROR && l->error == ENOENT))
		ledger_refuse(k->g, path, l->result, l->error);
	/* a name without a user id is not known to be this user's */
	if (l->ino && !kf_ledgers_find(k->g, path) &&
	    !add_unknown(k->unknown_ledgers, uid))
		return -1;
	return 0;
}

static int ledger_visit(void *ctx, const char *name)
{
	const struct look *scan = ctx;
	struct look k = *scan;
	struct kf_ledger l;
	char path[8192];
	uint32_t uid = 0;
	int rc = 0;

	kf_ledger_is_name(name, &uid);
	snprintf(path, sizeof(path), "%s/%s", k.place->name, name);
	if (is_one_too_many(&k, path, uid)) {
		ledger_refuse(k.g, path, KF_READ_IMPOSSIBLE, 0);
	} else {
		k.l = &l;
		kf_ledger_read(k.place->fd, name, &l);
		rc = ledger_take_result(&k, path, uid);
		kf_ledger_release(&l);
	}
	return rc ? rc : kf_clock_ns(CLOCK_MONOTONIC) > k.until_ns;
}

/* A ledger may be missing or invisible for a while. */
static void ledger_forget_gone(struct kf_groups *g, time_t now)
{
	struct kf_seen_ledger **at = &g->ledgers, *seen;

	while ((seen = *at)) {
		if (!seen->present && !seen->gone &&
		    kf_file_is_gone(seen->path))
			seen->gone = now;
		seen->present = false;
		if (!seen->gone ||
		    now - seen->gone < (time_t)g->conf.forget_s) {
			at = &seen->next;
			continue;
		}
		*at = seen->next;
		kf_seen_ledger_free(seen);
	}
}

bool kf_ledgers_scan(struct kf_groups *g, uint64_t until_ns, time_t now)
{
	struct unknown_ledgers unknown_ledgers = {0};
	struct look k = {
		.g = g,
		.unknown_ledgers = &unknown_ledgers,
		.now = now,
		.until_ns = KF_MAX(until_ns,
				   kf_clock_ns(CLOCK_MONOTONIC) + SECOND_NS),
	};
	int rc = 0;

	for (unsigned int i = 0; rc >= 0 && i < g->places.nr; i++) {
		k.place = &g->places.place[i];
		unknown_ledgers.nr = 0;
		errno = 0;
		rc = kf_ledgers_visit(k.place->fd, ledger_visit, &k);
		if (rc < 0 && errno != ENOMEM)
			rc = 0;
	}
	free(unknown_ledgers.of);
	ledger_forget_gone(g, now);
	return rc >= 0;
}
