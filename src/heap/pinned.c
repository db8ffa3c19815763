/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What live blocks pin: see pinned.h.
 *
 * The owner of a slab may change it at any time, so each number is read once,
 * and no number leads outside of the slab's run.
 */
#include "heap/pinned.h"

#include "heap/guarded.h"
#include "heap/marked.h"
#include "pages/pages.h"
#include "stats/layout.h"

/* A walk over all runs. */
struct walk {
	void (*marked)(uint32_t mark, uint64_t parts);
	uint64_t total; /* bytes */
};

/* Parts of a byte that each of @used blocks pins. */
static uint64_t pinned_share(uint64_t free, uint64_t size, uint64_t used)
{
	return used ? free * size * KF_STATS_PINNED_PARTS / used : 0;
}

static uint64_t pinned_carved(const struct kf_slab *slab)
{
	return __atomic_load_n(&slab->carved, __ATOMIC_RELAXED);
}

static void pinned_marks(const struct walk *w, const struct kf_slab *slab,
			 uint64_t nr, uint64_t parts)
{
	const uint32_t *marks = kf_load(&slab->run.marks);
	const char *begin = (const char *)marks;
	const char *end = begin + nr * sizeof(*marks);

	/* The slab may be about to be another one. */
	if (begin < slab->run.start || end > kf_run_end(&slab->run))
		return;
	for (uint64_t i = 0; i < nr; i++) {
		uint32_t mark = kf_load(&marks[i]);

		if (mark)
			w->marked(mark, parts);
	}
}

static void pinned_slab(struct walk *w, const struct kf_slab *slab)
{
	uint64_t carved = pinned_carved(slab), size = kf_load(&slab->size);
	uint64_t used = KF_MIN((uint64_t)kf_load(&slab->used), carved);

	if (!used || carved * size > kf_run_bytes(&slab->run))
		return;
	w->total += (carved - used) * size;
	if (kf_slab_has_marks(slab))
		pinned_marks(w, slab, carved,
			     pinned_share(carved - used, size, used));
}

static void pinned_run(const struct kf_run *run, void *data)
{
	struct walk *w = data;
	uint8_t kind = kf_load(&run->kind);

	if (kind == KF_RUN_SLAB)
		pinned_slab(w, kf_container_of(run, struct kf_slab, run));
	else if (kind == KF_RUN_LARGE && run->mark)
		w->marked(kf_load(&run->mark), 0);
}

bool kf_pinned_each(void (*marked)(uint32_t mark, uint64_t parts),
		    uint64_t *total)
{
	struct walk w = {.marked = marked};
	bool seen = kf_pages_each(pinned_run, &w);

	/* Alone on pages that are not the heap's. */
	if (seen)
		kf_guarded_each(marked);

	*total = w.total;
	return seen;
}

uint64_t kf_pinned_at(const struct kf_place *place)
{
	const struct kf_slab *slab =
		kf_slab_at((const void *)(uintptr_t)place->at);
	uint64_t carved, used;

	if (!slab || kf_load(&slab->run.number) != place->slab)
		return pinned_share(place->others, place->size, 1);
	carved = pinned_carved(slab);
	used = (uint64_t)kf_load(&slab->used) + 1;
	return pinned_share(carved > used ? carved - used : 0, place->size,
			    used);
}

struct kf_place kf_pinned_place(const void *p)
{
	const struct kf_slab *slab = p ? kf_slab_at(p) : NULL;

	if (!slab)
		return (struct kf_place){0};
	return (struct kf_place){
		.at = (uintptr_t)p,
		.slab = slab->run.number,
		.size = (uint32_t)slab->size,
		.others = slab->capacity - 1u,
	};
}
