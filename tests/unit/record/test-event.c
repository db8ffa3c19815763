/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "reader/history-event.h"

#include "tests/unit/unit.h"

static void cursor_init(struct kf_record_cursor *c)
{
	static struct kf_record_header h;
	static const struct kf_record_chunk chunk = {
		.base = 1000, .tid = 7, .comm = "first"};

	for (unsigned int i = 0; i < KF_RECORD_NR_KINDS; i++)
		h.fields[i] = kf_record_fields(i);
	kf_record_cursor_init(c, &h, &chunk);
}

START_TEST(numbers_come_back_at_every_width)
{
	uint8_t buf[16];

	for (unsigned int shift = 0; shift < 64; shift++) {
		for (int less = 0; less < 2; less++) {
			uint64_t n = (1ULL << shift) - (uint64_t)less, out;
			uint8_t *end = kf_record_put_varint(buf, n);

			ck_assert_ptr_eq(kf_record_get_varint(buf, end, &out),
					 end);
			ck_assert_uint_eq(out, n);
			ck_assert_ptr_null(
				kf_record_get_varint(buf, end - 1, &out));
			ck_assert_uint_eq(
				kf_record_unzigzag(kf_record_zigzag(n)), n);
			ck_assert_uint_eq(
				kf_record_unzigzag(kf_record_zigzag(-n)), -n);
		}
	}
}
END_TEST

START_TEST(durations_come_back_to_a_thousandth)
{
	uint64_t seed = 1;

	for (int i = 0; i < 100000; i++) {
		uint64_t n = chance_next(&seed) >> chance_below(&seed, 42);
		uint64_t out;

		n &= (1ULL << 42) - 1;
		out = kf_record_ticks_of(kf_record_ticks_pack(n));
		UNIT_REQUIRE(out <= n && n - out <= n / 1024);
	}
	ck_assert_uint_eq(kf_record_ticks_pack(0), 0);
	ck_assert_uint_eq(kf_record_ticks_pack(UINT64_MAX), UINT16_MAX);
}
END_TEST

/* An aligned block: kind and flags, time, duration, address, size, alignment */
START_TEST(event_is_read_field_by_field)
{
	static const uint8_t bytes[] = {
		KF_RECORD_ALIGNED, 5, 44, 8, 0x80, 2, 100, 6,
		KF_RECORD_FREE,	   1, 0,  0, 1};
	const uint8_t *end = bytes + sizeof(bytes), *p;
	struct kf_record_cursor c;
	struct kf_record_event e;

	cursor_init(&c);
	p = kf_record_unpack(&c, bytes, end, &e);
	ck_assert_ptr_eq(p, bytes + 8);
	ck_assert_uint_eq(e.kind, KF_RECORD_ALIGNED);
	ck_assert(!e.failed);
	ck_assert_uint_eq(e.time, 1005);
	ck_assert_uint_eq(e.took, 44u << 1);
	ck_assert_uint_eq(e.address, 0x80 << 4);
	ck_assert_uint_eq(e.size, 100);
	ck_assert_uint_eq(e.align, 6);
	ck_assert_int_eq(e.tid, 7);
	ck_assert_str_eq(e.comm, "first");
	p = kf_record_unpack(&c, p, end, &e);
	ck_assert_ptr_eq(p, end);
	ck_assert_uint_eq(e.time, 1006);
	ck_assert_uint_eq(e.address, 0x7f0);
	ck_assert_ptr_null(kf_record_unpack(&c, p, end, &e));
}
END_TEST

START_TEST(event_that_is_cut_is_none)
{
	static const uint8_t bytes[] = {
		KF_RECORD_ALIGNED, 5, 44, 8, 0x80, 2, 100, 6};
	struct kf_record_cursor c;
	struct kf_record_event e;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		cursor_init(&c);
		ck_assert_ptr_null(kf_record_unpack(&c, bytes, bytes + i, &e));
	}
}
END_TEST

START_TEST(event_of_a_later_version_is_stepped_over)
{
	static const uint8_t bytes[] = {15, 1, 3, 9, KF_RECORD_THREAD_END, 1};
	uint8_t fields[KF_RECORD_NR_KINDS] = {[15] = KF_RECORD_SIZE |
						     KF_RECORD_NUMBER};
	struct kf_record_cursor c;
	struct kf_record_event e;
	const uint8_t *p;

	cursor_init(&c);
	c.fields = fields;
	p = kf_record_unpack(&c, bytes, bytes + sizeof(bytes), &e);
	ck_assert_ptr_eq(p, bytes + 4);
	ck_assert_uint_eq(e.size, 3);
	ck_assert_uint_eq(e.number, 9);
	p = kf_record_unpack(&c, p, bytes + sizeof(bytes), &e);
	ck_assert_uint_eq(e.kind, KF_RECORD_THREAD_END);
	ck_assert_uint_eq(e.time, 1002);
}
END_TEST

START_TEST(any_bytes_are_safe)
{
	uint64_t seed = 3;

	for (int i = 0; i < 20000; i++) {
		uint8_t bytes[200];
		const uint8_t *p = bytes, *end = bytes + sizeof(bytes);
		struct kf_record_cursor c;
		struct kf_record_event e;

		for (size_t j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)chance_next(&seed);
		cursor_init(&c);
		while (p) {
			const uint8_t *next = kf_record_unpack(&c, p, end, &e);

			UNIT_REQUIRE(!next || (next > p && next <= end));
			p = next;
		}
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		numbers_come_back_at_every_width,
		durations_come_back_to_a_thousandth,
		event_is_read_field_by_field,
		event_that_is_cut_is_none,
		event_of_a_later_version_is_stepped_over,
		any_bytes_are_safe,
	};

	return unit_run("record/event", tests, KF_ARRAY_SIZE(tests));
}
