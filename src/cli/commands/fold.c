/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Adds the counters of an ended process to the ledger before its file is
 * deleted. The library's own writer is used, so that the counters are added
 * once even if others do the same at the same time.
 *
 * The counters' descriptions are taken from the file, so files of any version
 * of the library can be added.
 *
 * Root folds a file of another user with that user's rights: the user cannot
 * gain root's rights by links or other files in the way, and a new ledger
 * belongs to the user.
 */
#include "config.h"

#include "cli/commands/fold.h"

#include "stats/ledger.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOBODY 65534 /* nogroup, for a user without a primary group */

/* Our own ids, to be restored. */
struct rights {
	bool changed;
	gid_t gid;
	int nr;
	gid_t *groups;
};

static bool fold_is_counter(const struct kf_counter *c)
{
	return c->type == KF_TYPE_COUNTER;
}

/* NULL: out of memory. */
static struct kf_stats_desc *fold_describe(const struct kf_snapshot *s)
{
	struct kf_stats_desc *desc =
		calloc((size_t)s->nr_counters + 1, sizeof(*desc));

	for (unsigned int i = 0; desc && i < s->nr_counters; i++) {
		const struct kf_counter *c = &s->counters[i];
		struct kf_stats_desc *d = &desc[i];

		memcpy(d->name, c->name, sizeof(d->name));
		memcpy(d->metric, c->metric, sizeof(d->metric));
		memcpy(d->labels, c->labels, sizeof(d->labels));
		memcpy(d->help, c->help, sizeof(d->help));
		d->scope = c->scope;
		d->type = c->type;
		d->unit = c->unit;
	}
	return desc;
}

/* Whether all counters and classes have a place in a row. */
static bool fold_fits(const struct kf_snapshot *s)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < s->nr_counters; i++)
		nr += fold_is_counter(&s->counters[i]);
	return nr < KF_LEDGER_VALUES && s->nr_classes <= KF_STATS_NR_CLASSES;
}

static void fold_fill_row(struct kf_ledger_row *row,
			  const struct kf_snapshot *s, uint32_t inherited)
{
	uint32_t value = 0;

	memset(row, 0, sizeof(*row));
	kf_ledger_key_of(&row->key, &s->id, &s->ending);
	for (unsigned int i = 0; i < s->nr_counters; i++) {
		if (fold_is_counter(&s->counters[i]))
			row->value[value++] = s->counters[i].value;
	}
	for (unsigned int i = 0; i < s->nr_classes; i++) {
		row->class[i].mallocs = s->classes[i].mallocs;
		row->class[i].frees = s->classes[i].frees;
		row->value[inherited] += (uint64_t)s->classes[i].inherited;
	}
}

/* Checks again under the lock. Returns 1 if there is nothing to do. */
static int look_again(const struct kf_file *f)
{
	struct kf_snapshot now;
	int r = 0;

	kf_snapshot_read(f->dirfd, f->name, &now);
	if (now.result == KF_READ_ERROR)
		r = now.error == ENOENT ? 1 : -now.error;
	else if (now.result != KF_READ_OK || now.dev != f->snap.dev ||
		 now.ino != f->snap.ino)
		r = -ESTALE;
	else if (now.ending.folded)
		r = 1;
	kf_snapshot_release(&now);
	return r;
}

static int fold_add(const struct kf_file *f,
		    const struct kf_ledger_described *d)
{
	const struct kf_stats_identity *id = &f->snap.id;
	struct kf_ledger_target t = {
		.name = f->name,
		.dev = f->snap.dev,
		.ino = f->snap.ino,
		.created_ns = id->created_ns,
		.pid = id->pid,
		.reason = f->life == KF_LIFE_EXECED ? KF_LEDGER_EXEC
						    : KF_LEDGER_EXIT,
	};
	static struct kf_ledger_row row;
	struct kf_ledger_writer w;
	int r = kf_ledger_open(&w, f->dirfd, f->snap.owner, d, true);

	if (r)
		return r;
	r = look_again(f);
	if (!r) {
		fold_fill_row(&row, &f->snap, kf_ledger_inherited(d));
		r = kf_ledger_fold(&w, &row, &t);
	}
	kf_ledger_close(&w);
	return r < 0 ? r : 0;
}

static int add_described(const struct kf_file *f)
{
	uint64_t class_bytes[KF_STATS_NR_CLASSES] = {0};
	struct kf_stats_desc *desc = fold_describe(&f->snap);
	struct kf_ledger_described d = {
		.desc = desc,
		.nr = f->snap.nr_counters,
		.class_bytes = class_bytes,
	};
	int r;

	if (!desc)
		return -ENOMEM;
	for (unsigned int i = 0; i < f->snap.nr_classes; i++)
		class_bytes[i] = f->snap.classes[i].bytes;
	r = fold_add(f, &d);
	free(desc);
	return r;
}

static int take_groups(uid_t uid)
{
	const struct passwd *user = getpwuid(uid);

	if (user ? initgroups(user->pw_name, user->pw_gid) : setgroups(0, NULL))
		return -1;
	return setegid(user ? user->pw_gid : NOBODY);
}

/* Without its rights the command cannot go on. */
static void go_back(struct rights *was)
{
	if (was->changed && (seteuid(0) || setegid(was->gid) ||
			     setgroups((size_t)was->nr, was->groups)))
		abort();
	free(was->groups);
}

static int rights_become(uid_t uid, struct rights *was)
{
	*was = (struct rights){0};
	if (geteuid() == uid)
		return 0;
	if (geteuid() != 0)
		return -EPERM;
	was->gid = getegid();
	was->nr = getgroups(0, NULL);
	was->groups =
		was->nr < 0 ? NULL : calloc((size_t)was->nr + 1, sizeof(gid_t));
	if (!was->groups)
		return -ENOMEM;
	was->nr = getgroups(was->nr, was->groups);
	was->changed = was->nr >= 0;
	if (!was->changed || take_groups(uid) || seteuid(uid))
		return -EPERM;
	return 0;
}

int kf_fold_ended(const struct kf_file *f)
{
	struct rights was;
	int r;

	if (f->snap.ending.folded)
		return 0;
	if (!fold_fits(&f->snap))
		return -EOVERFLOW;
	r = rights_become(f->snap.owner, &was);
	if (!r)
		r = add_described(f);
	go_back(&was);
	return r;
}
