/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Only changes are appended, so that a profile grows with the number of
 * distinct stacks and their allocations, but not with time alone.
 */
#include "config.h"

#include "cli/profile/make.h"

#include "base/saturate.h"
#include "cli/cli.h"
#include "cli/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct known_count {
	uint64_t key;
	struct kf_profile_count count;
};

/* With births in place of ages, which change with the time alone. */
struct known_ages {
	uint64_t key;
	struct kf_ages ages;
};

struct known_tid {
	uint64_t key;
	char name[16];
};

static void put_bytes(struct kf_maker *m, const void *bytes, size_t size)
{
	if (size > m->room - m->size) {
		size_t room = 2 * (m->size + size) + 4096;
		char *more = realloc(m->bytes, room);

		if (!more) {
			kf_error("out of memory");
			exit(KF_EXIT_FAILED);
		}
		m->bytes = more;
		m->room = room;
	}
	if (size)
		memcpy(m->bytes + m->size, bytes, size);
	m->size += size;
}

void kf_maker_put(struct kf_maker *m, void *head, size_t size, const void *more,
		  size_t more_size)
{
	static const char zeroes[8];
	struct kf_profile_record *r = head;
	size_t gap = KF_ALIGN_UP(more_size, (size_t)8) - more_size;

	r->size = (uint32_t)(size + more_size + gap);
	put_bytes(m, head, size);
	put_bytes(m, more, more_size);
	put_bytes(m, zeroes, gap);
}

static void put_tags(struct kf_maker *m, const struct kf_snapshot *s)
{
	for (uint32_t i = 1; i < s->nr_tags; i++) {
		const struct kf_stats_tag *t = &s->tags[i];
		struct kf_profile_tag tag = {
			.record.kind = KF_PROFILE_TAG,
			.entry = i,
			.parent = t->parent,
			.tid = t->tid,
			.depth = t->depth,
		};
		bool is_new;

		if (t->state == KF_TAG_FREE)
			continue;
		kf_entry(&m->tags, i, &is_new);
		if (!is_new)
			continue;
		memcpy(tag.name, t->name, sizeof(tag.name));
		kf_maker_put(m, &tag, sizeof(tag), NULL, 0);
	}
}

static void put_threads(struct kf_maker *m, const struct kf_snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_threads; i++) {
		const struct kf_thread_count *t = &s->threads[i];
		struct kf_profile_thread thread = {
			.record.kind = KF_PROFILE_THREAD,
			.tid = t->tid,
		};
		char *known;
		bool is_new;

		if (t->tid <= 0 || t->state != KF_SLOT_IN_USE)
			continue;
		memcpy(thread.name, t->name, sizeof(thread.name));
		known = kf_entry(&m->threads, (uint64_t)t->tid, &is_new);
		known += offsetof(struct known_tid, name);
		if (!is_new && !memcmp(known, thread.name, sizeof(thread.name)))
			continue;
		memcpy(known, thread.name, sizeof(thread.name));
		kf_maker_put(m, &thread, sizeof(thread), NULL, 0);
	}
}

static void put_stack(struct kf_maker *m, const struct kf_snapshot *s,
		      uint32_t entry)
{
	static uint64_t frame[KF_STATS_STACK_MAX];
	const struct kf_stats_stack *from = &s->stacks[entry];
	uint32_t nr = kf_snapshot_frames(s, from, frame);
	uint32_t inner = from->nr_frames;
	struct kf_profile_stack stack = {
		.record.kind = KF_PROFILE_STACK,
		.entry = entry,
		.nr_frames = inner,
		.tag = from->tag,
		.flags = from->flags & (KF_STACK_CUT | KF_STACK_OVERFLOW |
					KF_STACK_NO_TABLES | KF_STACK_NO_OUTER |
					KF_STACK_NO_CALLS | KF_STACK_INHERITED),
		.tid = from->tid,
		.generation = kf_stats_generation(from),
	};
	struct kf_profile_outer outer = {
		.record.kind = KF_PROFILE_OUTER,
		.entry = entry,
		.nr_frames = nr - inner,
		.flags = from->flags & KF_STACK_CUT,
	};

	kf_maker_calls(m, s, frame, nr);
	kf_maker_unnamed(m, frame, nr, stack.generation);
	if (nr > inner)
		stack.flags |= KF_STACK_CUT;
	kf_maker_put(m, &stack, sizeof(stack), frame, inner * sizeof(*frame));
	if (nr > inner)
		kf_maker_put(m, &outer, sizeof(outer), &frame[inner],
			     (nr - inner) * sizeof(*frame));
}

static struct kf_profile_count count_of(const struct kf_stats_stack *s,
					uint32_t entry)
{
	return (struct kf_profile_count){
		.entry = entry,
		.samples = s->samples,
		.freed_samples = s->freed_samples,
		.allocated = s->allocated,
		.freed = s->freed,
		.allocated_blocks = s->allocated_blocks,
		.freed_blocks = s->freed_blocks,
		.peak = s->peak,
		.peak_blocks = s->peak_blocks,
		.variance = s->variance,
		.freed_variance = s->freed_variance,
	};
}

/* Appends new stacks; returns the changed counts and their number */
static struct kf_profile_count *
maker_changes(struct kf_maker *m, const struct kf_snapshot *s, uint64_t *nr)
{
	struct kf_profile_count *all = kf_alloc(s->nr_stacks, sizeof(*all));

	*nr = 0;
	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		struct kf_profile_count now = count_of(&s->stacks[i], i);
		char *known;
		bool is_new;

		if (!s->stacks[i].hash)
			continue;
		known = kf_entry(&m->counts, (uint64_t)i + 1, &is_new);
		known += offsetof(struct known_count, count);
		if (is_new)
			put_stack(m, s, i);
		if (!is_new && !memcmp(known, &now, sizeof(now)))
			continue;
		memcpy(known, &now, sizeof(now));
		all[(*nr)++] = now;
	}
	return all;
}

/* Profiles have whole numbers; those of a hostile file may be of any size. */
static uint64_t maker_whole(double value)
{
	return value < (double)KF_MOST ? (uint64_t)value : KF_MOST;
}

static uint64_t maker_units(double variance)
{
	return maker_whole(variance / KF_STATS_VARIANCE_UNIT + 0.5);
}

static void put_ages(struct kf_maker *m, uint32_t entry,
		     const struct kf_ages *a)
{
	struct kf_profile_span span[KF_STATS_SPANS];
	struct kf_profile_ages ages = {
		.record.kind = KF_PROFILE_AGES,
		.entry = entry,
		.samples = a->samples,
		.oldest_ns = a->oldest_ns,
		.mean_ns = a->mean_ns,
		.foreign = maker_whole(a->foreign.value),
		.foreign_variance = maker_units(a->foreign.variance),
	};

	for (uint32_t i = 0; i < KF_STATS_SPANS; i++) {
		struct kf_estimate live = a->span[i].live;
		struct kf_estimate freed = a->span[i].freed;

		if (live.value <= 0 && freed.value <= 0)
			continue;
		span[ages.nr++] = (struct kf_profile_span){
			.span = i,
			.live = maker_whole(live.value),
			.live_variance = maker_units(live.variance),
			.freed = maker_whole(freed.value),
			.freed_variance = maker_units(freed.variance),
		};
	}
	kf_maker_put(m, &ages, sizeof(ages), span, ages.nr * sizeof(*span));
}

/*
 * The time to which ages are counted. Of a process that has ended since the
 * last look it is not known when.
 */
static uint64_t maker_now(struct kf_maker *m, const struct kf_snapshot *s,
			  bool alive, uint64_t time_ns)
{
	if (alive || !m->now_ns)
		m->now_ns = kf_ages_now(s, alive);
	else
		m->now_ns += time_ns - m->time_ns;
	m->time_ns = time_ns;
	return m->now_ns;
}

/* Appends the ages that are not those of the last time, some time later. */
static void maker_ages(struct kf_maker *m, const struct kf_snapshot *s,
		       uint64_t now)
{
	struct kf_ages *all = kf_ages_of(s, now);

	if (!all) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		struct kf_ages births = all[i];
		char *known;
		bool is_new;

		if (!s->stacks[i].hash)
			continue;
		if (births.samples) {
			births.oldest_ns = now - births.oldest_ns;
			births.mean_ns = now - births.mean_ns;
		}
		known = kf_entry(&m->ages, (uint64_t)i + 1, &is_new);
		known += offsetof(struct known_ages, ages);
		if (!memcmp(known, &births, sizeof(births)))
			continue;
		memcpy(known, &births, sizeof(births));
		put_ages(m, i, &all[i]);
	}
	free(all);
}

void kf_maker_open(struct kf_maker *m)
{
	struct kf_names *names = m->names;
	bool realtime = m->realtime;

	kf_maker_release(m);
	m->names = names;
	m->realtime = realtime;
	m->counts.entry_size = sizeof(struct known_count);
	m->ages.entry_size = sizeof(struct known_ages);
	m->tags.entry_size = sizeof(uint64_t);
	m->threads.entry_size = sizeof(struct known_tid);
	m->modules.entry_size = sizeof(uint64_t);
	m->named.entry_size = sizeof(uint64_t);
}

void kf_maker_begin(struct kf_maker *m, const struct kf_stats_identity *id,
		    uint64_t real_ns, uint64_t interval_ns)
{
	struct kf_profile_header head = {
		.magic = KF_PROFILE_MAGIC,
		.major = KF_PROFILE_MAJOR,
		.minor = KF_PROFILE_MINOR,
		.header_size = sizeof(head),
		.real_ns = real_ns,
		.interval_ns = interval_ns,
		.identity = *id,
	};

	kf_maker_open(m);
	put_bytes(m, &head, sizeof(head));
}

void kf_maker_take(struct kf_maker *m, const struct kf_file *f,
		   const struct kf_snapshot *s, uint64_t time_ns)
{
	const struct kf_totals *t = &s->totals;
	struct kf_profile_snapshot look = {
		.record.kind = KF_PROFILE_SNAPSHOT,
		.time_ns = time_ns,
		.live = t->live,
		.rounding = t->rounding,
		.cached = t->cached,
		.free = t->free,
		.metadata = t->metadata,
		.held = t->held,
		.resident = kf_process_resident(f),
		.live_blocks = t->live_blocks,
	};
	struct kf_profile_count *counts;

	put_tags(m, s);
	put_threads(m, s);
	counts = maker_changes(m, s, &look.nr);
	/*
	 * read the mappings after the stacks, so that they have the stacks'
	 * code
	 */
	kf_maker_modules(m, f->pid, s);
	kf_maker_put(m, &look, sizeof(look), counts, look.nr * sizeof(*counts));
	free(counts);
	m->last = look;
	maker_ages(m, s, maker_now(m, s, f->life == KF_LIFE_ALIVE, time_ns));
}

enum kf_read_result kf_maker_look(struct kf_maker *m, const struct kf_file *f,
				  uint64_t time_ns)
{
	enum kf_read_result result;
	struct kf_snapshot s;

	result = kf_snapshot_read_with(
		f->dirfd, f->name,
		KF_TABLE_TAGS | KF_TABLE_STACKS | KF_TABLE_AGES |
			(m->realtime ? KF_TABLE_REALTIME : 0),
		&s);
	if (result == KF_READ_OK)
		kf_maker_take(m, f, &s, time_ns);
	kf_snapshot_release(&s);
	return result;
}

bool kf_maker_samples(const struct kf_maker *m)
{
	return m->counts.tables;
}

void kf_maker_gone(struct kf_maker *m, uint64_t time_ns)
{
	if (!m->last.record.size || !m->last.resident)
		return;
	m->last.time_ns = time_ns;
	m->last.resident = m->last.nr = 0;
	kf_maker_put(m, &m->last, sizeof(m->last), NULL, 0);
}

void kf_maker_end(struct kf_maker *m)
{
	struct kf_profile_record end = {.kind = KF_PROFILE_END};

	kf_maker_put(m, &end, sizeof(end), NULL, 0);
}

void kf_maker_write(struct kf_maker *m, int *fd, const char *path)
{
	size_t done = 0;

	while (*fd >= 0 && done < m->size) {
		ssize_t n = write(*fd, m->bytes + done, m->size - done);

		if (n > 0)
			done += (size_t)n;
		if (n > 0 || (n < 0 && errno == EINTR))
			continue;
		kf_error("record: %s: %s: the profile ends here", path,
			 strerror(errno));
		close(*fd);
		*fd = -1;
	}
	m->size = 0;
}

void kf_maker_release(struct kf_maker *m)
{
	free(m->bytes);
	kf_map_release(&m->counts);
	kf_map_release(&m->ages);
	kf_map_release(&m->tags);
	kf_map_release(&m->threads);
	kf_map_release(&m->modules);
	kf_map_release(&m->named);
	kf_symbols_close(m->symbols);
	kf_codes_release(&m->codes);
	free(m->unnamed);
	memset(m, 0, sizeof(*m));
}
