/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory for the allocator's own tables: descriptors of runs and thread
 * heaps. The memory is cut from chunks apart from all blocks and never given
 * back. Descriptors are reused.
 */
#include "pages/internal.h"

#define CHUNK_BYTES (32 * KF_KIB)

_Static_assert(KF_METADATA_MAX <= CHUNK_BYTES,
	       "a chunk holds the largest piece");

static void *bump(size_t size)
{
	size_t chunk = CHUNK_BYTES;
	char *p;

	size = KF_ALIGN_UP(size, (size_t)KF_CACHE_LINE);
	if (size > (size_t)(kf_pages.metadata_end - kf_pages.metadata)) {
		/* When memory is scarce, ask for the least number of pages. */
		p = kf_vm_map(chunk, KF_PAGE);
		if (!p) {
			chunk = KF_ALIGN_UP(size, KF_PAGE);
			p = kf_vm_map(chunk, KF_PAGE);
		}
		if (!p)
			return NULL;
		kf_pages.metadata = p;
		kf_pages.metadata_end = p + chunk;
		kf_pages_count_map(p, chunk);
		kf_word_add_atomic(KF_WORD_metadata, chunk);
	}
	p = kf_pages.metadata;
	kf_pages.metadata += size;
	return p;
}

void *kf_metadata_alloc(size_t size)
{
	void *p;

	if (!kf_pages_lock())
		return NULL;
	kf_stats_begin();
	p = bump(size);
	kf_stats_end();
	kf_pages_unlock();
	return p;
}

bool kf_desc_reserve(unsigned int nr)
{
	while (kf_pages.nr_spare < nr) {
		struct kf_run *run = bump(KF_RUN_BYTES);

		if (!run)
			return false;
		kf_desc_give(run);
	}
	return true;
}

struct kf_run *kf_desc_take(void)
{
	struct kf_run *run = kf_pages.spare;

	kf_pages.spare = run->pending;
	kf_pages.nr_spare--;
	__builtin_memset(run, 0, KF_RUN_BYTES);
	return run;
}

void kf_desc_give(struct kf_run *run)
{
	run->kind = KF_RUN_NONE;
	run->start = NULL;
	run->pending = kf_pages.spare;
	kf_pages.spare = run;
	kf_pages.nr_spare++;
}

bool kf_pages_enter_guarded(struct kf_run *run)
{
	bool done;

	if (!kf_pages_lock())
		return false;
	kf_stats_begin();
	done = kf_map_set(run->start, kf_run_bytes(run), run);
	kf_stats_end();
	kf_pages_unlock();
	return done;
}

static void metadata_count_guarded(const void *fresh, size_t bytes)
{
	if (fresh) {
		kf_pages_count_map(fresh, KF_PAGE);
		kf_word_add_atomic(KF_WORD_metadata, KF_PAGE);
	}
	kf_pages_count_use(KF_RUN_LARGE, bytes);
	kf_word_add_atomic(KF_WORD_metadata, -bytes);
}

/* While another thread forks, readers may see a part of it. */
void kf_pages_count_guarded(const void *fresh, size_t bytes)
{
	if (!kf_pages_lock()) {
		metadata_count_guarded(fresh, bytes);
		return;
	}
	kf_stats_begin();
	metadata_count_guarded(fresh, bytes);
	kf_pages_count_peak();
	kf_stats_end();
	kf_pages_unlock();
}
