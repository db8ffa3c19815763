/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mappings of the process are noted while it lives, each with the build id
 * of its file; of several processes, when a line first names the process. Names
 * are looked up when bpftrace prints, by the symbolizer of all commands. A
 * stack begins outside of the library: the frames of the library differ between
 * the paths of malloc, which are not the user's. Where a script prints the
 * caller beside the stack, and the stack lacks it, as it does on the fast path,
 * the caller is put back.
 */
#include "config.h"

#include "cli/commands/trace-rows.h"

#include "cli/cli.h"
#include "reader/code.h"
#include "reader/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_FRAMES 128
#define SYMBOLS_NS 60000000000ull
#define INDENT "    "

/* Addresses of user space are below; above is what was no return address. */
#define ADDRESS_END (1ull << 48)

/* An address, or the words of a bpftrace that names functions itself. */
struct row_frame {
	uint64_t address;
	char *words;
};

struct row {
	char *text; /* all up to "]: " */
	int64_t value;
};

/* The code of a process. */
struct row_names {
	struct row_names *next;
	int32_t pid;
	struct kf_codes codes;
	struct kf_symbols *symbols; /* of a copy of @codes, or NULL */
	bool more;		    /* @codes has more than @symbols */
	bool looked; /* for an unknown address, since the last look */
};

struct kf_trace_rows {
	int32_t pid;		 /* 0: several processes */
	struct row_names *names; /* the one whose lines are read first */
	uint64_t until_ns;	 /* for names of several; 0: not begun */

	/* The row that is being read. */
	bool open;
	char *head;	 /* "@map[pid, " */
	uint64_t caller; /* 0: none */
	size_t nr_frames;
	struct row_frame frame[MAX_FRAMES];
	bool cut; /* the stack has no more frames */

	/* Rows of a map that were read; the @most largest are printed. */
	size_t most; /* 0: all */
	size_t nr_rows, room;
	struct row *row;
};

static bool codes_have(const struct kf_codes *codes, const struct kf_code *c)
{
	for (size_t i = 0; i < codes->nr; i++) {
		const struct kf_code *has = &codes->code[i];

		if (has->begin == c->begin && has->end == c->end &&
		    has->inode == c->inode)
			return true;
	}
	return false;
}

/* Drops what @c has taken the place of. */
static void codes_displace(struct kf_codes *codes, const struct kf_code *c)
{
	size_t nr = 0;

	for (size_t i = 0; i < codes->nr; i++) {
		struct kf_code *has = &codes->code[i];

		if (has->begin < c->end && c->begin < has->end)
			free(has->path);
		else
			codes->code[nr++] = *has;
	}
	codes->nr = nr;
}

static void names_look(struct row_names *n)
{
	struct kf_snapshot none = {0};
	struct kf_codes now;
	struct kf_code *all;

	if (!kf_codes_read("/proc", n->pid, &none, &now)) {
		kf_codes_release(&now);
		return;
	}
	for (size_t i = 0; i < now.nr; i++) {
		struct kf_code *c = &now.code[i];

		if (codes_have(&n->codes, c))
			continue;
		kf_code_identify("/proc", n->pid, c);
		codes_displace(&n->codes, c);
		all = kf_alloc(n->codes.nr + 1, sizeof(*all));
		if (n->codes.nr)
			memcpy(all, n->codes.code, n->codes.nr * sizeof(*all));
		all[n->codes.nr] = *c;
		c->path = NULL;
		free(n->codes.code);
		n->codes.code = all;
		n->codes.nr++;
		n->more = true;
	}
	kf_codes_release(&now);
	kf_codes_sort(&n->codes);
}

/* Takes the names of a process for the lines that follow. */
static void rows_process(struct kf_trace_rows *r, int32_t pid)
{
	struct row_names **at = &r->names, *n;

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	n = *at;
	if (n) {
		*at = n->next;
	} else {
		n = kf_alloc(1, sizeof(*n));
		n->pid = pid;
		names_look(n);
	}
	n->next = r->names;
	r->names = n;
}

struct kf_trace_rows *kf_trace_rows_new(int32_t pid)
{
	struct kf_trace_rows *r = kf_alloc(1, sizeof(*r));

	*r = (struct kf_trace_rows){.pid = pid};
	if (pid)
		rows_process(r, pid);
	return r;
}

void kf_trace_rows_look(struct kf_trace_rows *r)
{
	names_look(r->names);
	r->names->looked = false;
}

static uint64_t rows_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What is left of the time for names; at least 1, as 0 has no bound. */
static uint64_t rows_budget(struct kf_trace_rows *r)
{
	uint64_t now = rows_now();

	if (r->pid)
		return SYMBOLS_NS;
	if (!r->until_ns)
		r->until_ns = now + SYMBOLS_NS;
	return now < r->until_ns ? r->until_ns - now : 1;
}

static void rows_open(struct kf_trace_rows *r, struct row_names *n)
{
	const struct kf_symbols_how how = {.debug = true,
					   .budget_ns = rows_budget(r)};
	struct kf_codes copy = {.nr = n->codes.nr};

	kf_symbols_close(n->symbols);
	copy.code = kf_alloc(copy.nr + 1, sizeof(*copy.code));
	for (size_t i = 0; i < copy.nr; i++) {
		copy.code[i] = n->codes.code[i];
		copy.code[i].path = kf_format("%s", copy.code[i].path);
	}
	n->symbols = kf_symbols_open(&copy, &how);
	n->more = false;
}

/* The calls at an address; none of an address that is in no file. */
static const struct kf_frame *rows_frames(struct kf_trace_rows *r,
					  uint64_t address, size_t *nr)
{
	struct row_names *n = r->names;

	*nr = 0;
	if (!n)
		return NULL;
	if (!kf_codes_find(&n->codes, address, 0) && !n->looked) {
		names_look(n);
		n->looked = true;
	}
	if (!kf_codes_find(&n->codes, address, 0))
		return NULL;
	if (!n->symbols ||
	    (n->more &&
	     !kf_codes_find(kf_symbols_codes(n->symbols), address, 0)))
		rows_open(r, n);
	return n->symbols ? kf_symbols_frames(n->symbols, address, 0, nr)
			  : NULL;
}

static bool rows_is_ours(const struct kf_frame *f)
{
	return f->code && !strncmp(f->library, "libkonfiscator", 14);
}

static bool address_is_ours(struct kf_trace_rows *r, uint64_t address)
{
	size_t nr;
	const struct kf_frame *f = rows_frames(r, address, &nr);

	return nr && rows_is_ours(&f[nr - 1]);
}

/* Names are cut, so that a line of them fits. */
static void name_print(FILE *to, const char *name)
{
	char safe[1024];

	fputs(kf_escape(safe, sizeof(safe), name), to);
}

static void frame_print(FILE *to, const struct kf_frame *f)
{
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;
	unsigned int number = f->line;
	char label[1024];

	kf_frame_label(f, label, sizeof(label));
	name_print(to, label);
	if (!f->file || !number)
		return;
	putc(' ', to);
	name_print(to, slash ? slash + 1 : f->file);
	fprintf(to, ":%u", number);
}

static void address_print(struct kf_trace_rows *r, FILE *to, uint64_t address)
{
	size_t nr;
	const struct kf_frame *f = rows_frames(r, address, &nr);

	if (!nr)
		fprintf(to, INDENT "0x%llx\n", (unsigned long long)address);
	for (size_t i = 0; i < nr; i++) {
		fputs(INDENT, to);
		frame_print(to, &f[i]);
		putc('\n', to);
	}
}

/* Blanks, an address, the end of the line; or 0. */
static uint64_t line_address(const char *line)
{
	unsigned long long address;
	int at = 0;

	line += strspn(line, " \t");
	if (sscanf(line, "0x%llx%n", &address, &at) != 1 || !at ||
	    strcmp(line + at, "\n"))
		return 0;
	return address;
}

/* The text of the row that was read, without its value. */
static char *row_text(struct kf_trace_rows *r)
{
	size_t first = 0, size, nr;
	const struct kf_frame *f;
	char *text = NULL;
	FILE *to = open_memstream(&text, &size);

	if (!to) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	while (first < r->nr_frames &&
	       address_is_ours(r, r->frame[first].address))
		first++;
	if (r->caller && address_is_ours(r, r->caller) && first < r->nr_frames)
		r->caller = r->frame[first].address;
	fputs(r->head, to);
	if (r->caller) {
		f = rows_frames(r, r->caller, &nr);
		if (nr)
			name_print(to, f[0].function);
		else
			fprintf(to, "0x%llx", (unsigned long long)r->caller);
		fputs(",", to);
	}
	putc('\n', to);
	if (r->caller && (first || !r->nr_frames) &&
	    (first == r->nr_frames || r->frame[first].address != r->caller))
		address_print(r, to, r->caller);
	for (size_t i = first; i < r->nr_frames; i++) {
		if (r->frame[i].words)
			fputs(r->frame[i].words, to);
		else
			address_print(r, to, r->frame[i].address);
	}
	fclose(to);
	return text;
}

static void row_clear(struct kf_trace_rows *r)
{
	for (size_t i = 0; i < r->nr_frames; i++)
		free(r->frame[i].words);
	free(r->head);
	r->head = NULL;
	r->nr_frames = 0;
	r->open = r->cut = false;
}

/* No code of a file, and too low for code that was made at run time. */
static bool rows_is_number(struct kf_trace_rows *r, uint64_t address)
{
	size_t nr;

	return address && address <= UINT32_MAX && r->names &&
	       r->names->codes.nr && (rows_frames(r, address, &nr), !nr);
}

/* A stack ends at what cannot be an address: the frame pointer was none. */
static void row_add(struct kf_trace_rows *r, const char *line)
{
	uint64_t address = line_address(line);

	if (address >= ADDRESS_END || !line[strspn(line, " \t0\n")] ||
	    rows_is_number(r, address))
		r->cut = true;
	if (r->cut || r->nr_frames == MAX_FRAMES)
		return;
	r->frame[r->nr_frames++] = (struct row_frame){
		.address = address,
		.words = address ? NULL : kf_format("%s", line),
	};
}

static void row_close(struct kf_trace_rows *r, const char *value)
{
	if (r->nr_rows == r->room) {
		struct row *more;

		r->room = r->room ? 2 * r->room : 64;
		more = kf_alloc(r->room, sizeof(*more));
		if (r->nr_rows)
			memcpy(more, r->row, r->nr_rows * sizeof(*more));
		free(r->row);
		r->row = more;
	}
	r->row[r->nr_rows++] =
		(struct row){row_text(r), strtoll(value, NULL, 10)};
	row_clear(r);
}

/*
 * "@map[123, " or "@map[123, 0x7f..., ": the rest of the key is a stack. A
 * bpftrace that names functions has a name for the address.
 */
static bool row_begin(struct kf_trace_rows *r, const char *line)
{
	size_t len = strlen(line);
	int pid = 0, at = 0, end = 0;
	unsigned long long caller;

	if (sscanf(line, "@%*[a-z_A-Z0-9][%d,%n", &pid, &at) != 1 || !at ||
	    (r->pid && pid != r->pid) || strstr(line, "]: "))
		return false;
	while (len && strchr(" \n", line[len - 1]))
		len--;
	if (line[len - 1] != ',')
		return false;
	rows_process(r, pid);
	r->caller = 0;
	if (sscanf(line + at, " 0x%llx,%n", &caller, &end) == 1 &&
	    at + end == (int)len) {
		r->caller = caller;
		len = (size_t)at;
	}
	r->head = kf_format("%.*s%s", (int)len, line, r->caller ? " " : "");
	r->open = true;
	return true;
}

/* A row without a stack is one line: "@map[123, 0x7f..., ]: VALUE". */
static bool row_take(struct kf_trace_rows *r, const char *line)
{
	const char *end = strstr(line, ", ]: ");
	char *key = end ? kf_format("%.*s,", (int)(end - line), line) : NULL;
	bool begun = key && row_begin(r, key);

	if (begun)
		row_close(r, end + strlen(", ]: "));
	free(key);
	return begun;
}

static int rows_by_text(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->text,
		      ((const struct row *)b)->text);
}

static int rows_by_value(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->value != y->value
		       ? (x->value > y->value) - (x->value < y->value)
		       : strcmp(x->text, y->text);
}

static void rows_flush(struct kf_trace_rows *r, void (*put)(const char *line))
{
	size_t nr = 0;

	if (!r->nr_rows)
		return;
	qsort(r->row, r->nr_rows, sizeof(*r->row), rows_by_text);
	for (size_t i = 0; i < r->nr_rows; i++) {
		if (nr && !strcmp(r->row[nr - 1].text, r->row[i].text)) {
			r->row[nr - 1].value += r->row[i].value;
			free(r->row[i].text);
		} else {
			r->row[nr++] = r->row[i];
		}
	}
	qsort(r->row, nr, sizeof(*r->row), rows_by_value);
	for (size_t i = 0; i < nr; i++) {
		bool skip = !r->row[i].value || (r->most && i + r->most < nr);
		char *end = kf_format("]: %lld\n", (long long)r->row[i].value);

		if (!skip) {
			put(r->row[i].text);
			put(end);
		}
		free(end);
		free(r->row[i].text);
	}
	r->nr_rows = 0;
}

/* The line before a map says how many of its rows are asked for. */
static void rows_take_most(struct kf_trace_rows *r, const char *line)
{
	const char *words = strstr(line, ", the ");
	unsigned int most;
	int end = 0;

	r->most = 0;
	if (words && sscanf(words, ", the %u largest:%n", &most, &end) == 1 &&
	    end)
		r->most = most;
}

/* The line before a stack by itself has the process: "MS PID TID WHAT ...". */
static void rows_take_process(struct kf_trace_rows *r, const char *line)
{
	int pid = 0, end = 0;

	if (!r->pid && sscanf(line, "%*u %d %*d %*[a-z]%n", &pid, &end) == 1 &&
	    end && pid > 0)
		rows_process(r, pid);
}

/* What is no row of a stack: a frame by itself, or any other line. */
static void rows_other(struct kf_trace_rows *r, const char *line,
		       void (*put)(const char *line))
{
	uint64_t address = line_address(line);
	char *text = NULL;
	size_t size;
	FILE *to;

	rows_flush(r, put);
	rows_take_most(r, line);
	rows_take_process(r, line);
	to = address ? open_memstream(&text, &size) : NULL;
	if (to) {
		address_print(r, to, address);
		fclose(to);
	}
	put(text ? text : line);
	free(text);
}

void kf_trace_rows_line(struct kf_trace_rows *r, const char *line,
			void (*put)(const char *line))
{
	if (!r->open) {
		if (!row_begin(r, line) && !row_take(r, line))
			rows_other(r, line, put);
		return;
	}
	if (!strncmp(line, "]: ", 3))
		row_close(r, line + 3);
	else
		row_add(r, line);
}

void kf_trace_rows_end(struct kf_trace_rows *r, void (*put)(const char *line))
{
	if (!r)
		return;
	rows_flush(r, put);
	row_clear(r);
	free(r->row);
	while (r->names) {
		struct row_names *n = r->names;

		r->names = n->next;
		kf_symbols_close(n->symbols);
		kf_codes_release(&n->codes);
		free(n);
	}
	free(r);
}
