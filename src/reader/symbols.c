/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames from files and their debug information, demangled by libiberty.
 */
#include "config.h"

#include "reader/symbols.h"

#include "reader/guard.h"
#include "reader/jit.h"
#include "reader/map.h"
#include "reader/symbols-internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(KF_PROFILE_CALLS == KF_MAX_INLINED, "all calls fit");

#define NS_PER_S 1000000000ull
#define MAX_NAME 4096 /* longest name, in bytes */
/* Longer names are not demangled: the demangler's stack grows with them. */
#define MAX_MANGLED 1024

struct found {
	uint64_t key;
	struct kf_frame *frames;
	uint64_t nr;
};

struct kf_symbols {
	struct kf_symbols_how how;
	struct kf_codes codes;
	struct kf_symbol_file *files; /* an element for each of @codes */
	struct kf_jit *jit;	      /* NULL: the process has ended */
	struct kf_map found;	      /* by address, in no file */
	uint64_t end_ns; /* of the budget, CLOCK_MONOTONIC; 0: no limit */
};

static uint64_t symbols_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool is_late(const struct kf_symbols *s)
{
	return s->end_ns && symbols_clock_ns() > s->end_ns;
}

/* Fills in the calls; there is at least one. */
static size_t symbols_look_up(struct kf_symbol_file *f, uint64_t pc,
			      struct kf_raw_call *raw)
{
	size_t nr = f->how->debug ? kf_dwarf_calls(f->mod, pc, raw) : 0;
	const char *symbol = kf_symbol_file_function(f, pc);

	/*
	 * The outermost function has its name in the symbol table, with debug
	 * information or without: DWARF lacks the types of static ones, and
	 * has inner names of exported ones.
	 */
	if (symbol) {
		raw[nr ? nr - 1 : 0].function = symbol;
		raw[nr ? nr - 1 : 0].symbol = true;
	}
	return nr ? nr : 1;
}

/* Whether .part.0 or the like is at @dot, which a compiler adds. */
static bool is_of_compiler(const char *dot)
{
	static const char *const words[] = {"part", "constprop", "isra",
					    "lto_priv"};
	size_t len = strcspn(dot + 1, ".");

	if (len == 4 && !strncmp(dot + 1, "cold", len))
		return true;
	for (size_t i = 0; i < KF_ARRAY_SIZE(words); i++) {
		if (len == strlen(words[i]) && !strncmp(dot + 1, words[i], len))
			return dot[len + 1] &&
			       isdigit((unsigned char)dot[len + 2]);
	}
	return false;
}

/* Cuts off what tells a part or a copy of a function from the whole. */
static void name_cut(char *name)
{
	char *end = strstr(name, " [clone ");

	for (char *dot = end ? NULL : strchr(name, '.'); dot && !end;
	     dot = strchr(dot + 1, '.')) {
		if (dot > name && is_of_compiler(dot))
			end = dot;
	}
	if (end)
		*end = '\0';
}

/* The version of a symbol, as in dlopen@@GLIBC_2.34, is not of its name. */
static char *name_pretty(const struct kf_raw_call *call)
{
	size_t len = strnlen(call->function, MAX_NAME);
	const char *version = call->symbol ? strchr(call->function, '@') : NULL;
	char *name, *plain = NULL;

	if (version && version > call->function)
		len = KF_MIN(len, (size_t)(version - call->function));
	name = strndup(call->function, len);
	if (name && name[0] == '_' && len <= MAX_MANGLED)
		plain = cplus_demangle(name,
				       DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
	if (plain)
		free(name);
	else
		plain = name;
	if (plain && call->symbol)
		name_cut(plain);
	if (plain && strlen(plain) > MAX_NAME)
		plain[MAX_NAME] = '\0';
	return plain;
}

/* Takes ownership of @function; "": known to have no name. */
static void put_name(struct kf_frame *frame, char *function)
{
	frame->named = function[0];
	if (frame->named && !frame->code && !(frame->address & KF_STATS_CALL))
		frame->library = KF_JIT_LIBRARY;
	if (frame->named)
		frame->function = function;
	else
		free(function);
}

/* LIBRARY+0xN, for a function without a name. */
static bool put_place(struct kf_frame *frame)
{
	const struct kf_code *code = frame->code;
	char *text;
	int n;

	if (code)
		n = asprintf(&text, "%s+0x%" PRIx64, frame->library,
			     frame->address - code->begin + code->offset);
	else
		n = asprintf(&text, "0x%" PRIx64, frame->address);
	frame->function = n < 0 ? NULL : text;
	return n >= 0;
}

static struct kf_frame *symbols_add_frames(struct found *to, size_t nr,
					   const struct kf_code *code,
					   uint64_t address)
{
	to->frames = calloc(nr, sizeof(*to->frames));
	for (size_t i = 0; to->frames && i < nr; i++) {
		to->frames[i] = (struct kf_frame){
			.address = address,
			.library = code ? kf_code_name(code)
				   : address & KF_STATS_CALL ? "[python]"
							     : "?",
			.code = code,
			.inlined = i + 1 < nr,
		};
		to->nr++;
	}
	return to->frames;
}

static bool add_raw(struct found *to, const struct kf_code *code,
		    uint64_t address, const struct kf_raw_call *raw, size_t nr)
{
	struct kf_frame *frame = symbols_add_frames(to, nr, code, address);
	char *function;

	for (size_t i = 0; frame && i < nr; i++, frame++) {
		frame->line = raw[i].line > 0 ? (unsigned int)raw[i].line : 0;
		frame->file = raw[i].file ? strdup(raw[i].file) : NULL;
		if (raw[i].file && !frame->file)
			return false;
		if (!raw[i].function)
			continue;
		function = name_pretty(&raw[i]);
		if (!function)
			return false;
		put_name(frame, function);
	}
	return to->frames;
}

/* Caches names, unless the file has changed since it was opened. */
static void symbols_keep(struct kf_symbol_file *f, uint64_t offset,
			 const struct kf_frame *frame)
{
	f->kept = f->kept && f->nr && kf_symbol_file_is_same(f);
	if (f->kept)
		kf_name_cache_put(f->how->cache, &f->key, offset,
				  frame->named ? frame->function : "");
}

/* Returns false if the name is not cached. */
static bool find_in_cache(const struct kf_symbol_file *f, uint64_t offset,
			  uint64_t address, struct found *to)
{
	char *name = f->kept ? kf_name_cache_get(f->how->cache, &f->key, offset)
			     : NULL;

	if (name && symbols_add_frames(to, 1, f->code, address))
		put_name(to->frames, name);
	else
		free(name);
	return to->frames;
}

/* Returns false when out of memory. */
static bool find_in_file(struct kf_symbols *s, struct kf_symbol_file *f,
			 uint64_t address, struct found *to)
{
	/* the call lies before the address that it returns to */
	uint64_t offset = address - 1 - f->code->begin + f->code->offset, pc;
	struct kf_raw_call raw[KF_MAX_INLINED] = {{0}};
	size_t nr = 1;

	if (!f->opened && !is_late(s))
		kf_symbol_file_open(f);
	if (find_in_cache(f, offset, address, to))
		return true;
	if (f->opened && !f->loaded && !is_late(s))
		kf_symbol_file_load(f);
	if (f->mod && kf_symbol_file_address(f, address - 1, &pc))
		nr = symbols_look_up(f, pc, raw);
	if (!add_raw(to, f->code, address, raw, nr))
		return false;
	symbols_keep(f, offset, to->frames);
	return true;
}

/* Also empties @f. */
static void free_frames(struct found *f)
{
	for (uint64_t i = 0; i < f->nr; i++) {
		free((char *)f->frames[i].function);
		free((char *)f->frames[i].file);
	}
	free(f->frames);
	f->frames = NULL;
	f->nr = 0;
}

/* The calls that the profile has; their number. */
static size_t symbols_recorded(const struct kf_symbols *s,
			       const struct kf_code *code, uint64_t address,
			       struct kf_raw_call raw[KF_MAX_INLINED])
{
	struct kf_profile_named call[KF_PROFILE_CALLS];
	const struct kf_stats_call *call_of =
		s->how.snapshot ? kf_snapshot_call(s->how.snapshot, address)
				: NULL;
	size_t nr = 0;

	if (call_of) {
		raw[0] = (struct kf_raw_call){
			.function = call_of->function,
			.file = call_of->file[0] ? call_of->file : NULL,
			.line = (int)KF_MIN(call_of->line, (uint32_t)INT_MAX),
		};
		return 1;
	}
	if (s->how.profile)
		nr = kf_profile_calls(s->how.profile, address,
				      code ? code->number : 0, call);
	for (size_t i = 0; i < nr; i++)
		raw[i] = (struct kf_raw_call){
			.function = call[i].function,
			.file = call[i].file,
			.line = (int)KF_MIN(call[i].line,
					    (unsigned int)INT_MAX),
		};
	return nr;
}

/* The call in code of no file, or of a deleted one, such as a memfd; 0 or 1. */
static size_t symbols_jit(struct kf_symbols *s, const struct kf_code *code,
			  uint64_t address, struct kf_raw_call *raw)
{
	struct kf_jit_place at;

	if (!s->jit || (code && (!code->deleted || code->build_id_size)) ||
	    is_late(s) || !kf_jit_find(s->jit, address - 1, s->how.debug, &at))
		return 0;
	*raw = (struct kf_raw_call){
		.function = at.function, .file = at.file, .line = (int)at.line};
	return 1;
}

/* Whether no file can add anything. */
static bool is_complete(const struct kf_raw_call *raw, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!raw[i].function || !raw[i].line)
			return false;
	}
	return nr;
}

/* Returns false when out of memory. */
static bool symbols_find_calls(struct kf_symbols *s, const struct kf_code *code,
			       uint64_t address, struct found *to)
{
	struct kf_raw_call raw[KF_MAX_INLINED] = {{0}};
	size_t nr = symbols_recorded(s, code, address, raw);

	if (!nr)
		nr = symbols_jit(s, code, address, raw);
	if (code && !is_complete(raw, nr)) {
		if (!find_in_file(s, &s->files[code - s->codes.code], address,
				  to))
			return false;
		if (!nr || to->frames[0].named)
			return true;
		free_frames(to);
	}
	if (nr)
		return add_raw(to, code, address, raw, nr);
	return symbols_add_frames(to, 1, NULL, address);
}

static bool symbols_find(struct kf_symbols *s, const struct kf_code *code,
			 uint64_t address, struct found *to)
{
	bool done;

	kf_guard_begin();
	done = symbols_find_calls(s, code, address, to);
	kf_guard_end();
	for (uint64_t i = 0; done && i < to->nr; i++)
		done = to->frames[i].named || put_place(&to->frames[i]);
	return done;
}

struct kf_symbols *kf_symbols_open(struct kf_codes *codes,
				   const struct kf_symbols_how *how)
{
	struct kf_symbols *s = calloc(1, sizeof(*s));

	if (s)
		s->files = calloc(codes->nr + 1, sizeof(*s->files));
	if (!s || !s->files) {
		kf_codes_release(codes);
		free(s);
		return NULL;
	}
	s->how = *how;
	s->codes = *codes;
	*codes = (struct kf_codes){0};
	s->found.entry_size = sizeof(struct found);
	if (how->pid)
		s->jit = kf_jit_open(how->procfs, how->pid, &s->codes,
				     how->refused);
	if (how->budget_ns)
		s->end_ns = symbols_clock_ns() + how->budget_ns;
	for (size_t i = 0; i < s->codes.nr; i++) {
		s->files[i].how = &s->how;
		s->files[i].code = &s->codes.code[i];
		s->files[i].fd = -1;
		s->files[i].found.entry_size = sizeof(struct found);
	}
	return s;
}

const struct kf_frame *kf_symbols_frames(struct kf_symbols *s, uint64_t address,
					 uint32_t generation, size_t *nr)
{
	const struct kf_code *code =
		kf_codes_find(&s->codes, address - 1, generation);
	struct kf_map *known =
		code ? &s->files[code - s->codes.code].found : &s->found;
	struct found f = {.key = address ? address : 1};
	void *entry = kf_map_find(known, f.key);

	if (!entry) {
		if (symbols_find(s, code, address, &f))
			entry = kf_map_add(known, f.key);
		if (!entry) {
			free_frames(&f);
			return NULL;
		}
		memcpy(entry, &f, sizeof(f));
	}
	memcpy(&f, entry, sizeof(f));
	*nr = f.nr;
	return f.frames;
}

void kf_frame_label(const struct kf_frame *f, char *text, size_t size)
{
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;
	const char *file = slash ? slash + 1 : f->file;

	if (f->address & KF_STATS_CALL && file && f->line)
		snprintf(text, size, "%s (%s:%u)", f->function, file, f->line);
	else if (f->address & KF_STATS_CALL && file)
		snprintf(text, size, "%s (%s)", f->function, file);
	else
		snprintf(text, size, "%s", f->function);
}

struct kf_codes *kf_symbols_codes(struct kf_symbols *s)
{
	return &s->codes;
}

enum kf_lacks kf_symbols_lacks(const struct kf_symbols *s)
{
	for (size_t i = 0; i < s->codes.nr; i++) {
		if (s->files[i].lacks)
			return s->files[i].lacks;
	}
	return KF_LACKS_NOTHING;
}

static void free_found(const void *entry, __kf_unused void *arg)
{
	struct found f;

	memcpy(&f, entry, sizeof(f));
	free_frames(&f);
}

void kf_symbols_close(struct kf_symbols *s)
{
	if (!s)
		return;
	kf_jit_close(s->jit);
	kf_map_each(&s->found, free_found, NULL);
	kf_map_release(&s->found);
	for (size_t i = 0; i < s->codes.nr; i++) {
		kf_map_each(&s->files[i].found, free_found, NULL);
		kf_map_release(&s->files[i].found);
		kf_symbol_file_close(&s->files[i]);
	}
	free(s->files);
	kf_codes_release(&s->codes);
	free(s);
}
