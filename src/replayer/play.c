/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operations of a script. The file is read through a window, which a thread
 * hands over with its turn.
 */
#include "replayer/replayer.h"

#include "base/bits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u

/* An operation, unpacked. */
struct op {
	enum kf_script_op kind;
	uint64_t n[3];
};

static const unsigned char play_nr_numbers[] = {
	[KF_SCRIPT_MALLOC] = 2,	 [KF_SCRIPT_CALLOC] = 2,
	[KF_SCRIPT_ALIGNED] = 3, [KF_SCRIPT_REALLOC] = 3,
	[KF_SCRIPT_FREE] = 1,	 [KF_SCRIPT_TURN] = 1,
	[KF_SCRIPT_END] = 0,	 [KF_SCRIPT_TIME] = 1,
};

/* Write to the pages of a block that begin behind @from. */
static void play_touch(char *block, uint64_t from, uint64_t size)
{
	char *p = block + from;
	char *end = block + size;

	if (kf_play.touch == KF_TOUCH_NONE || from >= size ||
	    (kf_play.touch == KF_TOUCH_FIRST && from))
		return;
	*(volatile char *)p = 1;
	if (kf_play.touch == KF_TOUCH_FIRST)
		return;
	for (p = (char *)KF_ALIGN_UP((uintptr_t)p + 1, PAGE); p < end;
	     p += PAGE)
		*(volatile char *)p = 1;
}

static void play_keep(uint64_t block, char *p, uint64_t from, uint64_t size)
{
	kf_play.blocks[block] = p;
	if (likely(p))
		play_touch(p, from, size);
	else
		kf_play.failed++;
}

static void *play_aligned(uint64_t size, uint64_t align_log2)
{
	uint64_t align = 1ULL << KF_MIN(align_log2, (uint64_t)62);
	void *p = NULL;

	if (posix_memalign(&p, KF_MAX(align, (uint64_t)sizeof(p)), size))
		return NULL;
	return p;
}

/* A realloc that fails leaves the block as it is. */
static void play_realloc(const struct op *op)
{
	void **block = &kf_play.blocks[op->n[0]];
	bool had = *block;
	char *p = realloc(*block, op->n[1]);

	if (likely(p))
		play_keep(op->n[0], p, had ? op->n[2] : 0, op->n[1]);
	else
		kf_play.failed++;
}

static void play_call(const struct op *op)
{
	switch (op->kind) {
	case KF_SCRIPT_MALLOC:
		play_keep(op->n[0], malloc(op->n[1]), 0, op->n[1]);
		return;
	case KF_SCRIPT_CALLOC:
		play_keep(op->n[0], calloc(1, op->n[1]), 0, op->n[1]);
		return;
	case KF_SCRIPT_ALIGNED:
		play_keep(op->n[0], play_aligned(op->n[1], op->n[2]), 0,
			  op->n[1]);
		return;
	case KF_SCRIPT_REALLOC:
		play_realloc(op);
		return;
	default:
		free(kf_play.blocks[op->n[0]]);
		kf_play.blocks[op->n[0]] = NULL;
	}
}

/* The bytes of the script up to the end of its operations that are not read. */
static uint64_t play_unread(void)
{
	return kf_play.head.samples - kf_play.offset;
}

static __noinline void play_refill(void)
{
	size_t left = (size_t)(kf_play.end - kf_play.p);
	size_t most = KF_PLAY_WINDOW - left;
	ssize_t n;

	memmove(kf_play.window, kf_play.p, left);
	most = KF_MIN(most, (size_t)KF_MIN(play_unread(), (uint64_t)most));
	do
		n = pread(kf_play.fd, kf_play.window + left, most,
			  (off_t)kf_play.offset);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		kf_play_die("read the script", n ? errno : EIO);
	kf_play.offset += (uint64_t)n;
	kf_play.p = kf_play.window;
	kf_play.end = kf_play.window + left + n;
}

/* As the command wrote it; a varint has an end. */
static inline uint64_t play_number(void)
{
	uint64_t n = 0;
	unsigned int shift = 0;

	for (; *kf_play.p & 128; shift += 7)
		n |= (uint64_t)(*kf_play.p++ & 127) << shift;
	return n | (uint64_t)*kf_play.p++ << shift;
}

static inline void play_read(struct op *op)
{
	if (unlikely(kf_play.end - kf_play.p < KF_SCRIPT_OP_MAX) &&
	    play_unread())
		play_refill();
	op->kind = *kf_play.p++;
	for (unsigned int i = 0; i < play_nr_numbers[op->kind]; i++)
		op->n[i] = play_number();
}

static __noinline void play_sample(void)
{
	kf_gauge_sample();
	kf_play.sample++;
	kf_play.next = kf_play.sample < kf_play.head.nr_samples
			       ? kf_play.samples[kf_play.sample].op
			       : UINT64_MAX;
}

static void play_time(uint64_t ns)
{
	kf_play.time_ns += ns;
	if (kf_play.paced)
		kf_gauge_pause();
}

/* A dry play writes to the array too: its pages are the same. */
static void play_dry(const struct op *op)
{
	kf_play.blocks[op->n[0]] = NULL;
}

enum kf_play_stop kf_play_on(uint32_t *next)
{
	struct op op;

	while (kf_play.op < kf_play.head.nr_ops) {
		play_read(&op);
		if (op.kind == KF_SCRIPT_TIME)
			play_time(op.n[0]);
		else if (op.kind >= KF_SCRIPT_TURN)
			*next = (uint32_t)op.n[0];
		else if (unlikely(kf_play.dry))
			play_dry(&op);
		else
			play_call(&op);
		if (unlikely(++kf_play.op == kf_play.next))
			play_sample();
		if (op.kind == KF_SCRIPT_TURN)
			return KF_PLAY_TURN;
		if (op.kind == KF_SCRIPT_END)
			return KF_PLAY_END;
	}
	return KF_PLAY_DONE;
}
