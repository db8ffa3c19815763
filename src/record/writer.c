/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The writers of threads, and the events.
 *
 * A thread has a writer of its own until it ends; the next thread continues in
 * the same chunk. To write an event shares nothing with other threads: the
 * event is packed into the thread's chunk, then the chunk's word of used bytes
 * is stored, which makes the event part of the file. This is the slow path; the
 * fast path is in cursor.h.
 */
#include "record/internal.h"

#include "base/bits.h"
#include "sys/clock.h"
#include "sys/process.h"
#include "sys/vm.h"

#include <string.h>

/* An event that begins in another page may take readings of both clocks. */
#define COMPARE_BYTES 4096u

/* Tries for writer 0: engines may call without the pages lock. */
#define HELD_TRIES 1000

struct kf_writer kf_writers[KF_FIRST_WRITERS];

/* Block i has as many writers as all blocks before it; atomic. */
static struct kf_writer *more_writers[KF_MORE_WRITERS];

__thread uint32_t kf_record_thread_epoch
	__attribute__((tls_model("initial-exec")));

__thread struct kf_write_cursor *kf_write_cursor
	__attribute__((tls_model("initial-exec")));

/*
 * In place of an epoch: the thread has written THREAD_END. It borrows a writer
 * for each later event.
 */
#define ENDED UINT32_MAX

/* The calling thread's, or NULL. */
static inline struct kf_writer *mine(void)
{
	_Static_assert(offsetof(struct kf_writer, cursor) == 0,
		       "it comes first");
	return (struct kf_writer *)(void *)kf_write_cursor;
}

static inline bool writer_has_ended(void)
{
	return unlikely(kf_record_thread_epoch == ENDED);
}

static inline void forget_epoch(void)
{
	if (!writer_has_ended())
		kf_record_thread_epoch = 0;
}

static struct kf_record_chunk *chunk_of(const struct kf_writer *w)
{
	return (struct kf_record_chunk *)(void *)w->chunk;
}

/* Count a dropped event in the chunk, or in the header where there is none. */
static __cold void writer_drop(const struct kf_writer *w)
{
	if (w && w->begun)
		chunk_of(w)->dropped++;
	else
		kf_fetch_add(&kf_record_header->dropped, 1);
}

/* Begin a chunk of the present recording. */
static __noinline bool writer_renew(struct kf_writer *w, uint64_t now)
{
	uint32_t epoch = kf_load(&kf_record_epoch);

	if (!epoch)
		return false;
	if (w->epoch != epoch) {
		w->epoch = epoch;
		w->begun = false;
		w->left = 0;
		w->mapped = 0;
		w->sequence = 0;
	}
	return kf_chunk_take(w, now);
}

/* The end of the places where events of the chunk may begin. */
static inline uint8_t *limit_of(const struct kf_writer *w)
{
	return (uint8_t *)w->chunk + KF_RECORD_CHUNK_SIZE -
	       KF_RECORD_EVENT_MAX + 1;
}

static inline bool writer_has_room(const struct kf_writer *w)
{
	return w->begun && w->cursor.at < limit_of(w) &&
	       w->epoch == kf_load(&kf_record_epoch);
}

static inline bool is_busy(const struct kf_writer *w)
{
	return w->busy || (w->begun && !w->cursor.end);
}

/*
 * Keep signal handlers out. The fast path closes first and opens last, so that
 * a handler finds both paths open or both closed.
 */
static inline void writer_reserve(struct kf_writer *w)
{
	w->cursor.end = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Let signal handlers in; the fast path is open up to the end of the page. */
static inline void writer_commit(struct kf_writer *w)
{
	uintptr_t page = KF_ALIGN_DOWN((uintptr_t)w->cursor.at, COMPARE_BYTES);
	uint8_t *end = (uint8_t *)(page + COMPARE_BYTES);

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->busy = false;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->cursor.end = w->begun ? KF_MIN(end, limit_of(w)) : NULL;
}

static inline uint8_t *put_head(struct kf_writer *w, unsigned int head,
				uint64_t time)
{
	uint8_t *p = w->cursor.at;

	*p++ = (uint8_t)head;
	time = KF_MAX(time, w->cursor.time);
	p = kf_record_put_varint(p, time - w->cursor.time);
	w->cursor.time = time;
	return p;
}

/* Returns the place of the event's fields; NULL: the event is dropped. */
static inline uint8_t *open_event(struct kf_writer *w, unsigned int head,
				  uint64_t time)
{
	/* A signal handler, in the middle of an event. */
	if (unlikely(is_busy(w))) {
		writer_drop(w);
		return NULL;
	}
	writer_reserve(w);
	if (unlikely(!writer_has_room(w)) && !writer_renew(w, time)) {
		writer_commit(w);
		/* An event that races with the stop is not part of the file. */
		if (kf_record_is_on())
			writer_drop(w);
		return NULL;
	}
	return put_head(w, head, time);
}

/* The event is in the file from the store of @used on. */
static inline void close_event(struct kf_writer *w, uint8_t *p)
{
	bool compare = ((uintptr_t)p ^ (uintptr_t)w->cursor.at) & COMPARE_BYTES;

	kf_store_release(w->cursor.used, (uint32_t)(p - (uint8_t *)w->chunk));
	w->cursor.at = p;
	writer_commit(w);
	if (unlikely(compare))
		kf_record_moment_again(w->cursor.time);
}

static inline uint8_t *put_took(uint8_t *p, uint16_t took)
{
	memcpy(p, &took, sizeof(took));
	return p + sizeof(took);
}

static inline uint8_t *writer_put_block(struct kf_writer *w, uint8_t *p,
					unsigned int head, uint64_t address)
{
	uint64_t n = address - w->cursor.address;

	if (likely(!(head & KF_RECORD_ODD)))
		n = (uint64_t)((int64_t)n >> 4);
	w->cursor.address = address;
	/* See kf_record_open(). */
	if (unlikely(address & 15))
		w->cursor.state = KF_CURSOR_CLOSED;
	return kf_record_put_varint(p, kf_record_zigzag(n));
}

/* The difference to an odd address needs its lowest bits too. */
static inline unsigned int odd(const struct kf_writer *w, uint64_t address)
{
	return (w->cursor.address | address) & 15 ? KF_RECORD_ODD : 0;
}

static void write_thread(struct kf_writer *w)
{
	uint8_t *p = open_event(w, KF_RECORD_THREAD, kf_clock_stamp());

	if (!p)
		return;
	p = kf_record_put_varint(p, (uint32_t)w->tid);
	memcpy(p, w->comm, sizeof(w->comm));
	close_event(w, p + sizeof(w->comm));
}

static uint32_t writers_in(unsigned int block)
{
	return KF_FIRST_WRITERS << block;
}

struct kf_writer *kf_writer_at(uint32_t i)
{
	unsigned int block;
	struct kf_writer *more;

	if (i < KF_FIRST_WRITERS)
		return &kf_writers[i];
	block = kf_ilog2(i / KF_FIRST_WRITERS);
	if (block >= KF_MORE_WRITERS)
		return NULL;
	/* pairs with the release of add_block() */
	more = kf_load_acquire(&more_writers[block]);
	return more ? more + i - writers_in(block) : NULL;
}

/* Map the block of writer @i; false: there is no memory. */
static __cold bool add_block(uint32_t i)
{
	unsigned int block = kf_ilog2(i / KF_FIRST_WRITERS);
	struct kf_writer *more;
	size_t size = writers_in(block) * sizeof(*more);

	if (block >= KF_MORE_WRITERS)
		return false;
	more = kf_vm_put_memory(NULL, size);
	if (!more)
		return false;
	/* pairs with the acquire load of kf_writer_at() */
	if (!kf_claim(&more_writers[block], more))
		kf_vm_drop(more, size);
	return true;
}

static bool writer_claim(struct kf_writer *w)
{

	return !kf_load(&w->owner) && kf_claim(&w->owner, kf_thread_self());
}

/*
 * Find or claim a writer. ld.so resets the thread's variables after the first
 * calls, so the thread may own a writer already.
 */
static __cold struct kf_writer *writer_find(void)
{
	struct kf_writer *w;
	uint32_t i;

	for (i = 1; (w = kf_writer_at(i)); i++) {
		if (kf_load(&w->owner) == kf_thread_self())
			return w;
		if (!kf_load(&w->owner))
			break;
	}
	for (i = 1;; i++) {
		w = kf_writer_at(i);
		if (!w && add_block(i))
			w = kf_writer_at(i);
		if (!w)
			return NULL;
		if (writer_claim(w))
			break;
	}
	w->stream = i;
	return w;
}

/* Attach the calling thread to a writer and write its THREAD event. */
static __noinline struct kf_writer *writer_attach(void)
{
	struct kf_writer *w = mine() ? mine() : writer_find();

	if (!w)
		return NULL;
	w->cursor.state = KF_CURSOR_CLOSED;
	kf_write_cursor = &w->cursor;
	w->tid = kf_process_tid();
	kf_process_comm(w->comm);
	if (!is_busy(w))
		write_thread(w);
	return w;
}

static void writer_give_back(struct kf_writer *w)
{
	w->cursor.state = KF_CURSOR_CLOSED;
	kf_write_cursor = NULL;
	forget_epoch();
	kf_store_release(&w->owner, 0);
}

void kf_cursor_write_far(struct kf_write_cursor *cursor, uint8_t *end,
			 enum kf_record_kind kind, uint64_t address,
			 uint64_t size, uint64_t now)
{
	uint64_t n = (uint64_t)((int64_t)(address - cursor->address) >> 4);
	uint8_t *p = cursor->at;

	*p++ = (uint8_t)kind;
	/* The last event may have a slightly later time. */
	now = KF_MAX(now, cursor->time);
	p = kf_record_put_varint(p, now - cursor->time);
	p = kf_record_put_varint(p, kf_record_zigzag(n));
	if (kind == KF_RECORD_MALLOC_QUICK)
		p = kf_record_put_varint(p, size);
	kf_cursor_done(cursor, p, now, address);
	kf_cursor_commit(cursor, end);
}

bool kf_record_enter(void)
{
	bool first = !mine() && !writer_has_ended();
	const struct kf_writer *w;

	if (!kf_record_is_on())
		return false;
	w = writer_attach();
	/* A thread that has ended keeps no epoch: it borrows a writer again. */
	if (w && !writer_has_ended())
		kf_record_thread_epoch = w->epoch;
	return first;
}

void kf_writers_reset(void)
{
	struct kf_writer *w;

	kf_write_cursor = NULL;
	forget_epoch();
	for (uint32_t i = 0; (w = kf_writer_at(i)); i++) {
		if (w->window)
			kf_vm_drop(w->window, KF_WINDOW_SIZE);
		if (w->owner || w->window)
			*w = (struct kf_writer){0};
	}
}

void kf_record_gave(enum kf_record_kind kind, uint64_t begin, const void *p,
		    size_t size, size_t align)
{
	/* A call that is not timed returns a block of an earlier, timed call.
	 */
	uint64_t now = begin ? kf_clock_stamp() : kf_clock_ticks();
	struct kf_writer *w = mine();
	uint64_t address = (uintptr_t)p;
	unsigned int head = kind;
	uint8_t *at;

	if (unlikely(!w)) {
		writer_drop(NULL);
		return;
	}
	head |= p ? odd(w, address) : KF_RECORD_FAILED;
	at = open_event(w, head, now);
	if (likely(at)) {
		at = put_took(at,
			      begin ? kf_record_ticks_pack(now - begin) : 0);
		if (likely(p))
			at = writer_put_block(w, at, head, address);
		at = kf_record_put_varint(at, size);
		if (kind == KF_RECORD_ALIGNED)
			*at++ = (uint8_t)kf_ilog2(align | 1);
		close_event(w, at);
	}
	if (writer_has_ended())
		writer_give_back(w);
}

uint64_t kf_record_takes(enum kf_record_kind kind, const void *p)
{
	uint64_t now = kf_clock_stamp();
	struct kf_writer *w = mine();
	uint64_t address = (uintptr_t)p;
	unsigned int head;
	uint8_t *at, *took = NULL;

	if (unlikely(!w)) {
		writer_drop(NULL);
		return now;
	}
	head = kind | odd(w, address);
	at = open_event(w, head, now);
	if (unlikely(!at))
		return now;
	if (kind == KF_RECORD_FREE) {
		took = at;
		at = put_took(at, 0);
	}
	at = writer_put_block(w, at, head, address);
	close_event(w, at);
	w->took = took;
	return now;
}

void kf_record_took(uint64_t begin)
{
	struct kf_writer *w = mine();
	/* A stamp, so that later events of the block have later times. */
	uint64_t now = begin ? kf_clock_stamp() : 0;
	uint8_t *took;

	if (unlikely(!w))
		return;
	/* A signal handler's free resets it. */
	took = w->took;
	w->took = NULL;
	/* A new recording may have begun meanwhile. */
	if (begin && took && w->begun)
		put_took(took, kf_record_ticks_pack(now - begin));
	if (writer_has_ended())
		writer_give_back(w);
}

/*
 * In a ring a chunk of the bytes held begins with those of the end of the chunk
 * before, which may be lost first.
 */
static void repeat_held(struct kf_writer *w, uint64_t bytes)
{
	uint8_t *p;

	if (!kf_ring_is_on() || !w->begun || writer_has_room(w))
		return;
	p = open_event(w, KF_RECORD_HELD, w->cursor.time);
	if (p)
		close_event(w, kf_record_put_varint(p, bytes));
}

void kf_record_held(uint64_t bytes)
{
	static uint64_t last_bytes;
	static uint32_t last_epoch;
	struct kf_writer *w = kf_writers;
	uint8_t *p;
	int tries = 0;

	if (bytes == last_bytes && last_epoch == kf_record_epoch)
		return;
	while (!writer_claim(w)) {
		if (++tries == HELD_TRIES) {
			writer_drop(NULL);
			return;
		}
		kf_cpu_relax();
	}
	if (last_epoch == kf_record_epoch)
		repeat_held(w, last_bytes);
	p = open_event(w, KF_RECORD_HELD, kf_clock_stamp());
	if (p)
		close_event(w, kf_record_put_varint(p, bytes));
	last_bytes = bytes;
	last_epoch = kf_record_epoch;
	kf_store_release(&w->owner, 0);
}

void kf_record_thread_end(void)
{
	struct kf_writer *w = mine();
	uint8_t *p;

	if (!w)
		return;
	p = open_event(w, KF_RECORD_THREAD_END, kf_clock_stamp());
	if (p)
		close_event(w, p);
	kf_record_thread_epoch = ENDED;
	writer_give_back(w);
}
