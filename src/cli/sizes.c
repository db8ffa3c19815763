/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See sizes.h.
 */
#include "config.h"

#include "cli/sizes.h"

#include "base/saturate.h"

uint64_t kf_size_empty(const struct kf_class_count *c)
{
	uint64_t blocks = kf_class_blocks(c);

	return c->carved > blocks ? kf_times(c->carved - blocks, c->bytes) : 0;
}

/* Large blocks are counted in bytes only. */
static uint64_t large_of(const struct kf_snapshot *s)
{
	uint64_t n = kf_snapshot_value(s, "large_allocated") -
		     kf_snapshot_value(s, "large_freed") +
		     kf_snapshot_value(s, "inherited_large");

	return (int64_t)n > 0 ? n : 0;
}

uint64_t kf_size_live(const struct kf_snapshot *s, unsigned int class)
{
	const struct kf_class_count *c = &s->classes[class];

	if (class >= s->nr_classes)
		return 0;
	return c->bytes ? kf_times(kf_class_blocks(c), c->bytes) : large_of(s);
}
