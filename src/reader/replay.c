/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The replay of a recording, event by event.
 */
#include "reader/replay.h"

#include <stdlib.h>
#include <string.h>

/* The header that engine tlsf adds to a request, and its smallest block. */
#define POOL_HEAD 8
#define POOL_ALIGN 16
#define POOL_MIN 32

/* A freed block; @address 0: none. */
struct kf_replay_freed {
	uint64_t address;
};

/* A realloc between its two events. */
struct kf_replay_pending {
	bool in_use;
	bool known; /* @block was live */
	bool stolen;
	enum kf_anomaly anomaly;
	uint64_t address;
	struct kf_block block;
};

/* An entry of the map of old blocks in flight. */
struct flying {
	uint64_t address;
	uint64_t stream;
};

uint64_t kf_replay_pool_bytes(uint64_t size, unsigned int align_log2)
{
	uint64_t bytes = KF_MIN(size, KF_SPACE_MAX_SIZE) + POOL_HEAD;

	bytes = KF_MAX(KF_ALIGN_UP(bytes, POOL_ALIGN), (uint64_t)POOL_MIN);
	if (align_log2 > 4 && align_log2 < 48)
		bytes += (1ULL << align_log2) + POOL_ALIGN;
	return bytes;
}

static bool size_is_picked(const struct kf_replay *r, uint64_t size)
{
	return size >= r->pick.min_size && size <= r->pick.max_size;
}

static bool kind_is_picked(const struct kf_replay *r, unsigned int kind)
{
	return !r->pick.kinds || r->pick.kinds & 1u << kind;
}

static bool thread_is_picked(const struct kf_replay *r, uint32_t thread)
{
	return !r->pick.thread || r->pick.thread(thread, r->pick.thread_arg);
}

bool kf_replay_picks(const struct kf_replay *r, const struct kf_block *block)
{
	return size_is_picked(r, block->size) &&
	       kind_is_picked(r, block->function) &&
	       thread_is_picked(r, block->thread);
}

static struct kf_replay_freed *freed_of(const struct kf_replay *r,
					uint64_t address)
{
	uint64_t hash = (address >> 3) * 0x9e3779b97f4a7c15;

	return &r->freed[hash >> 32 & (KF_REPLAY_NR_FREED - 1)];
}

/* Of events with the same tick, one that is not an anomaly comes first. */
static bool event_fits(const struct kf_history_event *e, void *arg)
{
	const struct kf_replay *r = arg;

	switch (e->kind) {
	case KF_RECORD_MALLOC:
	case KF_RECORD_CALLOC:
	case KF_RECORD_ALIGNED:
	case KF_RECORD_REALLOC:
		return !e->address || !kf_map_find(&r->blocks.map, e->address);
	case KF_RECORD_REALLOC_OLD:
	case KF_RECORD_FREE:
		return !e->address || kf_map_find(&r->blocks.map, e->address);
	default:
		return true;
	}
}

int kf_replay_init(struct kf_replay *r, struct kf_history *h,
		   const struct kf_replay_pick *pick)
{
	memset(r, 0, sizeof(*r));
	r->pick = *pick;
	r->history = h;
	kf_blocks_init(&r->blocks);
	kf_space_init(&r->space);
	r->flying.entry_size = sizeof(struct flying);
	r->now.held = h->head.held;
	/* a peak from before the recording counts only without --from */
	if (!pick->from)
		r->peak_held = h->head.peak_held;
	r->freed = calloc(KF_REPLAY_NR_FREED, sizeof(*r->freed));
	r->pending = calloc((size_t)h->nr_streams + 1, sizeof(*r->pending));
	h->fits = event_fits;
	h->fits_arg = r;
	return r->freed && r->pending ? 0 : -1;
}

void kf_replay_release(struct kf_replay *r)
{
	kf_blocks_release(&r->blocks);
	kf_space_release(&r->space);
	kf_map_release(&r->flying);
	free(r->freed);
	free(r->pending);
	r->freed = NULL;
	r->pending = NULL;
}

static void level_add(struct kf_replay *r, const struct kf_block *b)
{
	struct kf_replay_level *now = &r->now;

	if (!kf_replay_picks(r, b))
		return;
	now->bytes += b->size;
	now->blocks++;
	now->pool += kf_replay_pool_bytes(b->size, b->align_log2);
	now->by_kind[b->function % KF_RECORD_NR_KINDS] += b->size;
}

static void level_sub(struct kf_replay *r, const struct kf_block *b)
{
	struct kf_replay_level *now = &r->now;

	if (!kf_replay_picks(r, b))
		return;
	now->bytes -= b->size;
	now->blocks--;
	now->pool -= kf_replay_pool_bytes(b->size, b->align_log2);
	now->by_kind[b->function % KF_RECORD_NR_KINDS] -= b->size;
}

static void note_peaks(struct kf_replay *r, uint64_t time)
{
	if (r->now.bytes > r->peak.bytes) {
		r->peak = r->now;
		r->peak_time = time;
	}
	r->peak_pool = KF_MAX(r->peak_pool, r->now.pool);
	if (r->now.held > r->peak_held) {
		r->peak_held = r->now.held;
		r->peak_held_time = time;
	}
}

static enum kf_anomaly unknown_free(struct kf_replay *r, uint64_t address)
{
	if (freed_of(r, address)->address == address)
		return KF_ANOMALY_DOUBLE_FREE;
	if (r->history->head.flags & KF_RECORD_FROM_START)
		return KF_ANOMALY_FREE_UNKNOWN;
	r->from_before++;
	return KF_ANOMALY_NONE;
}

/* Removes a block from the live ones; its bytes still count. */
static bool take_block(struct kf_replay *r, uint64_t address,
		       struct kf_block *block, enum kf_anomaly *anomaly)
{
	if (!kf_blocks_take(&r->blocks, address, block)) {
		*anomaly = unknown_free(r, address);
		return false;
	}
	if (!block->flag)
		kf_space_uncover(&r->space, block->address, block->size);
	freed_of(r, address)->address = address;
	return true;
}

/* The flag of a block tells that its addresses overlap another block. */
static int put_block(struct kf_replay *r, struct kf_block *block,
		     enum kf_anomaly *anomaly)
{
	struct kf_block old;
	int rc = 0;

	if (kf_blocks_take(&r->blocks, block->address, &old)) {
		*anomaly = KF_ANOMALY_DOUBLE_ALLOC;
		if (!old.flag)
			kf_space_uncover(&r->space, old.address, old.size);
		level_sub(r, &old);
	}
	if (freed_of(r, block->address)->address == block->address)
		freed_of(r, block->address)->address = 0;
	rc = kf_space_cover(&r->space, block->address,
			    KF_MIN(block->size, KF_SPACE_MAX_SIZE));
	block->flag = rc > 0;
	if (rc > 0 && !*anomaly)
		*anomaly = KF_ANOMALY_OVERLAP;
	if (rc < 0 || kf_blocks_put(&r->blocks, block, &old) < 0)
		return -1;
	return 0;
}

static int replay_acquire(struct kf_replay *r, struct kf_step *step)
{
	const struct kf_history_event *e = step->event;
	struct flying *f;

	step->block = (struct kf_block){
		.address = e->address,
		.size = e->size,
		.time = e->time,
		.thread = e->thread,
		.function = (uint8_t)e->kind,
		.align_log2 = e->align_log2,
	};
	f = kf_map_find(&r->flying, e->address);
	if (f) {
		r->pending[f->stream].stolen = true;
		step->steals = true;
		kf_map_remove(&r->flying, e->address);
	}
	if (put_block(r, &step->block, &step->anomaly))
		return -1;
	level_add(r, &step->block);
	step->made = kf_replay_picks(r, &step->block);
	return 0;
}

/* The end of a realloc was lost: the block counts as freed. */
static void drop_pending(struct kf_replay *r, uint32_t stream)
{
	struct kf_replay_pending *p = &r->pending[stream];

	if (!p->in_use)
		return;
	p->in_use = false;
	kf_map_remove(&r->flying, p->address);
	if (p->known)
		level_sub(r, &p->block);
}

static int play_make(struct kf_replay *r, struct kf_step *step)
{
	drop_pending(r, step->event->stream);
	if (step->event->failed || !step->event->address)
		return 0;
	return replay_acquire(r, step);
}

static int play_free(struct kf_replay *r, struct kf_step *step)
{
	const struct kf_history_event *e = step->event;

	drop_pending(r, e->stream);
	step->old_address = e->address;
	if (!e->address ||
	    !take_block(r, e->address, &step->old, &step->anomaly))
		return 0;
	level_sub(r, &step->old);
	step->gone = kf_replay_picks(r, &step->old);
	return 0;
}

static int play_realloc_begin(struct kf_replay *r,
			      const struct kf_history_event *e)
{
	struct kf_replay_pending *p = &r->pending[e->stream];
	struct flying *f;

	drop_pending(r, e->stream);
	if (!e->address)
		return 0;
	memset(p, 0, sizeof(*p));
	p->in_use = true;
	p->address = e->address;
	p->known = take_block(r, e->address, &p->block, &p->anomaly);
	f = kf_map_add(&r->flying, e->address);
	if (!f)
		return -1;
	f->stream = e->stream;
	return 0;
}

static int play_realloc_end(struct kf_replay *r, struct kf_step *step)
{
	const struct kf_history_event *e = step->event;
	struct kf_replay_pending p = r->pending[e->stream];
	bool failed = e->failed || !e->address;

	r->pending[e->stream].in_use = false;
	if (p.in_use) {
		step->old_address = p.address;
		step->anomaly = p.anomaly;
		step->stolen = p.stolen;
		kf_map_remove(&r->flying, p.address);
	}
	/* the realloc failed: the old block stays */
	if (p.in_use && p.known && failed && e->size)
		return put_block(r, &p.block, &step->anomaly);
	if (p.in_use && p.known) {
		step->old = p.block;
		level_sub(r, &p.block);
		step->gone = kf_replay_picks(r, &p.block);
	}
	return failed ? 0 : replay_acquire(r, step);
}

static int replay_play(struct kf_replay *r, struct kf_step *step)
{
	const struct kf_history_event *e = step->event;

	step->call = true;
	switch (e->kind) {
	case KF_RECORD_MALLOC:
	case KF_RECORD_CALLOC:
	case KF_RECORD_ALIGNED:
		return play_make(r, step);
	case KF_RECORD_REALLOC:
		return play_realloc_end(r, step);
	case KF_RECORD_FREE:
		return play_free(r, step);
	case KF_RECORD_REALLOC_OLD:
		step->call = false;
		return play_realloc_begin(r, e);
	case KF_RECORD_HELD:
		r->now.held = e->size;
		step->call = false;
		return 0;
	default:
		step->call = false;
		return 0;
	}
}

static void replay_count(struct kf_replay *r, struct kf_step *step)
{
	const struct kf_history_event *e = step->event;
	uint64_t size = e->kind == KF_RECORD_FREE ? step->old.size : e->size;
	bool failed = e->failed && e->size;

	step->picked = kind_is_picked(r, e->kind) &&
		       thread_is_picked(r, e->thread) &&
		       size_is_picked(r, size);
	if (step->picked && failed)
		r->failed[e->kind]++;
	else if (step->picked)
		r->calls[e->kind]++;
	if (step->made)
		r->allocated += e->size;
	if (step->anomaly)
		r->anomalies[step->anomaly]++;
}

int kf_replay_step(struct kf_replay *r, const struct kf_history_event *e,
		   struct kf_step *step)
{
	/* the level at the begin of the counted time is its first peak */
	if (!r->counting && e->time >= r->pick.from) {
		r->counting = true;
		note_peaks(r, e->time);
	}
	memset(step, 0, sizeof(*step));
	step->event = e;
	if (replay_play(r, step))
		return -1;
	if (!r->counting)
		return 0;
	r->end_time = KF_MAX(r->end_time, e->time);
	note_peaks(r, e->time);
	if (step->call)
		replay_count(r, step);
	return step->call || e->kind == KF_RECORD_HELD;
}
