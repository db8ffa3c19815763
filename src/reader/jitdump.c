/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See jitdump.h.
 */
#include "reader/jitdump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x4a695444u
#define VERSION 1
#define PIECE (64 * KF_KIB)
#define MAX_LINES (256 * KF_KIB) /* bytes of a record of source lines */
/*
 * V8 gives addresses of source lines this much too high, to make up for a
 * mistake of old perf. No other writer does so for all of its code.
 */
#define V8_SHIFT 0x40

enum { LOAD, MOVE, DEBUG_INFO, CLOSE };

struct head {
	uint32_t magic;
	uint32_t version;
	uint32_t size; /* of the head, in bytes */
	uint32_t machine;
	uint32_t pad;
	uint32_t pid;
	uint64_t time;
	uint64_t flags;
};

struct record {
	uint32_t kind;
	uint32_t size; /* in bytes, with these */
	uint64_t time;
};

/* The name and the code follow. */
struct load {
	struct record record;
	uint32_t pid;
	uint32_t tid;
	uint64_t vma;
	uint64_t begin;
	uint64_t size;
	uint64_t index;
};

struct move {
	struct record record;
	uint32_t pid;
	uint32_t tid;
	uint64_t vma;
	uint64_t from;
	uint64_t to;
	uint64_t size;
	uint64_t index;
};

/* The lines follow. */
struct debug {
	struct record record;
	uint64_t begin; /* of the code */
	uint64_t nr;
};

/* The file's name follows; SAME_FILE is that of the line before. */
struct debug_line {
	uint64_t address;
	uint32_t line;
	uint32_t column;
};

#define SAME_FILE "\xff"

/* In place of @debug until the load is known; @at is its index then. */
#define MOVED UINT64_MAX

struct dump {
	int fd;
	uint64_t end;
	uint64_t piece_at; /* offset of the piece in the file */
	size_t nr;	   /* bytes in it */
	char *piece;
	bool has_moves;
	struct kf_jit_ranges loads; /* at the index plus 1, 1 long */
	uint64_t debug;		    /* the last record of lines; 0: none */
	uint64_t debug_of;	    /* the code it is of */
	bool has_lines;		    /* that V8 did not write */
	struct kf_jit_ranges *out;
};

static bool dump_get(struct dump *d, uint64_t at, void *to, size_t size)
{
	ssize_t n;

	if (at > d->end || size > d->end - at)
		return false;
	if (at < d->piece_at || at + size > d->piece_at + d->nr) {
		d->piece_at = at;
		n = pread(d->fd, d->piece, PIECE, (off_t)at);
		d->nr = n < 0 ? 0 : (size_t)n;
	}
	if (size > d->nr - (size_t)(at - d->piece_at))
		return false;
	memcpy(to, d->piece + (at - d->piece_at), size);
	return true;
}

/* The end of a record is that of the file at most. */
static bool record_get(struct dump *d, uint64_t at, struct record *r)
{
	return dump_get(d, at, r, sizeof(*r)) && r->size >= sizeof(*r) &&
	       r->size <= d->end - at;
}

static bool take_range(struct dump *d, const struct kf_jit_range *at,
		       uint64_t begin, uint64_t size)
{
	struct kf_jit_range range = *at;

	if (size > UINT64_MAX - begin)
		return true;
	range.begin = begin;
	range.end = begin + size;
	return kf_jit_ranges_add(d->out, &range);
}

static bool take_load(struct dump *d, uint64_t at)
{
	struct kf_jit_range range = {.at = at};
	struct load load;

	if (!dump_get(d, at, &load, sizeof(load)) ||
	    load.record.size <= sizeof(load))
		return true;
	if (d->debug && d->debug_of == load.begin)
		range.debug = d->debug;
	d->debug = 0;
	range.begin = load.index + 1;
	range.end = load.index + 2;
	return kf_jit_ranges_add(&d->loads, &range) &&
	       take_range(d, &range, load.begin, load.size);
}

static bool take_move(struct dump *d, uint64_t at)
{
	struct move move;

	if (!dump_get(d, at, &move, sizeof(move)) ||
	    move.record.size < sizeof(move))
		return true;
	d->has_moves = true;
	return take_range(
		d, &(struct kf_jit_range){.at = move.index, .debug = MOVED},
		move.to, move.size);
}

/* The range of a load that is not known has no name. */
static void find_moved(const struct dump *d, struct kf_jit_range *range)
{
	const struct kf_jit_range *load =
		kf_jit_ranges_find(&d->loads, range->at + 1);

	range->at = load ? load->at : 0;
	range->debug = load ? load->debug : 0;
}

static bool dump_finish(struct dump *d)
{
	size_t nr = KF_MIN((size_t)d->out->nr, KF_JIT_RANGES);

	if (d->has_moves && !kf_jit_ranges_settle(&d->loads))
		return false;
	for (size_t i = 0; i < nr; i++) {
		struct kf_jit_range *range = &d->out->range[i];

		if (range->debug == MOVED)
			find_moved(d, range);
		if (!d->has_lines)
			range->debug = 0;
	}
	return true;
}

static void take_debug(struct dump *d, uint64_t at)
{
	struct debug_line first;
	struct debug debug;

	if (!dump_get(d, at, &debug, sizeof(debug)) || !debug.nr ||
	    debug.record.size < sizeof(debug) + sizeof(first) ||
	    !dump_get(d, at + sizeof(debug), &first, sizeof(first)))
		return;
	d->debug = at;
	d->debug_of = debug.begin;
	if (first.address - debug.begin < V8_SHIFT)
		d->has_lines = true;
}

static int dump_read(struct dump *d, uint64_t at)
{
	struct record r;
	bool done = true;

	for (; done && record_get(d, at, &r) && r.kind != CLOSE; at += r.size) {
		if (r.kind == LOAD)
			done = take_load(d, at);
		else if (r.kind == MOVE)
			done = take_move(d, at);
		else if (r.kind == DEBUG_INFO)
			take_debug(d, at);
	}
	return done && dump_finish(d) ? 0 : ENOMEM;
}

int kf_jitdump_read(int fd, uint64_t end, struct kf_jit_ranges *out)
{
	struct dump d = {
		.fd = fd, .end = end, .out = out, .piece = malloc(PIECE)};
	struct head head;
	int error = ENOEXEC;

	if (!d.piece)
		return ENOMEM;
	if (dump_get(&d, 0, &head, sizeof(head)) && head.magic == MAGIC &&
	    head.version == VERSION && head.size >= sizeof(head))
		error = dump_read(&d, head.size);
	kf_jit_ranges_release(&d.loads);
	free(d.piece);
	return error;
}

static bool load_get(int fd, const struct kf_jit_range *range,
		     struct load *load)
{
	return pread(fd, load, sizeof(*load), (off_t)range->at) ==
		       (ssize_t)sizeof(*load) &&
	       load->record.kind == LOAD && load->record.size > sizeof(*load) &&
	       load->size == range->end - range->begin;
}

bool kf_jitdump_name(int fd, const struct kf_jit_range *range, char *name,
		     size_t size)
{
	struct load load;
	ssize_t n;

	name[0] = '\0';
	if (!load_get(fd, range, &load))
		return false;
	n = pread(fd, name, KF_MIN(size - 1, load.record.size - sizeof(load)),
		  (off_t)(range->at + sizeof(load)));
	name[n < 0 ? 0 : n] = '\0';
	return name[0];
}

/* The last of @nr lines that begins at or below an address. */
static void lines_seek(const char *s, const char *end, uint64_t nr,
		       uint64_t address, struct kf_jit_line *out)
{
	const char *file = "", *found = "", *name;
	uint64_t nearest = 0;
	struct debug_line line;

	for (; nr && (size_t)(end - s) > sizeof(line); nr--) {
		memcpy(&line, s, sizeof(line));
		name = s + sizeof(line);
		s = memchr(name, '\0', (size_t)(end - name));
		if (!s++)
			break;
		if (strcmp(name, SAME_FILE) != 0)
			file = name;
		if (line.address > address || line.address < nearest)
			continue;
		nearest = line.address;
		out->line = line.line;
		found = file;
	}
	snprintf(out->file, out->size, "%s", found);
}

void kf_jitdump_line(int fd, const struct kf_jit_range *range, uint64_t address,
		     struct kf_jit_line *line)
{
	struct debug debug;
	struct load load;
	char *text;
	ssize_t n;

	line->line = 0;
	line->file[0] = '\0';
	if (!range->debug || !load_get(fd, range, &load) ||
	    pread(fd, &debug, sizeof(debug), (off_t)range->debug) !=
		    (ssize_t)sizeof(debug) ||
	    debug.record.kind != DEBUG_INFO || debug.begin != load.begin ||
	    debug.record.size < sizeof(debug) || debug.record.size > MAX_LINES)
		return;
	text = malloc(debug.record.size);
	n = text ? pread(fd, text, debug.record.size - sizeof(debug),
			 (off_t)(range->debug + sizeof(debug)))
		 : -1;
	if (n > 0)
		lines_seek(text, text + n, debug.nr,
			   address - range->begin + load.begin, line);
	free(text);
}
