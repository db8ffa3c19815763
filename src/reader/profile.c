/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile in memory: its records are checked one by one and listed by kind.
 * Reading ends at an invalid record, as the begin of the next one is not known
 * then.
 */
#include "reader/profile.h"

#include "base/saturate.h"
#include "reader/internal.h"
#include "reader/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE ((uint64_t)1 << 40)

struct place {
	uint64_t key;			      /* an entry plus 1 */
	uint64_t index;			      /* of the stack */
	const struct kf_profile_outer *outer; /* or NULL */
};

struct named {
	uint64_t key; /* of the address and the module */
	const struct kf_profile_name *name;
};

static bool profile_append(void *list, size_t *nr, const void *record)
{
	const void ***all = list;

	/* the room doubles: it is full whenever the number is a power of 2 */
	if (!(*nr & (*nr - 1))) {
		size_t room = *nr ? 2 * *nr : 1;
		const void **more = realloc(*all, room * sizeof(*more));

		if (!more)
			return false;
		*all = more;
	}
	(*all)[(*nr)++] = record;
	return true;
}

static bool ends_within(const char *text, const void *record, uint32_t size)
{
	const char *end = (const char *)record + size;

	return text < end && memchr(text, '\0', (size_t)(end - text));
}

static bool take_module(struct kf_profile *p, const void *record, uint32_t size)
{
	const struct kf_profile_module *m = record;

	if (size < sizeof(*m) || m->begin >= m->end ||
	    m->build_id_size > KF_PROFILE_BUILD_ID ||
	    !ends_within(kf_profile_path(m), m, size)) {
		errno = EBADMSG;
		return false;
	}
	return profile_append(&p->modules, &p->nr_modules, m);
}

static bool take_tag(struct kf_profile *p, const void *record, uint32_t size)
{
	const struct kf_profile_tag *t = record;

	if (size < sizeof(*t) || t->name[sizeof(t->name) - 1] || !t->entry) {
		errno = EBADMSG;
		return false;
	}
	return profile_append(&p->tags, &p->nr_tags, t);
}

static bool profile_take_thread(struct kf_profile *p, const void *record,
				uint32_t size)
{
	if (size < sizeof(struct kf_profile_thread)) {
		errno = EBADMSG;
		return false;
	}
	return profile_append(&p->threads, &p->nr_threads, record);
}

static bool profile_take_stack(struct kf_profile *p, const void *record,
			       uint32_t size)
{
	const struct kf_profile_stack *s = record;
	const struct place place = {(uint64_t)s->entry + 1, p->nr_stacks, NULL};
	void *at;

	if (size < sizeof(*s) || s->nr_frames > KF_STATS_STACK_FRAMES ||
	    size - sizeof(*s) < s->nr_frames * sizeof(uint64_t) ||
	    s->entry == UINT32_MAX) {
		errno = EBADMSG;
		return false;
	}
	at = kf_map_add(&p->by_entry, place.key);
	if (!at)
		return false;
	memcpy(at, &place, sizeof(place));
	return profile_append(&p->stacks, &p->nr_stacks, s);
}

/* Outer frames of a stack that is not described are ignored. */
static bool profile_take_outer(struct kf_profile *p, const void *record,
			       uint32_t size)
{
	const struct kf_profile_outer *o = record;
	struct place place;
	void *at;

	if (size < sizeof(*o) ||
	    o->nr_frames > KF_STATS_STACK_MAX - KF_STATS_STACK_FRAMES ||
	    size - sizeof(*o) < o->nr_frames * sizeof(uint64_t)) {
		errno = EBADMSG;
		return false;
	}
	at = kf_map_find(&p->by_entry, (uint64_t)o->entry + 1);
	if (!at)
		return true;
	memcpy(&place, at, sizeof(place));
	place.outer = o;
	memcpy(at, &place, sizeof(place));
	return true;
}

static bool take_snapshot(struct kf_profile *p, const void *record,
			  uint32_t size)
{
	const struct kf_profile_snapshot *s = record;
	size_t room =
		size < sizeof(*s)
			? 0
			: (size - sizeof(*s)) / sizeof(struct kf_profile_count);

	if (size < sizeof(*s) || s->nr > room) {
		errno = EBADMSG;
		return false;
	}
	return profile_append(&p->snapshots, &p->nr_snapshots, s);
}

static bool profile_take_ages(struct kf_profile *p, const void *record,
			      uint32_t size)
{
	const struct kf_profile_ages *a = record;

	if (size < sizeof(*a) || a->nr > KF_STATS_SPANS ||
	    (size - sizeof(*a)) / sizeof(struct kf_profile_span) < a->nr) {
		errno = EBADMSG;
		return false;
	}
	return profile_append(&p->ages, &p->nr_ages, a);
}

/* Addresses of programs have less than 52 bits; others may meet. */
static uint64_t profile_name_key(uint64_t address, uint32_t number)
{
	uint64_t key = address ^ (uint64_t)number << 52;

	return key ? key : 1;
}

/* The string at a place in the record; NULL: none, or outside of it. */
static const char *profile_text(const struct kf_profile_name *n, uint32_t at)
{
	const char *text = (const char *)n + at;

	if (at < sizeof(*n) || at >= n->record.size ||
	    !ends_within(text, n, n->record.size))
		return NULL;
	return text;
}

static bool profile_take_name(struct kf_profile *p, const void *record,
			      uint32_t size)
{
	const struct kf_profile_name *n = record;
	struct named named = {.name = n};
	void *at;

	if (size < sizeof(*n) || !n->nr || n->nr > KF_PROFILE_CALLS ||
	    (size - sizeof(*n)) / sizeof(struct kf_profile_call) < n->nr ||
	    !n->address) {
		errno = EBADMSG;
		return false;
	}
	named.key = profile_name_key(n->address, n->number);
	at = kf_map_add(&p->named, named.key);
	if (!at)
		return false;
	memcpy(at, &named, sizeof(named));
	return true;
}

/* What the process and its maps need before its records. */
static void profile_prepare(struct kf_profile *p)
{
	p->by_entry.entry_size = sizeof(struct place);
	p->named.entry_size = sizeof(struct named);
}

static bool profile_take_process(struct kf_profile *p, const void *record,
				 uint32_t size)
{
	const struct kf_profile_process *o = record;
	struct kf_profile *other;

	if (size < sizeof(*o) || o->number != p->nr_others + 1 ||
	    o->number > KF_PROFILE_PROCESSES) {
		errno = EBADMSG;
		return false;
	}
	/* the room doubles: it is full whenever the number is a power of 2 */
	if (!(p->nr_others & (p->nr_others - 1))) {
		size_t room = p->nr_others ? 2 * p->nr_others : 1;

		other = realloc(p->others, room * sizeof(*other));
		if (!other)
			return false;
		p->others = other;
	}
	other = &p->others[p->nr_others++];
	memset(other, 0, sizeof(*other));
	profile_prepare(other);
	other->head = p->head;
	other->head.identity = o->identity;
	kf_identity_end(&other->head.identity);
	other->pid = o->pid;
	return true;
}

static bool profile_take_record(struct kf_profile *p,
				const struct kf_profile_record *r)
{
	switch (r->kind) {
	case KF_PROFILE_MODULE:
		return take_module(p, r, r->size);
	case KF_PROFILE_TAG:
		return take_tag(p, r, r->size);
	case KF_PROFILE_THREAD:
		return profile_take_thread(p, r, r->size);
	case KF_PROFILE_STACK:
		return profile_take_stack(p, r, r->size);
	case KF_PROFILE_OUTER:
		return profile_take_outer(p, r, r->size);
	case KF_PROFILE_SNAPSHOT:
		return take_snapshot(p, r, r->size);
	case KF_PROFILE_AGES:
		return profile_take_ages(p, r, r->size);
	case KF_PROFILE_NAME:
		return profile_take_name(p, r, r->size);
	case KF_PROFILE_END:
		p->ended = true;
		return true;
	default:
		return true;
	}
}

/* A part is whole: no record in it goes on behind its end. */
static bool profile_take_part(struct kf_profile *p, const void *record,
			      uint32_t size)
{
	const struct kf_profile_part *part = record;
	size_t at = sizeof(*part);

	if (size < sizeof(*part) || !part->number ||
	    part->number > p->nr_others) {
		errno = EBADMSG;
		return false;
	}
	while (size - at >= sizeof(struct kf_profile_record)) {
		const struct kf_profile_record *r =
			(const void *)((const char *)record + at);

		if (r->size < sizeof(*r) || r->size % 8 ||
		    r->size > size - at) {
			errno = EBADMSG;
			return false;
		}
		if (!profile_take_record(&p->others[part->number - 1], r))
			return false;
		at += r->size;
	}
	return true;
}

/* Records of the whole profile, which are in no part. */
static bool profile_take_outmost(struct kf_profile *p,
				 const struct kf_profile_record *r)
{
	switch (r->kind) {
	case KF_PROFILE_PROCESS:
		return profile_take_process(p, r, r->size);
	case KF_PROFILE_PART:
		return profile_take_part(p, r, r->size);
	default:
		return profile_take_record(p, r);
	}
}

static enum kf_read_result take_records(struct kf_profile *p, size_t at,
					size_t size)
{
	errno = 0;
	while (size - at >= sizeof(struct kf_profile_record)) {
		const struct kf_profile_record *r = (void *)(p->bytes + at);

		if (r->size < sizeof(*r) || r->size % 8 || r->size > size - at)
			break;
		errno = 0;
		if (!profile_take_outmost(p, r))
			break;
		at += r->size;
	}
	p->cut = at < size;
	return errno == ENOMEM ? KF_READ_ERROR : KF_READ_OK;
}

static enum kf_read_result profile_take_header(struct kf_profile *p,
					       size_t size)
{
	struct kf_profile_header *h = &p->head;

	if (!size)
		return KF_READ_NOT_READY;
	memcpy(h, p->bytes, KF_MIN(size, sizeof(*h)));
	if (size < sizeof(h->magic) || h->magic != KF_PROFILE_MAGIC)
		return KF_READ_FOREIGN;
	if (size < offsetof(struct kf_profile_header, real_ns))
		return KF_READ_DAMAGED;
	if (h->major != KF_PROFILE_MAJOR)
		return KF_READ_INCOMPATIBLE;
	if (h->header_size < sizeof(*h) || h->header_size % 8 ||
	    h->header_size > size)
		return KF_READ_DAMAGED;
	kf_identity_end(&h->identity);
	return KF_READ_OK;
}

enum kf_read_result kf_profile_take(char *bytes, size_t size,
				    struct kf_profile *p)
{
	enum kf_read_result result;

	memset(p, 0, sizeof(*p));
	p->bytes = bytes;
	profile_prepare(p);
	result = profile_take_header(p, size);
	if (result == KF_READ_OK)
		result = take_records(p, p->head.header_size, size);
	return result;
}

/* The end of the file's data, after which there may be a hole. */
static uint64_t end_of_data(int fd)
{
	uint64_t begin = 0, end = 0;

	while (kf_data_find(fd, &begin, &end))
		begin = end;
	return end;
}

/* Reads data and leaves holes zero. */
static bool read_data(int fd, char *bytes, uint64_t size)
{
	uint64_t begin = 0, end;
	bool ok = true;

	while (ok && kf_data_find(fd, &begin, &end) && begin < size) {
		end = KF_MIN(end, size);
		ok = kf_read_at(fd, bytes + begin, end - begin, begin);
		begin = end;
	}
	return ok;
}

enum kf_read_result kf_profile_read(const char *path, struct kf_profile *p)
{
	enum kf_read_result result = KF_READ_ERROR;
	char *bytes = NULL;
	uint64_t size;
	int fd;

	memset(p, 0, sizeof(*p));
	fd = kf_regular_open(path);
	if (fd < 0)
		return errno == ENOTSUP ? KF_READ_FOREIGN : KF_READ_ERROR;
	size = end_of_data(fd);
	result = KF_READ_FOREIGN;
	if (size > MAX_FILE)
		goto out;
	result = KF_READ_ERROR;
	bytes = calloc((size_t)size + 1, 1);
	if (!bytes)
		goto out;
	result = KF_READ_DAMAGED;
	if (!read_data(fd, bytes, size))
		free(bytes);
	else
		result = kf_profile_take(bytes, (size_t)size, p);
out:
	close(fd);
	return result;
}

const struct kf_profile_count *
kf_profile_counts(const struct kf_profile_snapshot *s)
{
	return (const void *)(s + 1);
}

/* What is known of an entry. Returns whether its stack was described. */
static bool profile_find_place(const struct kf_profile *p, uint32_t entry,
			       struct place *place)
{
	const void *at = kf_map_find(&p->by_entry, (uint64_t)entry + 1);

	if (at)
		memcpy(place, at, sizeof(*place));
	return at;
}

uint32_t kf_profile_frames(const struct kf_profile *p,
			   const struct kf_profile_stack *s,
			   uint64_t frame[KF_STATS_STACK_MAX])
{
	struct place place = {0};
	uint32_t nr = s->nr_frames;

	memcpy(frame, s + 1, nr * sizeof(*frame));
	if (!profile_find_place(p, s->entry, &place) || !place.outer)
		return nr;
	memcpy(&frame[nr], place.outer + 1,
	       place.outer->nr_frames * sizeof(*frame));
	return nr + place.outer->nr_frames;
}

bool kf_profile_is_cut(const struct kf_profile *p,
		       const struct kf_profile_stack *s)
{
	struct place place = {0};

	if (!profile_find_place(p, s->entry, &place) || !place.outer)
		return s->flags & KF_STACK_CUT;
	return place.outer->flags & KF_STACK_CUT;
}

uint32_t kf_profile_generation(const struct kf_profile *p,
			       const struct kf_profile_stack *s)
{
	return p->head.minor ? s->generation : KF_GENERATION_LAST;
}

uint32_t kf_profile_calls(const struct kf_profile *p, uint64_t address,
			  uint32_t number,
			  struct kf_profile_named call[KF_PROFILE_CALLS])
{
	const struct kf_profile_call *c;
	const void *at =
		kf_map_find(&p->named, profile_name_key(address, number));
	struct named named;

	if (!at)
		return 0;
	memcpy(&named, at, sizeof(named));
	if (named.name->address != address || named.name->number != number)
		return 0;
	c = (const void *)(named.name + 1);
	for (uint32_t i = 0; i < named.name->nr; i++)
		call[i] = (struct kf_profile_named){
			.function = profile_text(named.name, c[i].function),
			.file = profile_text(named.name, c[i].file),
			.line = c[i].line,
		};
	return named.name->nr;
}

const char *kf_profile_path(const struct kf_profile_module *m)
{
	return (const char *)(m + 1);
}

struct kf_profile_file kf_profile_file(const struct kf_profile_module *m)
{
	struct kf_profile_file file = {0};

	if (m->flags & KF_PROFILE_HAS_FILE &&
	    m->record.size - sizeof(*m) >= sizeof(file))
		memcpy(&file, (const char *)m + m->record.size - sizeof(file),
		       sizeof(file));
	return file;
}

ptrdiff_t kf_profile_stack_of(const struct kf_profile *p, uint32_t entry)
{
	struct place place;

	return profile_find_place(p, entry, &place) ? (ptrdiff_t)place.index
						    : -1;
}

static const struct kf_profile_tag *tag_of(const struct kf_profile *p,
					   uint32_t entry)
{
	for (size_t i = p->nr_tags; entry && i-- > 0;) {
		if (p->tags[i]->entry == entry)
			return p->tags[i];
	}
	return NULL;
}

void kf_profile_tag_path(const struct kf_profile *p, uint32_t entry,
			 char path[KF_PROFILE_TAG_PATH])
{
	const struct kf_profile_tag *t = tag_of(p, entry);
	size_t at = KF_PROFILE_TAG_PATH - 1;

	/*
	 * filled from the end; the steps are limited, as parents may form a
	 * loop
	 */
	path[at] = '\0';
	for (int up = 0; t && t->parent && up < KF_PROFILE_TAG_PATH; up++) {
		size_t len = strlen(t->name);

		if (len + 1 > at)
			break;
		if (path[at])
			path[--at] = '/';
		at -= len;
		memcpy(path + at, t->name, len);
		t = tag_of(p, t->parent);
	}
	memmove(path, path + at, KF_PROFILE_TAG_PATH - at);
}

void kf_profile_thread_name(const struct kf_profile *p, int32_t tid,
			    char name[17])
{
	name[0] = '\0';
	for (size_t i = p->nr_threads; i-- > 0;) {
		if (p->threads[i]->tid != tid)
			continue;
		memcpy(name, p->threads[i]->name, 16);
		name[16] = '\0';
		return;
	}
}

void kf_profile_release(struct kf_profile *p)
{
	for (size_t i = 0; i < p->nr_others; i++)
		kf_profile_release(&p->others[i]);
	free(p->others);
	free(p->modules);
	free(p->tags);
	free(p->threads);
	free(p->stacks);
	free(p->snapshots);
	free(p->ages);
	free(p->bytes);
	kf_map_release(&p->named);
	kf_map_release(&p->by_entry);
	memset(p, 0, sizeof(*p));
}
