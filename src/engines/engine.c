/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list of engines, and memory for them: see engine.h.
 */
#include "engines/engine.h"

#include "pages/limit.h"
#include "pages/pages.h"
#include "record/record.h"
#include "stats/stats.h"

#include <string.h>

static const struct kf_engine *const engines[] = {
#define KF_ENGINE(id, help) &kf_engine_##id,
#include "engines/engines.def"
#undef KF_ENGINE
};

const struct kf_engine *kf_engine = &kf_engine_firstfit;

const struct kf_engine *kf_engine_find(const char *name)
{
	if (!name)
		return engines[0];
	for (size_t i = 0; i < KF_ARRAY_SIZE(engines); i++) {
		if (strcmp(engines[i]->base.name, name) == 0)
			return engines[i];
	}
	return NULL;
}

static void count_map(const void *addr, size_t size)
{
	uint64_t held;

	kf_word_add_atomic(KF_WORD_pools, size);
	kf_pages_count_map(addr, size);
	held = kf_stats_held();
	if (kf_record_is_on())
		kf_record_held(held);
	if (held > kf_word_get(KF_WORD_peak_held))
		kf_word_set(KF_WORD_peak_held, held);
	kf_limit_watch(held);
}

void *kf_engine_map(size_t size, size_t align)
{
	void *addr = kf_limit_allows(size) ? kf_vm_map(size, align) : NULL;

	if (addr)
		count_map(addr, size);
	return addr;
}

bool kf_engine_commit(void *addr, size_t size)
{
	if (!kf_limit_allows(size) || !kf_vm_commit(addr, size))
		return false;
	count_map(addr, size);
	return true;
}

static void count_unmap(const void *addr, size_t size)
{
	kf_word_add_atomic(KF_WORD_pools, -size);
	kf_pages_count_unmap(addr, size);
}

bool kf_engine_decommit(void *addr, size_t size)
{
	if (!kf_vm_decommit(addr, size))
		return false;
	count_unmap(addr, size);
	return true;
}

void kf_engine_unmap(void *addr, size_t size)
{
	count_unmap(addr, size);
	kf_pages_unmap_later(addr, size);
}

/* At max_map_count the kernel may refuse: then take the pages. */
void kf_engine_unmap_at_once(void *addr, size_t size)
{
	if (!kf_vm_unmap(addr, size) && !kf_vm_purge(addr, size))
		return;
	count_unmap(addr, size);
}
