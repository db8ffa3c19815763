/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The map of the heap: see mapping.h.
 */
#include "core/mapping.h"

#include "base/text.h"
#include "engines/host.h"
#include "heap/cells.h"
#include "stats/stats.h"
#include "sys/clock.h"

#include <errno.h>

/* The heap may grow between the choice of a length and the walk. */
#define SPARE 64
#define MOST (KF_STATS_CELLS - SPARE)

static int mapping_fail(struct kf_text *reply, const char *why, int error)
{
	kf_text_str(reply, why);
	return error;
}

int kf_mapping_note(struct kf_text *reply)
{
	struct kf_stats_cell *cell;
	uint64_t length;
	uint32_t nr, max;

	if (kf_engine_is_hosted())
		return mapping_fail(reply, "only the engine firstfit has a map",
				    ENOTSUP);
	length = kf_cells_length(MOST, &nr);
	cell = kf_stats_area_grow(KF_AREA_MAP, nr + SPARE);
	max = kf_stats_area_shown(KF_AREA_MAP);
	if (!cell || nr > max)
		return mapping_fail(reply,
				    "the stats file has no room for the map",
				    ENOSPC);
	max = KF_MIN(max, (uint32_t)KF_STATS_CELLS);
	nr = kf_cells_note(cell, max, length, kf_now_ns());
	if (!nr || nr > max)
		return mapping_fail(
			reply, "the process is forking or growing: try again",
			EAGAIN);
	kf_text_u64(reply, nr);
	kf_text_str(reply, " cells of ");
	kf_text_u64(reply, length);
	kf_text_str(reply, " bytes are mapped");
	return 0;
}
