/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See state.h.
 */
#include "config.h"

#include "cli/state.h"

#include <time.h>

const char *kf_state_name(const struct kf_file *f)
{
	if (f->snap.result != KF_READ_OK)
		return "bad";
	switch (f->life) {
	case KF_LIFE_ALIVE:
		return "alive";
	case KF_LIFE_DEAD:
		return "dead";
	case KF_LIFE_EXECED:
		return "execed";
	default:
		return "unknown";
	}
}

uint64_t kf_file_age_ns(const struct kf_file *f)
{
	struct timespec now;
	uint64_t now_ns;

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (f->snap.id.created_ns > now_ns)
		return 0;
	return now_ns - f->snap.id.created_ns;
}
