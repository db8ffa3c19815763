// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The passing mode: the library is detached (core/attach.h). A call that still
 * comes, from an address that the program had stored or a thread that was on
 * its way, goes on to the malloc behind the engine system and is not counted.
 */
#include "mode/mode.h"

#include "engines/host.h"

#include <errno.h>

static void *passing_alloc(size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);

	return unlikely(other) ? other->mode->alloc(size, other)
			       : kf_host_direct.malloc(size);
}

static void *passing_zeroed(size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);

	return unlikely(other) ? other->mode->zeroed(size, other)
			       : kf_host_direct.zeroed(size);
}

static void *passing_resize(void *p, size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);

	return unlikely(other) ? other->mode->resize(p, size, other)
			       : kf_engine->base.realloc(p, size);
}

static void *passing_aligned(size_t align, size_t size, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);
	int saved = errno;
	void *p;

	if (unlikely(other))
		return other->mode->aligned(align, size, other);
	p = kf_engine->base.alloc(size, KF_MAX(align, (size_t)16));
	errno = p ? saved : ENOMEM;
	return p;
}

static void passing_free(void *p, struct kf_slab *slab, struct kf_front *front)
{
	struct kf_front *other = kf_mode_renew(front);

	if (unlikely(other))
		other->mode->free(p, slab, other);
	else
		kf_host_direct.free(p);
}

static const struct kf_mode passing = {
	.alloc = passing_alloc,
	.zeroed = passing_zeroed,
	.resize = passing_resize,
	.aligned = passing_aligned,
	.free = passing_free,
};

struct kf_front kf_front_passing = {.mode = &passing};
