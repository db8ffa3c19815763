// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The real-time mode: each call is noted, or, where calls are allowed, watched
 * (core/realtime.h). The front serves it that the thread would have without
 * this mode (kf_self.watched).
 */
#include "mode/mode.h"

#include "core/conf.h"
#include "core/realtime.h"

/*
 * The front that serves, after the call was noted. A front that is chosen anew
 * first, as the mode may have ended; chosen here, it is not chosen again in the
 * call, which would be noted twice.
 */
static struct kf_front *realtime_enter(enum kf_call call, size_t size)
{
	if (unlikely(!kf_process_is_current()))
		kf_front_renew();
	if (unlikely(kf_front_self != &kf_front_realtime))
		return kf_front_self;
	kf_realtime_note(call, size);
	return kf_self.watched;
}

/* Allowed calls that the fast paths serve take nothing: they are not watched.
 */
static void *realtime_quick(size_t size)
{
	if (!kf_conf.realtime_allow || size > KF_TINY_MAX ||
	    !kf_process_is_current())
		return NULL;
	return kf_front_quick(kf_self.watched, size);
}

/* The last block of a slab takes the slab with it. */
static bool realtime_frees_quickly(void *p)
{
	struct kf_slab *slab;

	return kf_conf.realtime_allow && kf_process_is_current() &&
	       kf_fast_is_own(kf_self.watched, p, &slab) && slab->used > 1;
}

static void *realtime_alloc(size_t size, struct kf_front *front)
{
	struct kf_realtime_watch watch;
	void *p = realtime_quick(size);

	if (p)
		return p;
	kf_realtime_watch(&watch);
	front = realtime_enter(KF_CALL_MALLOC, size);
	p = kf_front_malloc(front, size);
	kf_realtime_watched(&watch, KF_CALL_MALLOC, size);
	return p;
}

static void *realtime_zeroed(size_t size, struct kf_front *front)
{
	struct kf_realtime_watch watch;
	void *p;

	kf_realtime_watch(&watch);
	front = realtime_enter(KF_CALL_CALLOC, size);
	p = front->mode->zeroed(size, front);
	kf_realtime_watched(&watch, KF_CALL_CALLOC, size);
	return p;
}

static void *realtime_resize(void *p, size_t size, struct kf_front *front)
{
	struct kf_realtime_watch watch;
	void *to;

	kf_realtime_watch(&watch);
	front = realtime_enter(KF_CALL_REALLOC, size);
	to = front->mode->resize(p, size, front);
	kf_realtime_watched(&watch, KF_CALL_REALLOC, size);
	return to;
}

static void *realtime_aligned(size_t align, size_t size, struct kf_front *front)
{
	struct kf_realtime_watch watch;
	void *p;

	kf_realtime_watch(&watch);
	front = realtime_enter(KF_CALL_ALIGNED, size);
	p = front->mode->aligned(align, size, front);
	kf_realtime_watched(&watch, KF_CALL_ALIGNED, size);
	return p;
}

static void realtime_free(void *p, struct kf_slab *slab, struct kf_front *front)
{
	struct kf_realtime_watch watch;

	if (!p)
		return;
	if (realtime_frees_quickly(p)) {
		kf_front_free(kf_self.watched, p);
		return;
	}
	kf_realtime_watch(&watch);
	kf_front_free(realtime_enter(KF_CALL_FREE, 0), p);
	kf_realtime_watched(&watch, KF_CALL_FREE, 0);
}

static const struct kf_mode realtime = {
	.alloc = realtime_alloc,
	.zeroed = realtime_zeroed,
	.resize = realtime_resize,
	.aligned = realtime_aligned,
	.free = realtime_free,
};

struct kf_front kf_front_realtime = {.mode = &realtime};
