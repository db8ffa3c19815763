/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of others, and of processes that have ended, are read once. The file of
 * a process that called exec is removed by its next program, which has a file
 * of its own.
 */
#include "config.h"

#include "cli/profile/follow.h"

#include "cli/cli.h"
#include "cli/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

struct kf_followed {
	struct kf_maker maker; /* empty once it has ended */
	int32_t pid;	       /* 0: it has ended */
	bool seen;	       /* its file is there */
	bool ended;
};

enum { ANY, NOT_FOLLOWED, FOLLOWED };

/* Of a name: FOLLOWED and its place in the list. */
struct follow_name {
	uint64_t key;
	uint64_t state;
};

uint32_t kf_family_new(void)
{
	uint32_t n = 0;

	while (!n) {
		if (getrandom(&n, sizeof(n), 0) != sizeof(n))
			n = (uint32_t)time(NULL);
	}
	return n;
}

uint32_t kf_family_led(int32_t pid)
{
	return kf_family_new() << KF_FAMILY_PID_BITS | (uint32_t)pid;
}

static uint64_t follow_key(const char *name)
{
	return kf_map_key(KF_MAP_KEY, name, strlen(name));
}

static bool follow_has_ended(const struct kf_file *f)
{
	return f->life == KF_LIFE_DEAD || f->life == KF_LIFE_EXECED;
}

static bool follow_skip(void *ctx, const struct kf_file *f)
{
	const struct kf_follower *w = ctx;
	const struct follow_name *n =
		kf_map_find(&w->known, follow_key(f->name));

	return n && n->state == NOT_FOLLOWED;
}

/* What the process' maker has is a part of the profile. */
static void follow_flush(struct kf_follower *w, size_t i)
{
	struct kf_maker *m = &w->all[i].maker;
	struct kf_profile_part part = {
		.record.kind = KF_PROFILE_PART,
		.number = (uint32_t)i + 1,
	};

	if (m->size)
		kf_maker_put(w->to, &part, sizeof(part), m->bytes, m->size);
	m->size = 0;
}

static struct kf_followed *follow_begin(struct kf_follower *w,
					const struct kf_file *f)
{
	struct kf_profile_process process = {
		.record.kind = KF_PROFILE_PROCESS,
		.number = (uint32_t)w->nr + 1,
		.pid = kf_process_id(f),
		.begin_ns = w->time_ns,
		.identity = f->snap.id,
	};
	struct kf_followed *p;

	/* the room doubles: it is full whenever the number is a power of 2 */
	if (!(w->nr & (w->nr - 1))) {
		size_t room = w->nr ? 2 * w->nr : 1;

		p = realloc(w->all, room * sizeof(*p));
		if (!p) {
			kf_error("out of memory");
			exit(KF_EXIT_FAILED);
		}
		w->all = p;
	}
	p = &w->all[w->nr++];
	memset(p, 0, sizeof(*p));
	p->maker.names = w->to->names;
	kf_maker_open(&p->maker);
	kf_maker_put(w->to, &process, sizeof(process), NULL, 0);
	return p;
}

/*
 * Return: whether the file is of a process to follow. One that has called exec
 * without any samples, as shells do in their children, is of no interest.
 */
static bool follow_wants(const struct kf_follower *w, const struct kf_file *f)
{
	return f->snap.result == KF_READ_OK && f->snap.family == w->family &&
	       strcmp(f->name, w->first) != 0 &&
	       (!w->owned || f->snap.owner == w->owner) &&
	       w->nr < KF_PROFILE_PROCESSES &&
	       (f->life != KF_LIFE_EXECED ||
		kf_snapshot_value(&f->snap, "samples"));
}

static int follow_visit(void *ctx, const struct kf_file *f)
{
	struct kf_follower *w = ctx;
	bool is_new, again = f->snap.result == KF_READ_NOT_READY ||
			     f->snap.result == KF_READ_LATE;
	struct follow_name *n =
		kf_entry(&w->known, follow_key(f->name), &is_new);
	struct kf_followed *p;

	if (n->state >= FOLLOWED) {
		p = &w->all[n->state - FOLLOWED];
		p->seen = true;
	} else if (again) {
		return 0;
	} else if (!follow_wants(w, f)) {
		n->state = NOT_FOLLOWED;
		return 0;
	} else {
		n->state = FOLLOWED + w->nr;
		p = follow_begin(w, f);
		p->seen = is_new = true;
	}
	if (f->snap.result != KF_READ_OK)
		return 0;
	p->pid = f->pid;
	p->ended = follow_has_ended(f);
	if (w->whole || is_new || p->ended)
		kf_maker_look(&p->maker, f, w->time_ns);
	if (p->ended)
		n->state = NOT_FOLLOWED;
	return 0;
}

/* Names come after all snapshots, as they take longer. */
static void follow_finish(struct kf_follower *w, size_t i)
{
	struct kf_followed *p = &w->all[i];
	struct timespec now;

	if (!p->seen || p->ended) {
		kf_maker_gone(&p->maker, w->time_ns);
		p->ended = true;
		p->pid = 0;
	}
	if (w->names && p->maker.nr_unnamed) {
		clock_gettime(CLOCK_REALTIME, &now);
		kf_maker_names(&p->maker, &(struct kf_file){.pid = p->pid},
			       (uint64_t)now.tv_sec * 1000000000 +
				       (uint64_t)now.tv_nsec);
	}
	follow_flush(w, i);
	if (p->ended)
		kf_maker_release(&p->maker);
}

int kf_follow_look(struct kf_follower *w, uint64_t time_ns, bool whole)
{
	const struct kf_find find = {
		.dirs = w->dirs,
		.pids = w->pids,
		.nr_pids = w->nr_pids,
		.skip = follow_skip,
	};

	w->known.entry_size = sizeof(struct follow_name);
	w->time_ns = time_ns;
	w->whole = whole;
	for (size_t i = 0; i < w->nr; i++)
		w->all[i].seen = false;
	if (kf_files_visit(&find, follow_visit, w)) {
		kf_error("reading the stats files: %s", strerror(ENOMEM));
		return KF_EXIT_FAILED;
	}
	for (size_t i = 0; i < w->nr; i++) {
		if (w->all[i].maker.counts.entry_size)
			follow_flush(w, i);
	}
	for (size_t i = 0; i < w->nr; i++) {
		if (w->all[i].maker.counts.entry_size)
			follow_finish(w, i);
	}
	return 0;
}

size_t kf_follow_running(const struct kf_follower *w)
{
	size_t nr = 0;

	for (size_t i = 0; i < w->nr; i++)
		nr += !w->all[i].ended;
	return nr;
}

void kf_follow_release(struct kf_follower *w)
{
	for (size_t i = 0; i < w->nr; i++)
		kf_maker_release(&w->all[i].maker);
	free(w->all);
	kf_map_release(&w->known);
	w->all = NULL;
	w->nr = 0;
}
