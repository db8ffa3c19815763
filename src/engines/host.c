/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host of engines: see hosted.h.
 *
 * An engine without KONF_ENGINE_THREADS is asked under one lock. While another
 * thread forks with that lock nobody waits for it: requests go to the default
 * engine, and blocks that are freed wait in a list, linked by their first word,
 * until somebody has the lock again.
 */
#include "engines/host.h"

#include "engines/marks.h"
#include "engines/tally.h"
#include "engines/engine.h"
#include "heap/fast.h"
#include "heap/heap.h"
#include "heap/marked.h"
#include "pages/map.h"
#include "pages/pages.h"
#include "sys/lock.h"
#include "sys/out.h"
#include "sys/thread.h"
#include "tags/tags.h"

#include "base/text.h"

#include <errno.h>
#include <string.h>

#define FIRSTFIT (&kf_backend_firstfit)

/* @engine and the four behind it: constant once the engine is installed. */
static struct {
	const struct konf_engine *engine;
	const struct kf_engine_extra *extra;
	bool serial;
	bool elsewhere;
	size_t least;	     /* bytes that may be asked for, 0 or 1 */
	bool slow;	     /* calls have to go all the way */
	bool marks;	     /* some block has had one: atomic */
	struct kf_lock lock; /* for one call at a time */
	bool inside;	     /* who has the lock is in such a call */
	void *pending;	     /* freed while a fork was on; atomic */
} host = {
	.lock = KF_LOCK_INIT(KF_RANK_ENGINE),
};

struct kf_host_way kf_host_way;

static bool is_default(const void *p)
{
	uint8_t kind = kf_map_get(p)->kind;

	return kind != KF_RUN_NONE && kind != KF_RUN_POOL;
}

/* The caller has the lock. */
static __cold void drain(void)
{
	void **block =
		__atomic_exchange_n(&host.pending, NULL, __ATOMIC_ACQUIRE);

	while (block) {
		void **next = *block;

		host.engine->free(block);
		block = next;
	}
}

static __noinline bool enter_alone(void)
{
	if (kf_lock_take(&host.lock) == KF_LOCK_FORKING)
		return false;
	/* The lock may be taken again, the engine not be asked. */
	if (host.inside) {
		kf_lock_drop(&host.lock);
		return false;
	}
	host.inside = true;
	if (unlikely(__atomic_load_n(&host.pending, __ATOMIC_RELAXED)))
		drain();
	return true;
}

/* Returns false when the engine must not be asked now. */
static inline bool enter(void)
{
	return !host.serial || enter_alone();
}

static inline void host_leave(void)
{
	if (!host.serial)
		return;
	host.inside = false;
	kf_lock_drop(&host.lock);
	kf_pages_settle();
}

static void count_gone(const struct kf_counters *c, size_t usable)
{
	if (unlikely(c->shared))
		kf_tally_gone(c->slot, true, usable, host.elsewhere);
	else
		kf_tally_gone(c->slot, false, usable, host.elsewhere);
}

static void host_count_new(const struct kf_counters *c, size_t asked,
			   size_t usable)
{
	if (unlikely(c->shared))
		kf_tally_new(c->slot, true, asked, usable, host.elsewhere);
	else
		kf_tally_new(c->slot, false, asked, usable, host.elsewhere);
}

/*
 * For readers the block lives on: those that count here twice are told apart
 * by the last word.
 */
static void count_resized(size_t had, size_t asked, size_t usable, bool moved)
{
	if (!moved && usable == had)
		return;
	count_gone(kf_self.counters, had);
	host_count_new(kf_self.counters, asked, usable);
	kf_self_stat(moved ? KF_SLOT_realloc_moved : KF_SLOT_reclassed, 1);
}

static void *ask(size_t size, size_t align, bool zeroed)
{
	const struct konf_engine *engine = host.engine;
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
 * From the first mark on each free has to look for one: there is no short way
 * any more. Who frees the block has it from the thread that closed it.
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
 * Where the engine secure has no addresses or mappings left: rather a block
 * without guards than none.
 */
static __noinline void *unguarded(size_t size, size_t align, size_t *usable)
{
	void *p = FIRSTFIT->alloc(KF_MAX(size, (size_t)1), align, true, usable);

	if (p)
		kf_word_add_atomic(KF_WORD_unguarded, 1);
	return p;
}

static void *host_alloc(size_t size, size_t align, bool zeroed, size_t *usable)
{
	const struct kf_counters *counters = kf_counters_get();
	int saved = errno;
	void *p;

	/* Where size 0 is not taken it is none of these as well. */
	if (unlikely(size - host.least >=
		     KF_SIZE_LIMIT - KF_MIN(align, KF_SIZE_LIMIT)))
		return NULL;
	if (unlikely(!enter()))
		return FIRSTFIT->alloc(KF_MAX(size, (size_t)1), align, zeroed,
				       usable);
	p = ask(size, align, zeroed);
	if (likely(p)) {
		*usable = host.engine->usable_size(p);
		host_count_new(counters, size, *usable);
	}
	host_leave();
	if (unlikely(!p) && host.extra->falls_back)
		p = unguarded(size, align, usable);
	errno = saved;
	return p;
}

/* Later, by who comes next with the lock; see drain(). */
static void host_put_off(void *p)
{
	void **block = p;
	void *old = __atomic_load_n(&host.pending, __ATOMIC_RELAXED);

	do {
		*block = old;
	} while (!__atomic_compare_exchange_n(&host.pending, &old, p, true,
					      __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static inline void host_give(void *p, size_t usable)
{
	if (unlikely(!enter())) {
		/* One without a byte cannot be in a list: it is lost. */
		if (usable)
			host_put_off(p);
		return;
	}
	host.engine->free(p);
	host_leave();
}

static inline enum kf_misuse host_check(const void *p)
{
	_Static_assert((int)KONF_FINE == (int)KF_FINE &&
			       (int)KONF_INVALID_POINTER ==
				       (int)KF_INVALID_POINTER &&
			       (int)KONF_DOUBLE_FREE == (int)KF_DOUBLE_FREE &&
			       (int)KONF_OVERFLOW == (int)KF_OVERFLOW &&
			       (int)KONF_MISMATCH == (int)KF_MISMATCH,
		       "one meaning");
	return host.engine->check ? (enum kf_misuse)host.engine->check(p)
				  : KF_FINE;
}

/* Before the block can be another's. */
static __noinline void leave_mark(const void *p, size_t usable)
{
	uint32_t mark = kf_marks_take(p);

	if (mark)
		kf_mark_hooks.gone(p, usable, mark, true);
}

static enum kf_misuse host_release(void *p, size_t usable)
{
	int saved = errno;
	enum kf_misuse wrong;

	if (unlikely(is_default(p)))
		return FIRSTFIT->release(p, usable);
	wrong = host_check(p);
	if (unlikely(wrong))
		return wrong;
	count_gone(kf_counters_get(), usable);
	if (has_marks())
		leave_mark(p, usable);
	if (host.extra->give_pages)
		host.extra->give_pages(p, usable);
	host_give(p, usable);
	errno = saved;
	return KF_FINE;
}

static size_t host_usable(const void *p)
{
	return unlikely(is_default(p)) ? FIRSTFIT->usable(p)
				       : host.engine->usable_size(p);
}

/* To another block, of whichever engine. */
static void *host_move(void *p, size_t have, size_t size)
{
	size_t got;
	void *to = host_alloc(size, 16, false, &got);

	if (!to)
		return size <= have ? p : NULL;
	memcpy(to, p, KF_MIN(have, size));
	host_release(p, have);
	kf_self_stat(KF_SLOT_realloc_moved, 1);
	return to;
}

/* The engine's own realloc; false: it cannot be asked. */
static bool resize_inside(void *p, size_t have, size_t size, void **to)
{
	int saved = errno;

	if (!host.engine->realloc)
		return false;
	if (size < have && host.extra->give_pages)
		host.extra->give_pages((char *)p + size, have - size);
	if (!enter())
		return false;
	*to = host.engine->realloc(p, size);
	if (*to)
		count_resized(have, size, host.engine->usable_size(*to),
			      *to != p);
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
	host_release(p, *usable);
	return kf_marked_alloc(bytes, align, zeroed, mark, usable);
}

/* As the engine does it, or by a copy. */
static void *resize_anyhow(void *p, size_t have, size_t size)
{
	void *to;

	/* A shrink never fails: the block it was is still large enough. */
	if (!is_default(p) && resize_inside(p, have, size, &to) &&
	    (to || !host.extra->falls_back))
		return to || size > have ? to : p;
	return kf_resize_stays(have, size) ? p : host_move(p, have, size);
}

/* Of a block that has a mark, or gets one. */
static __noinline void *resize_marked(void *p, size_t have, size_t size)
{
	uint32_t old = take_mark(p);
	uint32_t mark = kf_mark_next(old, have, size);
	void *to = resize_anyhow(p, have, KF_MAX(size, KF_MARKS_LEAST));

	if (!to) {
		if (mark)
			kf_mark_hooks.lost(mark);
		/* There is room where it was. */
		if (old && !set_mark(p, old))
			kf_mark_hooks.gone(p, have, old, false);
		return NULL;
	}
	if (old)
		kf_mark_hooks.gone(p, have, old, false);
	if (mark && set_mark(to, mark))
		kf_mark_hooks.came(to, host_usable(to), mark);
	else if (mark)
		kf_mark_hooks.lost(mark);
	return to;
}

static void *host_resize(void *p, size_t size, enum kf_misuse *wrong)
{
	size_t have = host_usable(p);
	bool ours = is_default(p);

	*wrong = KF_FINE;
	if (ours && !have)
		return FIRSTFIT->resize(p, size, wrong);
	if (!ours)
		*wrong = host_check(p);
	if (*wrong)
		return NULL;
	kf_counters_get();
	return has_marks() || unlikely(kf_tag_mark_now(kf_tag_self))
		       ? resize_marked(p, have, size)
		       : resize_anyhow(p, have, size);
}

/* There is no fast path to leave, but the hosted mode. */
static void slow_down(bool on)
{
	host.slow = on;
	kf_process_change();
}

bool kf_host_is_direct(void)
{
	const uint32_t needed = KONF_ENGINE_THREADS | KONF_ENGINE_ERRNO;

	/* From the first mark on each free has to look for one. */
	return (host.engine->flags & needed) == needed && !host.slow &&
	       !has_marks();
}

static bool host_trim(size_t pad)
{
	bool some = false;
	int saved = errno;

	if (host.engine->trim && enter()) {
		some = host.engine->trim(pad) != 0;
		host_leave();
	}
	errno = saved;
	/* Of what is elsewhere the engine alone knows. */
	return (FIRSTFIT->trim(pad) && !host.elsewhere) || some;
}

static void host_option(int param, int value)
{
	if (host.engine->option && enter()) {
		host.engine->option(param, value);
		host_leave();
	}
}

static void host_fork_prepare(void)
{
	kf_lock_fork_begin(&host.lock);
	kf_heap_fork_prepare();
	kf_lock_fork_prepare(&host.lock);
	kf_pages_fork_prepare();
	if (host.engine->fork_prepare)
		host.engine->fork_prepare();
}

static void host_fork_done(bool child)
{
	void (*hook)(void) =
		child ? host.engine->fork_child : host.engine->fork_parent;

	if (hook)
		hook();
	kf_pages_fork_done(child);
	kf_lock_fork_done(&host.lock, child);
	kf_heap_fork_done(child);
}

static void host_info(struct kf_backend_info *out)
{
	struct konf_engine_info of_engine = {0};
	size_t elsewhere = kf_heap_sum(KF_SLOT_elsewhere);

	FIRSTFIT->info(out);
	if (host.engine->info && enter()) {
		host.engine->info(&of_engine);
		host_leave();
	}
	out->used = kf_heap_live() - out->mapped_bytes;
	out->arena = KF_MAX(out->arena + elsewhere, out->used);
	out->free += of_engine.free;
	out->free_runs += of_engine.free_blocks;
	out->top += of_engine.top;
	out->peak = KF_MAX(out->peak, out->arena + out->mapped_bytes);
}

/* kf_host_install() has done it. */
static void host_init(void)
{
}

const struct kf_backend kf_backend_host = {
	.init = host_init,
	.alloc = host_alloc,
	.alloc_marked = alloc_marked,
	.release = host_release,
	.resize = host_resize,
	.usable = host_usable,
	.slow_down = slow_down,
	.trim = host_trim,
	.option = host_option,
	.thread_exit = kf_heap_detach,
	.fork_prepare = host_fork_prepare,
	.fork_done = host_fork_done,
	.info = host_info,
};

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

/* @unmap: constant once the engine stands. */
static struct konf_host services = {
	.version = KONF_ENGINE_VERSION,
	.size = sizeof(struct konf_host),
	.map = kf_engine_map,
	.unmap = kf_engine_unmap,
	.say = host_say,
};

static void *alloc_any(size_t size)
{
	/* What an engine is not asked for is left to the slow path. */
	return likely(size - host.least < KF_SIZE_LIMIT - 16)
		       ? host.engine->alloc(size, 16)
		       : NULL;
}

static void *zeroed_any(size_t size)
{
	return likely(size - host.least < KF_SIZE_LIMIT - 16)
		       ? ask(size, 16, true)
		       : NULL;
}

/* What the engine would only pass on is asked at once. */
static struct kf_host_way way_to(const struct konf_engine *engine)
{
	struct kf_next_malloc any = {alloc_any, engine->free,
				     engine->usable_size, zeroed_any, false};

	return (struct kf_host_way){host.extra->next ? host.extra->next() : any,
				    engine->flags & KONF_ENGINE_ELSEWHERE};
}

const char *kf_host_install(const struct konf_engine *engine)
{
	const char *why;

	if (engine->flags & KONF_ENGINE_THREADS)
		services.unmap = kf_engine_unmap_at_once;
	why = engine->init ? engine->init(&services) : NULL;
	if (why)
		return why;
	host.extra = kf_engine_extra(engine);
	host.engine = engine;
	host.serial = !(engine->flags & KONF_ENGINE_THREADS);
	host.elsewhere = engine->flags & KONF_ENGINE_ELSEWHERE;
	host.least = engine->flags & KONF_ENGINE_ZERO ? 0 : 1;
	kf_host_way = way_to(engine);
	kf_heap_only_count();
	/* pairs with nothing: there is one thread yet, or it finds either */
	__atomic_store_n(&kf_backend, &kf_backend_host, __ATOMIC_RELEASE);
	kf_process_change();
	return NULL;
}

bool kf_host_takes_zero(void)
{
	return host.engine && !host.least;
}

void kf_host_finish(void)
{
	if (!host.engine || !host.extra->look_over || !enter())
		return;
	host.extra->look_over();
	host_leave();
}

const struct konf_engine *kf_host_engine(void)
{
	return host.engine;
}
