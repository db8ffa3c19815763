/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The moments at which the replayer reads its memory: for each bucket of so
 * many operations its end, and where most bytes are live. When there are too
 * many buckets, two become one. So the peak of live bytes is always among them,
 * and the number of operations need not be known before.
 */
#include "config.h"

#include "cli/whatif/whatif.h"

void kf_sampler_init(struct kf_sampler *s)
{
	s->step = 1;
	s->nr = 0;
}

static void sampler_halve(struct kf_sampler *s)
{
	for (size_t i = 0; i < s->nr / 2; i++) {
		const struct kf_sampler_bucket *a = &s->bucket[2 * i];
		const struct kf_sampler_bucket *b = a + 1;
		bool later = b->most.live > a->most.live;

		s->bucket[i] = (struct kf_sampler_bucket){
			.most = later ? b->most : a->most,
			.last = b->last,
		};
	}
	s->nr /= 2;
	s->step *= 2;
}

void kf_sampler_add(struct kf_sampler *s, uint64_t op, uint64_t time_ns,
		    uint64_t live)
{
	struct kf_script_sample now = {op, time_ns, live};
	struct kf_sampler_bucket *b;
	size_t i = (op - 1) / s->step;

	if (i >= KF_ARRAY_SIZE(s->bucket)) {
		sampler_halve(s);
		i = (op - 1) / s->step;
	}
	b = &s->bucket[i];
	if (i >= s->nr) {
		s->nr = i + 1;
		b->most = now;
	}
	if (live > b->most.live)
		b->most = now;
	b->last = now;
}

uint32_t kf_sampler_finish(const struct kf_sampler *s,
			   struct kf_script_sample *samples)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < s->nr; i++) {
		const struct kf_sampler_bucket *b = &s->bucket[i];

		if (b->most.op != b->last.op)
			samples[nr++] = b->most;
		samples[nr++] = b->last;
	}
	return nr;
}
