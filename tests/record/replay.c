/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * replay FILE: play a recording back, and print what it holds, "NAME NUMBER" a
 * line.
 *
 * For tests of the writer: it reads by event.h alone, whole into memory, and
 * sorts all events by their times. Of twins, chunks that are in the file twice
 * as their thread was killed while it moved them, it takes the first. An
 * anomaly is a block that is given while it is live, or one that goes and was
 * never given though the recording is from the program's start ("unknown"
 * counts those in any case). Of a ring, events up to its @kept_from are left
 * out, and so is what it says of the program's start. Status 1 for a file that
 * is no recording.
 */
#include "reader/history-event.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct item {
	struct kf_record_event e;
	uint32_t stream;
	uint64_t order; /* within its stream */
	uint8_t effect;
};

struct block {
	uint64_t address; /* 0: nothing here */
	bool live;
};

static const char *const names[KF_RECORD_NR_KINDS] = {
#define KF_EVENT(id, number, fields, name, effect, help) [number] = name,
#include "record/events.def"
#undef KF_EVENT
};

static const uint8_t effects[KF_RECORD_NR_KINDS] = {
#define KF_EVENT(id, number, fields, name, effect, help) \
	[number] = KF_RECORD_##effect,
#include "record/events.def"
#undef KF_EVENT
};

static struct kf_record_chunk *heads;
static size_t nr_heads;
static struct item *items;
static size_t nr_items, room;
static struct block *table;
static size_t table_size;
static uint64_t counts[KF_RECORD_NR_KINDS], failed[KF_RECORD_NR_KINDS];
static uint64_t untimed, bytes, dropped, torn, anomalies, unknown, peak;
static uint64_t lost;

static void die(const char *what)
{
	fprintf(stderr, "replay: %s\n", what);
	exit(1);
}

static void add(const struct kf_record_event *e, uint32_t stream,
		uint64_t order)
{
	if (nr_items == room) {
		room = room ? 2 * room : 4096;
		items = realloc(items, room * sizeof(*items));
		if (!items)
			die("out of memory");
	}
	items[nr_items++] = (struct item){*e, stream, order, effects[e->kind]};
}

static void read_chunk(const struct kf_record_header *h,
		       const struct kf_record_chunk *chunk)
{
	const uint8_t *p = (const void *)(chunk + 1);
	const uint8_t *end = (const uint8_t *)chunk + chunk->used;
	struct kf_record_cursor c;
	struct kf_record_event e;
	uint64_t order = chunk->sequence << 32;

	dropped += chunk->dropped;
	if (chunk->used > h->chunk_size || chunk->used < sizeof(*chunk)) {
		torn++;
		return;
	}
	kf_record_cursor_init(&c, h, chunk);
	while (p && p < end) {
		const uint8_t *next = kf_record_unpack(&c, p, end, &e);

		if (next && e.time <= h->kept_from) {
			lost++;
		} else if (next) {
			bytes += (uint64_t)(next - p);
			add(&e, chunk->stream, order++);
		} else {
			torn++;
		}
		p = next;
	}
}

static bool is_twin(const struct kf_record_chunk *chunk)
{
	for (size_t i = 0; i < nr_heads; i++) {
		if (heads[i].stream == chunk->stream &&
		    heads[i].sequence == chunk->sequence)
			return true;
	}
	heads = realloc(heads, (nr_heads + 1) * sizeof(*heads));
	if (!heads)
		die("out of memory");
	heads[nr_heads++] = *chunk;
	return false;
}

static int by_time(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->e.time != y->e.time)
		return x->e.time < y->e.time ? -1 : 1;
	if (x->stream == y->stream)
		return x->order < y->order ? -1 : 1;
	/* Of the same tick: what goes may make room for what comes. */
	if (x->effect != y->effect)
		return x->effect == KF_RECORD_RELEASES ? -1 : 1;
	return 0;
}

static struct block *find(uint64_t address)
{
	size_t i = (address >> 4) * 0x9e3779b97f4a7c15 % table_size;

	while (table[i].address && table[i].address != address)
		i = (i + 1) % table_size;
	table[i].address = address;
	return &table[i];
}

static void replay(const struct item *item)
{
	const struct kf_record_event *e = &item->e;
	struct block *b;

	counts[e->kind]++;
	failed[e->kind] += e->failed;
	if (e->kind == KF_RECORD_FREE && !e->took)
		untimed++;
	if (e->kind == KF_RECORD_HELD && e->size > peak)
		peak = e->size;
	if (item->effect == KF_RECORD_NOTHING || e->failed)
		return;
	b = find(e->address);
	if (item->effect == KF_RECORD_ACQUIRES) {
		anomalies += b->live;
		b->live = true;
	} else {
		unknown += !b->live;
		b->live = false;
	}
}

static void print(const char *name, uint64_t n)
{
	printf("%s %llu\n", name, (unsigned long long)n);
}

static void read_all(const char *data, uint64_t size)
{
	const struct kf_record_header *h = (const void *)data;
	uint64_t at, nr_twins = 0, live = 0;

	if (size < sizeof(*h) || h->magic != KF_RECORD_MAGIC || !h->ready)
		die("no recording");
	peak = h->peak_held;
	dropped = h->dropped;
	for (at = h->data_offset; at + h->chunk_size <= size;
	     at += h->chunk_size) {
		const struct kf_record_chunk *chunk = (const void *)(data + at);

		if (chunk->magic != KF_RECORD_CHUNK_MAGIC)
			continue;
		if (is_twin(chunk))
			nr_twins++;
		else
			read_chunk(h, chunk);
	}
	qsort(items, nr_items, sizeof(*items), by_time);
	table_size = 2 * nr_items + 1;
	table = calloc(table_size, sizeof(*table));
	if (!table)
		die("out of memory");
	for (size_t i = 0; i < nr_items; i++)
		replay(&items[i]);
	for (size_t i = 0; i < table_size; i++)
		live += table[i].live;
	if (h->flags & KF_RECORD_FROM_START && !h->kept_from)
		anomalies += unknown;
	for (int i = 1; i < KF_RECORD_NR_KINDS && names[i]; i++)
		print(names[i], counts[i]);
	print("failed", failed[KF_RECORD_MALLOC] + failed[KF_RECORD_CALLOC] +
				failed[KF_RECORD_ALIGNED] +
				failed[KF_RECORD_REALLOC]);
	print("events", nr_items);
	print("bytes", bytes);
	print("chunks", nr_heads);
	print("twins", nr_twins);
	print("dropped", dropped);
	print("lost", lost);
	print("torn", torn);
	print("unknown", unknown);
	print("untimed", untimed);
	print("anomalies", anomalies);
	print("live", live);
	print("peak", peak);
	print("full", h->full);
	print("stopped", h->stopped != 0);
	print("pid", (uint64_t)h->identity.pid);
}

int main(int argc, char **argv)
{
	struct stat st;
	const char *data;
	int fd;

	if (argc != 2)
		die("usage: replay FILE");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		die("cannot be read");
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		die("cannot be mapped");
	read_all(data, (uint64_t)st.st_size);
	return 0;
}
