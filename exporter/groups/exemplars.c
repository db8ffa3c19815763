/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Exemplars: see exemplars.h. Files are of other users: stacks and times that
 * cannot be are left out.
 */
#include "config.h"

#include "exporter/groups/exemplars.h"
#include "exporter/clock.h"

#include <stdlib.h>
#include <string.h>

/* Whether a sample has a stack, and was born. */
static bool exemplar_is_known(const struct kf_snapshot *s,
			      const struct kf_stats_sample *sample,
			      uint64_t now_ns)
{
	return sample->address && sample->born && sample->born <= now_ns &&
	       sample->stack < s->nr_stacks && s->stacks[sample->stack].hash;
}

static void exemplar_take(struct kf_exemplar_block *to,
			  const struct kf_snapshot *s,
			  const struct kf_stats_sample *sample)
{
	if (sample->born <= to->born_ns)
		return;
	to->born_ns = sample->born;
	to->bytes = sample->bytes;
	to->stack = s->stacks[sample->stack].hash;
}

/* The difference of the clocks is never the same twice. */
static void exemplar_set_time(struct kf_exemplar_block *to,
			      const struct kf_exemplar_block *before,
			      uint64_t now_ns)
{
	uint64_t age_ns = now_ns - to->born_ns;

	to->ns = before->born_ns == to->born_ns && before->stack == to->stack
			 ? before->ns
			 : kf_clock_ns(CLOCK_REALTIME) - age_ns;
}

bool kf_exemplars_note(struct kf_member *m, const struct kf_snapshot *s)
{
	struct kf_exemplar_block found[KF_NR_SIZES + 1] = {0};
	uint64_t now_ns = kf_clock_ns(CLOCK_MONOTONIC);
	unsigned int i;

	for (i = 0; i < s->nr_samples; i++) {
		const struct kf_stats_sample *sample = &s->samples[i];

		if (exemplar_is_known(s, sample, now_ns))
			exemplar_take(&found[kf_figures_size(sample->bytes)], s,
				      sample);
	}
	if (!m->exemplars)
		m->exemplars = calloc(KF_NR_SIZES + 1, sizeof(found[0]));
	if (!m->exemplars)
		return false;
	for (i = 0; i <= KF_NR_SIZES; i++) {
		if (found[i].born_ns)
			exemplar_set_time(&found[i], &m->exemplars[i], now_ns);
		found[i].pid = m->pid;
	}
	memcpy(m->exemplars, found, sizeof(found));
	return true;
}

void kf_exemplars_add(const struct kf_member *m)
{
	for (unsigned int i = 0; m->exemplars && i <= KF_NR_SIZES; i++) {
		if (m->exemplars[i].ns > m->group->exemplar[i].ns)
			m->group->exemplar[i] = m->exemplars[i];
	}
}
