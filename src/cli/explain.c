/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The facts of a verdict, and the rules. A rule that asks for the memory of
 * the process is left out where the process is gone: its file tells of the heap
 * alone.
 */
#include "config.h"

#include "cli/explain.h"

#include "cli/process.h"

#include <stdlib.h>

static const char *const names[] = {
	[KF_VERDICT_LEAK] = "leak",
	[KF_VERDICT_FRAGMENTATION] = "fragmentation",
	[KF_VERDICT_CACHE] = "cache",
	[KF_VERDICT_NOT_THE_HEAP] = "not the heap",
	[KF_VERDICT_IN_USE] = "in use",
};

const char *kf_verdict_name(enum kf_verdict verdict)
{
	return names[verdict];
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t level(const struct kf_snapshot *s, const char *name)
{
	int64_t v = (int64_t)kf_snapshot_value(s, name);

	return v > 0 ? (uint64_t)v : 0;
}

/* What the program has of the heap. */
static uint64_t used_of(const struct kf_snapshot *s)
{
	return s->totals.live + s->totals.rounding;
}

/*
 * An engine of pools says of free memory only that it is in them: it counts as
 * pages that were not given back, as it is kept for what comes; limit_pools()
 * knows better.
 */
static void take_heap(struct kf_facts *f, const struct kf_snapshot *s)
{
	const struct kf_totals *t = &s->totals;
	uint64_t kept = KF_MIN(level(s, "large_kept"), t->cached);
	uint64_t dirty = level(s, "pools") ? t->free : level(s, "dirty");

	dirty = KF_MIN(dirty, t->free);
	f->live = t->live;
	f->rounding = t->rounding;
	f->half_empty = t->cached - kept;
	f->dirty = dirty + kept;
	f->unused = t->free - dirty;
	f->metadata = t->metadata;
	f->held = t->held;
	f->peak_held = KF_MAX(level(s, "peak_held"), t->held);
	f->allocated = t->allocated;
}

/* Of free memory in pools no more was touched than the process has. */
static void limit_pools(struct kf_facts *f, uint64_t anonymous)
{
	uint64_t others = f->live + f->rounding + f->half_empty + f->metadata;
	uint64_t excess = less(f->dirty, less(anonymous, others));

	f->dirty -= excess;
	f->unused += excess;
}

/*
 * The heap has no pages of files and none that are shared, and it has no more
 * resident than it may have touched.
 */
static void take_process(struct kf_facts *f, const struct kf_file *file)
{
	uint64_t shared = kf_process_shared(file);

	f->resident = kf_process_resident(file);
	f->resident_known = f->resident > 0;
	if (f->resident_known && level(&file->snap, "pools"))
		limit_pools(f, less(f->resident, shared));
	f->outside = KF_MAX(less(f->resident, f->held - f->unused),
			    KF_MIN(shared, f->resident));
}

static void take_watch(struct kf_facts *f, const struct kf_watch *w)
{
	uint64_t a = used_of(&w->first->snap), b = used_of(&w->middle->snap),
		 c = used_of(&w->last->snap);

	f->watched = w->seconds > 0;
	f->seconds = w->seconds;
	f->grown = (int64_t)(c - a);
	f->steady = a < b && b < c;
}

/* Times are of one clock; a file begins when its process does, or at a fork. */
static void take_life(struct kf_facts *f, const struct kf_snapshot *s)
{
	uint64_t begin = s->id.created_mono / 1000000;
	uint64_t seen = kf_snapshot_value(s, "seen_at");
	uint64_t grown = kf_snapshot_value(s, "grown_at");

	f->life_known = seen > begin;
	f->life = (double)less(seen, begin) / 1e3;
	f->growing = (double)less(KF_MIN(grown, seen), begin) / 1e3;
}

static uint64_t whole_of(const struct kf_facts *f)
{
	return f->resident_known ? f->resident : f->held - f->unused;
}

static bool grows(const struct kf_facts *f)
{
	uint64_t used = f->live + f->rounding;
	uint64_t least = KF_MAX(whole_of(f) / KF_EXPLAIN_GROWTH_PART,
				(uint64_t)KF_EXPLAIN_GROWTH_MIN);

	return f->watched && f->steady && f->grown >= (int64_t)least &&
	       used >= f->half_empty + f->dirty;
}

static bool grew_until_the_end(const struct kf_facts *f)
{
	return !f->watched && f->life_known && f->life >= KF_EXPLAIN_LIFE_MIN &&
	       f->life - f->growing <= f->life / KF_EXPLAIN_LIFE_PART &&
	       f->held >= f->peak_held - f->peak_held / KF_EXPLAIN_PEAK_PARTS;
}

static bool wastes(const struct kf_facts *f)
{
	uint64_t waste = f->half_empty + f->dirty;

	return waste >= KF_EXPLAIN_WASTE_MIN &&
	       waste >= (f->held - f->unused) / KF_EXPLAIN_WASTE_PART;
}

/* The rules: the first that holds decides. */
static enum kf_verdict judge(const struct kf_facts *f)
{
	if (grows(f))
		return KF_VERDICT_LEAK;
	if (f->resident_known && f->outside > f->resident / 2)
		return KF_VERDICT_NOT_THE_HEAP;
	if (wastes(f))
		return f->half_empty >= f->dirty ? KF_VERDICT_FRAGMENTATION
						 : KF_VERDICT_CACHE;
	if (grew_until_the_end(f))
		return KF_VERDICT_LEAK;
	return KF_VERDICT_IN_USE;
}

/* A number of bytes in a sentence; a few at a time. */
static const char *bytes(uint64_t n)
{
	static char text[8][32];
	static unsigned int at;

	at = (at + 1) % KF_ARRAY_SIZE(text);
	return kf_human_bytes(text[at], sizeof(text[at]), n);
}

static const char *change(int64_t n)
{
	static char text[40];

	text[0] = n < 0 ? '-' : '+';
	kf_human_bytes(text + 1, sizeof(text) - 1,
		       n < 0 ? -(uint64_t)n : (uint64_t)n);
	return text;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static char *why_leak(const struct kf_facts *f)
{
	if (f->watched)
		return kf_format("what the program has grew by %s in %.1f s, "
				 "in either half of it, to %s",
				 bytes((uint64_t)f->grown), f->seconds,
				 bytes(f->live + f->rounding));
	return kf_format("the heap grew until the end, to %s: by its last "
			 "sixteenth after %.1f s of %.1f s; %s of the %s that "
			 "were allocated are live",
			 bytes(f->held), f->growing, f->life,
			 bytes(f->live + f->rounding), bytes(f->allocated));
}

static char *why_in_use(const struct kf_facts *f)
{
	uint64_t used = f->live + f->rounding;

	if (f->watched)
		return kf_format("the program has %s of %s, and that changed "
				 "by %s in %.1f s",
				 bytes(used), bytes(whole_of(f)),
				 change(f->grown), f->seconds);
	if (!f->life_known || f->life < KF_EXPLAIN_LIFE_MIN)
		return kf_format("the program has %s of %s; whether it grew is "
				 "not known",
				 bytes(used), bytes(whole_of(f)));
	return kf_format("the program has %s of %s; the heap grew by its last "
			 "sixteenth after %.1f s of %.1f s",
			 bytes(used), bytes(whole_of(f)), f->growing, f->life);
}

static char *why(const struct kf_facts *f, enum kf_verdict verdict)
{
	uint64_t heap = f->held - f->unused;

	switch (verdict) {
	case KF_VERDICT_LEAK:
		return why_leak(f);
	case KF_VERDICT_FRAGMENTATION:
		return kf_format("%s of the heap's %s (%.0f%%) are free blocks "
				 "in pages that live blocks keep",
				 bytes(f->half_empty), bytes(heap),
				 percent(f->half_empty, heap));
	case KF_VERDICT_CACHE:
		return kf_format("%s of the heap's %s (%.0f%%) are free pages "
				 "kept for what comes; they go back while the "
				 "program allocates",
				 bytes(f->dirty), bytes(heap),
				 percent(f->dirty, heap));
	case KF_VERDICT_NOT_THE_HEAP:
		return kf_format("%s of the process' %s (%.0f%%) are not the "
				 "heap's, which has %s",
				 bytes(f->outside), bytes(f->resident),
				 percent(f->outside, f->resident), bytes(heap));
	default:
		return why_in_use(f);
	}
}

void kf_explain(const struct kf_watch *w, struct kf_explained *e)
{
	*e = (struct kf_explained){0};
	take_heap(&e->facts, &w->last->snap);
	take_process(&e->facts, w->last);
	take_watch(&e->facts, w);
	take_life(&e->facts, &w->last->snap);
	e->verdict = judge(&e->facts);
	e->why = why(&e->facts, e->verdict);
}

void kf_explained_release(struct kf_explained *e)
{
	free(e->why);
	e->why = NULL;
}
