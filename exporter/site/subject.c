/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process of a page or a profile: see subject.h.
 */
#include "config.h"

#include "exporter/site/subject.h"
#include "exporter/site/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parse a whole string as a number; 0 if it is not one. */
static uint64_t subject_number(const char *text, int base)
{
	uint64_t n;
	char *end;

	if (!text || !*text || *text == '-' || *text == '+' || *text == ' ')
		return 0;
	errno = 0;
	n = strtoull(text, &end, base);
	return *end || errno ? 0 : n;
}

static bool subject_matches(const struct kf_member *m, uint64_t id, int pid)
{
	if (id)
		return kf_member_id(m) == id &&
		       (kf_member_shown(m) || kf_member_left(m));
	return kf_member_shown(m) && m->pid == pid;
}

static const struct kf_member *subject_find(struct kf_groups *g, uint64_t id,
					    int pid)
{
	const struct kf_member *m;
	unsigned int i;

	for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m && !subject_matches(m, id, pid);
		     m = m->next)
			continue;
		if (m)
			return m;
	}
	return NULL;
}

static bool subject_take(struct kf_subject *subject, const struct kf_member *m)
{
	uint64_t part[KF_NR_PARTS];

	kf_parts_of(m->seen, part);
	*subject = (struct kf_subject){
		.path = strdup(m->path),
		.id = kf_member_id(m),
		.pid = m->ended ? 0 : m->pid,
		.ended = m->ended,
		.ended_at = m->ended_at,
		.cause = m->cause,
		.held = kf_parts_sum(part),
	};
	memcpy(subject->name, m->name, sizeof(subject->name));
	memcpy(subject->container, m->container, sizeof(subject->container));
	return subject->path;
}

bool kf_subject_find(struct kf_groups *g, const struct kf_site_request *q,
		     struct kf_subject *subject)
{
	const char *in_path = kf_site_id(q->path);
	uint64_t id = subject_number(in_path ? in_path : q->id, 16);
	uint64_t pid = in_path ? 0 : subject_number(q->pid, 10);
	const struct kf_member *m = NULL;
	bool found;

	pthread_mutex_lock(&g->lock);
	if (id || (pid && pid <= INT32_MAX))
		m = subject_find(g, id, (int)pid);
	found = m && subject_take(subject, m);
	pthread_mutex_unlock(&g->lock);
	return found;
}

bool kf_subject_read(const struct kf_subject *subject, unsigned int tables,
		     struct kf_snapshot *s)
{
	const char *name;
	int fd = kf_place_of(subject->path, &name);

	*s = (struct kf_snapshot){0};
	if (fd < 0)
		return false;
	kf_snapshot_read_with(fd, name, tables, s);
	close(fd);
	return s->result == KF_READ_OK;
}

void kf_subject_release(struct kf_subject *subject)
{
	free(subject->path);
	subject->path = NULL;
}

static int subjects_by_held(const void *a, const void *b)
{
	const struct kf_subject *x = a, *y = b;

	if (x->held != y->held)
		return x->held < y->held ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static bool subjects_add(struct kf_subjects *s, const struct kf_member *m)
{
	struct kf_subject *more = s->subject;

	/* the room doubles: it is full whenever the number is a power of 2 */
	if (!(s->nr & (s->nr - 1)))
		more = realloc(more, (s->nr ? 2 * s->nr : 1) * sizeof(*more));
	if (!more)
		return false;
	s->subject = more;
	return subject_take(&more[s->nr], m) && ++s->nr;
}

bool kf_subjects_list(struct kf_groups *g, struct kf_subjects *out)
{
	const struct kf_member *m;
	bool done = true;
	unsigned int i;

	*out = (struct kf_subjects){0};
	pthread_mutex_lock(&g->lock);
	for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m && done; m = m->next)
			done = !kf_member_shown(m) || subjects_add(out, m);
	}
	pthread_mutex_unlock(&g->lock);
	if (out->nr)
		qsort(out->subject, out->nr, sizeof(*out->subject),
		      subjects_by_held);
	return done;
}

void kf_subjects_release(struct kf_subjects *s)
{
	while (s->nr)
		kf_subject_release(&s->subject[--s->nr]);
	free(s->subject);
	s->subject = NULL;
}
