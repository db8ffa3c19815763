/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The facts of a verdict, and the rules. If the process has ended, only its
 * file is left, and rules about the memory outside of the heap are skipped.
 */
#include "config.h"

#include "reader/verdict.h"

#include "reader/human.h"
#include "reader/proc.h"
#include "reader/smaps.h"
#include "reader/sockets.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const verdict_names[] = {
	[KF_VERDICT_LEAK] = "leak",
	[KF_VERDICT_FRAGMENTATION] = "fragmentation",
	[KF_VERDICT_WAITING] = "waiting",
	[KF_VERDICT_CACHE] = "cache",
	[KF_VERDICT_NOT_THE_HEAP] = "not the heap",
	[KF_VERDICT_GROWTH] = "growth",
	[KF_VERDICT_NEVER_FREED] = "never freed",
	[KF_VERDICT_IN_USE] = "in use",
};

const char *kf_verdict_name(enum kf_verdict verdict)
{
	return verdict_names[verdict];
}

static uint64_t facts_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t facts_level(const struct kf_snapshot *s, const char *name)
{
	int64_t v = (int64_t)kf_snapshot_value(s, name);

	return v > 0 ? (uint64_t)v : 0;
}

uint64_t kf_snapshot_used(const struct kf_snapshot *s)
{
	return s->totals.live + s->totals.rounding;
}

/*
 * Bytes of slabs without a live block, at least: each live block keeps at most
 * one slab. A thread that allocates or frees gives such slabs back.
 */
static uint64_t waiting_of(const struct kf_snapshot *s)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; s->knows_slabs && i < s->nr_classes; i++) {
		const struct kf_class_count *c = &s->classes[i];
		int64_t live = (int64_t)(c->mallocs - c->frees) + c->inherited;

		if (c->slabs && live < (int64_t)c->slabs)
			sum += c->carved * c->bytes / c->slabs *
			       (c->slabs - (uint64_t)KF_MAX(live, 0));
	}
	return sum;
}

/*
 * An engine with pools reports only the bytes that are free in them. They count
 * as dirty pages, kept for later allocations; limit_pools() corrects this.
 */
static void take_heap(struct kf_facts *f, const struct kf_snapshot *s)
{
	const struct kf_totals *t = &s->totals;
	uint64_t kept = KF_MIN(facts_level(s, "large_kept"), t->cached);
	uint64_t dirty =
		facts_level(s, "pools") ? t->free : facts_level(s, "dirty");

	dirty = KF_MIN(dirty, t->free);
	f->live = t->live;
	f->rounding = t->rounding;
	f->half_empty = t->cached - kept;
	f->waiting = KF_MIN(waiting_of(s), f->half_empty);
	f->bins = t->bins;
	f->bins_known = t->knows_bins;
	f->dirty = dirty + kept;
	f->unused = t->free - dirty;
	f->metadata = t->metadata;
	f->held = t->held;
	f->limit = facts_level(s, "limit");
	f->headroom = facts_less(f->limit, f->held);
	f->pressures = facts_level(s, "memory_pressure");
	f->peak_held = KF_MAX(facts_level(s, "peak_held"), t->held);
	/* of a malloc elsewhere only what is held now is known */
	f->peak_known = strcmp(s->id.engine, "system") != 0;
	f->allocated = t->allocated;
	f->blocks = t->live_blocks;
	f->uncounted = facts_level(s, "lost_slots");
	f->attached = s->attached;
	f->runtimes = kf_runtime_of(s->id.exe);
	if (s->nr_calls)
		f->runtimes |= KF_RUNTIME_PYTHON;
}

/*
 * The touched part of the free memory in pools is at most the resident memory
 * of the process.
 */
static void limit_pools(struct kf_facts *f, uint64_t anonymous)
{
	uint64_t others = f->live + f->rounding + f->half_empty + f->metadata;
	uint64_t excess = facts_less(f->dirty, facts_less(anonymous, others));

	f->dirty -= excess;
	f->unused += excess;
}

/*
 * The heap is in the anonymous mappings, and in what brk() gave where a malloc
 * behind the library serves blocks. Nothing says which of them are the heap's:
 * what it did not touch hides as much of the others.
 */
static void take_mappings(struct kf_facts *f, const struct kf_case *c)
{
	struct kf_smaps m;
	uint64_t room, heap, excess;

	f->mappings_known = c->mappings && kf_smaps_read(c->procfs, c->pid, &m);
	if (!f->mappings_known)
		return;
	room = m.anonymous;
	f->others = m.code;
	if (facts_level(c->snap, "elsewhere"))
		room += m.program_break;
	else
		f->others += m.program_break;
	if (facts_level(c->snap, "pools"))
		limit_pools(f, room);
	heap = f->held - f->unused;
	excess = facts_less(room, heap);
	f->absent = facts_less(heap, room);
	f->huge = KF_MIN(excess, KF_MIN(m.huge, f->unused));
	f->others += excess - f->huge;
	f->files = m.files;
	f->stacks = m.stacks;
	f->shared = m.shared;
	f->tables = m.tables;
	f->sockets_known = kf_sockets_read(c->procfs, c->pid, &f->sockets);
	f->runtimes |= m.runtimes;
	f->resident = m.resident;
	f->outside = f->files + f->stacks + f->shared + f->others;
}

/*
 * Pages of files and shared pages are outside the heap, and the heap has at
 * most the pages that it may have touched.
 */
static void take_process(struct kf_facts *f, const struct kf_case *c)
{
	struct kf_proc_memory m;

	kf_proc_memory(c->procfs, c->pid, &m);
	f->resident = m.resident;
	f->resident_known = f->resident > 0;
	if (f->resident_known)
		take_mappings(f, c);
	if (f->mappings_known)
		return;
	if (f->resident_known && facts_level(c->snap, "pools"))
		limit_pools(f, facts_less(f->resident, m.shared));
	f->outside = KF_MAX(facts_less(f->resident, f->held - f->unused),
			    KF_MIN(m.shared, f->resident));
}

static struct kf_span span_of(const uint64_t *used, unsigned int from,
			      unsigned int to)
{
	struct kf_span s = {.least = UINT64_MAX};

	for (unsigned int i = from; i < to; i++)
		kf_span_widen(&s, used[i]);
	return s;
}

/*
 * The memory of a program that allocates and frees in turn rises at times, so
 * the lows of the quarters count. In a leak they never fall, they rise more
 * than once, and the last low is above the first high.
 */
static void judge_rise(struct kf_facts *f, const struct kf_span *q)
{
	unsigned int steps = 0;
	int64_t noise;

	for (unsigned int i = 0; i < KF_EXPLAIN_QUARTERS; i++) {
		if (q[i].least > q[i].most)
			return;
	}
	f->risen = (int64_t)(q[KF_EXPLAIN_QUARTERS - 1].least - q[0].least);
	noise = f->risen / KF_EXPLAIN_NOISE_PART;
	f->rising = q[KF_EXPLAIN_QUARTERS - 1].least > q[0].most;
	for (unsigned int i = 1; i < KF_EXPLAIN_QUARTERS; i++) {
		int64_t step = (int64_t)(q[i].least - q[i - 1].least);

		steps += step > noise;
		f->rising &= step >= -noise;
	}
	f->rising &= steps > 1;
}

static void take_rise(struct kf_facts *f, const struct kf_case *c)
{
	struct kf_span q[KF_EXPLAIN_QUARTERS];

	if (c->nr_used < KF_EXPLAIN_QUARTERS)
		return;
	for (unsigned int i = 0; i < KF_EXPLAIN_QUARTERS; i++)
		q[i] = span_of(c->used, c->nr_used * i / KF_EXPLAIN_QUARTERS,
			       c->nr_used * (i + 1) / KF_EXPLAIN_QUARTERS);
	judge_rise(f, q);
}

/* Whether the heap grew with the rise; @before: most that it held before. */
static bool is_record(const struct kf_facts *f, uint64_t before)
{
	return f->risen > 0 &&
	       facts_less(f->peak_held, before) >=
		       (uint64_t)f->risen / KF_EXPLAIN_RECORD_PART;
}

/* The history of a process that has ended takes the place of a watch. */
static void take_history(struct kf_facts *f, const struct kf_case *c)
{
	struct kf_growth g;

	f->remembered = c->ended && !f->watched && kf_growth_of(c->snap, &g);
	if (!f->remembered)
		return;
	f->seconds = g.seconds;
	f->grown = (int64_t)(g.last - g.first);
	f->used = g.whole;
	judge_rise(f, g.part);
	f->rising &= g.seconds >= KF_EXPLAIN_HISTORY_MIN;
	f->record = is_record(f, g.held);
}

static void take_watch(struct kf_facts *f, const struct kf_case *c)
{
	f->watched = c->seconds > 0;
	f->seconds = c->seconds;
	if (!f->watched)
		return;
	f->grown = (int64_t)(c->used[c->nr_used - 1] - c->used[0]);
	take_rise(f, c);
	/* the pools of such engines are held from the start */
	f->record = facts_level(c->snap, "pools") || is_record(f, c->before);
}

static uint64_t verdict_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * All times are of one clock; a file begins when its process does, or at a
 * fork. The time that an ended process lived after it last read the clock is
 * unknown.
 */
static void take_life(struct kf_facts *f, const struct kf_case *c)
{
	const struct kf_snapshot *s = c->snap;
	uint64_t begin = s->id.created_mono / 1000000;
	uint64_t seen = kf_snapshot_value(s, "seen_at");
	uint64_t grown = kf_snapshot_value(s, "grown_at");

	if (f->resident_known && seen)
		seen = KF_MAX(seen, verdict_now_ms());
	f->life_known = seen > begin;
	f->life = (double)facts_less(seen, begin) / 1e3;
	f->growing = (double)facts_less(KF_MIN(grown, seen), begin) / 1e3;
}

static uint64_t whole_of(const struct kf_facts *f)
{
	return f->resident_known ? f->resident : f->held - f->unused;
}

static bool facts_grow(const struct kf_facts *f)
{
	uint64_t used = f->live + f->rounding;
	uint64_t least = KF_MAX(whole_of(f) / KF_EXPLAIN_GROWTH_PART,
				(uint64_t)KF_EXPLAIN_GROWTH_MIN);

	return f->rising && f->risen >= (int64_t)least &&
	       used >= f->half_empty + f->dirty;
}

/* Growth until now, or until the end of the file, may be a leak. */
static bool grew_until_the_end(const struct kf_facts *f)
{
	return !f->watched && f->life_known && f->life >= KF_EXPLAIN_LIFE_MIN &&
	       f->life - f->growing <= f->life / KF_EXPLAIN_LIFE_PART &&
	       f->held >= f->peak_held - f->peak_held / KF_EXPLAIN_PEAK_PARTS;
}

/*
 * What a forked child has from its parent is not among what it allocated, and
 * what was allocated before an attach is not known.
 */
static bool kept_until_the_end(const struct kf_facts *f)
{
	uint64_t used = f->live + f->rounding;

	return f->ended && used >= KF_EXPLAIN_KEPT_MIN &&
	       used >= f->allocated / KF_EXPLAIN_KEPT_PART &&
	       used <= f->allocated;
}

static bool facts_waste(const struct kf_facts *f)
{
	uint64_t waste = f->half_empty + f->dirty;

	return waste >= KF_EXPLAIN_WASTE_MIN &&
	       waste >= (f->held - f->unused) / KF_EXPLAIN_WASTE_PART;
}

static enum kf_verdict judge_waste(const struct kf_facts *f)
{
	if (f->half_empty < f->dirty)
		return KF_VERDICT_CACHE;
	return f->waiting > f->half_empty / 2 ? KF_VERDICT_WAITING
					      : KF_VERDICT_FRAGMENTATION;
}

/* The rules: the first one that applies decides. */
static enum kf_verdict facts_judge(const struct kf_facts *f)
{
	if (facts_grow(f) && f->record)
		return KF_VERDICT_LEAK;
	/* blocks that nobody counted would count as outside the heap */
	if (f->resident_known && !f->uncounted && !f->attached &&
	    f->outside > f->resident / 2)
		return KF_VERDICT_NOT_THE_HEAP;
	if (facts_waste(f))
		return judge_waste(f);
	if (grew_until_the_end(f))
		return KF_VERDICT_GROWTH;
	if (kept_until_the_end(f))
		return KF_VERDICT_NEVER_FREED;
	return KF_VERDICT_IN_USE;
}

/* A number of bytes as text. */
struct words {
	char text[32];
};

static struct words verdict_words(uint64_t n)
{
	struct words w;

	kf_human_bytes(w.text, sizeof(w.text), n);
	return w;
}

#define BYTES(n) (verdict_words(n).text)

/* Returns NULL when out of memory. */
static __attribute__((format(printf, 1, 2))) char *verdict_say(const char *fmt,
							       ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	return n < 0 ? NULL : text;
}

static double facts_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static char *why_leak(const struct kf_facts *f)
{
	return verdict_say(
		"the memory in use grew by %s in %s%.1f s%s, to %s; the lows "
		"of each quarter were higher, and the heap was never larger %s",
		BYTES((uint64_t)f->grown), f->remembered ? "the last " : "",
		f->seconds, f->remembered ? " of its file" : "",
		BYTES(f->live + f->rounding),
		f->attached ? "since the attach" : "before");
}

/* How a process that has ended came to what it had. */
static char *why_history(const struct kf_facts *f, char *why)
{
	uint64_t low = f->used.least, high = f->used.most;
	bool level = high - low <= high / KF_EXPLAIN_LEVEL_PART;
	uint64_t last = f->live + f->rounding;
	uint64_t from = level ? low : last - (uint64_t)f->grown;
	char *text = why ? verdict_say("%s; in the last %.1f s of its file the "
				       "memory in use %s %s %s %s",
				       why, f->seconds,
				       level ? "stayed between" : "went from",
				       BYTES(from), level ? "and" : "to",
				       BYTES(level ? high : last))
			 : NULL;

	free(why);
	return text;
}

static char *why_growth(const struct kf_facts *f)
{
	uint64_t used = f->live + f->rounding;
	char of[64] = "";

	/* a forked child has blocks that its parent allocated */
	if (used <= f->allocated)
		snprintf(of, sizeof(of), " of the %s that were allocated",
			 BYTES(f->allocated));
	return verdict_say(
		"the heap grew to %s: by its last sixteenth after %.1f s "
		"of %s%.1f s%s; %s%s are live; "
		"whether this is a leak is not known",
		BYTES(f->held), f->growing, f->resident_known ? "" : "the ",
		f->life, f->resident_known ? "" : " that its file covers",
		BYTES(used), of);
}

/* When the heap grew until the end of the program. */
static char *why_ended_when(const struct kf_facts *f)
{
	if (!f->life_known || f->life < KF_EXPLAIN_LIFE_MIN)
		return verdict_say("whether it grew until then is not known");
	return verdict_say("the heap grew by its last sixteenth after %.1f s "
			   "of %.1f s",
			   f->growing, f->life);
}

/* Of a program that has ended, whatever share of its memory it kept. */
static char *why_ended(const struct kf_facts *f, enum kf_verdict verdict)
{
	uint64_t used = f->live + f->rounding;
	char *text = NULL, *when = why_ended_when(f), share[64] = "";

	if (used <= f->allocated)
		snprintf(share, sizeof(share), ", %.0f%% of the %s allocated",
			 facts_percent(used, f->allocated),
			 BYTES(f->allocated));
	if (when)
		text = verdict_say(
			"the program held %s at its end, in %" PRIu64
			" blocks that were never freed%s%s; %s",
			BYTES(used), f->blocks, share,
			verdict == KF_VERDICT_NEVER_FREED
				? "; whether it still used them is not known"
				: "",
			when);
	free(when);
	return text;
}

static char *why_in_use(const struct kf_facts *f)
{
	uint64_t used = f->live + f->rounding;

	if (f->watched && facts_grow(f))
		return verdict_say(
			"the memory in use grew by %s in %.1f s, to %s, but "
			"the heap was larger before, %s; a longer watch "
			"tells whether the lows rise",
			BYTES((uint64_t)f->grown), f->seconds, BYTES(used),
			BYTES(f->peak_held));
	if (f->watched)
		return verdict_say(
			"the program uses %s of %s, a change of %s%s in "
			"%.1f s",
			BYTES(used), BYTES(whole_of(f)),
			f->grown < 0 ? "-" : "+",
			BYTES((uint64_t)llabs(f->grown)), f->seconds);
	if (!f->life_known || f->life < KF_EXPLAIN_LIFE_MIN)
		return verdict_say(
			"the program uses %s of %s; whether it grew is "
			"not known",
			BYTES(used), BYTES(whole_of(f)));
	return verdict_say(
		"the program uses %s of %s; the heap grew by its last "
		"sixteenth after %.1f s of %.1f s",
		BYTES(used), BYTES(whole_of(f)), f->growing, f->life);
}

/* What the memory outside the heap mostly is where a runtime maps its own. */
static const char *runtime_maps(const struct kf_facts *f)
{
	if (f->mappings_known &&
	    f->others <= f->resident / KF_EXPLAIN_OTHERS_PART)
		return "";
	if (f->runtimes & KF_RUNTIME_JAVA)
		return "; Java maps the heap of its objects itself";
	if (f->runtimes & KF_RUNTIME_NODE)
		return "; V8 maps the heap of JavaScript itself";
	return f->runtimes & KF_RUNTIME_PYTHON
		       ? "; Python's pymalloc maps arenas for small objects "
			 "itself"
		       : "";
}

static char *verdict_why(const struct kf_facts *f, enum kf_verdict verdict)
{
	uint64_t heap = f->held - f->unused;

	switch (verdict) {
	case KF_VERDICT_LEAK:
		return why_leak(f);
	case KF_VERDICT_GROWTH:
		return why_growth(f);
	case KF_VERDICT_FRAGMENTATION:
		return verdict_say(
			"%s of the heap's %s (%.0f%%) are free blocks %s",
			BYTES(f->half_empty), BYTES(heap),
			facts_percent(f->half_empty, heap),
			f->bins > f->half_empty / 2
				? "that threads mostly keep in their bins"
				: "in pages that live blocks keep");
	case KF_VERDICT_WAITING:
		return verdict_say(
			"%s of the heap's %s (%.0f%%) are free memory in "
			"the heaps of threads that sleep; other threads "
			"take what no bin keeps, these threads give the "
			"rest back when they allocate or free",
			BYTES(f->waiting), BYTES(heap),
			facts_percent(f->waiting, heap));
	case KF_VERDICT_CACHE:
		return verdict_say(
			"%s of the heap's %s (%.0f%%) are free pages "
			"kept for later allocations; they are given back "
			"while the program allocates",
			BYTES(f->dirty), BYTES(heap),
			facts_percent(f->dirty, heap));
	case KF_VERDICT_NOT_THE_HEAP:
		return verdict_say(
			"%s of the process' %s (%.0f%%) are outside the "
			"heap, which has %s%s",
			BYTES(f->outside), BYTES(f->resident),
			facts_percent(f->outside, f->resident), BYTES(heap),
			runtime_maps(f));
	default:
		return f->ended ? why_ended(f, verdict) : why_in_use(f);
	}
}

static char *why_attached(char *why)
{
	char *text = why ? verdict_say("%s; blocks from before the attach "
				       "count as not the heap",
				       why)
			 : NULL;

	free(why);
	return text;
}

void kf_explain_case(const struct kf_case *c, struct kf_explained *e)
{
	*e = (struct kf_explained){0};
	take_heap(&e->facts, c->snap);
	e->facts.ended = c->ended;
	take_process(&e->facts, c);
	take_watch(&e->facts, c);
	take_history(&e->facts, c);
	take_life(&e->facts, c);
	e->verdict = facts_judge(&e->facts);
	e->why = verdict_why(&e->facts, e->verdict);
	if (e->facts.remembered && e->verdict != KF_VERDICT_LEAK &&
	    e->facts.seconds >= KF_EXPLAIN_TOLD_MIN)
		e->why = why_history(&e->facts, e->why);
	if (e->facts.attached)
		e->why = why_attached(e->why);
}

void kf_explained_release(struct kf_explained *e)
{
	free(e->why);
	e->why = NULL;
}
