/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A recording of any bytes: it is read and replayed to its end, and its events
 * come in the order of time.
 */
#include "config.h"

#include "reader/replay.h"

#include "tests/fuzz/fuzz.h"

static void replay(struct kf_history *h)
{
	const struct kf_replay_pick all = {.max_size = UINT64_MAX};
	struct kf_replay r;
	struct kf_history_event e;
	struct kf_step step;
	uint64_t last = 0;
	int more;

	fuzz_require(!kf_replay_init(&r, h, &all), "no memory");
	while ((more = kf_history_next(h, &e)) > 0) {
		fuzz_require(e.time >= last, "an event comes before its time");
		fuzz_require(e.thread <= h->nr_threads ||
				     e.thread == KF_HISTORY_NO_THREAD,
			     "an event of no thread");
		fuzz_require((unsigned int)e.kind < KF_RECORD_NR_KINDS,
			     "an event of no kind");
		last = e.time;
		if (kf_replay_step(&r, &e, &step) < 0)
			break;
	}
	fuzz_require(r.now.bytes <= r.peak.bytes,
		     "more is live than at the peak");
	kf_replay_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_history h;

	if (kf_history_open(fuzz_sparse(data, size), &h) == KF_READ_OK)
		replay(&h);
	kf_history_close(&h);
	return 0;
}
