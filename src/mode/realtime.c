// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The real-time mode: each call is noted (core/realtime.h), then the front
 * serves that the thread would have without this mode (kf_self.watched).
 */
#include "mode/mode.h"

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

static void *realtime_alloc(size_t size, struct kf_front *front)
{
	return kf_front_malloc(realtime_enter(KF_CALL_MALLOC, size), size);
}

static void *realtime_zeroed(size_t size, struct kf_front *front)
{
	front = realtime_enter(KF_CALL_CALLOC, size);
	return front->mode->zeroed(size, front);
}

static void *realtime_resize(void *p, size_t size, struct kf_front *front)
{
	front = realtime_enter(KF_CALL_REALLOC, size);
	return front->mode->resize(p, size, front);
}

static void *realtime_aligned(size_t align, size_t size, struct kf_front *front)
{
	front = realtime_enter(KF_CALL_ALIGNED, size);
	return front->mode->aligned(align, size, front);
}

static void realtime_free(void *p, struct kf_slab *slab, struct kf_front *front)
{
	if (p)
		kf_front_free(realtime_enter(KF_CALL_FREE, 0), p);
}

static const struct kf_mode realtime = {
	.alloc = realtime_alloc,
	.zeroed = realtime_zeroed,
	.resize = realtime_resize,
	.aligned = realtime_aligned,
	.free = realtime_free,
};

struct kf_front kf_front_realtime = {.mode = &realtime};
