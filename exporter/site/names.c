/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of functions: see names.h.
 */
#include "config.h"

#include "exporter/site/names.h"

#include "exporter/log.h"

#define BUDGET_NS 2000000000ull

static const char *const lacks_names[KF_NR_LACKS] = {
	[KF_LACKS_RULE] = "--sandbox.read with their directories",
	[KF_LACKS_PTRACE] = "CAP_SYS_PTRACE",
	[KF_LACKS_RESTORE] = "CAP_CHECKPOINT_RESTORE",
	[KF_LACKS_SEARCH] = "CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH",
};

/* Each page says it anew. */
static void names_refused(const char *path, const char *why)
{
	kf_log(KF_LOG_DEBUG, "a file gives no names", "file", path, "reason",
	       why, NULL);
}

struct kf_symbols *kf_names_open(struct kf_name_cache *cache, int pid,
				 const struct kf_snapshot *s)
{
	struct kf_codes codes;

	if (!kf_codes_read(cache->procfs, pid, s, &codes)) {
		kf_codes_release(&codes);
		return NULL;
	}
	return kf_symbols_open(&codes, &(struct kf_symbols_how){
					       .procfs = cache->procfs,
					       .pid = pid,
					       .budget_ns = BUDGET_NS,
					       .cache = cache,
					       .snapshot = s,
					       .refused = names_refused,
				       });
}

const char *kf_names_close(struct kf_symbols *symbols)
{
	static bool said; /* atomic */
	const char *lacks =
		symbols ? lacks_names[kf_symbols_lacks(symbols)] : NULL;

	kf_symbols_close(symbols);
	if (lacks && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		kf_log(KF_LOG_WARN,
		       "some functions have no names: the files of their "
		       "processes may not be opened",
		       "missing", lacks, NULL);
	return lacks;
}

bool kf_names_calls(struct kf_symbols *symbols, const struct kf_snapshot *s,
		    const struct kf_stats_stack *stack, struct kf_calls *calls)
{
	uint64_t address[KF_STATS_STACK_MAX];
	uint32_t nr = kf_snapshot_frames(s, stack, address);

	for (uint32_t i = 0; i < nr; i++) {
		size_t at_address; /* 1 without debug information */

		calls->frame[i] = kf_symbols_frames(symbols, address[i],
						    kf_stats_generation(stack),
						    &at_address);
		if (!calls->frame[i])
			return false;
	}
	calls->nr = kf_calls_simplify(calls->frame, calls->recursive, nr, 0);
	return true;
}

void kf_names_text(const struct kf_frame *frame, char text[KF_NAME_ROOM])
{
	char label[KF_NAME_ROOM];

	kf_frame_label(frame, label, sizeof(label));
	kf_utf8_clean(text, KF_NAME_ROOM, label);
}
