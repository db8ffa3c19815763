/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files whose code is in the stacks, for readers of the stats file after
 * the end of the process.
 *
 * A new stack with an address in no known mapping lets a thread read the
 * process' mappings. Only one thread reads at a time; another thread sets a
 * flag that there is more to find, and does not wait. Known mappings are in
 * private memory; those of files are in the stats file as well. Broken chains
 * of frames have addresses in no mapping: after a read that found nothing, the
 * next ones are skipped, twice as many each time.
 *
 * Code is unmapped by dlclose(), and other code may then be mapped at its
 * addresses. After a dlclose() the mappings are read again for the next stack
 * with an address in code that can be unmapped. A mapping that is gone, or that
 * overlaps another one, is doubtful from then on: a stack with an address in
 * it needs a generation that leads readers to the mapping that is there now.
 * Where this thread cannot find out, as others read all the time, the stack is
 * unsure.
 */
#include "sample/modules.h"

#include "sample/internal.h"
#include "sample/python.h"
#include "sample/sample.h"
#include "stats/stats.h"
#include "sys/maps.h"
#include "sys/process.h"
#include "sys/thread.h"
#include "sys/vm.h"

#include <string.h>

#define MOST_SKIPPED 256
#define MOST_YIELDS 256
#define MOST_PAUSES 1000

static struct kf_known known[NR_KNOWN];
static uint32_t nr_known;    /* atomic; written by the reading thread */
static uint32_t nr_doubtful; /* likewise */
static bool reading;	     /* the right to read the mappings; atomic */
static bool more;	     /* there may be more to find; atomic */
static bool missed;	     /* a read was skipped since the last one; atomic */
static uint32_t skips;	     /* reads to skip; atomic */

static uint32_t loads; /* calls of dlopen(), or enough of them; atomic */
static uint32_t preloaded = 1; /* 0 once the first one may map; atomic */
static uint64_t unloading;     /* calls of dlclose(); atomic */
static uint64_t unloaded;      /* those that returned; atomic */
static uint64_t settled;       /* @unloaded at the last read; atomic */
static uint32_t changes;       /* odd while @known changes; atomic */

/* Guarded by @reading. */
static struct kf_maps maps;
static uint32_t next_skips;
static uint32_t nr_reads;

static bool is_known(uint64_t pc, uint32_t nr, uint32_t *last)
{
	if (*last < nr &&
	    pc - known[*last].begin < known[*last].end - known[*last].begin)
		return true;
	for (uint32_t i = nr; i-- > 0;) {
		*last = i;
		if (pc - known[i].begin < known[i].end - known[i].begin)
			return true;
	}
	return false;
}

/* A return address may be behind the last byte of its code. */
static bool all_known(const struct kf_walked *stack)
{
	uint32_t nr = kf_load_acquire(&nr_known);
	uint32_t last = 0;

	for (uint32_t i = 0; i < stack->nr; i++) {
		if (!(stack->frame[i] & KF_STATS_CALL) &&
		    !is_known(stack->frame[i] - 1, nr, &last))
			return false;
	}
	return true;
}

static bool modules_is_same(const struct kf_known *k,
			    const struct kf_mapping *m)
{
	return k->begin == m->begin && k->end == m->end &&
	       k->inode == m->inode && k->offset == m->offset;
}

static void doubt(struct kf_known *k)
{
	if (k->doubtful)
		return;
	kf_store(&k->doubtful, true);
	kf_store(&nr_doubtful, nr_doubtful + 1);
}

/* Doubts that an address in the mapping means only this. */
static void modules_compare(struct kf_known *k, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct kf_known *other = &known[i];

		if (other->begin >= k->end || k->begin >= other->end ||
		    kf_known_is_alike(other, k) || (!k->inode && !other->inode))
			continue;
		doubt(other);
		doubt(k);
	}
}

static struct kf_known *find_known(const struct kf_mapping *m, uint64_t base)
{
	for (uint32_t i = nr_known; i-- > 0;) {
		struct kf_known *k = &known[i];
		if (modules_is_same(k, m) &&
		    (k->stays || !kf_load(&unloading) ||
		     k->stamp == kf_module_stamp(m, base)))
			return k;
	}
	return NULL;
}

/* Returns whether the mapping is new. */
static bool learn_mapping(const struct kf_mapping *m, uint64_t base, bool stays)
{
	struct kf_known *k = find_known(m, base);
	uint32_t nr = nr_known;
	bool is_new = !k;

	if (is_new && nr == NR_KNOWN)
		return false;
	/* another thread has unmapped it since */
	if (is_new && m->inode && !kf_vm_is_readable((const void *)base))
		return false;
	if (is_new) {
		k = &known[nr];
		*k = (struct kf_known){
			.begin = m->begin,
			.end = m->end,
			.inode = m->inode,
			.offset = m->offset,
			.stamp = stays ? 0 : kf_module_stamp(m, base),
			.stays = stays,
		};
		modules_compare(k, nr);
	}
	k->seen = nr_reads;
	kf_store(&k->current, true);
	if (m->path[0] == '/' && !k->module)
		kf_module_put(k, m, base);
	/* pairs with the acquire load of all_known() */
	if (is_new)
		kf_store_release(&nr_known, nr + 1);
	return is_new;
}

/* Mappings that were not seen are gone. */
static void modules_sweep(void)
{
	for (uint32_t i = 0; i < nr_known; i++) {
		struct kf_known *k = &known[i];

		if (k->seen == nr_reads || !k->current)
			continue;
		kf_store(&k->current, false);
		if (k->inode)
			doubt(k);
	}
}

static bool walk_mappings(bool quiet, uint64_t unloads)
{
	bool found = false;
	uint64_t inode = 0, base = 0;
	struct kf_mapping m;
	bool stays, is_new;

	while (kf_maps_next(&maps, &m)) {
		if (m.inode != inode || !m.offset)
			base = m.begin;
		inode = m.inode;
		/* after the read, so that no object of a dlopen() stays */
		stays = m.inode &&
			kf_load_acquire(&loads) <= kf_load(&preloaded);
		if (!m.executable)
			continue;
		is_new = learn_mapping(&m, base, stays);
		found |= is_new;
		if (m.path[0] == '/' && (is_new || kf_python_is_gone()) &&
		    kf_python_look(base, stays, quiet, unloads))
			kf_store(&missed, true);
	}
	return found;
}

/* Return whether there was a new mapping. */
static bool modules_read(void)
{
	uint64_t unloads = kf_load_acquire(&kf_python_unloads);
	uint64_t done = kf_load_acquire(&unloaded);
	bool quiet = kf_load_acquire(&unloading) <= done;
	bool found;

	if (kf_process_is_barred() || kf_maps_open(&maps))
		return false;
	__atomic_store_n(&changes, changes + 1, __ATOMIC_SEQ_CST);
	kf_store(&missed, false);
	nr_reads++;
	found = walk_mappings(quiet, unloads);
	modules_sweep();
	kf_maps_close(&maps);
	if (quiet)
		kf_store(&settled, done);
	__atomic_store_n(&changes, changes + 1, __ATOMIC_SEQ_CST);
	return found;
}

static void read_and_settle(void)
{
	bool found = modules_read();

	if (found)
		next_skips = 0;
	else
		next_skips = KF_MIN(2 * next_skips + 1, (uint32_t)MOST_SKIPPED);
	kf_store(&skips, next_skips);
}

static bool is_skipped(void)
{
	uint32_t n = kf_load(&skips);

	if (n)
		kf_store(&skips, n - 1);
	return n;
}

static bool reading_begin(void)
{
	return !__atomic_exchange_n(&reading, true, __ATOMIC_SEQ_CST);
}

/* Bounded, as this may be in a signal handler of the reading thread. */
static bool reading_wait(void)
{
	for (int i = 0; i < MOST_YIELDS; i++) {
		if (reading_begin())
			return true;
		kf_thread_yield();
	}
	return false;
}

/* For as long as a thread may need that reads now. Not in a signal handler. */
static bool reading_wait_long(void)
{
	for (int i = 0; i < MOST_PAUSES; i++) {
		if (reading_wait())
			return true;
		kf_process_pause();
	}
	return false;
}

static void reading_end(void)
{
	__atomic_store_n(&reading, false, __ATOMIC_SEQ_CST);
}

/* Reads the mappings, as long as there is more and no other thread does. */
static void modules_read_more(void)
{
	while (__atomic_load_n(&more, __ATOMIC_SEQ_CST)) {
		if (!reading_begin())
			return;
		if (__atomic_exchange_n(&more, false, __ATOMIC_SEQ_CST))
			read_and_settle();
		reading_end();
	}
}

static void look_for_more(void)
{
	if (!kf_stats_path())
		return;
	if (is_skipped()) {
		kf_store(&missed, true);
		return;
	}
	__atomic_store_n(&more, true, __ATOMIC_SEQ_CST);
	modules_read_more();
}

void kf_modules_note(const struct kf_walked *stack)
{
	if (unlikely(!all_known(stack) || kf_load(&missed)))
		look_for_more();
}

void kf_modules_retry(void)
{
	if (unlikely(kf_load(&missed)))
		look_for_more();
}

bool kf_modules_has(uint64_t pc, uint32_t *last)
{
	if (is_known(pc - 1, kf_load_acquire(&nr_known), last))
		return true;
	if (!kf_stats_path() || kf_process_is_barred())
		return true;
	look_for_more();
	return is_known(pc - 1, kf_load_acquire(&nr_known), last);
}

/* Whether no code was unmapped since the last read. */
static bool is_settled(void)
{
	uint64_t done = kf_load_acquire(&unloaded);

	return kf_load_acquire(&unloading) <= done && kf_load(&settled) == done;
}

static bool is_fleeting(uint64_t pc, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (!known[i].stays && kf_known_has(&known[i], pc))
			return true;
	}
	return false;
}

/* Whether code of the stack may have been unmapped. */
static bool may_be_gone(const struct kf_walked *stack)
{
	uint32_t nr = kf_load_acquire(&nr_known);
	bool gone = false;

	for (uint32_t i = 0; i < stack->nr && !gone; i++)
		gone = is_fleeting(stack->frame[i] - 1, nr);
	return gone;
}

static bool is_doubtful(uint64_t pc, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (kf_load(&known[i].doubtful) && kf_known_has(&known[i], pc))
			return true;
	}
	return false;
}

/* The mapping that is there; NULL: none that is known. */
static struct kf_known *modules_now(uint64_t pc, uint32_t nr)
{
	while (nr-- > 0) {
		if (kf_load(&known[nr].current) && kf_known_has(&known[nr], pc))
			return &known[nr];
	}
	return NULL;
}

enum found {
	FOUND,
	FOUND_UNSURE, /* code without an entry */
	FOUND_NONE,   /* no mapping is known at an address */
	FOUND_OTHER,  /* no generation leads to all mappings */
};

/* The least generation that leads to all mappings of a stack. */
static enum found find_generation(const struct kf_walked *stack,
				  uint32_t *generation)
{
	uint32_t nr = kf_load_acquire(&nr_known);

	*generation = 0;
	for (uint32_t i = 0; i < stack->nr; i++) {
		uint64_t pc = stack->frame[i] - 1;
		const struct kf_known *now, *first;

		if (!is_doubtful(pc, nr))
			continue;
		now = modules_now(pc, nr);
		if (!now)
			return FOUND_NONE;
		if (!kf_load(&now->module))
			return FOUND_UNSURE;
		first = kf_module_of(pc, 0);
		if (!first || !kf_known_is_alike(first, now))
			*generation =
				KF_MAX(*generation, kf_load(&now->module));
	}
	for (uint32_t i = 0; *generation && i < stack->nr; i++) {
		uint64_t pc = stack->frame[i] - 1;
		const struct kf_known *of;

		if (!is_doubtful(pc, nr))
			continue;
		of = kf_module_of(pc, *generation);
		if (!of || !kf_known_is_alike(of, modules_now(pc, nr)))
			return FOUND_OTHER;
	}
	return FOUND;
}

/* Adds entries until the last ones lead to all mappings of the stack. */
static bool repeat_modules(const struct kf_walked *stack)
{
	for (uint32_t i = 0; i < stack->nr; i++) {
		uint64_t pc = stack->frame[i] - 1;
		struct kf_known *now;

		if (!is_doubtful(pc, nr_known))
			continue;
		now = modules_now(pc, nr_known);
		if (!kf_known_is_alike(kf_module_of(pc, KF_GENERATION_LAST),
				       now) &&
		    !kf_module_repeat(now))
			return false;
	}
	return true;
}

/* With the right to read the mappings. */
static uint32_t make_generation(const struct kf_walked *stack)
{
	enum found found = FOUND_NONE;
	uint32_t generation = 0;

	if (is_settled())
		found = find_generation(stack, &generation);
	if (found == FOUND_NONE) {
		modules_read();
		found = find_generation(stack, &generation);
	}
	if (found == FOUND_OTHER && repeat_modules(stack)) {
		generation = kf_module_last();
		found = FOUND;
	}
	return found == FOUND ? generation : KF_GENERATION_UNSURE;
}

/* Returns false where the mappings have to be read first. */
static bool look_up_generation(const struct kf_walked *stack,
			       uint32_t *generation)
{
	uint32_t before = kf_load_acquire(&changes);
	enum found found;

	*generation = 0;
	if (!is_settled())
		found = may_be_gone(stack) ? FOUND_NONE : FOUND;
	else if (likely(!kf_load(&nr_doubtful)))
		return true;
	else
		found = find_generation(stack, generation);
	if (found == FOUND_UNSURE)
		*generation = KF_GENERATION_UNSURE;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return found <= FOUND_UNSURE && !(before & 1) &&
	       kf_load(&changes) == before;
}

uint32_t kf_modules_generation(const struct kf_walked *stack)
{
	uint32_t generation;

	if (likely(!kf_load(&unloading) && !kf_load(&nr_doubtful)))
		return 0;
	if (look_up_generation(stack, &generation) || !kf_stats_path())
		return generation;
	if (!reading_wait())
		return KF_GENERATION_UNSURE;
	generation = make_generation(stack);
	reading_end();
	modules_read_more();
	return generation;
}

/* Another thread's first dlopen() reads the mappings, in which nothing may be
 * mapped meanwhile. Bounded, as that thread may be of a parent.
 */
static void wait_for_first(void)
{
	for (int i = 0; i < MOST_PAUSES && kf_load_acquire(&preloaded); i++)
		kf_process_pause();
	kf_store(&loads, 2);
}

void kf_modules_load(bool sampling)
{
	uint32_t none = 0;

	if (likely(kf_load(&loads) > 1))
		return;
	if (!kf_cas(&loads, &none, 1)) {
		wait_for_first();
		return;
	}
	/* what is mapped now stays */
	if (sampling && reading_wait_long()) {
		read_and_settle();
		reading_end();
		modules_read_more();
	}
	kf_store_release(&preloaded, 0);
}

void kf_modules_begin(void)
{
	if (unlikely(!kf_load_acquire(&nr_known)))
		look_for_more();
}

/*
 * Read the mappings before code may go that stacks have and no read has seen:
 * also where the thread with such a stack left the read to another thread.
 */
static void read_before_unload(void)
{
	if (!kf_load(&missed) && !__atomic_load_n(&more, __ATOMIC_SEQ_CST) &&
	    !__atomic_load_n(&reading, __ATOMIC_SEQ_CST))
		return;
	if (!reading_wait_long())
		return;
	if (__atomic_exchange_n(&more, false, __ATOMIC_SEQ_CST) ||
	    kf_load(&missed))
		read_and_settle();
	reading_end();
	modules_read_more();
}

void kf_sample_unload(bool done)
{
	if (!done)
		read_before_unload();
	__atomic_fetch_add(done ? &unloaded : &unloading, 1, __ATOMIC_SEQ_CST);
	if (!done)
		kf_python_unload();
}

void kf_modules_fork_child(void)
{
	uint32_t last = kf_module_fork_child();

	kf_store(&reading, false);
	kf_store(&changes, changes + (changes & 1));
	for (uint32_t i = 0; i < nr_known; i++) {
		if (known[i].module <= last)
			continue;
		known[i].module = 0;
		kf_store(&missed, true);
	}
	/* Of a thread in dlclose() only the parent hears the end. */
	kf_store(&unloaded, unloading);
	kf_store(&settled, UINT64_MAX);
}
