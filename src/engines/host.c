/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host of engines: see host.h.
 *
 * An engine without KONF_ENGINE_THREADS is called under one lock. While another
 * thread forks with that lock nobody waits for it: requests go to the default
 * engine, and freed blocks are put on a list, linked by their first word, which
 * the next holder of the lock empties.
 */
#include "engines/host.h"

#include "engines/count.h"
#include "engines/marks.h"
#include "heap/fast.h"
#include "heap/heap.h"
#include "heap/marked.h"
#include "pages/map.h"
#include "pages/pages.h"
#include "sample/countdown.h"
#include "sys/lock.h"
#include "sys/out.h"
#include "sys/thread.h"
#include "tags/tags.h"

#include "base/text.h"

#include <errno.h>
#include <string.h>

#define FIRSTFIT (&kf_engine_firstfit)

/*
 * The hosted engine's state. @lock guards @inside; the others are atomic, or
 * constant once the engine serves.
 */
static struct {
	size_t least;	     /* smallest size of a request, 0 or 1; constant */
	bool slow;	     /* no call may skip the slow path; atomic */
	bool marks;	     /* some block has had a mark; atomic */
	struct kf_lock lock; /* serializes the calls of an engine */
	bool inside;	     /* the holder of @lock is in the engine */
	void *deferred;	     /* blocks freed during a fork; atomic */
} host = {
	.lock = KF_LOCK_INIT(KF_RANK_ENGINE),
};

struct kf_next_malloc kf_host_direct;
bool kf_count_knows;

static inline bool host_has(uint32_t flag)
{
	return kf_engine->base.flags & flag;
}

/* Whether an address is the default engine's, not the hosted one's. */
static bool is_default(const void *p)
{
	uint8_t kind;

	if (!kf_engine_is_hosted())
		return true;
	kind = kf_map_get(p)->kind;
	return kind != KF_RUN_NONE && kind != KF_RUN_POOL;
}

/* The caller has the lock. */
static __cold void host_free_deferred(void)
{
	void **block =
		__atomic_exchange_n(&host.deferred, NULL, __ATOMIC_ACQUIRE);

	while (block) {
		void **next = *block;

		kf_engine->base.free(block);
		block = next;
	}
}

static __noinline bool enter_alone(void)
{
	if (kf_lock_take(&host.lock) == KF_LOCK_FORKING)
		return false;
	/* The lock is recursive, the engine is not reentrant. */
	if (host.inside) {
		kf_lock_drop(&host.lock);
		return false;
	}
	host.inside = true;
	if (unlikely(__atomic_load_n(&host.deferred, __ATOMIC_RELAXED)))
		host_free_deferred();
	return true;
}

/* Returns false when the engine must not be asked now. */
static inline bool enter(void)
{
	return host_has(KONF_ENGINE_THREADS) || enter_alone();
}

static inline void host_leave(void)
{
	if (host_has(KONF_ENGINE_THREADS))
		return;
	host.inside = false;
	kf_lock_drop(&host.lock);
	kf_pages_release_deferred();
}

static void *ask(size_t size, size_t align, bool zeroed)
{
	const struct konf_engine *engine = &kf_engine->base;
	void *p;

	if (!zeroed)
		return engine->alloc(size, align);
	if (engine->alloc_zeroed)
		return engine->alloc_zeroed(size, align);
	p = engine->alloc(size, align);
	if (p)
		memset(p, 0, size);
	return p;
}

static inline bool has_marks(void)
{
	return unlikely(__atomic_load_n(&host.marks, __ATOMIC_RELAXED));
}

/*
 * From the first mark on every free looks for a mark, so the hosted mode ends.
 * A thread that frees the marked block got the pointer from this thread, and
 * with it this store.
 */
static bool set_mark(void *p, uint32_t mark)
{
	if (is_default(p)) {
		if (!kf_mark_may(p, mark))
			return false;
		kf_mark_set(p, mark);
		return true;
	}
	if (!has_marks()) {
		__atomic_store_n(&host.marks, true, __ATOMIC_RELAXED);
		kf_process_change();
	}
	return kf_marks_put(p, mark);
}

static uint32_t take_mark(void *p)
{
	uint32_t mark;

	if (!is_default(p))
		return has_marks() ? kf_marks_take(p) : 0;
	mark = kf_mark_of(p);
	if (mark)
		kf_mark_set(p, 0);
	return mark;
}

/*
 * When the engine secure has no addresses or mappings left, a block without
 * guards is better than none.
 */
static __noinline void *unguarded(size_t size, size_t align, size_t *usable)
{
	void *p = FIRSTFIT->counted_alloc(KF_MAX(size, (size_t)1), align, true,
					  0, usable);

	if (p)
		kf_word_add_atomic(KF_WORD_unguarded, 1);
	return p;
}

/*
 * The bytes to ask for: a block that is known must not share its place with
 * another, as blocks of eight bytes would.
 */
static inline size_t host_room(size_t size)
{
	return unlikely(kf_count_knows) ? KF_MAX(size, KF_MARKS_LEAST) : size;
}

static void *host_alloc(size_t size, size_t align, bool zeroed, size_t *usable)
{
	const struct kf_counters *counters = kf_counters_get();
	int saved = errno;
	void *p;

	/* With @least 1 the difference wraps for size 0. */
	if (unlikely(size - host.least >=
		     KF_SIZE_LIMIT - KF_MIN(align, KF_SIZE_LIMIT)))
		return NULL;
	if (unlikely(!enter()))
		return FIRSTFIT->counted_alloc(KF_MAX(size, (size_t)1), align,
					       zeroed, 0, usable);
	p = ask(host_room(size), align, zeroed);
	if (likely(p)) {
		*usable = kf_engine->base.usable_size(p);
		kf_count_new(counters, p, size, *usable);
	}
	host_leave();
	if (unlikely(!p) && kf_engine->falls_back)
		p = unguarded(size, align, usable);
	errno = saved;
	return p;
}

static void host_defer(void *p)
{
	void **block = p;
	void *old = __atomic_load_n(&host.deferred, __ATOMIC_RELAXED);

	do {
		*block = old;
	} while (!__atomic_compare_exchange_n(&host.deferred, &old, p, true,
					      __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static inline void host_pass_free(void *p, size_t usable)
{
	if (unlikely(!enter())) {
		/* A block without a byte cannot be linked: it leaks. */
		if (usable)
			host_defer(p);
		return;
	}
	kf_engine->base.free(p);
	host_leave();
}

static inline enum konf_misuse host_check(const void *p)
{
	return kf_engine->base.check ? kf_engine->base.check(p) : KONF_FINE;
}

/* Before the block can be another's. */
static __noinline void leave_mark(const void *p, size_t usable)
{
	uint32_t mark = kf_marks_take(p);

	if (mark)
		kf_mark_hooks.gone(p, usable, mark, true);
}

enum konf_misuse kf_host_free(void *p, size_t usable)
{
	int saved = errno;
	enum konf_misuse wrong;

	if (is_default(p))
		return FIRSTFIT->counted_free(p);
	wrong = host_check(p);
	if (unlikely(wrong))
		return wrong;
	kf_count_gone(kf_counters_get(), p, usable);
	if (has_marks())
		leave_mark(p, usable);
	if (kf_engine->give_pages)
		kf_engine->give_pages(p, usable);
	host_pass_free(p, usable);
	errno = saved;
	return KONF_FINE;
}

size_t kf_host_usable(const void *p)
{
	return is_default(p) ? FIRSTFIT->base.usable_size(p)
			     : kf_engine->base.usable_size(p);
}

/* Either block may be of the default engine. */
static void *host_move(void *p, size_t have, size_t size)
{
	size_t got;
	void *to = host_alloc(size, 16, false, &got);

	if (!to)
		return size <= have ? p : NULL;
	memcpy(to, p, KF_MIN(have, size));
	kf_host_free(p, have);
	kf_self_stat(KF_SLOT_realloc_moved, 1);
	return to;
}

/* The engine's own realloc; false: it has none, or cannot be entered. */
static bool resize_inside(void *p, size_t have, size_t size, void **to)
{
	int saved = errno;
	bool was;

	if (!kf_engine->base.realloc)
		return false;
	if (size < have && kf_engine->give_pages)
		kf_engine->give_pages((char *)p + size, have - size);
	if (!enter())
		return false;
	was = kf_count_takes(p);
	*to = kf_engine->base.realloc(p, host_room(size));
	kf_count_resized(p, have, size, *to, was);
	host_leave();
	errno = saved;
	return true;
}

static void *alloc_marked(size_t size, size_t align, bool zeroed, uint32_t mark,
			  size_t *usable)
{
	size_t bytes = KF_MAX(size, KF_MARKS_LEAST);
	void *p = host_alloc(bytes, align, zeroed, usable);

	if (!p || likely(set_mark(p, mark)))
		return p;
	/* The program would free the default engine's block by its own malloc.
	 */
	if (unlikely(kf_count_knows))
		return p;
	kf_host_free(p, *usable);
	return kf_marked_alloc(bytes, align, zeroed, mark, usable);
}

void *kf_host_alloc(size_t size, size_t align, bool zeroed, uint32_t mark,
		    size_t *usable)
{
	if (!kf_engine_is_hosted())
		return FIRSTFIT->counted_alloc(size, align, zeroed, mark,
					       usable);
	return unlikely(mark) ? alloc_marked(size, align, zeroed, mark, usable)
			      : host_alloc(size, align, zeroed, usable);
}

static void *resize_plain(void *p, size_t have, size_t size)
{
	void *to;

	/* A shrink never fails: the block it was is still large enough. */
	if (!is_default(p) && resize_inside(p, have, size, &to) &&
	    (to || !kf_engine->falls_back))
		return to || size > have ? to : p;
	return kf_resize_stays(have, size) ? p : host_move(p, have, size);
}

/* A block that has a mark, or gets one. */
static __noinline void *resize_marked(void *p, size_t have, size_t size)
{
	uint32_t old = take_mark(p);
	uint32_t mark = kf_mark_next(old, have, size);
	void *to = resize_plain(p, have, KF_MAX(size, KF_MARKS_LEAST));

	if (!to) {
		if (mark)
			kf_mark_hooks.lost(mark);
		/* The old place has room for its mark. */
		if (old && !set_mark(p, old))
			kf_mark_hooks.gone(p, have, old, false);
		return NULL;
	}
	if (old)
		kf_mark_hooks.gone(p, have, old, false);
	if (mark && set_mark(to, mark))
		kf_mark_hooks.came(to, kf_host_usable(to), mark);
	else if (mark)
		kf_mark_hooks.lost(mark);
	return to;
}

void *kf_host_realloc(void *p, size_t size, enum konf_misuse *wrong)
{
	bool is_ours = is_default(p);
	size_t have;

	if (!kf_engine_is_hosted() || (is_ours && !kf_host_usable(p)))
		return FIRSTFIT->counted_realloc(p, size, wrong);
	*wrong = is_ours ? KONF_FINE : host_check(p);
	if (*wrong)
		return NULL;
	have = kf_host_usable(p);
	kf_counters_get();
	return has_marks() || unlikely(kf_tag_mark_now(kf_tag_self)) ||
			       unlikely(kf_countdown_mean())
		       ? resize_marked(p, have, size)
		       : resize_plain(p, have, size);
}

void kf_host_slow_down(bool on)
{
	if (!kf_engine_is_hosted()) {
		kf_heap_only_guests(on);
		return;
	}
	__atomic_store_n(&host.slow, on, __ATOMIC_RELAXED);
	kf_process_change();
}

bool kf_host_mark(void *p, uint32_t mark)
{
	return set_mark(p, mark);
}

void kf_host_know(void)
{
	kf_marks_clear();
	kf_count_knows = true;
}

bool kf_host_is_direct(void)
{
	const uint32_t needed = KONF_ENGINE_THREADS | KONF_ENGINE_ERRNO;

	return (kf_engine->base.flags & needed) == needed &&
	       !__atomic_load_n(&host.slow, __ATOMIC_RELAXED) && !has_marks() &&
	       !kf_count_knows;
}

bool kf_host_trim(size_t pad)
{
	bool some = false;
	int saved = errno;

	if (kf_engine_is_hosted() && kf_engine->base.trim && enter()) {
		some = kf_engine->base.trim(pad) != 0;
		host_leave();
	}
	errno = saved;
	/* What an engine with memory elsewhere gave back, it alone knows. */
	return (FIRSTFIT->base.trim(pad) && !host_has(KONF_ENGINE_ELSEWHERE)) ||
	       some;
}

void kf_host_option(int param, int value)
{
	if (kf_engine->base.option && enter()) {
		kf_engine->base.option(param, value);
		host_leave();
	}
}

void kf_host_fork_prepare(void)
{
	kf_lock_fork_begin(&host.lock);
	kf_heap_fork_prepare();
	kf_lock_fork_prepare(&host.lock);
	kf_pages_fork_prepare();
	if (kf_engine->base.fork_prepare)
		kf_engine->base.fork_prepare();
}

void kf_host_fork_done(bool child)
{
	void (*hook)(void) = child ? kf_engine->base.fork_child
				   : kf_engine->base.fork_parent;

	if (hook)
		hook();
	kf_pages_fork_done(child);
	kf_lock_fork_done(&host.lock, child);
	kf_heap_fork_done(child);
}

/* The hosted engine's part: its blocks are in the slots' counts alone. */
static void add_hosted(struct kf_host_info *out)
{
	struct konf_engine_info info = {0};
	size_t elsewhere = kf_heap_sum(KF_SLOT_elsewhere);

	if (kf_engine->base.info && enter()) {
		kf_engine->base.info(&info);
		host_leave();
	}
	out->used = kf_heap_live() - out->mapped_bytes;
	out->arena = KF_MAX(out->arena + elsewhere, out->used);
	out->free.free += info.free;
	out->free.free_blocks += info.free_blocks;
	out->free.top += info.top;
	out->peak = KF_MAX(out->peak, out->arena + out->mapped_bytes);
}

void kf_host_info(struct kf_host_info *out)
{
	size_t slabs = kf_word_get(KF_WORD_slabs);
	size_t large = kf_word_get(KF_WORD_large);
	size_t live = kf_heap_live_small();
	size_t kept = kf_heap_sum(KF_SLOT_large_kept);

	*out = (struct kf_host_info){0};
	FIRSTFIT->base.info(&out->free);
	out->mapped_blocks = kf_word_get(KF_WORD_mapped_blocks);
	out->mapped_bytes = kf_word_get(KF_WORD_mapped_blocks_size);
	out->arena = kf_word_get(KF_WORD_mapped) - out->mapped_bytes;
	out->used = live + (large - kept - out->mapped_bytes);
	out->cached = (slabs > live ? slabs - live : 0) + kept;
	out->peak = kf_word_get(KF_WORD_peak_held);
	out->peak_mapped_blocks = kf_word_get(KF_WORD_peak_mapped_blocks);
	out->peak_mapped_bytes = kf_word_get(KF_WORD_peak_mapped_size);
	if (kf_engine_is_hosted())
		add_hosted(out);
}

static void host_say(const char *line)
{
	char buf[512];
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator: ");
	kf_text_str(&text, line);
	kf_text_char(&text, '\n');
	kf_out(&text);
}

/* @unmap: constant once the engine serves. */
static struct konf_host services = {
	.version = KONF_ENGINE_VERSION,
	.size = sizeof(struct konf_host),
	.map = kf_engine_map,
	.unmap = kf_engine_unmap,
	.say = host_say,
};

/* NULL for a size that must not reach the engine: the slow path refuses it. */
static void *alloc_any(size_t size)
{
	return likely(size - host.least < KF_SIZE_LIMIT - 16)
		       ? kf_engine->base.alloc(size, 16)
		       : NULL;
}

static void *zeroed_any(size_t size)
{
	return likely(size - host.least < KF_SIZE_LIMIT - 16)
		       ? ask(size, 16, true)
		       : NULL;
}

void kf_host_init(void)
{
	FIRSTFIT->base.init(&services);
}

const char *kf_host_install(const struct kf_engine *engine)
{
	const struct konf_engine *base = &engine->base;
	const char *why;

	if (base->flags & KONF_ENGINE_THREADS)
		services.unmap = kf_engine_unmap_at_once;
	why = base->init ? base->init(&services) : NULL;
	if (why)
		return why;
	host.least = base->flags & KONF_ENGINE_ZERO ? 0 : 1;
	kf_host_direct =
		engine->next ? engine->next()
			     : (struct kf_next_malloc){alloc_any, base->free,
						       base->usable_size,
						       zeroed_any, false};
	kf_heap_only_count();
	/* pairs with nothing: there is one thread yet, or it finds either */
	__atomic_store_n(&kf_engine, engine, __ATOMIC_RELEASE);
	kf_process_change();
	return NULL;
}

void kf_host_finish(void)
{
	if (!kf_engine->finish || !enter())
		return;
	kf_engine->finish();
	host_leave();
}
