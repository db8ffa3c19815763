/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes a script of a recording: addresses become numbers of blocks, streams
 * become threads that take turns. The replay of src/reader finds anomalies and
 * counts live bytes; here are the numbers of the blocks alone.
 */
#include "config.h"

#include "cli/whatif/whatif.h"
#include "record/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The recorded time is in the script so often. */
#define TIME_STEP_NS 1000000u

/* No thread of the script. */
#define NO_THREAD UINT32_MAX
/* It has ended: its late calls are thread 0's. */
#define ENDED (UINT32_MAX - 1)

#define BUFFER ((size_t)1 << 20)

/* A live block; the key is its address. */
struct maker_block {
	uint64_t address;
	uint64_t size;
	uint32_t number;
};

/* The old block of a realloc that has not ended, by stream. */
struct maker_pending {
	bool is_live;
	struct maker_block block;
};

/* Numbers that are handed out, the latest that came back first. */
struct maker_numbers {
	uint32_t nr; /* ever in use */
	uint32_t *unused;
	size_t nr_unused, room;
};

struct maker {
	struct kf_report *report;
	struct kf_script *script;
	FILE *out;
	struct kf_map blocks;
	struct maker_pending *pending;
	struct maker_numbers numbers;
	struct maker_numbers thread_numbers;
	uint32_t *threads; /* of the script, by the recording's */
	size_t nr_threads;
	uint32_t turn;	  /* the thread of the last operation */
	uint64_t time_ns; /* of the last operation that tells it */
	struct kf_sampler sampler;
};

static uint32_t numbers_take(struct maker_numbers *n)
{
	return n->nr_unused ? n->unused[--n->nr_unused] : n->nr++;
}

static void numbers_give(struct maker_numbers *n, uint32_t number)
{
	if (n->nr_unused == n->room) {
		size_t room = n->room ? 2 * n->room : 1024;
		uint32_t *more = kf_alloc(room, sizeof(*more));

		if (n->nr_unused)
			memcpy(more, n->unused, n->nr_unused * sizeof(*more));
		free(n->unused);
		n->unused = more;
		n->room = room;
	}
	n->unused[n->nr_unused++] = number;
}

static void maker_put(struct maker *m, enum kf_script_op op, unsigned int nr,
		      const uint64_t *n)
{
	uint8_t bytes[KF_SCRIPT_OP_MAX], *p = bytes;

	*p++ = (uint8_t)op;
	for (unsigned int i = 0; i < nr; i++)
		p = kf_record_put_varint(p, n[i]);
	fwrite(bytes, 1, (size_t)(p - bytes), m->out);
	m->script->head.nr_ops++;
}

static uint32_t *thread_of(struct maker *m, uint32_t thread)
{
	while (thread >= m->nr_threads) {
		size_t nr = m->nr_threads ? 2 * m->nr_threads : 64;
		uint32_t *more = kf_alloc(nr, sizeof(*more));

		memset(more, 0xff, nr * sizeof(*more));
		if (m->nr_threads)
			memcpy(more, m->threads, m->nr_threads * sizeof(*more));
		free(m->threads);
		m->threads = more;
		m->nr_threads = nr;
	}
	return &m->threads[thread];
}

/* Tell the time of an event, and whose it is. */
static void maker_turn(struct maker *m, const struct kf_history_event *e)
{
	uint32_t *thread = thread_of(m, e->thread);
	uint64_t n;

	if (e->time >= m->time_ns + TIME_STEP_NS) {
		n = e->time - m->time_ns;
		maker_put(m, KF_SCRIPT_TIME, 1, &n);
		m->time_ns = e->time;
	}
	if (*thread == NO_THREAD)
		*thread = numbers_take(&m->thread_numbers);
	n = *thread == ENDED ? 0 : *thread;
	if (n == m->turn)
		return;
	m->turn = (uint32_t)n;
	maker_put(m, KF_SCRIPT_TURN, 1, &n);
}

static void maker_end_thread(struct maker *m, const struct kf_history_event *e)
{
	uint32_t *thread;

	if (e->thread == KF_HISTORY_NO_THREAD)
		return;
	thread = thread_of(m, e->thread);
	if (*thread == NO_THREAD || *thread == ENDED || !*thread)
		return;
	maker_turn(m, e);
	maker_put(m, KF_SCRIPT_END, 0, NULL);
	numbers_give(&m->thread_numbers, *thread);
	*thread = ENDED;
	m->turn = 0;
}

static void maker_free(struct maker *m, uint32_t number)
{
	uint64_t n = number;

	maker_put(m, KF_SCRIPT_FREE, 1, &n);
	numbers_give(&m->numbers, number);
}

static bool maker_take(struct maker *m, uint64_t address,
		       struct maker_block *block)
{
	const void *found = address ? kf_map_find(&m->blocks, address) : NULL;

	if (!found)
		return false;
	memcpy(block, found, sizeof(*block));
	kf_map_remove(&m->blocks, address);
	return true;
}

/* An address that is allocated twice: the first block is freed before. */
static void maker_add(struct maker *m, uint64_t address, uint64_t size,
		      uint32_t number)
{
	struct maker_block block = {address, size, number}, old;
	void *entry;

	if (maker_take(m, address, &old))
		maker_free(m, old.number);
	entry = kf_map_add(&m->blocks, address);
	if (!entry) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	memcpy(entry, &block, sizeof(block));
}

/* The end of a realloc was lost: its block counts as freed. */
static void maker_drop_pending(struct maker *m, uint32_t stream)
{
	struct maker_pending *p = &m->pending[stream];

	if (p->is_live)
		maker_free(m, p->block.number);
	p->is_live = false;
}

static void maker_make(struct maker *m, const struct kf_history_event *e)
{
	static const uint8_t ops[] = {
		[KF_RECORD_MALLOC] = KF_SCRIPT_MALLOC,
		[KF_RECORD_CALLOC] = KF_SCRIPT_CALLOC,
		[KF_RECORD_ALIGNED] = KF_SCRIPT_ALIGNED,
		[KF_RECORD_REALLOC] = KF_SCRIPT_MALLOC,
	};
	uint32_t number = numbers_take(&m->numbers);
	uint64_t n[] = {number, e->size, e->align_log2};

	maker_add(m, e->address, e->size, number);
	maker_put(m, ops[e->kind], e->kind == KF_RECORD_ALIGNED ? 3 : 2, n);
}

static void maker_realloc(struct maker *m, const struct kf_history_event *e)
{
	struct maker_pending *p = &m->pending[e->stream];
	bool failed = e->failed || !e->address;
	uint64_t n[] = {p->block.number, e->size, p->block.size};

	if (!p->is_live && failed)
		return;
	if (p->is_live && failed && e->size) {
		p->is_live = false;
		maker_add(m, p->block.address, p->block.size, p->block.number);
		return;
	}
	/* realloc(p, 0) frees the block under some allocators only */
	if (!p->is_live || failed || !e->size) {
		maker_drop_pending(m, e->stream);
		if (!failed)
			maker_make(m, e);
		return;
	}
	p->is_live = false;
	maker_put(m, KF_SCRIPT_REALLOC, 3, n);
	maker_add(m, e->address, e->size, p->block.number);
}

static void maker_release(struct maker *m, const struct kf_history_event *e)
{
	struct maker_pending *p = &m->pending[e->stream];
	struct maker_block block;
	bool found = maker_take(m, e->address, &block);

	if (e->kind == KF_RECORD_REALLOC_OLD) {
		p->is_live = found;
		p->block = block;
	} else if (found) {
		maker_free(m, block.number);
	}
}

static void maker_call(struct maker *m, const struct kf_history_event *e)
{
	maker_turn(m, e);
	if (e->kind != KF_RECORD_REALLOC)
		maker_drop_pending(m, e->stream);
	switch (e->kind) {
	case KF_RECORD_MALLOC:
	case KF_RECORD_CALLOC:
	case KF_RECORD_ALIGNED:
		if (!e->failed && e->address)
			maker_make(m, e);
		return;
	case KF_RECORD_REALLOC:
		maker_realloc(m, e);
		return;
	default:
		maker_release(m, e);
	}
}

static int maker_event(struct maker *m, const struct kf_history_event *e)
{
	struct kf_replay *replay = &m->report->replay;
	struct kf_script *s = m->script;
	uint64_t before = s->head.nr_ops;
	struct kf_step step;

	if (kf_replay_step(replay, e, &step) < 0) {
		kf_error("out of memory");
		return KF_EXIT_FAILED;
	}
	if (e->kind == KF_RECORD_THREAD_END)
		maker_end_thread(m, e);
	else if (e->kind >= KF_RECORD_MALLOC && e->kind <= KF_RECORD_FREE)
		maker_call(m, e);
	for (uint64_t op = before + 1; op <= s->head.nr_ops; op++)
		kf_sampler_add(&m->sampler, op, e->time, replay->now.bytes);
	return 0;
}

static int maker_play(struct maker *m)
{
	struct kf_history *h = &m->report->history;
	struct kf_history_event e;
	int rc, status = 0;

	while (!status && (rc = kf_history_next(h, &e)) > 0) {
		e.time -= h->kept_from;
		status = maker_event(m, &e);
		kf_progress(m->report);
	}
	kf_progress_end();
	if (!status && rc < 0) {
		kf_error("%s: %s", m->report->path, strerror(errno));
		status = KF_EXIT_FAILED;
	}
	return status;
}

static void maker_tell(const struct maker *m)
{
	const struct kf_replay *replay = &m->report->replay;
	struct kf_script *s = m->script;

	s->end_ns = replay->end_time;
	s->peak_live = replay->peak.bytes;
	s->peak_blocks = replay->peak.blocks;
	s->peak_pool = replay->peak_pool;
	s->from_before = replay->from_before;
	s->threads = m->report->history.nr_threads;
	for (size_t i = 0; i < KF_RECORD_NR_KINDS; i++)
		s->calls += replay->calls[i];
	for (size_t i = 0; i < KF_NR_ANOMALIES; i++)
		s->anomalies += replay->anomalies[i];
}

/* Write the samples, and the head before all. */
static bool maker_finish(struct maker *m)
{
	struct kf_script *s = m->script;
	struct kf_script_header *h = &s->head;
	off_t end = ftello(m->out);

	h->nr_samples = kf_sampler_finish(&m->sampler, s->samples);
	h->magic = KF_SCRIPT_MAGIC;
	h->nr_threads = m->thread_numbers.nr;
	h->nr_blocks = m->numbers.nr;
	h->ops = sizeof(*h);
	h->samples = (uint64_t)end;
	fwrite(s->samples, sizeof(s->samples[0]), h->nr_samples, m->out);
	rewind(m->out);
	fwrite(h, sizeof(*h), 1, m->out);
	return end > 0 && !fflush(m->out) && !ferror(m->out);
}

static int maker_run(struct maker *m)
{
	struct kf_script_header room = {0};
	int status;

	setvbuf(m->out, NULL, _IOFBF, BUFFER);
	fwrite(&room, sizeof(room), 1, m->out);
	m->blocks.entry_size = sizeof(struct maker_block);
	m->pending = kf_alloc(m->report->history.nr_streams + 1,
			      sizeof(*m->pending));
	kf_sampler_init(&m->sampler);
	status = maker_play(m);
	if (!status)
		maker_tell(m);
	if (!status && !maker_finish(m)) {
		kf_error(
			"cannot write the script of the replay: %s: set TMPDIR to another "
			"directory",
			strerror(errno));
		status = KF_EXIT_FAILED;
	}
	kf_map_release(&m->blocks);
	free(m->pending);
	free(m->threads);
	free(m->numbers.unused);
	free(m->thread_numbers.unused);
	return status;
}

int kf_script_make(struct kf_report *r, struct kf_script *script)
{
	struct maker *m = kf_alloc(1, sizeof(*m));
	struct kf_replay_pick pick = {.max_size = UINT64_MAX};
	int status = KF_EXIT_FAILED;

	m->report = r;
	m->script = script;
	script->fd = kf_output_unnamed();
	if (script->fd >= 0)
		m->out = fdopen(dup(script->fd), "w");
	if (script->fd >= 0 && !m->out)
		kf_error("%s", strerror(errno));
	else if (m->out && kf_replay_init(&r->replay, &r->history, &pick))
		kf_error("out of memory");
	else if (m->out)
		status = maker_run(m);
	if (m->out)
		fclose(m->out);
	free(m);
	return status;
}

void kf_script_close(struct kf_script *script)
{
	if (script->fd > 0)
		close(script->fd);
	script->fd = -1;
}
