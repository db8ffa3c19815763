/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Entries of calls of Python in the stats file: see python.h.
 *
 * A call is an instruction of a code object. Code objects are freed, and others
 * made at their addresses: the key of an entry tells them apart.
 * Entries are taken in order and stay; a private index finds them by their
 * keys, as table.c does for stacks.
 */
#include "sample/python.h"

#include "stats/stats.h"
#include "sys/vm.h"

#include <string.h>

#define MAX_CALLS 8192
#define FIRST_WORDS 1024 /* of the index's first part, as table.c has it */
#define NR_WORDS (4 * MAX_CALLS)

#define MAX_TABLE (64 * KF_KIB) /* bytes of lines that are read */
#define MAX_CODE (64 * KF_MIB)	/* bytes of instructions that are believed */

/* The largest field of a code object is before this. */
#define CODE_BYTES 256

#define OBJECT_TYPE 8
#define TEXT_LENGTH 16
#define TEXT_STATE 32
#define BYTES_SIZE 16
#define BYTES_DATA 32

#define MAX_CHARACTERS 128 /* of a string that are read */

static struct {
	uint32_t *word; /* entries; 0: none; each atomic */
	uint32_t taken; /* entries taken, without entry 0; atomic */
} calls;

/* A code object, of which the first bytes can be read. */
struct code {
	uintptr_t address;
	int64_t at; /* the instruction, bytes from the first one */
};

/* Bytes of the object up to the last field that is read. */
static size_t code_size(void)
{
	const struct kf_python_layout *at = &kf_python.at;
	size_t last = KF_MAX(at->code_lines, at->code_name);

	return KF_MIN(last + sizeof(uint64_t), (size_t)CODE_BYTES);
}

static uint64_t code_word(const struct code *code, uint16_t field)
{
	uint64_t value = 0;

	if (field + sizeof(value) <= code_size())
		memcpy(&value, (const void *)(code->address + field),
		       sizeof(value));
	return value;
}

static int32_t code_number(const struct code *code, uint16_t field)
{
	return (int32_t)code_word(code, field);
}

static bool code_read(struct kf_python_reader *r, uintptr_t address,
		      uint64_t at, struct code *code)
{
	uint64_t begin = address + kf_python.at.code_begin;

	code->address = address;
	if (!address || address % sizeof(void *) ||
	    !kf_python_can_read(r, address, code_size()) ||
	    code_word(code, OBJECT_TYPE) != kf_python.code_type)
		return false;
	if (kf_python.version < 0x030a)
		code->at = (int32_t)at;
	else if (kf_python.version == 0x030a)
		code->at = 2 * (int64_t)(int32_t)at;
	else
		code->at = (int64_t)(at - begin);
	/* Before its first instruction a frame is at -1, which is the first. */
	if (code->at < 0)
		code->at = code->at >= -8 ? 0 : MAX_CODE;
	return true;
}

static uint64_t calls_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
	return hash ^ hash >> 32;
}

/* Bytes that can be read; the words do not wait for each other. */
static uint64_t calls_mix_bytes(uint64_t hash, uintptr_t at, size_t size)
{
	uint64_t sum = size, word = 0;
	size_t i = 0;

	for (; i + sizeof(word) <= size; i += sizeof(word)) {
		memcpy(&word, (const void *)(at + i), sizeof(word));
		sum += calls_mix(word, i);
	}
	word = 0;
	memcpy(&word, (const void *)(at + i), size - i);
	return calls_mix(hash, sum + calls_mix(word, i));
}

/* A string of Python, as it is in memory. */
struct text {
	uintptr_t at; /* the first character */
	size_t nr;
	unsigned int width; /* bytes of a character */
	unsigned int most;  /* ... as UTF-8, at most */
};

static bool text_read(struct kf_python_reader *r, uintptr_t at,
		      struct text *text)
{
	/* kind, compact, ascii */
	unsigned int shift = kf_python.version >= 0x030e ? 16 : 2;
	uint64_t head[TEXT_STATE / 8 + 1];
	uint32_t state;
	bool ascii;

	if (!at || at % sizeof(void *) ||
	    !kf_python_read(r, at, head, sizeof(head)) ||
	    head[OBJECT_TYPE / 8] != kf_python.unicode_type)
		return false;
	memcpy(&state, &head[TEXT_STATE / 8], sizeof(state));
	text->width = state >> shift & 7;
	text->nr = head[TEXT_LENGTH / 8];
	ascii = state >> (shift + 4) & 1;
	text->most = ascii ? 1 : KF_MIN(text->width + 1, 4u);
	text->at = at +
		   (ascii ? kf_python.at.text_ascii : kf_python.at.text_others);
	return state >> (shift + 3) & 1 && text->nr < MAX_CODE &&
	       (text->width == 1 || text->width == 2 || text->width == 4);
}

/* Puts a character as UTF-8; returns its bytes, 0: no room. */
static size_t put_character(char *to, size_t room, uint32_t c)
{
	char bytes[4];
	size_t nr;

	if (c < 0x80) {
		bytes[0] = (char)c;
		nr = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		nr = 2;
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		nr = 3;
	} else {
		bytes[0] = (char)(0xf0 | (c >> 18 & 7));
		nr = 4;
	}
	for (size_t i = 1; i < nr; i++)
		bytes[i] = (char)(0x80 | (c >> 6 * (nr - 1 - i) & 63));
	if (nr > room)
		return 0;
	memcpy(to, bytes, nr);
	return nr;
}

/*
 * Copies @nr characters from the one at @first on, as far as they fit. Returns
 * how many; SIZE_MAX: they cannot be read.
 */
static size_t text_put(struct kf_python_reader *r, const struct text *text,
		       size_t first, size_t nr, char *to, size_t room)
{
	uint8_t raw[4 * MAX_CHARACTERS];
	size_t i;

	nr = KF_MIN(nr, (size_t)MAX_CHARACTERS);
	if (nr && !kf_python_read(r, text->at + first * text->width, raw,
				  nr * text->width))
		return SIZE_MAX;
	for (i = 0; i < nr; i++) {
		uint32_t c = 0;
		size_t n;

		memcpy(&c, raw + i * text->width, text->width);
		n = put_character(to, room, c);
		if (!n)
			break;
		to += n;
		room -= n;
	}
	*to = '\0';
	return i;
}

/* The characters of which an entry has some: the first or the last ones. */
static uint64_t text_mix(struct kf_python_reader *r, uint64_t hash,
			 uintptr_t at, bool last)
{
	struct text text;
	size_t nr;

	if (!text_read(r, at, &text))
		return hash;
	nr = KF_MIN(text.nr, (size_t)MAX_CHARACTERS);
	if (last)
		text.at += (text.nr - nr) * text.width;
	if (!nr || !kf_python_can_read(r, text.at, nr * text.width))
		return hash;
	return calls_mix_bytes(hash ^ text.nr, text.at, nr * text.width);
}

#define MORE (sizeof(KF_STATS_CALL_MORE) - 1)

/* The begin of a name; its end is left out. */
static void fill_function(struct kf_python_reader *r, uintptr_t at,
			  struct kf_stats_call *call)
{
	size_t nr = SIZE_MAX;
	struct text text;

	if (text_read(r, at, &text))
		nr = text_put(r, &text, 0, text.nr, call->function,
			      sizeof(call->function) - 1 - MORE);
	if (nr == SIZE_MAX)
		memcpy(call->function, "?", sizeof("?"));
	else if (nr < text.nr)
		memcpy(call->function + strlen(call->function),
		       KF_STATS_CALL_MORE, MORE + 1);
}

/* The end of a path; its begin is left out. */
static void fill_file(struct kf_python_reader *r, uintptr_t at,
		      struct kf_stats_call *call)
{
	size_t most = sizeof(call->file) - 1, first = 0;
	char *to = call->file;
	struct text text;

	if (!text_read(r, at, &text))
		return;
	if (text.nr > (most - MORE) / text.most) {
		first = text.nr - (most - MORE) / text.most;
		memcpy(to, KF_STATS_CALL_MORE, MORE);
		to += MORE;
	}
	if (text_put(r, &text, first, text.nr - first, to,
		     most - (size_t)(to - call->file)) == SIZE_MAX)
		call->file[0] = '\0';
}

/* The table of lines; 0: it cannot be read. */
static uintptr_t code_table(struct kf_python_reader *r, const struct code *code,
			    uint64_t *size)
{
	uintptr_t table = (uintptr_t)code_word(code, kf_python.at.code_lines);

	if (!table || table % sizeof(void *) ||
	    !kf_python_read(r, table + BYTES_SIZE, size, sizeof(*size)) ||
	    *size > MAX_TABLE ||
	    (*size && !kf_python_can_read(r, table + BYTES_DATA, *size)))
		return 0;
	return table + BYTES_DATA;
}

static uint32_t code_line(struct kf_python_reader *r, const struct code *code)
{
	uint64_t size;
	uintptr_t table = kf_python.has_lines && code->at < (int64_t)MAX_CODE
				  ? code_table(r, code, &size)
				  : 0;

	if (!table)
		return 0;
	return kf_python_line(kf_python.version, (const uint8_t *)table, size,
			      code_number(code, kf_python.at.code_line),
			      (uint32_t)code->at);
}

static uint64_t code_mix(struct kf_python_reader *r, const struct code *code)
{
	const struct kf_python_layout *at = &kf_python.at;
	uint64_t hash = 0, size;
	uintptr_t table = code_table(r, code, &size);

	hash = text_mix(r, hash, code_word(code, at->code_name), false);
	hash = text_mix(r, hash, code_word(code, at->code_file), true);
	return table ? calls_mix_bytes(hash, table, size) : hash;
}

/*
 * From 3.12 on each code object has a number of its own. Before, nothing but
 * its contents tells it from one that was freed at the same address.
 */
static uint64_t code_key(struct kf_python_reader *r, const struct code *code)
{
	const struct kf_python_layout *at = &kf_python.at;
	uint64_t key = calls_mix(code->address, (uint64_t)code->at);
	uint64_t version = (uint32_t)code_number(code, at->code_version);
	size_t i = (code->address >> 4) % KF_PYTHON_CODES;

	key = calls_mix(key, version << 32 | (uint32_t)code_number(
						     code, at->code_line));
	if (version)
		return key | 1;
	if (r->code[i] != code->address) {
		r->contents[i] = code_mix(r, code);
		r->code[i] = code->address;
	}
	return calls_mix(key, r->contents[i]) | 1;
}

static struct kf_stats_call *call_at(uint32_t i)
{
	uint32_t nr;
	struct kf_stats_call *all = kf_stats_area(KF_AREA_CALLS, &nr);

	return i < nr ? &all[i] : NULL;
}

static uint32_t *calls_words(void)
{
	size_t bytes = (FIRST_WORDS + NR_WORDS) * sizeof(uint32_t);
	uint32_t *word = kf_load_acquire(&calls.word), *other = NULL;

	if (likely(word))
		return word;
	word = kf_vm_map(bytes, KF_PAGE);
	if (!word || kf_cas(&calls.word, &other, word))
		return word;
	kf_vm_drop(word, bytes);
	return other;
}

static uint32_t *calls_probe(uint32_t *word, uint32_t nr, uint64_t key,
			     uint32_t *found)
{
	for (uint64_t i = key >> 8;; i++) {
		uint32_t *w = &word[i % nr];
		const struct kf_stats_call *call;

		*found = kf_load_acquire(w);
		call = *found ? call_at(*found) : NULL;
		if (!*found || (call && kf_load(&call->key) == key))
			return w;
	}
}

/* The word of a key in the index, or the free word for it. */
static uint32_t *python_place(uint32_t *word, uint64_t key, uint32_t *found)
{
	uint32_t *w = calls_probe(word, FIRST_WORDS, key, found);

	if (*found || kf_load(&calls.taken) < FIRST_WORDS / 2)
		return w;
	return calls_probe(word + FIRST_WORDS, NR_WORDS, key, found);
}

/* A new entry; 0: all are taken. */
static uint32_t call_take(void)
{
	uint32_t i = kf_load(&calls.taken);

	do {
		if (i == MAX_CALLS - 1 ||
		    !kf_stats_area_grow(KF_AREA_CALLS, i + 2))
			return 0;
	} while (!kf_cas(&calls.taken, &i, i + 1));
	return i + 1;
}

static uint32_t call_make(struct kf_python_reader *r, uint32_t *word,
			  const struct code *code, uint64_t key)
{
	uint32_t i = call_take(), found = 0;
	struct kf_stats_call *call = i ? call_at(i) : NULL;

	if (!call)
		return 0;
	fill_function(r, (uintptr_t)code_word(code, kf_python.at.code_name),
		      call);
	fill_file(r, (uintptr_t)code_word(code, kf_python.at.code_file), call);
	call->line = code_line(r, code);
	/* readers in other processes: an entry with a key is whole */
	kf_store_release(&call->key, key);
	/* Of two threads that make the same entry one leaves its own. */
	while (!found && !kf_claim(python_place(word, key, &found), i))
		;
	return found ? found : i;
}

uint64_t kf_python_call(struct kf_python_reader *r, uintptr_t address,
			uint64_t at)
{
	uint32_t *word = calls_words();
	struct code code;
	uint32_t found;
	uint64_t key;

	if (!word || !code_read(r, address, at, &code))
		return 0;
	key = code_key(r, &code);
	python_place(word, key, &found);
	if (!found)
		found = call_make(r, word, &code, key);
	return found ? KF_STATS_CALL | found : 0;
}
