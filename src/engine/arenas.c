/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who has which heap: making, adopting and leaving thread heaps.
 *
 * All heaps are in one list that only grows. Heaps whose thread has gone are
 * on the idle stack: pushed without a lock, popped under the arenas lock, so
 * that no address can come back between a popper's two loads.
 */
#include "engine/heap.h"

#include "engine/detour.h"
#include "engine/engine.h"
#include "engine/marked.h"
#include "pages/pages.h"
#include "pages/wait.h"
#include "sys/lock.h"
#include "sys/process.h"
#include "sys/thread.h"

#include "probes/konfiscator-probes.h"

/* pthread_key destructors run this often at most; the last time is ours. */
#define EXIT_ROUNDS 4

uintptr_t kf_link_key;

struct kf_heap kf_heap_empty;
struct kf_heap kf_heap_guest;

__thread struct kf_heap *kf_heap_self
	__attribute__((tls_model("initial-exec"))) = &kf_heap_empty;

/* What guests allocate from; under arenas.shared_lock. */
static struct kf_heap shared_heap;

/* @all, @nr and pops of @idle under @lock. */
static struct {
	struct kf_lock lock;
	struct kf_lock shared_lock;
	struct kf_heap *all;
	struct kf_heap *idle;	  /* atomic */
	struct kf_heap *counters; /* idle ones that only count; atomic */
	unsigned int nr;
	struct kf_heap *first;	 /* the first made */
	uintptr_t first_thread;	 /* who made it; kf_thread_self(); atomic */
	int64_t inherited_small; /* bytes; of the child's birth */
	unsigned int survivors;	 /* threads of a child at its birth */
	bool slow;		 /* nobody gets a heap; atomic */
	bool only_count;	 /* nobody gets bins; set once */
	uint8_t direct;		 /* of these; likewise */
} arenas = {
	.lock = KF_LOCK_INIT(KF_RANK_ARENAS),
	.shared_lock = KF_LOCK_INIT(KF_RANK_SHARED),
};

static void reset_lists(struct kf_heap *heap)
{
	for (unsigned int i = 0; i < KF_NR_CLASSES; i++)
		kf_list_init(&heap->slabs[i]);
}

/* After the key of links was made. */
static void empty_bins(struct kf_heap *heap)
{
	for (unsigned int i = 0; i < KF_NR_CLASSES; i++)
		heap->bin[i].coded = kf_link_code(NULL);
}

struct kf_heap *kf_marked_heap(struct kf_heap *heap)
{
	struct kf_heap *marked = heap->marked;

	if (likely(marked))
		return marked;
	marked = kf_meta_alloc(sizeof(*marked));
	if (!marked)
		return NULL;
	reset_lists(marked);
	empty_bins(marked);
	marked->slot = heap->slot;
	marked->has_bins = heap->has_bins;
	marked->has_slot = heap->has_slot;
	marked->marks = true;
	marked->credit = marked->allowed = KF_CREDIT;
	/* pairs with the acquire load of marked_of() */
	__atomic_store_n(&heap->marked, marked, __ATOMIC_RELEASE);
	return marked;
}

/* Of a heap that another thread may have. */
static struct kf_heap *marked_of(const struct kf_heap *heap)
{
	/* pairs with the release store of kf_marked_heap() */
	return __atomic_load_n(&heap->marked, __ATOMIC_ACQUIRE);
}

/* Whether others sent it blocks. */
static bool has_mail(const struct kf_heap *heap)
{
	return __atomic_load_n(&heap->inbox, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&heap->suspect, __ATOMIC_RELAXED) ||
	       (heap->marked &&
		__atomic_load_n(&heap->marked->inbox, __ATOMIC_RELAXED));
}

void kf_heap_init(void)
{
	static const char name[] = "(shared)";
	struct kf_slot *slot = kf_stats_slot_take();

	/* No address has any of these, not even where the top byte is free. */
	kf_link_key = kf_process_random() | 1ull << 63 | 1ull << 54;
	__builtin_memcpy(slot->name, name, sizeof(name));
	kf_heap_empty.slot = slot;
	kf_box_share(slot);
}

/* Most programs have no guests: what these need is filled in when one comes. */
static struct kf_heap *guest(void)
{
	/* pairs with the release below, where two at once write the same */
	if (!__atomic_load_n(&kf_heap_guest.slot, __ATOMIC_ACQUIRE))
		__atomic_store_n(&kf_heap_guest.slot, kf_heap_empty.slot,
				 __ATOMIC_RELEASE);
	return &kf_heap_guest;
}

/* The caller holds the shared lock. */
static void prepare_shared(void)
{
	if (shared_heap.slot)
		return;
	reset_lists(&shared_heap);
	empty_bins(&shared_heap);
	shared_heap.slot = kf_heap_empty.slot;
}

static void push_idle(struct kf_heap *heap)
{
	struct kf_heap **stack =
		heap->has_bins ? &arenas.idle : &arenas.counters;
	struct kf_heap *old = __atomic_load_n(stack, __ATOMIC_RELAXED);

	__atomic_store_n(&heap->state, KF_HEAP_IDLE, __ATOMIC_RELEASE);
	do {
		heap->next_idle = old;
	} while (!__atomic_compare_exchange_n(
		stack, &old, heap, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/*
 * The caller holds the arenas lock: a fork sees the heap in use before anybody
 * changes it.
 */
static struct kf_heap *pop(struct kf_heap **stack)
{
	struct kf_heap *heap = __atomic_load_n(stack, __ATOMIC_ACQUIRE);

	while (heap &&
	       !__atomic_compare_exchange_n(stack, &heap, heap->next_idle, true,
					    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		;
	if (heap)
		__atomic_store_n(&heap->state, KF_HEAP_IN_USE,
				 __ATOMIC_RELAXED);
	return heap;
}

/* The caller holds the arenas lock. */
static struct kf_heap *make(void)
{
	unsigned int max = kf_large_conf.arena_max;
	struct kf_heap *heap;

	if (max && arenas.nr >= max)
		return NULL;
	heap = kf_meta_alloc(sizeof(*heap));
	if (!heap)
		return NULL;
	reset_lists(heap);
	empty_bins(heap);
	heap->has_bins = !arenas.only_count;
	heap->has_slot = true;
	heap->direct = arenas.direct;
	heap->slot = kf_stats_slot_take();
	heap->credit = heap->allowed = KF_CREDIT;
	heap->next_all = arenas.all;
	arenas.all = heap;
	arenas.nr++;
	if (!arenas.first) {
		arenas.first = heap;
		__atomic_store_n(&arenas.first_thread, kf_thread_self(),
				 __ATOMIC_RELAXED);
	}
	kf_word_add_atomic(KF_WORD_arenas, 1);
	kf_probe_memory_arena_new((uintptr_t)heap, sizeof(*heap));
	return heap;
}

static void share(void)
{
	kf_probe_memory_arena_reuse((uintptr_t)&shared_heap,
				    (uintptr_t)kf_heap_self);
	kf_heap_self = guest();
}

/*
 * May call calloc, which finds the heap in place. A thread that cannot be told
 * of its end leaves its heap to nobody.
 */
static void tell_of_exit(void)
{
	uint32_t depth = kf_detour_step_out();

	kf_thread_on_exit();
	kf_detour_step_in(depth);
}

/* Its last thread's tags are not this one's. */
static void forget_tags(struct kf_heap *heap)
{
	heap->tags = NULL;
	if (heap->front)
		heap->front->tags = NULL;
}

static void settle(struct kf_heap *heap)
{
	forget_tags(heap);
	heap->exit_rounds = 0;
	/* What a thread before it needed says little of this one. */
	__builtin_memset(heap->share, 0, sizeof(heap->share));
	__builtin_memset(heap->sharer, 0, sizeof(heap->sharer));
	kf_heap_self = heap;
	kf_word_add_atomic(KF_WORD_threads, 1);
	kf_stats_slot_label(heap->slot, KF_SLOT_IN_USE);
	kf_box_attach(&heap->box, heap->slot);
	if (kf_detour_strict && heap->has_bins)
		kf_heap_send_foreign(heap);
	tell_of_exit();
}

/*
 * Heaps made while ld.so relocates are forgotten when it fills the thread's
 * variables (abi/early.c): the first heap is its maker's all the same.
 */
static struct kf_heap *forgotten(void)
{
	uintptr_t maker =
		__atomic_load_n(&arenas.first_thread, __ATOMIC_RELAXED);

	if (arenas.first && maker == kf_thread_self() &&
	    arenas.first->state == KF_HEAP_IN_USE)
		return arenas.first;
	return NULL;
}

static struct kf_heap *attach(void)
{
	struct kf_heap *heap = NULL;

	/* A fork is on: be a guest for this once. */
	if (!kf_wait_take(&arenas.lock, 0))
		return guest();
	heap = forgotten();
	if (heap) {
		kf_lock_drop(&arenas.lock);
		forget_tags(heap);
		kf_heap_self = heap;
		kf_box_resume(&heap->box);
		return heap;
	}
	if (!arenas.slow)
		heap = pop(arenas.only_count ? &arenas.counters : &arenas.idle);
	if (heap) {
		kf_word_add_atomic(KF_WORD_arena_reuses, 1);
		kf_probe_memory_arena_reuse_free_list((uintptr_t)heap);
	} else if (!arenas.slow) {
		heap = make();
	}
	kf_lock_drop(&arenas.lock);
	if (!heap) {
		share();
		return kf_heap_self;
	}
	settle(heap);
	return heap;
}

struct kf_heap *kf_heap_get(void)
{
	struct kf_heap *heap = kf_heap_self;

	return likely(heap != &kf_heap_empty) ? heap : attach();
}

/*
 * What it has ready stays for the next thread: threads may come and go by the
 * thousand. If none comes, the next tick flushes it.
 */
static void leave(struct kf_heap *heap)
{
	if (heap == arenas.first)
		__atomic_store_n(&arenas.first_thread, 0, __ATOMIC_RELAXED);
	kf_heap_enter(heap);
	kf_heap_send_all(heap);
	kf_heap_leave(heap);
	heap->unflushed = true;
	kf_heap_self = guest();
	kf_stats_slot_label(heap->slot, KF_SLOT_IDLE);
	kf_box_detach();
	kf_word_add_atomic(KF_WORD_threads, -1ULL);
	push_idle(heap);
}

void kf_heap_detach(void)
{
	struct kf_heap *heap = kf_heap_self;

	if (!heap->has_slot)
		return;
	/* Other destructors still allocate: ours is the last round's. */
	if (++heap->exit_rounds < EXIT_ROUNDS && kf_thread_on_exit())
		return;
	leave(heap);
	kf_word_add_atomic(KF_WORD_thread_exits, 1);
	kf_probe_thread_exit((uintptr_t)heap);
}

void kf_heap_only_count(uint8_t direct)
{
	arenas.direct = direct;
	arenas.only_count = true;
}

struct kf_heap *kf_heap_counter_make(void)
{
	if (kf_heap_self->has_bins) {
		leave(kf_heap_self);
		kf_heap_self = &kf_heap_empty;
	}
	return kf_heap_get();
}

void kf_heap_slow_down(bool on)
{
	struct kf_heap *heap = kf_heap_self;

	__atomic_store_n(&arenas.slow, on, __ATOMIC_RELAXED);
	if (on && heap->has_bins)
		leave(heap);
	else if (!on && heap == &kf_heap_guest)
		kf_heap_self = &kf_heap_empty;
}

struct kf_heap *kf_heap_shared_lock(void)
{
	if (!kf_wait_take(&arenas.shared_lock, (uintptr_t)&shared_heap))
		return NULL;
	prepare_shared();
	return &shared_heap;
}

void kf_heap_shared_unlock(void)
{
	kf_lock_drop(&arenas.shared_lock);
}

static void scavenge_shared(void)
{
	struct kf_heap *heap;

	if (!has_mail(&shared_heap))
		return;
	heap = kf_heap_shared_lock();
	if (!heap)
		return;
	kf_heap_flush(heap);
	kf_heap_shared_unlock();
}

void kf_heap_scavenge(void)
{
	struct kf_heap *heap, *list = NULL;

	scavenge_shared();
	if (!__atomic_load_n(&arenas.idle, __ATOMIC_RELAXED) ||
	    kf_lock_take(&arenas.lock) == KF_LOCK_FORKING)
		return;
	while ((heap = pop(&arenas.idle)) != NULL) {
		heap->next_idle = list;
		list = heap;
	}
	while ((heap = list) != NULL) {
		list = heap->next_idle;
		if (heap->unflushed || has_mail(heap))
			kf_heap_flush(heap);
		heap->unflushed = false;
		push_idle(heap);
	}
	kf_lock_drop(&arenas.lock);
}

static size_t live_of(const struct kf_slot *slot)
{
	size_t live = 0;

	for (unsigned int c = 1; c < KF_NR_CLASSES; c++)
		live += (slot->class[c].mallocs - slot->class[c].frees) *
			kf_class_bytes(c);
	return live;
}

size_t kf_heap_live_small(void)
{
	size_t live = (size_t)arenas.inherited_small;
	const struct kf_heap *heap;

	live += live_of(kf_heap_empty.slot);
	for (heap = arenas.all; heap; heap = heap->next_all)
		live += live_of(heap->slot);
	return live;
}

uint64_t kf_heap_sum(enum kf_slot_stat stat)
{
	uint64_t sum = kf_heap_empty.slot->scalar[stat];
	const struct kf_heap *heap;

	for (heap = arenas.all; heap; heap = heap->next_all)
		sum += heap->slot->scalar[stat];
	return sum;
}

size_t kf_heap_live(void)
{
	return kf_heap_live_small() - kf_heap_sum(KF_SLOT_class_slack) +
	       kf_heap_sum(KF_SLOT_large_allocated) -
	       kf_heap_sum(KF_SLOT_large_freed) +
	       kf_word_get(KF_WORD_inherited_large);
}

static void remember_mail(struct kf_heap *heap)
{
	/* pairs with the release of send() */
	heap->mail = __atomic_load_n(&heap->inbox, __ATOMIC_ACQUIRE);
}

static void remember_all(void)
{
	remember_mail(&shared_heap);
	for (struct kf_heap *heap = arenas.all; heap; heap = heap->next_all) {
		/* pairs with the release store of push_idle() */
		heap->rests = __atomic_load_n(&heap->state, __ATOMIC_ACQUIRE) ==
			      KF_HEAP_IDLE;
		remember_mail(heap);
		if (marked_of(heap))
			remember_mail(marked_of(heap));
	}
}

/* So that the child of a clone that nobody prepared for trusts no heap. */
static void forget_all(void)
{
	shared_heap.mail = NULL;
	for (struct kf_heap *heap = arenas.all; heap; heap = heap->next_all) {
		heap->rests = false;
		heap->mail = NULL;
		if (marked_of(heap))
			marked_of(heap)->mail = NULL;
	}
}

static void recall_mail(struct kf_heap *heap)
{
	__atomic_store_n(&heap->inbox, heap->mail, __ATOMIC_RELAXED);
}

void kf_heap_fork_prepare(void)
{
	kf_lock_fork_begin(&arenas.lock);
	kf_lock_fork_begin(&arenas.shared_lock);
	kf_pages_fork_begin();
	kf_lock_fork_prepare(&arenas.lock);
	kf_lock_fork_prepare(&arenas.shared_lock);
	remember_all();
}

/*
 * The kernel copies the memory page by page while the other threads run on: a
 * heap that one of them used is in no state that it ever had, one page of it
 * being older than the next. So it is never used again; nor is what came into
 * an inbox meanwhile. Heaps that nobody had when the arenas were locked are
 * whole.
 */
static void adopt_all(void)
{
	struct kf_heap *heap;
	unsigned int threads = 0;

	arenas.idle = NULL;
	arenas.counters = NULL;
	arenas.nr = 0;
	recall_mail(&shared_heap);
	for (heap = arenas.all; heap; heap = heap->next_all) {
		recall_mail(heap);
		if (heap->marked)
			recall_mail(heap->marked);
		if (heap == kf_heap_self)
			threads++;
		else if (heap->rests)
			push_idle(heap);
		else
			heap->state = KF_HEAP_LOST;
		arenas.nr += heap->state != KF_HEAP_LOST;
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
		adopt_all();
	}
	forget_all();
	kf_lock_fork_done(&arenas.shared_lock, child);
	kf_lock_fork_done(&arenas.lock, child);
}
