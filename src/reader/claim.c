/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which stats files are believed: see claim.h.
 */
#include "config.h"

#include "reader/claim.h"
#include "reader/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REAL, EFFECTIVE, SAVED, FILES, NR_UIDS };

static bool uids_of(const struct kf_life_view *view, int32_t pid,
		    uint32_t uid[NR_UIDS])
{
	char status[4096];
	const char *line;

	if (kf_proc_line(view->procfd, pid, "status", status, sizeof(status)) <=
	    0)
		return false;
	line = strstr(status, "\nUid:");
	return line && sscanf(line, "\nUid: %u %u %u %u", &uid[REAL],
			      &uid[EFFECTIVE], &uid[SAVED], &uid[FILES]) == 4;
}

static bool user_ns(const struct kf_life_view *view, const char *who,
		    uint64_t *ns)
{
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), "%s/ns/user", who);
	if (fstatat(view->procfd, name, &st, 0))
		return false;
	*ns = (uint64_t)st.st_ino;
	return true;
}

/*
 * The uid map of a process in our own user namespace maps to the outer
 * namespace, and its root would be another user here.
 */
static bool is_root_there(const struct kf_life_view *view, int32_t pid,
			  uint32_t owner)
{
	unsigned int inside, outside;
	char who[16], map[256];
	uint64_t ours, theirs;

	snprintf(who, sizeof(who), "%d", pid);
	return user_ns(view, "self", &ours) && user_ns(view, who, &theirs) &&
	       ours != theirs &&
	       kf_proc_line(view->procfd, pid, "uid_map", map, sizeof(map)) >
		       0 &&
	       sscanf(map, "%u %u", &inside, &outside) == 2 && !inside &&
	       outside == owner;
}

enum kf_claim kf_claim_of(const struct kf_life_view *view, int32_t pid,
			  uint32_t owner)
{
	uint32_t uid[NR_UIDS];

	if (!owner)
		return KF_CLAIM_WHOLE;
	if (!uids_of(view, pid, uid))
		return KF_CLAIM_NONE;
	if (uid[REAL] == owner && uid[SAVED] == owner)
		return KF_CLAIM_WHOLE;
	for (int i = 0; i < NR_UIDS; i++) {
		if (uid[i] == owner)
			return KF_CLAIM_PART;
	}
	return is_root_there(view, pid, owner) ? KF_CLAIM_WHOLE : KF_CLAIM_NONE;
}

bool kf_claim_lies(const struct kf_life_view *view,
		   const struct kf_stats_identity *id, uint32_t owner)
{
	return owner && owner != geteuid() && id->uid != owner &&
	       (!id->pid_ns || id->pid_ns == view->pid_ns);
}

/* Files sorted by process; most processes have one file. */
struct order {
	int32_t pid;
	struct kf_listed *file;
};

static int claim_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_age(const struct kf_listed *a, const struct kf_listed *b)
{
	int cmp = claim_compare(a->created_ns, b->created_ns);

	return cmp ? cmp : strcmp(a->name, b->name);
}

static int by_process(const struct kf_listed *a, const struct kf_listed *b)
{
	int cmp = (a->id_pid > b->id_pid) - (a->id_pid < b->id_pid);

	if (!cmp)
		cmp = claim_compare(a->pid_ns, b->pid_ns);
	if (!cmp)
		cmp = claim_compare(a->start_ticks, b->start_ticks);
	return cmp ? cmp : claim_compare(a->boot, b->boot);
}

static int by_order(const void *va, const void *vb)
{
	const struct order *a = va, *b = vb;
	int cmp;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	cmp = by_process(a->file, b->file);
	if (!cmp)
		cmp = claim_compare(a->file->owner, b->file->owner);
	return cmp ? cmp : by_age(a->file, b->file);
}

/* The files of one process, sorted by owner and age. */
struct same {
	struct order *order;
	unsigned int nr;
	const struct kf_listed *strong; /* newest of an owner with all claims */
	bool mixed; /* files of several owners claim to be alive */
};

static bool is_strong(const struct kf_listed *f)
{
	return f->firm || !f->owner;
}

static void look_through(struct same *same)
{
	const struct kf_listed *alive = NULL;

	for (unsigned int i = 0; i < same->nr; i++) {
		const struct kf_listed *f = same->order[i].file;

		if (is_strong(f) &&
		    (!same->strong || by_age(same->strong, f) < 0))
			same->strong = f;
		if (f->life != KF_LIFE_ALIVE)
			continue;
		if (alive && alive->owner != f->owner)
			same->mixed = true;
		alive = f;
	}
}

/* Whether a newer file replaces the @i-th. */
static bool has_newer(const struct same *same, unsigned int i)
{
	const struct kf_listed *f = same->order[i].file;

	if (i + 1 < same->nr && same->order[i + 1].file->owner == f->owner)
		return true;
	return same->strong && by_age(f, same->strong) < 0;
}

static int claim_settle(struct same *same, const struct kf_claim_verdicts *v)
{
	int rc = 0;

	look_through(same);
	for (unsigned int i = 0; !rc && i < same->nr; i++) {
		struct kf_listed *f = same->order[i].file;

		if (same->mixed && f->life == KF_LIFE_ALIVE && !f->firm)
			rc = v->conflict(v->ctx, f);
		else if (has_newer(same, i))
			rc = v->execed(v->ctx, f);
	}
	return rc;
}

static unsigned int same_from(const struct order *order, unsigned int nr)
{
	unsigned int i = 1;

	if (!order[0].file->start_ticks)
		return 1;
	while (i < nr && order[i].pid == order[0].pid &&
	       !by_process(order[0].file, order[i].file))
		i++;
	return i;
}

int kf_claims_settle(struct kf_listing *files,
		     const struct kf_claim_verdicts *v)
{
	struct order *order = calloc(files->nr + 1, sizeof(*order));
	unsigned int nr = 0;
	int rc = 0;

	if (!order)
		return -1;
	for (unsigned int i = 0; i < files->nr; i++) {
		struct kf_listed *f = &files->file[i];

		if (f->ok)
			order[nr++] = (struct order){f->id_pid, f};
	}
	qsort(order, nr, sizeof(*order), by_order);
	for (unsigned int i = 0; !rc && i < nr;) {
		struct same same = {.order = order + i,
				    .nr = same_from(order + i, nr - i)};

		i += same.nr;
		if (same.nr > 1)
			rc = claim_settle(&same, v);
	}
	free(order);
	return rc;
}
