/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Areas: tables that most programs never use.
 *
 * Each has addresses of its own, reserved at first use, and a fixed offset in
 * the file, behind the room of all slots: so slots and areas grow without
 * moving each other, and the file has holes. An area doubles its memory, which
 * is anonymous until there is a file. Where the file cannot grow, the table
 * continues in private memory that no reader sees.
 */
#include "stats/internal.h"

#include "base/bits.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/vm.h"

#include <string.h>

/* Of addresses; a table begins with a page. */
#define STEP (64 * KF_KIB)

/* An area may take at most this share of a limited address space. */
#define LIMIT_SHARE 64

static const struct {
	uint32_t offset;
	uint32_t entry_size;
	size_t room;
} areas[KF_NR_AREAS] = {
	[KF_AREA_TAGS] = {KF_AT_TAGS, sizeof(struct kf_stats_tag),
			  KF_AT_MODULES - KF_AT_TAGS},
	[KF_AREA_MODULES] = {KF_AT_MODULES, sizeof(struct kf_stats_module),
			     KF_AT_STACKS - KF_AT_MODULES},
	[KF_AREA_STACKS] = {KF_AT_STACKS, sizeof(struct kf_stats_stack),
			    KF_AT_FRAMES - KF_AT_STACKS},
	[KF_AREA_FRAMES] = {KF_AT_FRAMES, sizeof(struct kf_stats_frame),
			    KF_AT_CALLS - KF_AT_FRAMES},
	[KF_AREA_CALLS] = {KF_AT_CALLS, sizeof(struct kf_stats_call),
			   KF_AT_LIFETIMES - KF_AT_CALLS},
	[KF_AREA_LIFETIMES] = {KF_AT_LIFETIMES,
			       sizeof(struct kf_stats_lifetimes),
			       KF_AT_MAP - KF_AT_LIFETIMES},
	[KF_AREA_MAP] = {KF_AT_MAP, sizeof(struct kf_stats_cell),
			 KF_AT_MAPPINGS - KF_AT_MAP},
	[KF_AREA_MAPPINGS] = {KF_AT_MAPPINGS, sizeof(struct kf_stats_mapping),
			      KF_AT_SAMPLES - KF_AT_MAPPINGS},
	[KF_AREA_SAMPLES] = {KF_AT_SAMPLES, sizeof(struct kf_stats_sample),
			     KF_AT_MORE - KF_AT_SAMPLES},
	[KF_AREA_SLOTS] = {KF_AT_MORE, sizeof(struct kf_slot),
			   KF_STATS_MAX_MORE * sizeof(struct kf_slot)},
};

struct kf_stats_section kf_area_section(enum kf_stats_area area)
{
	return (struct kf_stats_section){
		.offset = areas[area].offset,
		.entry_size = areas[area].entry_size,
		.nr = (uint32_t)(kf_stats.area[area].shown /
				 areas[area].entry_size),
	};
}

static size_t area_bytes_of(enum kf_stats_area area)
{
	/* pairs with the release store of area_grow() */
	return kf_load_acquire(&kf_stats.area[area].bytes);
}

void *kf_stats_area(enum kf_stats_area area, uint32_t *nr)
{
	*nr = (uint32_t)(area_bytes_of(area) / areas[area].entry_size);
	return *nr ? kf_stats.area[area].base : NULL;
}

uint32_t kf_stats_area_shown(enum kf_stats_area area)
{
	return (uint32_t)(kf_load(&kf_stats.area[area].shown) /
			  areas[area].entry_size);
}

static bool area_reserve(struct kf_area *a, size_t room)
{
	uint64_t share = kf_process_address_limit() / LIMIT_SHARE;

	while (room > STEP && room > share)
		room /= 2;
	do {
		a->base = kf_vm_reserve(room, STEP);
		a->room = room;
		room /= 2;
	} while (!a->base && room >= STEP);
	return a->base != NULL;
}

static bool area_put_memory(enum kf_stats_area area, size_t to)
{
	struct kf_area *a = &kf_stats.area[area];
	uint64_t offset = areas[area].offset;
	bool whole = a->shown == a->bytes;

	if (kf_stats.on_file && whole &&
	    !kf_backing_grow(a->base + a->bytes, offset + a->bytes,
			     offset + to)) {
		kf_store(&a->shown, to);
		return true;
	}
	return kf_vm_put_memory(a->base + a->bytes, to - a->bytes) != NULL;
}

static bool area_grow(enum kf_stats_area area, uint32_t nr)
{
	struct kf_area *a = &kf_stats.area[area];
	uint64_t wanted = (uint64_t)nr * areas[area].entry_size;
	size_t to;

	if (kf_stats.in_bss)
		return false;
	if (!a->base && !area_reserve(a, kf_pow2_up(areas[area].room)))
		return false;
	to = KF_MAX(kf_pow2_up((size_t)wanted), kf_vm_page());
	to = KF_MIN(to, areas[area].room);
	if (to <= a->bytes)
		return true;
	if (to > a->room || !area_put_memory(area, to))
		return false;
	kf_image_show();
	/* pairs with the acquire load of area_bytes_of() */
	kf_store_release(&a->bytes, to);
	return true;
}

void *kf_stats_area_grow(enum kf_stats_area area, uint32_t nr)
{
	uint32_t have;
	void *base = kf_stats_area(area, &have);
	bool done;

	if (likely(nr <= have))
		return base;
	if ((uint64_t)nr * areas[area].entry_size > areas[area].room ||
	    !kf_growth_enter())
		return NULL;
	done = area_grow(area, nr);
	kf_growth_leave();
	return done ? kf_stats.area[area].base : NULL;
}

/* These are at the end, where a limited file does not reach. */
static bool area_may_lack(int area)
{
	return area == KF_AREA_LIFETIMES || area == KF_AREA_SAMPLES ||
	       area == KF_AREA_MAP || area == KF_AREA_MAPPINGS;
}

int kf_area_write(int fd)
{
	int r = 0;

	for (int i = 0; i < KF_NR_AREAS && !r; i++) {
		const struct kf_area *a = &kf_stats.area[i];
		uint64_t end = areas[i].offset + a->bytes;

		if (!a->bytes || (area_may_lack(i) && !kf_file_is_allowed(end)))
			continue;
		r = kf_file_extend(fd, areas[i].offset, end);
		if (!r)
			r = kf_file_write(fd, a->base, a->bytes,
					  areas[i].offset);
		kf_stats.file_size = KF_MAX(kf_stats.file_size, end);
	}
	return r;
}

void kf_area_map(int fd)
{
	for (int i = 0; i < KF_NR_AREAS; i++) {
		struct kf_area *a = &kf_stats.area[i];

		if (a->bytes &&
		    areas[i].offset + a->bytes <= kf_stats.file_size &&
		    !kf_vm_put_table(a->base, a->bytes, fd, areas[i].offset))
			a->shown = a->bytes;
	}
}

void kf_area_copy(struct kf_area *copy)
{
	for (int i = 0; i < KF_NR_AREAS; i++) {
		size_t bytes = area_bytes_of((enum kf_stats_area)i);

		copy[i] = (struct kf_area){.bytes = bytes};
		if (bytes)
			copy[i].base = kf_vm_put_memory(NULL, bytes);
		if (copy[i].base)
			memcpy(copy[i].base, kf_stats.area[i].base, bytes);
	}
}

void kf_area_drop(struct kf_area *copy)
{
	for (int i = 0; i < KF_NR_AREAS; i++) {
		if (copy[i].base)
			kf_vm_drop(copy[i].base, copy[i].bytes);
		copy[i] = (struct kf_area){0};
	}
}

/* Entries that were added after the copy was made are the parent's alone. */
static bool area_leave(struct kf_area *a, struct kf_area *copy, bool *lost)
{
	size_t kept = 0;

	if (copy->base &&
	    kf_vm_move(copy->base, copy->bytes, copy->bytes, a->base)) {
		kept = copy->bytes;
		copy->base = NULL;
	} else if (copy->bytes) {
		*lost = true;
	}
	return kept >= a->bytes ||
	       kf_vm_put_memory(a->base + kept, a->bytes - kept);
}

bool kf_area_leave(struct kf_area *copy, bool *lost)
{
	bool left = true;

	for (int i = 0; i < KF_NR_AREAS; i++) {
		struct kf_area *a = &kf_stats.area[i];

		if (a->bytes && !area_leave(a, &copy[i], lost))
			left = false;
	}
	kf_area_drop(copy);
	return left;
}

static void inherit_tag(struct kf_stats_tag *t)
{
	uint64_t live = kf_stats_tag_live(t);
	uint64_t blocks = kf_stats_tag_blocks(t);

	t->inherited = blocks;
	t->allocated = t->peak = live;
	t->entered = t->left = t->failed = t->freed = t->frees = 0;
	t->mallocs = t->callocs = t->reallocs = t->aligned = t->resized = 0;
	t->remote_frees = t->remote_freed = 0;
}

static void inherit_stack(struct kf_stats_stack *s)
{
	s->samples -= s->freed_samples;
	s->allocated -= s->freed;
	s->allocated_blocks -= s->freed_blocks;
	s->variance -= s->freed_variance;
	s->peak = s->allocated;
	s->peak_blocks = s->allocated_blocks;
	s->freed_samples = s->freed = s->freed_blocks = s->freed_variance = 0;
}

/*
 * The entry of live blocks takes no others: what the child allocates itself is
 * told from what it inherited. Entry 0 is for all stacks without an entry.
 */
static void close_stack(struct kf_stats_stack *s)
{
	if (s->samples)
		s->flags |= KF_STACK_INHERITED;
	else
		s->flags &= ~(uint32_t)KF_STACK_INHERITED;
}

static void area_zero(enum kf_stats_area area)
{
	struct kf_area *a = &kf_stats.area[area];

	if (a->bytes)
		memset(a->base, 0, a->bytes);
}

static void area_show_none(void)
{
	for (int i = 0; i < KF_NR_AREAS; i++)
		kf_stats.area[i].shown = 0;
}

void kf_area_inherit(void)
{
	uint32_t nr;
	struct kf_stats_tag *tag = kf_stats_area(KF_AREA_TAGS, &nr);
	struct kf_stats_stack *stack;

	for (uint32_t i = 0; i < nr; i++)
		inherit_tag(&tag[i]);
	stack = kf_stats_area(KF_AREA_STACKS, &nr);
	for (uint32_t i = 0; i < nr; i++) {
		inherit_stack(&stack[i]);
		if (i)
			close_stack(&stack[i]);
	}
	area_zero(KF_AREA_LIFETIMES);
	area_zero(KF_AREA_MAP);
	area_show_none();
}

static void restart_tag(struct kf_stats_tag *t)
{
	inherit_tag(t);
	t->inherited = t->allocated = t->peak = 0;
}

static void restart_stack(struct kf_stats_stack *s)
{
	inherit_stack(s);
	s->samples = s->allocated = s->allocated_blocks = s->variance = 0;
	s->flags &= ~(uint32_t)KF_STACK_INHERITED;
	s->peak = s->peak_blocks = 0;
}

void kf_area_restart(void)
{
	uint32_t nr;
	struct kf_stats_tag *tag = kf_stats_area(KF_AREA_TAGS, &nr);
	struct kf_stats_stack *stack;

	for (uint32_t i = 0; i < nr; i++)
		restart_tag(&tag[i]);
	stack = kf_stats_area(KF_AREA_STACKS, &nr);
	for (uint32_t i = 0; i < nr; i++)
		restart_stack(&stack[i]);
	area_zero(KF_AREA_LIFETIMES);
	area_zero(KF_AREA_SAMPLES);
	area_zero(KF_AREA_MAP);
	area_zero(KF_AREA_MAPPINGS);
	area_show_none();
}

bool kf_area_clear(void)
{
	bool done = true;

	for (int i = 0; i < KF_NR_AREAS; i++) {
		const struct kf_area *a = &kf_stats.area[i];
		size_t bytes = area_bytes_of((enum kf_stats_area)i);

		if (bytes && !kf_vm_put_memory(a->base, bytes))
			done = false;
	}
	return done;
}

bool kf_area_holds(const char *addr)
{
	for (int i = 0; i < KF_NR_AREAS; i++) {
		const char *base = kf_stats.area[i].base;

		if (base && addr >= base &&
		    addr < base + area_bytes_of((enum kf_stats_area)i))
			return true;
	}
	return false;
}
