/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Making, adopting and leaving thread heaps and counters.
 *
 * All counters, most of them part of a heap, are in one list that only grows.
 * The counters of threads that have ended are also on one of two idle stacks.
 * Threads push without a lock and pop under the arenas lock. So no entry can be
 * popped and pushed again between the two loads of another pop (the ABA
 * problem).
 */
#include "heap/heap.h"

#include "heap/large.h"
#include "heap/marked.h"
#include "heap/remote.h"
#include "pages/pages.h"
#include "pages/counted-lock.h"
#include "sys/lock.h"
#include "sys/process.h"
#include "sys/thread.h"

#include "probes/konfiscator-probes.h"

/* Rounds of pthread_key destructors; the heap is left in the last round. */
#define EXIT_ROUNDS 4

uintptr_t kf_link_key;

struct kf_counters kf_counters_new = {.shared = true};
struct kf_counters kf_counters_guest = {.shared = true};

__thread struct kf_front *kf_front_self
	__attribute__((tls_model("initial-exec"))) = &kf_front_guest;
__thread struct kf_self kf_self __attribute__((tls_model("initial-exec"))) =
	KF_SELF_NEW;

/* The heap that guests share; under arenas.shared_lock. */
static struct kf_heap shared_heap = {.counters.shared = true};

/* @lock guards @all, @nr, @first and pops from both idle stacks. */
static struct {
	struct kf_lock lock;
	struct kf_lock shared_lock;
	struct kf_counters *all;
	struct kf_counters *idle;     /* of heaps; atomic */
	struct kf_counters *counters; /* idle ones without a heap; atomic */
	unsigned int nr;
	struct kf_counters *first; /* made first */
	uintptr_t first_thread;	   /* its maker: kf_thread_self(); atomic */
	int64_t inherited_small;   /* live bytes when the child was forked */
	unsigned int survivors;	   /* threads when the child was forked */
	bool only_guests;	   /* no thread gets a heap for now; atomic */
	bool only_count;	   /* threads get counters alone; set once */
} arenas = {
	.lock = KF_LOCK_INIT(KF_RANK_ARENAS),
	.shared_lock = KF_LOCK_INIT(KF_RANK_SHARED),
};

static void arenas_reset_lists(struct kf_heap *heap)
{
	for (unsigned int i = 0; i < KF_NR_CLASSES; i++)
		kf_list_init(&heap->slabs[i]);
}

/* Make all bins empty. The key of links must be set. */
static void arenas_empty_bins(struct kf_heap *heap)
{
	for (unsigned int i = 0; i < KF_NR_CLASSES; i++)
		heap->front.bin[i].coded = kf_link_code(NULL);
	heap->front.mode = &kf_mode_plain;
}

struct kf_heap *kf_marked_heap(struct kf_heap *heap)
{
	struct kf_heap *marked = heap->marked;

	if (likely(marked))
		return marked;
	marked = kf_metadata_alloc(sizeof(*marked));
	if (!marked)
		return NULL;
	arenas_reset_lists(marked);
	arenas_empty_bins(marked);
	marked->front.slot = heap->front.slot;
	marked->counters.slot = heap->front.slot;
	marked->counters.shared = heap->counters.shared;
	marked->marks = true;
	marked->budget = KF_BUDGET;
	/* Not while the heap is held, or it would be held without its sibling.
	 */
	kf_heap_enter(heap);
	/* pairs with the acquire load of kf_marked_of() */
	__atomic_store_n(&heap->marked, marked, __ATOMIC_RELEASE);
	kf_heap_leave(heap);
	return marked;
}

void kf_heap_init(void)
{
	static const char name[] = "(shared)";
	struct kf_slot *slot = kf_stats_slot_take();

	/* No address has both bits, even with a top byte that is ignored. */
	kf_link_key = kf_process_random() | 1ull << 63 | 1ull << 54;
	__builtin_memcpy(slot->name, name, sizeof(name));
	kf_counters_new.slot = slot;
	kf_counters_guest.slot = slot;
	kf_box_share(slot);
}

/* The caller holds the shared lock. */
static void arenas_prepare_shared(void)
{
	if (shared_heap.front.slot)
		return;
	arenas_reset_lists(&shared_heap);
	arenas_empty_bins(&shared_heap);
	shared_heap.front.slot = kf_counters_guest.slot;
	shared_heap.counters.slot = kf_counters_guest.slot;
}

static void arenas_push(struct kf_counters *c)
{
	struct kf_counters **stack = c->heap ? &arenas.idle : &arenas.counters;
	struct kf_counters *old = __atomic_load_n(stack, __ATOMIC_RELAXED);

	__atomic_store_n(&c->state, KF_COUNTERS_IDLE, __ATOMIC_RELEASE);
	do {
		c->next_idle = old;
	} while (!__atomic_compare_exchange_n(
		stack, &old, c, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/*
 * Pop idle counters, or return NULL. The caller holds the arenas lock, so a
 * fork does not begin between the pop and the change of the state.
 */
static struct kf_counters *arenas_pop(struct kf_counters **stack)
{
	struct kf_counters *c = __atomic_load_n(stack, __ATOMIC_ACQUIRE);

	while (c &&
	       !__atomic_compare_exchange_n(stack, &c, c->next_idle, true,
					    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		;
	if (c)
		__atomic_store_n(&c->state, KF_COUNTERS_IN_USE,
				 __ATOMIC_RELAXED);
	return c;
}

static struct kf_counters *arenas_make_heap(void)
{
	struct kf_heap *heap = kf_metadata_alloc(sizeof(*heap));

	if (!heap)
		return NULL;
	arenas_reset_lists(heap);
	arenas_empty_bins(heap);
	heap->budget = KF_BUDGET;
	heap->counters.heap = heap;
	kf_probe_memory_arena_new((uintptr_t)heap, sizeof(*heap));
	return &heap->counters;
}

static struct kf_counters *arenas_make_counters(void)
{
	struct kf_counters *c = kf_metadata_alloc(sizeof(*c));

	if (c)
		kf_probe_memory_arena_new((uintptr_t)c, sizeof(*c));
	return c;
}

/* The caller holds the arenas lock. */
static struct kf_counters *arenas_make(void)
{
	unsigned int max = kf_large_conf.arena_max;
	struct kf_counters *c;

	if (max && arenas.nr >= max)
		return NULL;
	c = arenas.only_count ? arenas_make_counters() : arenas_make_heap();
	if (!c)
		return NULL;
	c->slot = kf_stats_slot_take();
	if (c->heap)
		c->heap->front.slot = c->slot;
	c->next_all = arenas.all;
	arenas.all = c;
	arenas.nr++;
	if (!arenas.first) {
		arenas.first = c;
		__atomic_store_n(&arenas.first_thread, kf_thread_self(),
				 __ATOMIC_RELAXED);
	}
	kf_word_add_atomic(KF_WORD_arenas, 1);
	return c;
}

static void arenas_set_self(struct kf_counters *c)
{
	kf_self.counters = c;
	kf_front_choose();
}

static void arenas_share(void)
{
	kf_probe_memory_arena_reuse((uintptr_t)&shared_heap,
				    (uintptr_t)kf_front_self);
	arenas_set_self(&kf_counters_guest);
}

/*
 * Have kf_heap_detach() called when the thread ends. May call calloc, which
 * finds the heap in place. On failure no other thread gets this thread's heap.
 */
static void arenas_watch_exit(void)
{
	uint16_t depth = kf_front_step_out();

	kf_thread_on_exit();
	kf_front_step_in(depth);
}

static void arenas_attach_heap(struct kf_heap *heap)
{
	if (__atomic_load_n(&kf_cache_barred, __ATOMIC_RELAXED))
		kf_remote_send_cached(heap);
}

static void arenas_settle(struct kf_counters *c)
{
	c->exit_round = 0;
	arenas_set_self(c);
	kf_word_add_atomic(KF_WORD_threads, 1);
	kf_stats_slot_label(c->slot, KF_SLOT_IN_USE);
	kf_box_attach(&c->box, c->slot);
	if (c->heap)
		arenas_attach_heap(c->heap);
	arenas_watch_exit();
}

/*
 * The calling thread's counters, if ld.so has overwritten the thread's pointer
 * to them: a heap may be made while ld.so relocates, before it initializes the
 * thread's variables (abi/early.c). Only the first counters can be affected.
 */
static struct kf_counters *arenas_find_forgotten(void)
{
	uintptr_t maker =
		__atomic_load_n(&arenas.first_thread, __ATOMIC_RELAXED);

	if (arenas.first && maker == kf_thread_self() &&
	    arenas.first->state == KF_COUNTERS_IN_USE)
		return arenas.first;
	return NULL;
}

static void arenas_attach(void)
{
	struct kf_counters *c = NULL;

	/* Another thread forks: be a guest in this call. */
	if (!kf_counted_lock_take(&arenas.lock, 0))
		return;
	c = arenas_find_forgotten();
	if (c) {
		kf_lock_drop(&arenas.lock);
		arenas_set_self(c);
		kf_box_resume(&c->box);
		return;
	}
	if (!arenas.only_guests)
		c = arenas_pop(arenas.only_count ? &arenas.counters
						 : &arenas.idle);
	if (c) {
		kf_word_add_atomic(KF_WORD_arena_reuses, 1);
		kf_probe_memory_arena_reuse_free_list((uintptr_t)c->heap);
	} else if (!arenas.only_guests) {
		c = arenas_make();
	}
	kf_lock_drop(&arenas.lock);
	if (c)
		arenas_settle(c);
	else
		arenas_share();
}

struct kf_heap *kf_heap_get(void)
{
	if (unlikely(kf_self.counters == &kf_counters_new))
		arenas_attach();
	return kf_heap_self();
}

static void arenas_leave_heap(struct kf_heap *heap)
{
	kf_heap_enter(heap);
	kf_remote_send_all(heap);
	kf_heap_leave(heap);
	heap->needs_flush = true;
}

/*
 * Make the calling thread a guest, and its counters idle. The blocks in the
 * bins stay for the next thread, as a program may start thousands of short
 * threads. If no thread adopts the heap, the next tick flushes it.
 */
static void arenas_leave(struct kf_counters *c)
{
	if (c == arenas.first)
		__atomic_store_n(&arenas.first_thread, 0, __ATOMIC_RELAXED);
	if (c->heap)
		arenas_leave_heap(c->heap);
	arenas_set_self(&kf_counters_guest);
	kf_stats_slot_label(c->slot, KF_SLOT_IDLE);
	kf_box_detach();
	kf_word_add_atomic(KF_WORD_threads, -1ULL);
	arenas_push(c);
}

void kf_heap_detach(void)
{
	struct kf_counters *c = kf_self.counters;

	if (c->shared)
		return;
	/* Other destructors may still allocate, so wait for the last round. */
	if (++c->exit_round < EXIT_ROUNDS && kf_thread_on_exit())
		return;
	arenas_leave(c);
	kf_word_add_atomic(KF_WORD_thread_exits, 1);
	kf_probe_thread_exit((uintptr_t)(c->heap ? (void *)c->heap : c));
}

void kf_heap_only_count(void)
{
	arenas.only_count = true;
}

struct kf_counters *kf_counters_get(void)
{
	if (unlikely(kf_heap_self())) {
		arenas_leave(kf_self.counters);
		arenas_set_self(&kf_counters_new);
	}
	kf_heap_get();
	return kf_self.counters;
}

bool kf_arenas_lock(void)
{
	if (kf_lock_take(&arenas.lock) == KF_LOCK_FORKING)
		return false;
	if (!arenas.lock.depth)
		return true;
	kf_lock_drop(&arenas.lock);
	return false;
}

void kf_arenas_unlock(void)
{
	kf_lock_drop(&arenas.lock);
}

struct kf_heap *kf_arenas_next(const struct kf_heap *heap)
{
	const struct kf_counters *c =
		heap ? heap->counters.next_all : arenas.all;

	while (c && (!c->heap || c == kf_self.counters))
		c = c->next_all;
	return c ? c->heap : NULL;
}

void kf_heap_only_guests(bool on)
{
	struct kf_counters *c = kf_self.counters;

	__atomic_store_n(&arenas.only_guests, on, __ATOMIC_RELAXED);
	if (on && c->heap)
		arenas_leave(c);
	else if (!on && c == &kf_counters_guest)
		arenas_set_self(&kf_counters_new);
}

struct kf_heap *kf_heap_shared_lock(void)
{
	if (!kf_counted_lock_take(&arenas.shared_lock, (uintptr_t)&shared_heap))
		return NULL;
	arenas_prepare_shared();
	return &shared_heap;
}

void kf_heap_shared_unlock(void)
{
	kf_lock_drop(&arenas.shared_lock);
}

static void arenas_scavenge_shared(void)
{
	struct kf_heap *heap;

	if (!kf_remote_is_pending(&shared_heap))
		return;
	heap = kf_heap_shared_lock();
	if (!heap)
		return;
	kf_heap_flush(heap);
	kf_heap_shared_unlock();
}

void kf_heap_scavenge(void)
{
	struct kf_counters *c, *list = NULL;

	arenas_scavenge_shared();
	if (!__atomic_load_n(&arenas.idle, __ATOMIC_RELAXED) ||
	    kf_lock_take(&arenas.lock) == KF_LOCK_FORKING)
		return;
	while ((c = arenas_pop(&arenas.idle)) != NULL) {
		c->next_idle = list;
		list = c;
	}
	while ((c = list) != NULL) {
		list = c->next_idle;
		if (c->heap->needs_flush || kf_remote_is_pending(c->heap))
			kf_heap_flush(c->heap);
		c->heap->needs_flush = false;
		arenas_push(c);
	}
	kf_lock_drop(&arenas.lock);
}

static size_t arenas_live_of(const struct kf_slot *slot)
{
	size_t live = 0;

	for (unsigned int c = 1; c < KF_NR_CLASSES; c++)
		live += (kf_counter_read(&slot->class[c].mallocs) -
			 kf_counter_read(&slot->class[c].frees)) *
			kf_class_bytes(c);
	return live;
}

size_t kf_heap_live_small(void)
{
	size_t live = (size_t)arenas.inherited_small;
	const struct kf_counters *c;

	live += arenas_live_of(kf_counters_guest.slot);
	for (c = arenas.all; c; c = c->next_all)
		live += arenas_live_of(c->slot);
	return live;
}

uint64_t kf_heap_sum(enum kf_slot_stat stat)
{
	uint64_t sum = kf_counter_read(&kf_counters_guest.slot->scalar[stat]);
	const struct kf_counters *c;

	for (c = arenas.all; c; c = c->next_all)
		sum += kf_counter_read(&c->slot->scalar[stat]);
	return sum;
}

size_t kf_heap_live(void)
{
	return kf_heap_live_small() - kf_heap_sum(KF_SLOT_class_slack) +
	       kf_heap_sum(KF_SLOT_large_allocated) -
	       kf_heap_sum(KF_SLOT_large_freed) +
	       kf_word_get(KF_WORD_inherited_large);
}

static void arenas_restore(struct kf_heap *heap)
{
	heap->held = false;
	kf_remote_restore(heap);
}

/* Call a function for each heap: shared, threads' and marked. */
static void arenas_for_each_heap(void (*fn)(struct kf_heap *heap))
{
	fn(&shared_heap);
	for (struct kf_counters *c = arenas.all; c; c = c->next_all) {
		if (!c->heap)
			continue;
		fn(c->heap);
		if (kf_marked_of(c->heap))
			fn(kf_marked_of(c->heap));
	}
}

static void arenas_snapshot_all(void)
{
	for (struct kf_counters *c = arenas.all; c; c = c->next_all) {
		/* pairs with the release store of arenas_push() */
		c->idle_at_fork =
			__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) ==
			KF_COUNTERS_IDLE;
	}
}

/* Whether a child can use the heap: no other thread changes it meanwhile. */
static bool arenas_is_whole(const struct kf_counters *c)
{
	return c == kf_self.counters || c->idle_at_fork;
}

static void arenas_note_all(void)
{
	kf_remote_note(&shared_heap);
	for (struct kf_counters *c = arenas.all; c; c = c->next_all) {
		struct kf_heap *heap = arenas_is_whole(c) ? c->heap : NULL;

		if (heap)
			kf_remote_note(heap);
		if (heap && kf_marked_of(heap))
			kf_remote_note(kf_marked_of(heap));
	}
}

/* So that a child made by clone, without fork handlers, adopts no heap. */
static void arenas_forget_all(void)
{
	for (struct kf_counters *c = arenas.all; c; c = c->next_all)
		c->idle_at_fork = false;
	arenas_for_each_heap(kf_remote_forget_noted);
}

void kf_heap_fork_prepare(void)
{
	kf_lock_fork_begin(&arenas.lock);
	kf_lock_fork_begin(&arenas.shared_lock);
	kf_pages_fork_begin();
	kf_lock_fork_prepare(&arenas.lock);
	kf_lock_fork_prepare(&arenas.shared_lock);
	arenas_snapshot_all();
	arenas_note_all();
}

/*
 * Adopt the idle heaps in a child. The kernel copies memory page by page while
 * other threads of the parent run, so the pages of a heap that such a thread
 * used were copied at different times and do not fit together. The child never
 * uses such a heap, nor blocks that were sent during the fork. Heaps that were
 * idle when the parent locked the arenas are consistent.
 */
static void arenas_adopt_all(void)
{
	unsigned int threads = 0;

	arenas.idle = NULL;
	arenas.counters = NULL;
	arenas.nr = 0;
	kf_remote_epoch++;
	arenas_for_each_heap(arenas_restore);
	for (struct kf_counters *c = arenas.all; c; c = c->next_all) {
		if (c == kf_self.counters)
			threads++;
		else if (c->idle_at_fork)
			arenas_push(c);
		else
			c->state = KF_COUNTERS_LOST;
		arenas.nr += c->state != KF_COUNTERS_LOST;
	}
	arenas.survivors = threads;
}

void kf_heap_fork_count(void)
{
	kf_word_set(KF_WORD_threads, arenas.survivors);
}

void kf_heap_fork_done(bool child)
{
	if (child) {
		arenas.inherited_small = (int64_t)kf_heap_live_small();
		arenas_adopt_all();
	}
	arenas_forget_all();
	kf_lock_fork_done(&arenas.shared_lock, child);
	kf_lock_fork_done(&arenas.lock, child);
}
