/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * base/text.c against snprintf(), and at every size of the buffer.
 */
#include "base/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/unit/unit.h"

#define PAINT '\x5a'

START_TEST(new_text_is_an_empty_string)
{
	char buf[4] = "old";
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf));
	ck_assert_str_eq(buf, "");
	ck_assert_uint_eq(text.len, 0);
	ck_assert(!kf_text_full(&text));
}
END_TEST

static void write_all_kinds(struct kf_text *text)
{
	size_t start;

	kf_text_str(text, "ab");
	kf_text_char(text, '=');
	kf_text_u64(text, 120);
	kf_text_strn(text, "+++++", 2);
	kf_text_i64(text, -7);
	kf_text_str(text, "");
	start = text->len;
	kf_text_hex(text, 0xbeef);
	kf_text_pad(text, start, 8, false);
	start = text->len;
	kf_text_u64(text, 42);
	kf_text_pad(text, start, 5, true);
}

START_TEST(text_of_any_buffer_size_is_the_beginning_of_the_whole)
{
	static const char whole[] = "ab=120++-70xbeef     42";
	char buf[64];
	struct kf_text text;

	for (size_t size = 0; size < sizeof(buf) - 1; size++) {
		memset(buf, PAINT, sizeof(buf));
		kf_text_init(&text, buf, size);
		write_all_kinds(&text);
		for (size_t i = size; i < sizeof(buf); i++)
			ck_assert_int_eq(buf[i], PAINT);
		ck_assert_int_eq(kf_text_full(&text), size < sizeof(whole));
		if (!size)
			continue;
		ck_assert_uint_eq(text.len,
				  KF_MIN(size - 1, sizeof(whole) - 1));
		ck_assert_uint_eq(strlen(buf), text.len);
		/* A column that is cut off need not end where it would. */
		if (size > 18 && size < sizeof(whole))
			continue;
		ck_assert_int_eq(strncmp(buf, whole, text.len), 0);
	}
}
END_TEST

START_TEST(text_that_just_fits_is_not_full)
{
	char buf[4];
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf));
	kf_text_str(&text, "abc");
	ck_assert(!kf_text_full(&text));
	kf_text_str(&text, "");
	ck_assert(!kf_text_full(&text));
	kf_text_char(&text, 'd');
	ck_assert(kf_text_full(&text));
	ck_assert_str_eq(buf, "abc");
}
END_TEST

START_TEST(text_without_a_buffer_takes_nothing)
{
	struct kf_text text;

	kf_text_init(&text, NULL, 0);
	kf_text_pad(&text, 0, 0, true);
	ck_assert(!kf_text_full(&text));
	write_all_kinds(&text);
	ck_assert(kf_text_full(&text));
	ck_assert_uint_eq(text.len, 0);
}
END_TEST

static void check_number(uint64_t value)
{
	char want[32], got[32];
	struct kf_text text;

	snprintf(want, sizeof(want), "%" PRIu64, value);
	kf_text_init(&text, got, sizeof(got));
	kf_text_u64(&text, value);
	ck_assert_str_eq(got, want);

	snprintf(want, sizeof(want), "%" PRId64, (int64_t)value);
	kf_text_init(&text, got, sizeof(got));
	kf_text_i64(&text, (int64_t)value);
	ck_assert_str_eq(got, want);

	snprintf(want, sizeof(want), "0x%" PRIx64, value);
	kf_text_init(&text, got, sizeof(got));
	kf_text_hex(&text, value);
	ck_assert_str_eq(got, want);
}

START_TEST(numbers_look_as_printf_prints_them)
{
	uint64_t state = 6;

	check_number(0);
	check_number(UINT64_MAX);
	check_number(INT64_MAX);
	check_number((uint64_t)INT64_MIN);
	for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10) {
		check_number(power);
		check_number(power - 1);
	}
	for (int i = 0; i < 10000; i++)
		check_number(chance_next(&state) >> (i % 64));
}
END_TEST

/* The column behind "x:" that holds @s, padded, in a buffer of @size. */
static const char *column(const char *s, size_t width, bool right, size_t size)
{
	static char buf[64];
	struct kf_text text;

	kf_text_init(&text, buf, size);
	kf_text_str(&text, "x:");
	kf_text_str(&text, s);
	kf_text_pad(&text, 2, width, right);
	ck_assert_uint_eq(text.len, strlen(buf));
	return buf;
}

START_TEST(column_is_filled_on_the_side_asked_for)
{
	ck_assert_str_eq(column("ab", 5, false, 64), "x:ab   ");
	ck_assert_str_eq(column("ab", 5, true, 64), "x:   ab");
	ck_assert_str_eq(column("", 2, true, 64), "x:  ");
	ck_assert_str_eq(column("", 0, false, 64), "x:");
}
END_TEST

START_TEST(wide_column_is_left_as_it_is)
{
	ck_assert_str_eq(column("abcdef", 6, true, 64), "x:abcdef");
	ck_assert_str_eq(column("abcdef", 3, true, 64), "x:abcdef");
	ck_assert_str_eq(column("abcdef", 3, false, 64), "x:abcdef");
}
END_TEST

START_TEST(column_stays_inside_the_buffer)
{
	ck_assert_str_eq(column("ab", 5, false, 6), "x:ab ");
	ck_assert_str_eq(column("ab", 5, true, 7), "x:   a");
	ck_assert_str_eq(column("ab", 5, true, 5), "x:  ");
	ck_assert_str_eq(column("ab", SIZE_MAX, true, 8), "x:     ");
	ck_assert_str_eq(column("ab", SIZE_MAX, false, 8), "x:ab   ");
	ck_assert_str_eq(column("ab", 5, true, 3), "x:");
}
END_TEST

#define UNTOUCHED 0x123456789abcdef0

START_TEST(choice_is_a_whole_word_of_its_list)
{
	static const char *const none[] = {"",	   "cou",    "counts", "Count",
					   "a|co", "abort|", "|count", "on"};
	uint64_t value = UNTOUCHED;

	for (size_t i = 0; i < KF_ARRAY_SIZE(none); i++)
		ck_assert(!kf_parse_choice("abort|count|at", none[i], &value));
	ck_assert_uint_eq(value, UNTOUCHED);
	ck_assert(kf_parse_choice("abort|count|at", "abort", &value));
	ck_assert_uint_eq(value, 0);
	ck_assert(kf_parse_choice("abort|count|at", "count", &value));
	ck_assert_uint_eq(value, 1);
	ck_assert(kf_parse_choice("abort|count|at", "at", &value));
	ck_assert_uint_eq(value, 2);
}
END_TEST

static void check_refused(const char *s)
{
	uint64_t value = UNTOUCHED;

	ck_assert_msg(!kf_parse_u64(s, &value), "u64 took \"%s\"", s);
	ck_assert_msg(!kf_parse_size(s, &value), "size took \"%s\"", s);
	ck_assert_uint_eq(value, UNTOUCHED);
}

static void check_size(const char *s, uint64_t want)
{
	uint64_t value = UNTOUCHED;

	ck_assert_msg(kf_parse_size(s, &value), "size refused \"%s\"", s);
	ck_assert_msg(value == want, "\"%s\" is %" PRIu64, s, value);
}

START_TEST(plain_numbers_are_read)
{
	static const struct {
		const char *s;
		uint64_t value;
	} cases[] = {
		{"0", 0},
		{"7", 7},
		{"000123", 123},
		{"00000000000000000000000000042", 42},
		{"18446744073709551615", UINT64_MAX},
	};
	uint64_t value;

	for (size_t i = 0; i < KF_ARRAY_SIZE(cases); i++) {
		ck_assert(kf_parse_u64(cases[i].s, &value));
		ck_assert_uint_eq(value, cases[i].value);
		check_size(cases[i].s, cases[i].value);
	}
}
END_TEST

START_TEST(what_is_no_number_is_refused)
{
	static const char *const cases[] = {
		"",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1\n",
		"abc",
		"0x10",
		"1.5",
		"1e3",
		"1,000",
		"K",
		"KiB",
		"B",
		"-",
		"- 1",
		"1KK",
		"1Kb ",
		"1iB",
		"1i",
		"1P",
		"1KiBB",
		"1bi",
		"1 K",
		"1Ki B",
		"\xff",
		"1\x80",
		"٣",
		"18446744073709551616",
		"18446744073709551620",
		"99999999999999999999",
		"184467440737095516150",
		"99999999999999999999999999999999999999999999999999",
	};

	for (size_t i = 0; i < KF_ARRAY_SIZE(cases); i++)
		check_refused(cases[i]);
}
END_TEST

START_TEST(plain_number_takes_no_unit)
{
	uint64_t value = UNTOUCHED;

	ck_assert(!kf_parse_u64("1K", &value));
	ck_assert(!kf_parse_u64("1B", &value));
	ck_assert_uint_eq(value, UNTOUCHED);
}
END_TEST

START_TEST(units_are_powers_of_1024_however_written)
{
	static const char *const ends[] = {"", "i", "B", "b", "iB", "ib", "IB"};
	static const char letters[] = "kmgtKMGT";
	char s[16];

	for (size_t i = 0; i < sizeof(letters) - 1; i++) {
		for (size_t j = 0; j < KF_ARRAY_SIZE(ends); j++) {
			snprintf(s, sizeof(s), "3%c%s", letters[i], ends[j]);
			check_size(s, (uint64_t)3 << (10 * (i % 4 + 1)));
		}
	}
	check_size("512B", 512);
	check_size("512b", 512);
	check_size("0T", 0);
}
END_TEST

START_TEST(size_that_overflows_by_its_unit_is_refused)
{
	check_size("16777215T", (uint64_t)16777215 << 40);
	check_refused("16777216T");
	check_size("18014398509481983K", UINT64_MAX - 1023);
	check_refused("18014398509481984K");
	check_refused("18446744073709551615KiB");
}
END_TEST

START_TEST(utf8_is_what_the_rules_say)
{
	static const struct {
		const char *s;
		size_t len;
		uint32_t code;
	} cases[] = {
		{"a", 1, 'a'},
		{"\x7f", 1, 0x7f},
		{"\xc2\x80", 2, 0x80},
		{"\xe2\x82\xac", 3, 0x20ac},
		{"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
		{"\x80", 0, 1},		    /* begins with the middle */
		{"\xc2", 0, 1},		    /* is cut off */
		{"\xc1\xbf", 0, 1},	    /* overlong */
		{"\xe0\x9f\xbf", 0, 1},	    /* overlong */
		{"\xed\xa0\x80", 0, 1},	    /* a surrogate */
		{"\xf4\x90\x80\x80", 0, 1}, /* beyond the last */
		{"\xff", 0, 1},
	};

	for (size_t i = 0; i < KF_ARRAY_SIZE(cases); i++) {
		uint32_t code = 1;

		ck_assert_uint_eq(kf_utf8_decode(cases[i].s, &code),
				  cases[i].len);
		ck_assert_uint_eq(code, cases[i].code);
	}
}
END_TEST

START_TEST(formats_are_those_of_printf)
{
	char buf[160], expected[160];
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf));
	kf_text_add(&text, "%s%c %d %ld %u %lu %x %016lx %02u %02lu%%", "a",
		    'b', INT_MIN, LONG_MIN, UINT_MAX, ULONG_MAX, 0xbeefu,
		    0x1fUL, 7u, 123UL);
	snprintf(expected, sizeof(expected),
		 "%s%c %d %ld %u %lu %x %016lx %02u %02lu%%", "a", 'b', INT_MIN,
		 LONG_MIN, UINT_MAX, ULONG_MAX, 0xbeefu, 0x1fUL, 7u, 123UL);
	ck_assert_str_eq(buf, expected);
	kf_text_init(&text, buf, 4);
	kf_text_add(&text, "%s", "abcd");
	ck_assert(kf_text_full(&text));
	ck_assert_str_eq(buf, "abc");
}
END_TEST

START_TEST(digits_end_at_the_first_other_character)
{
	const char *s = "7f0-12 x";

	ck_assert_uint_eq(kf_parse_digits(&s, 16), 0x7f0);
	ck_assert_str_eq(s++, "-12 x");
	ck_assert_uint_eq(kf_parse_digits(&s, 10), 12);
	ck_assert_str_eq(s++, " x");
	ck_assert_uint_eq(kf_parse_digits(&s, 10), 0);
	ck_assert_str_eq(s, "x");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		new_text_is_an_empty_string,
		text_of_any_buffer_size_is_the_beginning_of_the_whole,
		text_that_just_fits_is_not_full,
		text_without_a_buffer_takes_nothing,
		numbers_look_as_printf_prints_them,
		column_is_filled_on_the_side_asked_for,
		wide_column_is_left_as_it_is,
		column_stays_inside_the_buffer,
		plain_numbers_are_read,
		what_is_no_number_is_refused,
		plain_number_takes_no_unit,
		units_are_powers_of_1024_however_written,
		size_that_overflows_by_its_unit_is_refused,
		choice_is_a_whole_word_of_its_list,
		utf8_is_what_the_rules_say,
		formats_are_those_of_printf,
		digits_end_at_the_first_other_character,
	};

	return unit_run("base/text", tests, KF_ARRAY_SIZE(tests));
}
