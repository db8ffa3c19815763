/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host of engines: see hosted.h.
 *
 * An engine without KONF_ENGINE_THREADS is asked under one lock. While another
 * thread forks with that lock nobody waits for it: requests go to the default
 * engine, and blocks that are freed wait in a list, linked by their first word,
 * until somebody has the lock again.
 */
#include "core/hosted.h"

#include "core/tally.h"
#include "engine/heap.h"
#include "pages/map.h"
#include "pages/pages.h"
#include "sys/lock.h"
#include "sys/out.h"

#include "base/text.h"

#include <errno.h>
#include <string.h>

#define FIRSTFIT (&kf_supply_firstfit)

/* @engine and @elsewhere: constant once the engine stands. */
static struct {
	const struct konf_engine *engine;
	bool elsewhere;
	struct kf_lock lock; /* for one call at a time */
	void *pending;	     /* freed while a fork was on; atomic */
} host = {
	.lock = KF_LOCK_INIT(KF_RANK_ENGINE),
};

/* Whether this thread is in a call of the engine. */
static __thread bool inside __attribute__((tls_model("initial-exec")));

static bool is_serial(void)
{
	return !(host.engine->flags & KONF_ENGINE_THREADS);
}

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

/* Returns false when the engine must not be asked now. */
static bool enter(void)
{
	if (unlikely(inside))
		return false;
	if (is_serial()) {
		if (kf_lock_take(&host.lock) == KF_LOCK_FORKING)
			return false;
		inside = true;
		if (unlikely(__atomic_load_n(&host.pending, __ATOMIC_RELAXED)))
			drain();
		return true;
	}
	inside = true;
	return true;
}

static void leave(void)
{
	inside = false;
	if (is_serial())
		kf_lock_drop(&host.lock);
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
		memset(p, 0, engine->usable_size(p));
	return p;
}

static void *alloc(size_t size, size_t align, bool zeroed, size_t *usable)
{
	struct kf_heap *heap = kf_heap_counter();
	int saved = errno;
	void *p;

	if (unlikely(align > (size_t)PTRDIFF_MAX - size))
		return NULL;
	if (unlikely(!enter()))
		return FIRSTFIT->alloc(size, align, zeroed, usable);
	p = ask(size, align, zeroed);
	if (likely(p)) {
		*usable = host.engine->usable_size(p);
		kf_tally_new(heap, size, *usable, host.elsewhere);
	}
	leave();
	errno = saved;
	return p;
}

/* Later, by who comes next with the lock; see drain(). */
static void put_off(void *p)
{
	void **block = p;
	void *old = __atomic_load_n(&host.pending, __ATOMIC_RELAXED);

	do {
		*block = old;
	} while (!__atomic_compare_exchange_n(&host.pending, &old, p, true,
					      __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static void give(void *p)
{
	if (likely(enter())) {
		host.engine->free(p);
		leave();
	} else if (is_serial()) {
		put_off(p);
	} else {
		host.engine->free(p);
	}
}

static enum kf_misuse check(const void *p)
{
	_Static_assert((int)KONF_FINE == (int)KF_FINE &&
			       (int)KONF_INVALID_POINTER ==
				       (int)KF_INVALID_POINTER &&
			       (int)KONF_DOUBLE_FREE == (int)KF_DOUBLE_FREE,
		       "one meaning");
	return host.engine->check ? (enum kf_misuse)host.engine->check(p)
				  : KF_FINE;
}

static enum kf_misuse release(void *p, size_t usable)
{
	int saved = errno;
	enum kf_misuse wrong;

	if (unlikely(is_default(p)))
		return FIRSTFIT->release(p, usable);
	wrong = check(p);
	if (unlikely(wrong))
		return wrong;
	kf_tally_gone(kf_heap_counter(), usable, host.elsewhere);
	give(p);
	errno = saved;
	return KF_FINE;
}

static size_t usable(const void *p)
{
	return unlikely(is_default(p)) ? FIRSTFIT->usable(p)
				       : host.engine->usable_size(p);
}

/* To another block, of whichever engine. */
static void *move(void *p, size_t have, size_t size)
{
	size_t got;
	void *to = alloc(size, 16, false, &got);

	if (!to)
		return size <= have ? p : NULL;
	memcpy(to, p, KF_MIN(have, size));
	release(p, have);
	kf_heap_stat(kf_heap_self, KF_SLOT_realloc_moved, 1);
	return to;
}

static bool stays(size_t have, size_t size)
{
	return size <= have && (size >= have / 2 || have <= 64);
}

/* The engine's own realloc; false: it cannot be asked. */
static bool resize_inside(void *p, size_t have, size_t size, void **to)
{
	int saved = errno;

	if (!host.engine->realloc || !enter())
		return false;
	*to = host.engine->realloc(p, size);
	if (*to)
		kf_tally_resized(kf_heap_counter(), have, size,
				 host.engine->usable_size(*to), *to != p,
				 host.elsewhere);
	leave();
	errno = saved;
	return true;
}

static void *resize(void *p, size_t size, enum kf_misuse *wrong)
{
	size_t have = usable(p);
	bool ours = is_default(p);
	void *to;

	*wrong = KF_FINE;
	if (ours && !have)
		return FIRSTFIT->resize(p, size, wrong);
	if (!ours)
		*wrong = check(p);
	if (*wrong)
		return NULL;
	kf_heap_counter();
	if (!ours && resize_inside(p, have, size, &to))
		return to;
	return stays(have, size) ? p : move(p, have, size);
}

/* Every call goes that way already. */
static void slow_down(bool on)
{
}

static bool trim(size_t pad)
{
	bool some = false;
	int saved = errno;

	if (host.engine->trim && enter()) {
		some = host.engine->trim(pad) != 0;
		leave();
	}
	errno = saved;
	return FIRSTFIT->trim(pad) || some;
}

static void fork_prepare(void)
{
	kf_lock_fork_begin(&host.lock);
	kf_heap_fork_prepare();
	kf_lock_fork_prepare(&host.lock);
	kf_pages_fork_prepare();
	if (host.engine->fork_prepare)
		host.engine->fork_prepare();
}

static void fork_done(bool child)
{
	void (*hook)(void) =
		child ? host.engine->fork_child : host.engine->fork_parent;

	if (hook)
		hook();
	kf_pages_fork_done(child);
	kf_lock_fork_done(&host.lock, child);
	kf_heap_fork_done(child);
}

static void info(struct kf_supply_info *out)
{
	struct konf_engine_info of_engine = {0};
	size_t elsewhere = kf_heap_sum(KF_SLOT_elsewhere);

	FIRSTFIT->info(out);
	if (host.engine->info && enter()) {
		host.engine->info(&of_engine);
		leave();
	}
	out->used = kf_heap_live() - out->mapped_bytes;
	out->arena = KF_MAX(out->arena + elsewhere, out->used);
	out->free += of_engine.free;
	out->free_runs += of_engine.free_blocks;
	out->top += of_engine.top;
	out->peak = KF_MAX(out->peak, out->arena + out->mapped_bytes);
}

const struct kf_supply kf_supply_hosted = {
	.init = kf_heap_only_count,
	.alloc = alloc,
	.release = release,
	.resize = resize,
	.usable = usable,
	.slow_down = slow_down,
	.trim = trim,
	.thread_exit = kf_heap_detach,
	.fork_prepare = fork_prepare,
	.fork_done = fork_done,
	.info = info,
};

static void say(const char *line)
{
	char buf[512];
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator: ");
	kf_text_str(&text, line);
	kf_text_char(&text, '\n');
	kf_out(&text);
}

static const struct konf_host services = {
	.version = KONF_ENGINE_VERSION,
	.size = sizeof(struct konf_host),
	.map = kf_engine_map,
	.unmap = kf_engine_unmap,
	.say = say,
};

const char *kf_hosted_stand(const struct konf_engine *engine)
{
	const char *why = engine->init ? engine->init(&services) : NULL;

	if (why)
		return why;
	host.engine = engine;
	host.elsewhere = engine->flags & KONF_ENGINE_ELSEWHERE;
	kf_supply_hosted.init();
	/* pairs with nothing: there is one thread yet, or it finds either */
	__atomic_store_n(&kf_supply, &kf_supply_hosted, __ATOMIC_RELEASE);
	return NULL;
}

const struct konf_engine *kf_hosted_engine(void)
{
	return host.engine;
}
