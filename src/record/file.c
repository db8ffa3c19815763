/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file of a recording: made, grown by chunks, repaired after a truncation.
 *
 * A chunk's space is allocated before it is mapped, so that no store finds the
 * disk full. No descriptor stays open: the file is opened again by its name,
 * and checked by its inode. The library decides nothing by what it reads from
 * the file, except in name.c; all state is in struct file.
 *
 * A writer that has filled many chunks keeps its window mapped and copies the
 * filled chunks to the file's end. Mapping each next part would cost a page
 * fault for each of its pages, and an interrupt of all processors that run the
 * program's threads, to unmap the last part.
 */
#include "record/internal.h"

#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Ticks: less than a millisecond of most clocks. */
#define LATELY 1000000u

/* Waits for threads that take a chunk, 50 us each. */
#define TAKER_TRIES 20000

/*
 * The file. Fields that are not atomic change only while nothing is recorded
 * and no thread takes a chunk.
 */
static struct {
	char path[PATH_MAX];
	uint64_t dev;
	uint64_t ino;
	uint64_t max_size;
	uint64_t next;	 /* number of the next chunk; atomic */
	uint32_t full;	 /* errno why it cannot grow; atomic */
	uint32_t takers; /* threads that take a chunk; atomic */
	uint32_t nr;	 /* recordings so far */
	char *window;	 /* addresses for the header; constant once set */
} file;

static struct kf_record_header no_header;
static uint32_t moment_busy; /* atomic */

struct kf_record_header *kf_record_header = &no_header;
uint32_t kf_record_epoch;
uint32_t kf_record_copying;

const char *kf_record_path(void)
{
	return file.path;
}

static bool file_lies_in(const char *addr, const char *window, size_t size)
{
	return window && addr >= window && addr < window + size;
}

/* Map memory in place of the truncated file; in the SIGBUS handler. */
static bool file_repair(const char *addr)
{
	const struct kf_writer *w;

	kf_store(&file.full, ESTALE);
	if (file_lies_in(addr, file.window, kf_vm_page()))
		return kf_vm_put_memory(file.window, kf_vm_page());
	for (uint32_t i = 0; (w = kf_writer_at(i)); i++) {
		if (file_lies_in(addr, w->window, KF_WINDOW_SIZE))
			return kf_vm_put_memory(w->window, KF_WINDOW_SIZE);
	}
	return false;
}

/* Two readings in turn, so that one is whole when the process is killed. */
void kf_record_moment(void)
{
	struct kf_record_header *h = kf_record_header;
	uint32_t next;

	if (__atomic_exchange_n(&moment_busy, 1, __ATOMIC_ACQUIRE))
		return;
	next = !(h->last_index & 1);
	/* kf_record_moment_again() reads it at the same time */
	kf_store(&h->last[next].ticks, kf_clock_ticks());
	h->last[next].mono_ns = kf_now_ns();
	kf_store_release(&h->last_index, next);
	kf_store_release(&moment_busy, 0);
}

/*
 * Threads must not contend for the header's cache line at each page. The rate
 * of the clocks is precise enough when the time since the begin has doubled, or
 * LATELY ticks have passed.
 */
void kf_record_moment_again(uint64_t now)
{
	const struct kf_record_header *h = kf_record_header;
	uint32_t index = kf_load(&h->last_index) & 1;
	uint64_t last = kf_load(&h->last[index].ticks);

	if (now - last >= KF_MIN(last - h->begin.ticks, (uint64_t)LATELY))
		kf_record_moment();
}

static void fill_header(struct kf_record_header *h,
			const struct kf_record_conf *conf)
{
	struct kf_record_moment now = {kf_clock_ticks(), kf_now_ns()};

	*h = (struct kf_record_header){
		.magic = KF_RECORD_MAGIC,
		.major = KF_RECORD_MAJOR,
		.minor = KF_RECORD_MINOR,
		.header_size = sizeof(*h),
		.chunk_size = KF_RECORD_CHUNK_SIZE,
		.data_offset = kf_record_place(0),
		.max_size = conf->max_size,
		.flags = (conf->from_start ? KF_RECORD_FROM_START : 0) |
			 (conf->ring ? KF_RECORD_RING : 0),
		.clock = kf_clock_is_tsc ? KF_RECORD_TSC : KF_RECORD_MONOTONIC,
		.begin = now,
		.last = {now, now},
		.real_ns = kf_process_clock_ns(CLOCK_REALTIME),
		.held = kf_stats_held(),
		.peak_held = kf_word_get(KF_WORD_peak_held),
	};
	kf_stats_live(&h->live_blocks, &h->live_bytes);
	for (unsigned int i = 0; i < KF_RECORD_NR_KINDS; i++)
		h->fields[i] = kf_record_fields(i);
	kf_identity_fill(&h->identity, conf->stats, conf->forked);
}

static int map_header(int fd)
{
	size_t page = kf_vm_page();
	int r = kf_file_extend(fd, 0, page);

	if (!r && !file.window)
		file.window = kf_vm_reserve(page, page);
	if (!r && !file.window)
		r = -ENOMEM;
	if (!r)
		r = kf_vm_put_file(file.window, page, fd, 0);
	return r;
}

static int open_in(int dirfd, const char *name)
{
	return kf_file_open(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
			    0600);
}

/* A name that exists: try another name, unless it is that of a device etc. */
static int name_exists(unsigned int try, const struct kf_record_conf *conf)
{
	bool derived = try || conf->forked;

	return derived || S_ISREG(kf_file_mode(file.path)) ? -EEXIST : -ENOTSUP;
}

static int fill_new(int fd)
{
	struct kf_file_stat st = {0};
	int r = kf_file_stat(fd, &st);

	if (!r)
		r = map_header(fd);
	file.dev = st.dev;
	file.ino = st.ino;
	return r;
}

/* Relative to the directory, as a directory of the path may change meanwhile.
 */
static int try_name(const struct kf_record_conf *conf, unsigned int try)
{
	const char *name;
	int r = kf_record_name(file.path, conf, try);
	int dirfd = r ? r : kf_file_open_dir(file.path, &name);
	int fd;

	if (dirfd < 0)
		return dirfd;
	fd = open_in(dirfd, name);
	if (fd == -EEXIST && kf_record_make_way(file.path, conf, try))
		fd = open_in(dirfd, name);
	r = fd == -EEXIST ? name_exists(try, conf) : fd;
	if (fd >= 0) {
		r = fill_new(fd);
		if (r)
			kf_file_unlink(dirfd, name);
		kf_file_close(fd);
	}
	kf_file_close(dirfd);
	return r;
}

static int file_make(const struct kf_record_conf *conf)
{
	int r = -EEXIST;

	for (unsigned int i = 0; i < KF_RECORD_NAME_TRIES && r == -EEXIST; i++)
		r = try_name(conf, i);
	file.max_size = conf->max_size;
	file.next = 0;
	file.full = 0;
	return r;
}

/* Threads that take a chunk read the fields that are about to change. */
static bool wait_for_takers(void)
{
	for (int i = 0; i < TAKER_TRIES; i++) {
		if (!__atomic_load_n(&file.takers, __ATOMIC_SEQ_CST))
			return true;
		kf_process_pause();
	}
	return false;
}

int kf_record_begin(const struct kf_record_conf *conf)
{
	int r;

	if (kf_process_is_barred())
		return -EPERM;
	kf_record_stop();
	if (!wait_for_takers())
		return -EBUSY;
	kf_clock_init();
	kf_ring_end();
	r = conf->ring ? kf_ring_begin(conf->max_size) : 0;
	if (!r)
		r = file_make(conf);
	if (r)
		return r;
	if (conf->guard)
		kf_guard_also(file_repair);
	kf_record_header = (void *)file.window;
	fill_header(kf_record_header, conf);
	kf_store_release(&kf_record_header->ready, 1);
	/* 0 means that nothing is recorded, so it is skipped. */
	file.nr += file.nr + 1 ? 1 : 2;
	__atomic_store_n(&kf_record_epoch, file.nr, __ATOMIC_SEQ_CST);
	return 0;
}

void kf_record_stop(void)
{
	if (!kf_record_is_on())
		return;
	__atomic_store_n(&kf_record_epoch, 0, __ATOMIC_SEQ_CST);
	kf_record_moment();
	kf_store(&kf_record_header->stopped, kf_clock_stamp());
}

int kf_record_reopen(void)
{
	struct kf_file_stat st;
	int fd, r;

	if (kf_process_is_barred())
		return -EPERM;
	fd = kf_file_open(AT_FDCWD, file.path, O_RDWR | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	r = kf_file_stat(fd, &st);
	if (!r && (st.dev != file.dev || st.ino != file.ino ||
		   st.size < kf_vm_page()))
		r = -ESTALE;
	if (!r)
		return fd;
	kf_file_close(fd);
	return r;
}

uint32_t kf_chunks_for(const struct kf_writer *w)
{
	uint64_t n = 1 + w->sequence / KF_STEP_CHUNKS;

	return (uint32_t)KF_MIN(n, (uint64_t)KF_WINDOW_CHUNKS);
}

/*
 * Whether the file was truncated after it was opened, and then extended again
 * with zeroes.
 */
bool kf_record_was_truncated(int fd)
{
	uint64_t magic;

	if (!kf_file_read_at(fd, &magic, sizeof(magic), 0))
		return true;
	if (!magic)
		kf_file_truncate(fd, 0);
	return magic != KF_RECORD_MAGIC;
}

static int map_part(char *window, uint64_t from, uint64_t to)
{
	int fd = kf_record_reopen();
	int r;

	if (fd < 0)
		return fd;
	r = kf_file_extend(fd, from, to);
	if (!r)
		kf_file_fill(fd, from, to);
	if (!r && kf_record_was_truncated(fd))
		r = -ESTALE;
	if (!r)
		r = kf_vm_put_file(window, to - from, fd, from);
	kf_file_close(fd);
	return r;
}

/*
 * After a kill in the middle, or a failed write, chunks are in the file twice;
 * those of the window are whole and come first.
 */
static int copy_chunks(const struct kf_writer *w, uint32_t n, uint64_t from)
{
	size_t size = n * (size_t)KF_RECORD_CHUNK_SIZE;
	int fd = kf_record_reopen();
	int r;

	if (fd < 0)
		return fd;
	kf_store(&kf_record_copying, 1);
	r = kf_file_extend(fd, from, from + size);
	if (!r && kf_record_was_truncated(fd))
		r = -ESTALE;
	if (!r)
		r = kf_file_write(fd, w->window, size, from);
	kf_store(&kf_record_copying, 0);
	kf_file_close(fd);
	for (uint32_t i = 0; !r && i < n; i++)
		kf_store_release(&kf_window_chunk(w, i)->magic, 0);
	return r;
}

static bool has_window(const struct kf_writer *w)
{
	return kf_ring_is_on() ? kf_ring_has_window(w)
			       : w->mapped == KF_WINDOW_CHUNKS;
}

/* The end of a chunk in the file. */
static uint64_t file_end_of(uint64_t number)
{
	return kf_record_place(number + 1);
}

/* Map the next part of the file, or copy the filled chunks of the window. */
static int next_part(struct kf_writer *w)
{
	uint32_t n = has_window(w) ? kf_window_filled(w) : kf_chunks_for(w);
	uint64_t nr = kf_fetch_add(&file.next, n);
	uint64_t from = kf_record_place(nr);
	int r;

	if (file_end_of(nr) > file.max_size)
		return -EFBIG;
	n = (uint32_t)KF_MIN(n, (file.max_size - from) / KF_RECORD_CHUNK_SIZE);
	if (has_window(w) && n == kf_window_filled(w)) {
		r = copy_chunks(w, n, from);
	} else {
		r = map_part(w->window, from, from + n * KF_RECORD_CHUNK_SIZE);
		w->mapped = r ? w->mapped : n;
	}
	return r;
}

static void fill_chunk(struct kf_writer *w, uint64_t now)
{
	struct kf_record_chunk *chunk = (void *)w->chunk;

	chunk->stream = w->stream;
	chunk->sequence = w->sequence++;
	chunk->base = now;
	chunk->tid = w->tid;
	memcpy(chunk->comm, w->comm, sizeof(chunk->comm));
	chunk->dropped = 0;
	chunk->used = sizeof(*chunk);
	kf_store_release(&chunk->magic, KF_RECORD_CHUNK_MAGIC);
	w->begun = true;
	w->cursor.at = (uint8_t *)(chunk + 1);
	w->cursor.used = &chunk->used;
	w->cursor.time = now;
	w->cursor.address = 0;
	w->took = NULL;
}

static int file_take(struct kf_writer *w)
{
	int r;

	if (!w->window)
		w->window = kf_vm_reserve(KF_WINDOW_SIZE, KF_RECORD_CHUNK_SIZE);
	if (!w->window)
		return -ENOMEM;
	r = kf_ring_is_on() ? kf_ring_next_part(w) : next_part(w);
	if (r)
		return r;
	w->chunk = w->window;
	w->left = w->mapped - 1;
	return 0;
}

/* The first event that found no room is not always the first to come here. */
static void mark_full(uint64_t now)
{
	uint64_t *at = &kf_record_header->full_at;
	uint64_t old = kf_load(at);

	while ((!old || now < old) && !kf_cas(at, &old, now))
		;
}

/* Take new chunks for a writer. */
static bool file_take_more(struct kf_writer *w, uint64_t now)
{
	int r = -ECANCELED;

	/* Pairs with kf_record_stop(): one of the two sees the other. */
	__atomic_fetch_add(&file.takers, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&kf_record_epoch, __ATOMIC_SEQ_CST) == w->epoch) {
		r = file_take(w);
		if (r) {
			mark_full(now);
			kf_store(&file.full, (uint32_t)-r);
			kf_store(&kf_record_header->full, (uint32_t)-r);
		}
	}
	__atomic_fetch_sub(&file.takers, 1, __ATOMIC_SEQ_CST);
	return !r;
}

static bool file_has_room(uint32_t n)
{
	uint64_t nr = kf_load(&file.next);

	return kf_ring_is_on() || file_end_of(nr + n - 1) <= file.max_size;
}

/*
 * Whether there is a chunk to fill in the window. Threads that copy at once
 * wait for each other in the kernel, and similar threads copy at once again and
 * again: so a writer fills a spare chunk first while another one copies, or
 * where the file has no room for all its chunks.
 */
static bool has_chunk_left(const struct kf_writer *w)
{
	if (has_window(w) && w->left && w->left <= KF_SPARE_CHUNKS)
		return kf_load(&kf_record_copying) ||
		       !file_has_room(kf_window_filled(w));
	return w->left;
}

/* After a failure of one thread no other thread extends the file. */
bool kf_chunk_take(struct kf_writer *w, uint64_t now)
{
	if (kf_load(&file.full)) {
		mark_full(now);
		return false;
	}
	if (has_chunk_left(w)) {
		w->left--;
		w->chunk += KF_RECORD_CHUNK_SIZE;
	} else if (!file_take_more(w, now)) {
		return false;
	}
	fill_chunk(w, now);
	kf_record_moment();
	return true;
}

/* Unmap the parent's file. */
static void leave_parent(void)
{
	kf_writers_reset();
	kf_ring_end();
	kf_record_header = &no_header;
	if (file.window)
		kf_vm_drop(file.window, kf_vm_page());
	file.window = NULL;
	file.takers = 0;
	kf_record_copying = 0;
	moment_busy = 0;
}

bool kf_record_fork_child(void)
{
	bool was_on = kf_record_is_on();

	if (!file.nr)
		return false;
	kf_record_epoch = 0;
	leave_parent();
	return was_on;
}
