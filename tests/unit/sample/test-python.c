/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sample/python-*.c without an interpreter: tables of lines as CPython writes
 * them, descriptions of 3.13 and 3.14, and objects that are damaged.
 */
#include "config.h"

#include "sample/python.h"
#include "sample/rows.h"
#include "stats/stats.h"
#include "sys/vm.h"

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * def f():          # line 10
 *     a = 1         # 11: bytes 0 to 3
 *     b = 2         # 12: bytes 4 to 7
 *                   # far below, and back
 *     c = 3         # 512: bytes 8 to 299
 */
START_TEST(lines_of_38_are_pairs_that_add_up)
{
	static const uint8_t table[] = {0, 1,	4, 1,	4,   127, 0,  127,
					0, 127, 0, 119, 255, 0,	  37, 0xf6};

	for (uint16_t version = 0x0308; version <= 0x0309; version++) {
		ck_assert_uint_eq(kf_python_line(version, table, 16, 10, 0),
				  11);
		ck_assert_uint_eq(kf_python_line(version, table, 16, 10, 3),
				  11);
		ck_assert_uint_eq(kf_python_line(version, table, 16, 10, 4),
				  12);
		ck_assert_uint_eq(kf_python_line(version, table, 16, 10, 8),
				  512);
		ck_assert_uint_eq(kf_python_line(version, table, 16, 10, 299),
				  512);
		ck_assert_uint_eq(kf_python_line(version, table, 16, 10, 300),
				  502);
		ck_assert_uint_eq(kf_python_line(version, NULL, 0, 10, 6), 10);
	}
}
END_TEST

START_TEST(lines_of_310_are_ranges_of_which_some_have_none)
{
	/* 0-3: 11; 4-7: none; 8-9: 9; 10-263: 9 as well */
	static const uint8_t table[] = {4, 1, 4, 128, 2, 0xfe, 254, 0};

	ck_assert_uint_eq(kf_python_line(0x030a, table, 8, 10, 0), 11);
	ck_assert_uint_eq(kf_python_line(0x030a, table, 8, 10, 5), 0);
	ck_assert_uint_eq(kf_python_line(0x030a, table, 8, 10, 8), 9);
	ck_assert_uint_eq(kf_python_line(0x030a, table, 8, 10, 262), 9);
	ck_assert_uint_eq(kf_python_line(0x030a, table, 8, 10, 264), 0);
}
END_TEST

START_TEST(lines_of_311_are_entries_of_all_kinds)
{
	static const uint8_t table[] = {
		0x80 | 13 << 3 | 0, 0x02,    /* 2 bytes, line +1 */
		0x80 | 0 << 3 | 1,  0x21,    /* 4 bytes, short form */
		0x80 | 11 << 3 | 0, 4,	  9, /* 2 bytes, one line more */
		0x80 | 15 << 3 | 2,	     /* 6 bytes, none */
		0x80 | 14 << 3 | 0, 0x68, 0x0c, 1, 2, 3, /* +404 */
		0x80 | 13 << 3 | 7, 0x03,		 /* 16 bytes, -1 */
	};
	static const uint32_t lines[] = {11, 11, 11, 12, 0, 0, 0, 416};

	for (uint16_t version = 0x030b; version <= 0x030e; version++) {
		for (uint32_t i = 0; i < 8; i++)
			ck_assert_uint_eq(kf_python_line(version, table,
							 sizeof(table), 10,
							 2 * i),
					  lines[i]);
		ck_assert_uint_eq(
			kf_python_line(version, table, sizeof(table), 10, 16),
			415);
		ck_assert_uint_eq(
			kf_python_line(version, table, sizeof(table), 10, 32),
			0);
	}
}
END_TEST

/* No table makes the decoder read beyond it, or loop. */
START_TEST(lines_of_any_bytes_end)
{
	uint8_t table[64];
	uint64_t state = 1;

	for (int round = 0; round < 20000; round++) {
		size_t size = (size_t)round % sizeof(table);
		uint8_t *exact = malloc(size + 1);

		for (size_t i = 0; i < size; i++) {
			state = state * 6364136223846793005ULL + 1;
			exact[i] = (uint8_t)(state >> 56);
		}
		for (uint16_t v = 0x0308; v <= 0x030e; v++)
			(void)kf_python_line(v, exact, size, INT32_MAX,
					     (uint32_t)(state >> 40));
		free(exact);
	}
}
END_TEST

static void put(char *block, size_t at, uint64_t value)
{
	memcpy(block + at, &value, sizeof(value));
}

/* What 3.14 says of itself, where Python 3.14.0 has it. */
static void describe_314(char block[768])
{
	memset(block, 0, 768);
	memcpy(block, "xdebugpy", 8);
	put(block, 8, 0x030e00f0);
	put(block, 208, 72);
	put(block, 256, 8);
	put(block, 264, 0);
	put(block, 272, 56);
	put(block, 288, 74);
	put(block, 320, 112);
	put(block, 328, 120);
	put(block, 336, 128);
	put(block, 344, 136);
	put(block, 352, 68);
	put(block, 384, 208);
	put(block, 640, 40);
}

START_TEST(an_interpreter_that_describes_itself_is_believed)
{
	struct kf_python_layout at;
	char block[768];
	bool threads;

	describe_314(block);
	ck_assert(kf_python_layout_read(block, 768, 0x030e, &at, &threads));
	ck_assert(!threads);
	ck_assert_uint_eq(at.state_frame, 72);
	ck_assert_uint_eq(at.frame_before, 8);
	ck_assert_uint_eq(at.frame_code, 0);
	ck_assert_uint_eq(at.frame_at, 56);
	ck_assert_uint_eq(at.frame_owner, 74);
	ck_assert_uint_eq(at.code_name, 128);
	ck_assert_uint_eq(at.code_begin, 208);
	ck_assert_uint_eq(at.code_version, 92);
	ck_assert_uint_eq(at.text_others, 56);
	put(block, 16, 1);
	ck_assert(kf_python_layout_read(block, 768, 0x030e, &at, &threads));
	ck_assert(threads);
}
END_TEST

START_TEST(a_description_that_is_another_one_is_not)
{
	struct kf_python_layout at;
	char block[768];
	bool threads;

	describe_314(block);
	ck_assert(!kf_python_layout_read(block, 768, 0x030d, &at, &threads));
	ck_assert(!kf_python_layout_read(block, 768, 0x030f, &at, &threads));
	ck_assert(!kf_python_layout_read(block, 647, 0x030e, &at, &threads));
	ck_assert(!kf_python_layout_read(block, 8, 0x030e, &at, &threads));
	put(block, 256, 1u << 20);
	ck_assert(!kf_python_layout_read(block, 768, 0x030e, &at, &threads));
	describe_314(block);
	block[0] = 'y';
	ck_assert(!kf_python_layout_read(block, 768, 0x030e, &at, &threads));
	ck_assert(!kf_python_layout_of(0x0307, &at));
	ck_assert(!kf_python_layout_of(0x030e, &at));
	ck_assert(!kf_python_layout_of(0x030f, &at));
}
END_TEST

/* Symbols by which this program is taken for CPython 3.11. */
#define SYMBOL __attribute__((visibility("default"), used))
void *PyGILState_GetThisThreadState(void);
extern char PyCode_Type[8], PyUnicode_Type[8];
extern const uint64_t Py_Version;
extern const char __ehdr_start[];

SYMBOL void *PyGILState_GetThisThreadState(void)
{
	return NULL;
}

SYMBOL char PyCode_Type[8], PyUnicode_Type[8];
SYMBOL const uint64_t Py_Version = 0x030b07f0;

START_TEST(an_object_with_the_symbols_is_an_interpreter)
{
	ck_assert(!kf_python_is_on());
	ck_assert(!kf_python_look((uintptr_t)__ehdr_start, true, false, 0));
	ck_assert(kf_python_is_on());
	ck_assert_uint_eq(kf_python.version, 0x030b);
	ck_assert(kf_python.state == PyGILState_GetThisThreadState);
	ck_assert_uint_eq(kf_python.code_type, (uintptr_t)PyCode_Type);
	ck_assert_uint_eq(kf_python.unicode_type, (uintptr_t)PyUnicode_Type);
}
END_TEST

/* One that may be unmapped; the test has not called kf_rows_start() yet. */
START_TEST(nobody_waits_for_an_object_whose_load_has_no_known_end)
{
	uintptr_t base = (uintptr_t)__ehdr_start;

	ck_assert_ptr_nonnull(kf_rows_lack());
	ck_assert(!kf_python_look(base, false, true, 0));
	ck_assert(!kf_python_is_on());
	ck_assert(!kf_python_is_gone());
	kf_rows_start();
	if (kf_rows_lack())
		return;
	/* where a dlclose() is going on, and where not */
	ck_assert(kf_python_look(base, false, false, 0));
	ck_assert(kf_python_is_gone());
	ck_assert(!kf_python_look(base, false, true, 0));
	ck_assert(kf_python_is_on());
}
END_TEST

/* Memory that an interpreter could have. */
static struct {
	char code[256];
	char name[256];
	char file[512];
	char lines[64];
	char type[8];
	char text_type[8];
} * world;

static void world_make(void)
{
	kf_stats_init();
	world = mmap(NULL, 2 * KF_PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(world != MAP_FAILED);
	munmap((char *)world + KF_PAGE, KF_PAGE);
	memset(&kf_python, 0, sizeof(kf_python));
	kf_python.version = 0x030b;
	kf_python.has_lines = true;
	kf_python.code_type = (uintptr_t)world->type;
	kf_python.unicode_type = (uintptr_t)world->text_type;
	ck_assert(kf_python_layout_of(0x030b, &kf_python.at));
}

static void put_text(char *at, unsigned int width, const void *text, size_t nr)
{
	bool ascii = width == 0;
	uint32_t state = (uint32_t)(ascii ? 1 : width) << 2 | 1u << 5 |
			 (uint32_t)ascii << 6;

	put(at, 8, (uintptr_t)world->text_type);
	put(at, 16, nr);
	memcpy(at + 32, &state, sizeof(state));
	memcpy(at + (ascii ? 48 : 72), text, nr * (ascii ? 1 : width));
}

static void put_code(void)
{
	int32_t first = 10;

	put(world->code, 8, (uintptr_t)world->type);
	memcpy(world->code + 72, &first, sizeof(first));
	put(world->code, 112, (uintptr_t)world->file);
	put(world->code, 128, (uintptr_t)world->name);
	put(world->code, 136, (uintptr_t)world->lines);
	put(world->lines, 16, 2);
	world->lines[32] = (char)(0x80 | 13 << 3 | 7);
	world->lines[33] = 4;
	put_text(world->name, 0, "f.<locals>.g", 12);
	put_text(world->file, 0, "/srv/app.py", 11);
}

static uint64_t call_of(uint64_t instruction)
{
	struct kf_python_reader r = {0};

	return kf_python_call(&r, (uintptr_t)world->code,
			      (uintptr_t)world->code + 184 + instruction);
}

static const struct kf_stats_call *entry_of(uint64_t word)
{
	uint32_t nr;
	const struct kf_stats_call *all = kf_stats_area(KF_AREA_CALLS, &nr);

	UNIT_REQUIRE(word & KF_STATS_CALL);
	UNIT_REQUIRE((word & ~KF_STATS_CALL) < nr);
	return &all[word & ~KF_STATS_CALL];
}

START_TEST(a_call_has_one_entry_until_its_code_is_another)
{
	const struct kf_stats_call *call;
	uint64_t word;
	int32_t line = 20;

	world_make();
	put_code();
	word = call_of(4);
	call = entry_of(word);
	ck_assert_str_eq(call->function, "f.<locals>.g");
	ck_assert_str_eq(call->file, "/srv/app.py");
	ck_assert_uint_eq(call->line, 12);
	ck_assert_uint_eq(call_of(4), word);
	ck_assert_uint_ne(call_of(6), word);
	/* another code object where that one was */
	memcpy(world->code + 72, &line, sizeof(line));
	ck_assert_uint_ne(call_of(4), word);
	ck_assert_uint_eq(entry_of(call_of(4))->line, 22);
}
END_TEST

/* Its strings and its table are where those of the one before were. */
START_TEST(code_with_other_contents_is_another_call)
{
	uint64_t word;

	world_make();
	put_code();
	word = call_of(4);
	put_text(world->name, 0, "f.<locals>.h", 12);
	ck_assert_str_eq(entry_of(call_of(4))->function, "f.<locals>.h");
	put_code();
	put_text(world->file, 0, "/srv/apq.py", 11);
	ck_assert_str_eq(entry_of(call_of(4))->file, "/srv/apq.py");
	put_code();
	world->lines[33] = 6;
	ck_assert_uint_eq(entry_of(call_of(4))->line, 13);
	put_code();
	ck_assert_uint_eq(call_of(4), word);
}
END_TEST

START_TEST(code_with_another_number_is_another_call)
{
	uint32_t version = 7;
	uint64_t word;

	world_make();
	kf_python.at.code_version = 92;
	put_code();
	memcpy(world->code + 92, &version, sizeof(version));
	word = call_of(4);
	ck_assert_uint_eq(call_of(4), word);
	memcpy(world->code + 92, &(uint32_t){8}, sizeof(version));
	put_text(world->name, 0, "f.<locals>.h", 12);
	ck_assert_uint_ne(call_of(4), word);
	ck_assert_str_eq(entry_of(call_of(4))->function, "f.<locals>.h");
}
END_TEST

START_TEST(long_and_foreign_names_are_cut_between_characters)
{
	uint16_t wide[120];
	char path[400];
	const struct kf_stats_call *call;

	world_make();
	put_code();
	for (size_t i = 0; i < 120; i++)
		wide[i] = 0x65e5;
	put_text(world->name, 2, wide, 70);
	memset(path, 'd', sizeof(path));
	memcpy(path + 391, "/x/app.py", 9);
	put_text(world->file, 0, path, 400);
	call = entry_of(call_of(0));
	ck_assert_uint_eq(strlen(call->function), 3 * 36 + 3);
	ck_assert_str_eq(call->function + 3 * 36, "...");
	ck_assert(!strncmp(call->file, "...ddd", 6));
	ck_assert_str_eq(call->file + strlen(call->file) - 9, "/x/app.py");
	ck_assert_uint_eq(strlen(call->file), sizeof(call->file) - 1);
}
END_TEST

START_TEST(what_is_no_code_is_no_call)
{
	struct kf_python_reader r = {0};

	world_make();
	put_code();
	ck_assert_uint_eq(kf_python_call(&r, 0, 0), 0);
	ck_assert_uint_eq(kf_python_call(&r, 8, 0), 0);
	ck_assert_uint_eq(kf_python_call(&r, (uintptr_t)world->code + 1, 0), 0);
	ck_assert_uint_eq(kf_python_call(&r, (uintptr_t)world->name, 0), 0);
	/* at the end of what is mapped, and beyond */
	ck_assert_uint_eq(
		kf_python_call(&r, (uintptr_t)world + KF_PAGE - 16, 0), 0);
	ck_assert_uint_eq(kf_python_call(&r, (uintptr_t)world + KF_PAGE, 0), 0);
	ck_assert_uint_eq(kf_python_call(&r, UINTPTR_MAX & ~(uintptr_t)7, 0),
			  0);
}
END_TEST

/* The names of a code object that is torn are absent, and nothing faults. */
START_TEST(any_bytes_in_a_code_object_harm_nobody)
{
	uint64_t state = 1;
	uint32_t named = 0;

	world_make();
	for (int round = 0; round < 3000; round++) {
		put_code();
		for (int i = 0; i < 4; i++) {
			char *bytes = (char *)world;
			size_t at;

			state = state * 6364136223846793005ULL + 1;
			at = (state >> 33) % sizeof(*world) & ~(size_t)7;
			put(bytes, at,
			    state & 1 << 20 ? state
					    : (uintptr_t)world + (state >> 52));
		}
		put(world->code, 8, (uintptr_t)world->type);
		named += call_of((state >> 40) & 0xff) != 0;
	}
	ck_assert_uint_gt(named, 0);
}
END_TEST

/*
 * Frames of Python, of which some are on a native stack, [0] at its top. The
 * layout is that of 3.11 but for the list, which is as in 3.13.
 */
#define FRAME_BYTES 80
#define NR_FRAMES 8
static char frames[NR_FRAMES][FRAME_BYTES] __attribute__((aligned(16)));
static char thread_state[128] __attribute__((aligned(16)));

static void *state_of_thread(void)
{
	return thread_state;
}

/* A frame that runs an instruction; 0: the one of an evaluator's call. */
static void put_frame(unsigned int i, uint64_t instruction, unsigned int before)
{
	memset(frames[i], 0, FRAME_BYTES);
	put(frames[i], 48, before ? (uintptr_t)frames[before] : 0);
	frames[i][70] = instruction ? 0 : 3;
	if (!instruction)
		return;
	put(frames[i], 32, (uintptr_t)world->code);
	put(frames[i], 56, (uintptr_t)world->code + 184 + instruction);
}

/* Two calls of the evaluator: of its frames 2 and 5 are on the native stack. */
static void frames_make(void)
{
	world_make();
	put_code();
	kf_python.at.state_frame = 72;
	kf_python.at.state_cframe = KF_PYTHON_NO;
	kf_python.at.frame_entry = KF_PYTHON_NO;
	kf_python.at.frame_owner = 70;
	kf_python.state = state_of_thread;
	put(thread_state, 72, (uintptr_t)frames[0]);
	put_frame(0, 2, 1);
	put_frame(1, 4, 2);
	put_frame(2, 0, 3);
	put_frame(3, 6, 4);
	put_frame(4, 8, 5);
	put_frame(5, 0, 0);
}

static struct kf_walked merged;

/* Merges into a native stack whose frames begin where these do, and end. */
static void merge(const unsigned int *at, uint32_t nr)
{
	static struct kf_walked room;
	static uint64_t calls[KF_STATS_STACK_MAX];
	uint64_t sp[NR_FRAMES];

	memset(&merged, 0, sizeof(merged));
	merged.nr = nr;
	for (uint32_t i = 0; i <= nr; i++)
		sp[i] = (uintptr_t)frames[at[i]];
	for (uint32_t i = 0; i < nr; i++)
		merged.frame[i] = 0x1000 + i;
	kf_python_merge(&merged, sp, &room, calls, KF_STATS_STACK_MAX);
}

static void check_merged(const uint64_t *frame, uint32_t nr)
{
	ck_assert_uint_eq(merged.nr, nr);
	for (uint32_t i = 0; i < nr; i++)
		ck_assert_uint_eq(merged.frame[i], frame[i]);
}

/* The stack says that calls are missing; the evaluator of others is replaced.
 */
START_TEST(an_evaluator_with_a_call_that_cannot_be_read_stays)
{
	static const unsigned int at[] = {0, 2, 3, 5, 6, 7};
	uint64_t wanted[8];

	frames_make();
	put(frames[1], 32, (uintptr_t)world->name);
	merge(at, 5);
	memcpy(wanted,
	       (uint64_t[]){0x1000, 0x1001, 0x1002, call_of(6), call_of(8),
			    0x1004},
	       6 * sizeof(wanted[0]));
	check_merged(wanted, 6);
	ck_assert_uint_eq(merged.flags, KF_STACK_NO_CALLS);
}
END_TEST

START_TEST(calls_stand_where_their_evaluators_were)
{
	static const unsigned int at[] = {0, 2, 3, 5, 6, 7};
	uint64_t wanted[8];

	frames_make();
	merge(at, 5);
	memcpy(wanted,
	       (uint64_t[]){0x1000, call_of(2), call_of(4), 0x1002, call_of(6),
			    call_of(8), 0x1004},
	       7 * sizeof(wanted[0]));
	check_merged(wanted, 7);
	ck_assert_uint_eq(merged.flags, 0);
}
END_TEST

/* The native stack ends with the inner evaluator, and with its caller. */
START_TEST(callers_in_python_follow_where_the_native_stack_ends)
{
	static const unsigned int at[] = {0, 2, 3, 4};
	uint64_t wanted[8];

	frames_make();
	for (uint32_t nr = 2; nr <= 3; nr++) {
		merge(at, nr);
		memcpy(wanted,
		       (uint64_t[]){0x1000, call_of(2), call_of(4), 0x1002},
		       4 * sizeof(wanted[0]));
		wanted[nr + 1] = call_of(6);
		wanted[nr + 2] = call_of(8);
		check_merged(wanted, nr + 3);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		lines_of_38_are_pairs_that_add_up,
		lines_of_310_are_ranges_of_which_some_have_none,
		lines_of_311_are_entries_of_all_kinds,
		lines_of_any_bytes_end,
		an_interpreter_that_describes_itself_is_believed,
		a_description_that_is_another_one_is_not,
		an_object_with_the_symbols_is_an_interpreter,
		nobody_waits_for_an_object_whose_load_has_no_known_end,
		a_call_has_one_entry_until_its_code_is_another,
		code_with_other_contents_is_another_call,
		code_with_another_number_is_another_call,
		long_and_foreign_names_are_cut_between_characters,
		what_is_no_code_is_no_call,
		any_bytes_in_a_code_object_harm_nobody,
		an_evaluator_with_a_call_that_cannot_be_read_stays,
		calls_stand_where_their_evaluators_were,
		callers_in_python_follow_where_the_native_stack_ends,
	};

	return unit_run("sample/python", tests, KF_ARRAY_SIZE(tests));
}
