/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/jit.c: an address has the name that the process' runtime wrote last,
 * and files that anyone else may have made give none.
 */
#include "config.h"

#include "reader/jit.h"
#include "reader/jitdump.h"
#include "reader/perf-map.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PID 42
#define INNER 7
#define MAP "42/root/tmp/perf-7.map"
#define DUMP "jit-7.dump"
#define OTHER 65533 /* a user that is not us */

static const struct kf_codes nothing;
static char told[512];

static void refused(const char *path, const char *why)
{
	ck_assert_msg(!told[0], "told twice: %s, %s", path, why);
	snprintf(told, sizeof(told), "%s: %s", path, why);
}

static void put(const char *name, const char *text)
{
	support_bytes(text, strlen(text), name);
}

static void append(const char *name, const char *text)
{
	FILE *f = fopen(support_path(name), "ae");

	ck_assert(f && fputs(text, f) >= 0 && !fclose(f));
}

/* A procfs with one process, whose user is ours. */
static void begin_of(unsigned int uid)
{
	char status[256];

	support_begin();
	told[0] = '\0';
	ck_assert_int_eq(mkdir(support_path("42"), 0700), 0);
	ck_assert_int_eq(mkdir(support_path("42/root"), 0700), 0);
	ck_assert_int_eq(mkdir(support_path("42/root/tmp"), 0700), 0);
	snprintf(status, sizeof(status),
		 "Name:\tx\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t%d\t%d\n", uid, uid,
		 uid, uid, PID, INNER);
	put("42/status", status);
}

static void begin(void)
{
	begin_of(geteuid());
}

static struct kf_jit *open_jit(const struct kf_codes *codes)
{
	struct kf_jit *jit = kf_jit_open(support_dir, PID, codes, refused);

	ck_assert_ptr_nonnull(jit);
	return jit;
}

/* The name at an address; "": none. */
static const char *name_in(struct kf_jit *jit, uint64_t address)
{
	struct kf_jit_place at;

	return kf_jit_find(jit, address, true, &at) ? at.function : "";
}

/* The name at an address of the files as they are. */
static void has_name(uint64_t address, const char *name)
{
	struct kf_jit *jit = open_jit(&nothing);

	ck_assert_str_eq(name_in(jit, address), name);
	kf_jit_close(jit);
}

static void refuses(const char *why)
{
	has_name(0x1000, "");
	ck_assert_msg(strstr(told, why) != NULL, "told: %s", told);
	told[0] = '\0';
}

START_TEST(a_map_has_numbers_with_and_without_0x)
{
	begin();
	put(MAP, "1000 10 plain\n"
		 "0x0000000000002000 0x0000000000000010 java\n"
		 "0X3000 0XA0 int J::add(int, int)\r\n"
		 "abcdEF0123 1 mixed\n");
	has_name(0x1000, "plain");
	has_name(0x100f, "plain");
	has_name(0x1010, "");
	has_name(0xfff, "");
	has_name(0x200f, "java");
	has_name(0x309f, "int J::add(int, int)\r");
	has_name(0xabcdef0123, "mixed");
	has_name(0, "");
	has_name(UINT64_MAX, "");
	ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(what_is_no_line_of_a_map_is_skipped)
{
	begin();
	put(MAP, "\n"
		 "garbage\n"
		 "0 10 at zero\n"
		 "1000 0 empty\n"
		 "1000 10\n"
		 "1000 10 \n"
		 "1000  \n"
		 "-1000 10 negative\n"
		 "1000 xyz no number\n"
		 "1000,10 comma\n"
		 "10000000000001000 10 too many digits\n"
		 "fffffffffffffff0 11 too far\n"
		 "0x 10 no digits\n"
		 "2000 10 right\n"
		 "1000 10 has no end");
	has_name(0x1000, "");
	has_name(5, "");
	has_name(0xfffffffffffffff1, "");
	has_name(0x2000, "right");
	append(MAP, "\n");
	has_name(0x1000, "has no end");
}
END_TEST

START_TEST(the_last_line_of_an_address_counts)
{
	begin();
	put(MAP, "1000 1000 old\n"
		 "3000 10 other\n"
		 "1800 1000 newer\n"
		 "1400 100 newest\n"
		 "3000 10 again\n");
	has_name(0x1000, "old");
	has_name(0x13ff, "old");
	has_name(0x1400, "newest");
	has_name(0x14ff, "newest");
	has_name(0x1500, "old");
	has_name(0x17ff, "old");
	has_name(0x1800, "newer");
	has_name(0x27ff, "newer");
	has_name(0x2800, "");
	has_name(0x3000, "again");
}
END_TEST

START_TEST(many_ranges_have_the_owners_of_a_plain_search)
{
	struct kf_jit_range all[300];
	uint64_t state = 1;

	for (int round = 0; round < 200; round++) {
		struct kf_jit_ranges r = {0};
		uint64_t most = 1 + chance_below(&state, 100);

		for (size_t i = 0; i < KF_ARRAY_SIZE(all); i++) {
			all[i] = (struct kf_jit_range){.at = i};
			all[i].begin = 1 + chance_below(&state, 400);
			all[i].end =
				all[i].begin + 1 + chance_below(&state, most);
			ck_assert(kf_jit_ranges_add(&r, &all[i]));
		}
		ck_assert(kf_jit_ranges_settle(&r));
		for (uint64_t a = 0; a < 510; a++) {
			const struct kf_jit_range *found =
				kf_jit_ranges_find(&r, a);
			size_t i = KF_ARRAY_SIZE(all);

			while (i &&
			       (a < all[i - 1].begin || a >= all[i - 1].end))
				i--;
			UNIT_REQUIRE(!found == !i);
			UNIT_REQUIRE(!found || found->at == i - 1);
		}
		kf_jit_ranges_release(&r);
	}
}
END_TEST

/* Ranges within each other, of which each but the last hides the one before. */
START_TEST(of_too_many_names_the_last_are_used)
{
	FILE *f;

	begin();
	f = fopen(support_path(MAP), "we");
	ck_assert_ptr_nonnull(f);
	for (uint64_t i = 0; i < KF_JIT_RANGES + 10; i++)
		fprintf(f, "%" PRIx64 " %" PRIx64 " n%" PRIu64 "\n", 0x1000 + i,
			2 * (KF_JIT_RANGES + 10 - i), i);
	ck_assert_int_eq(fclose(f), 0);
	has_name(0x1000 + 9, "");
	ck_assert(strstr(
		told,
		"the begin of the map of process 42: has more than 1048576 names"));
	told[0] = '\0';
	has_name(0x1000 + 10, "n10");
	told[0] = '\0';
	has_name(0x1000 + KF_JIT_RANGES + 9, "n1048585");
	told[0] = '\0';
}
END_TEST

START_TEST(of_a_huge_map_the_end_is_read)
{
	int fd;

	begin();
	put(MAP, "1000 10 first\n");
	fd = open(support_path(MAP), O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(ftruncate(fd, (off_t)(300 * KF_MIB)), 0);
	close(fd);
	append(MAP, "1000 10 cut\n2000 10 last\n");
	refuses("the begin of the map of process 42: is larger than 256 MiB");
	has_name(0x2000, "last");
}
END_TEST

START_TEST(long_lines_and_nul_bytes_are_harmless)
{
	static const char nul[] = "1000 10 a\0b\n\0\n2\0 10 c\n3000 10 \0\n"
				  "4000 10 d\n";
	char *text = malloc(KF_MIB);
	const char *name;
	struct kf_jit *jit;

	begin();
	memset(text, 'x', KF_MIB);
	memcpy(text, "5000 10 ", 8);
	memcpy(text + KF_MIB - 17, "\n6000 10 behind\n", 17);
	support_bytes(nul, sizeof(nul) - 1, MAP);
	append(MAP, text);
	free(text);
	has_name(0x1000, "a");
	has_name(2, "");
	has_name(0x3000, "");
	has_name(0x4000, "d");
	has_name(0x6000, "behind");
	jit = open_jit(&nothing);
	name = name_in(jit, 0x5000);
	ck_assert_uint_eq(strlen(name), 4095);
	ck_assert_uint_eq(strspn(name, "x"), 4095);
	kf_jit_close(jit);
}
END_TEST

START_TEST(files_that_are_no_files_are_refused)
{
	begin();
	has_name(0x1000, "");
	ck_assert_str_eq(told, "");
	ck_assert_int_eq(mkfifo(support_path(MAP), 0600), 0);
	refuses("tmp/perf-7.map: is not a regular file");
	unlink(support_path(MAP));
	put("42/root/tmp/aim", "1000 10 behind a link\n");
	ck_assert_int_eq(symlink("aim", support_path(MAP)), 0);
	refuses("tmp/perf-7.map: is not a regular file");
	unlink(support_path(MAP));
	ck_assert_int_eq(mkdir(support_path(MAP), 0700), 0);
	refuses("tmp/perf-7.map: is not a regular file");
}
END_TEST

START_TEST(files_of_others_are_refused)
{
	/* root's files count for all */
	begin_of(geteuid() ? OTHER : 0);
	put(MAP, "1000 10 f\n");
	if (!geteuid())
		ck_assert_int_eq(chown(support_path(MAP), OTHER, OTHER), 0);
	refuses("belongs neither to root nor to a user of the process");
}
END_TEST

START_TEST(files_from_before_the_process_are_refused)
{
	struct timespec now;
	char stat[256];

	begin();
	put(MAP, "1000 10 f\n");
	clock_gettime(CLOCK_BOOTTIME, &now);
	snprintf(stat, sizeof(stat),
		 "42 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %ld 0\n",
		 (now.tv_sec - 5) * sysconf(_SC_CLK_TCK));
	put("42/stat", stat);
	has_name(0x1000, "f");
	snprintf(stat, sizeof(stat),
		 "42 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %ld 0\n",
		 (now.tv_sec + 5) * sysconf(_SC_CLK_TCK));
	put("42/stat", stat);
	refuses("has not changed since the process started");
}
END_TEST

START_TEST(a_map_outside_is_used_if_there_is_none_inside)
{
	char map[64];
	FILE *f;

	begin();
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", PID);
	/* another's, of a process with that number: leave it alone */
	f = fopen(map, "wxe");
	if (!f)
		return;
	fputs("1000 10 outside\n2000 10 outside\n", f);
	ck_assert_int_eq(fclose(f), 0);
	has_name(0x1000, "outside");
	put(MAP, "1000 10 inside\n");
	has_name(0x1000, "inside");
	has_name(0x2000, "");
	unlink(map);
}
END_TEST

START_TEST(a_file_that_grows_is_read_again)
{
	struct kf_jit *jit;

	begin();
	jit = open_jit(&nothing);
	ck_assert_str_eq(name_in(jit, 0x1000), "");
	put(MAP, "1000 10 first\n");
	while (!*name_in(jit, 0x1000))
		usleep(10000);
	append(MAP, "1000 10 second\n3000 10 third\n");
	while (strcmp(name_in(jit, 0x1000), "second") != 0)
		usleep(10000);
	ck_assert_str_eq(name_in(jit, 0x3000), "third");
	/* cut and written anew: no name until it is read */
	put(MAP, "9000 10 x\n3000 10 fourth\n");
	ck_assert_str_ne(name_in(jit, 0x3000), "third");
	while (strcmp(name_in(jit, 0x3000), "fourth") != 0)
		usleep(10000);
	kf_jit_close(jit);
}
END_TEST

static uint8_t dump[65536];
static size_t nr_dump;

static void dump_add(const void *bytes, size_t size)
{
	ck_assert_uint_le(nr_dump + size, sizeof(dump));
	if (size)
		memcpy(dump + nr_dump, bytes, size);
	nr_dump += size;
}

static void dump_begin(uint32_t magic, uint32_t version)
{
	uint32_t head[10] = {magic, version, sizeof(head), 62, 0, INNER};

	nr_dump = 0;
	dump_add(head, sizeof(head));
}

static void dump_record(uint32_t kind, const uint64_t *word, size_t nr,
			const void *more, size_t size)
{
	uint32_t head[4] = {
		kind, (uint32_t)(sizeof(head) + nr * sizeof(*word) + size)};

	dump_add(head, sizeof(head));
	dump_add(word, nr * sizeof(*word));
	dump_add(more, size);
}

static void dump_load(uint64_t address, uint64_t size, uint64_t index,
		      const char *name)
{
	uint64_t word[] = {0, address, address, size, index};
	char more[256] = "";

	snprintf(more, sizeof(more), "%s", name);
	dump_record(0, word, 5, more, strlen(name) + 1 + size);
}

static void dump_move(uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	uint64_t word[] = {0, to, from, to, size, index};

	dump_record(1, word, 6, "", 0);
}

/* Two lines, at the begin and 16 bytes on, in the same file. */
static void dump_lines(uint64_t address, uint64_t shift, const char *file)
{
	uint64_t word[] = {address, 2};
	struct {
		uint64_t address;
		uint32_t line;
		uint32_t column;
	} line = {address + shift, 10, 1};
	char more[256];
	size_t at = strlen(file) + 1;

	memcpy(more, &line, sizeof(line));
	memcpy(more + sizeof(line), file, at);
	at += sizeof(line);
	line.address += 16;
	line.line = 11;
	memcpy(more + at, &line, sizeof(line));
	at += sizeof(line);
	memcpy(more + at, "\xff", 2);
	dump_record(2, word, 2, more, at + 2);
}

/* "NAME FILE:LINE" at an address of the dump; "": no name. */
static const char *dump_place(uint64_t address)
{
	static char text[512];
	struct kf_code code = {.begin = 1, .end = 2, .path = "/tmp/" DUMP};
	struct kf_codes codes = {.nr = 1, .code = &code};
	struct kf_jit_place at;
	struct kf_jit *jit;

	support_bytes(dump, nr_dump, "42/root/tmp/" DUMP);
	jit = open_jit(&codes);
	text[0] = '\0';
	if (kf_jit_find(jit, address, true, &at))
		snprintf(text, sizeof(text), "%s %s:%u", at.function,
			 at.file ? at.file : "?", at.line);
	kf_jit_close(jit);
	return text;
}

START_TEST(a_jitdump_file_has_names_lines_and_moves)
{
	begin();
	dump_begin(0x4a695444, 1);
	dump_load(0x1000, 64, 1, "plain");
	dump_record(4, NULL, 0, "unwind", 6);
	dump_lines(0x2000, 0, "/src/a.js");
	dump_record(77, NULL, 0, "of a kind to come", 17);
	dump_load(0x2000, 64, 2, "lines");
	dump_load(0x3000, 64, UINT64_MAX, "strange index");
	dump_move(0x2000, 0x1020, 64, 2);
	dump_move(0x9000, 0xa000, 64, 99);
	ck_assert_str_eq(dump_place(0x1000), "plain ?:0");
	ck_assert_str_eq(dump_place(0x101f), "plain ?:0");
	ck_assert_str_eq(dump_place(0x1020), "lines /src/a.js:10");
	ck_assert_str_eq(dump_place(0x1030), "lines /src/a.js:11");
	ck_assert_str_eq(dump_place(0x1060), "");
	ck_assert_str_eq(dump_place(0x200f), "lines /src/a.js:10");
	ck_assert_str_eq(dump_place(0x3000), "strange index ?:0");
	ck_assert_str_eq(dump_place(0xa000), "");
	dump_load(0x1010, 16, 3, "newest");
	ck_assert_str_eq(dump_place(0x100f), "plain ?:0");
	ck_assert_str_eq(dump_place(0x1010), "newest ?:0");
	dump_record(3, NULL, 0, "", 0);
	dump_load(0x5000, 16, 4, "behind the end");
	ck_assert_str_eq(dump_place(0x5000), "");
	ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(lines_of_v8_are_not_used)
{
	begin();
	dump_begin(0x4a695444, 1);
	dump_lines(0x1000, 0x40, "a.js");
	dump_load(0x1000, 64, 1, "f");
	dump_lines(0x2000, 0x44, "b.js");
	dump_load(0x2000, 64, 2, "g");
	dump_move(0x2000, 0x3000, 64, 2);
	ck_assert_str_eq(dump_place(0x1000), "f ?:0");
	ck_assert_str_eq(dump_place(0x2004), "g ?:0");
	ck_assert_str_eq(dump_place(0x3004), "g ?:0");
	/* of another writer */
	dump_lines(0x4000, 0, "c.js");
	dump_load(0x4000, 64, 3, "h");
	ck_assert_str_eq(dump_place(0x4000), "h c.js:10");
}
END_TEST

START_TEST(a_jitdump_file_ends_at_its_last_whole_record)
{
	size_t whole;

	begin();
	dump_begin(0x4a695444, 1);
	dump_load(0x1000, 16, 1, "f");
	whole = nr_dump;
	dump_load(0x2000, 16, 2, "g");
	ck_assert_str_eq(dump_place(0x2000), "g ?:0");
	nr_dump--;
	ck_assert_str_eq(dump_place(0x2000), "");
	ck_assert_str_eq(dump_place(0x1000), "f ?:0");
	/* a record that says it is shorter than its head ends it, too */
	memcpy(dump + whole + 4, &(uint32_t){8}, 4);
	ck_assert_str_eq(dump_place(0x1000), "f ?:0");
	ck_assert_str_eq(dump_place(0x2000), "");
	ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(other_files_are_no_jitdump_files)
{
	static const char why[] = "has no header of a jitdump file";

	begin();
	dump_begin(0x4454694a, 1); /* of a machine with the other order */
	dump_load(0x1000, 16, 1, "f");
	ck_assert_str_eq(dump_place(0x1000), "");
	ck_assert(strstr(told, why));
	told[0] = '\0';
	dump_begin(0x4a695444, 2);
	ck_assert_str_eq(dump_place(0x1000), "");
	ck_assert(strstr(told, why));
	told[0] = '\0';
	nr_dump = 39;
	ck_assert_str_eq(dump_place(0x1000), "");
	ck_assert(strstr(told, why));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_map_has_numbers_with_and_without_0x,
		what_is_no_line_of_a_map_is_skipped,
		the_last_line_of_an_address_counts,
		many_ranges_have_the_owners_of_a_plain_search,
		of_too_many_names_the_last_are_used,
		of_a_huge_map_the_end_is_read,
		long_lines_and_nul_bytes_are_harmless,
		files_that_are_no_files_are_refused,
		files_of_others_are_refused,
		files_from_before_the_process_are_refused,
		a_map_outside_is_used_if_there_is_none_inside,
		a_file_that_grows_is_read_again,
		a_jitdump_file_has_names_lines_and_moves,
		lines_of_v8_are_not_used,
		a_jitdump_file_ends_at_its_last_whole_record,
		other_files_are_no_jitdump_files,
	};

	return unit_run("reader/jit", tests, KF_ARRAY_SIZE(tests));
}
