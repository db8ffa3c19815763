/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/cursor.h"
#include "reader/history-event.h"

#include "tests/unit/unit.h"

static uint8_t chunk[KF_RECORD_CHUNK_SIZE]
	__attribute__((aligned(KF_RECORD_CHUNK_SIZE)));
static uint32_t used;

static struct kf_write_cursor writer_at(uint64_t time)
{
	return (struct kf_write_cursor){
		.at = chunk,
		.end = chunk + sizeof(chunk),
		.used = &used,
		.time = time,
	};
}

static struct kf_record_cursor cursor_at(uint64_t time)
{
	static uint8_t fields[KF_RECORD_NR_KINDS];

	for (unsigned int i = 0; i < KF_RECORD_NR_KINDS; i++)
		fields[i] = kf_record_fields(i);
	return (struct kf_record_cursor){.fields = fields, .time = time};
}

/* Returns where the next event begins. */
static const uint8_t *read_back(struct kf_record_cursor *c, const uint8_t *p,
				uint8_t kind, uint64_t address, uint64_t size)
{
	struct kf_record_event e;

	p = kf_record_unpack(c, p, chunk + used, &e);
	UNIT_REQUIRE(p);
	UNIT_REQUIRE(e.kind == kind && !e.failed && !e.took);
	UNIT_REQUIRE(e.address == address && e.size == size);
	return p;
}

/* As if so many ticks had gone by. */
static void let_pass(struct kf_write_cursor *cursor, struct kf_record_cursor *c,
		     uint64_t ticks)
{
	cursor->time -= ticks;
	c->time -= ticks;
}

/* An address that is up to so many bits away, to either side. */
static uint64_t neighbour(uint64_t *seed, uint64_t address)
{
	uint64_t step = chance_next(seed) >> (17 + chance_below(seed, 47));

	return (address + (chance_next(seed) & 1 ? step : -step)) & ~15ULL;
}

START_TEST(quick_events_come_back_whatever_their_numbers)
{
	uint64_t seed = 5, address = 1ULL << 40, now, far = 0, near = 0;
	uint64_t begin = kf_clock_read() + (1ULL << 25);
	struct kf_write_cursor cursor = writer_at(begin);
	struct kf_record_cursor c = cursor_at(begin);
	const uint8_t *p = chunk;

	kf_clock_init();
	for (int i = 0; i < 100000; i++) {
		bool is_malloc = chance_next(&seed) & 1;
		uint64_t size = is_malloc ? chance_below(&seed, 1025) : 0;
		enum kf_record_kind kind = is_malloc ? KF_RECORD_MALLOC_QUICK
						     : KF_RECORD_FREE_QUICK;

		if (cursor.at > chunk + sizeof(chunk) - KF_RECORD_EVENT_MAX) {
			cursor = writer_at(cursor.time);
			c = cursor_at(cursor.time);
			p = chunk;
		}
		if (i % 4 == 0)
			let_pass(&cursor, &c,
				 chance_next(&seed) >> (40 + i % 20));
		address = neighbour(&seed, address);
		if (kf_cursor_write(&cursor, chunk, kind, i & 2, address, size,
				    &now)) {
			near++;
		} else {
			kf_cursor_write_far(&cursor, chunk, kind, address, size,
					    now);
			far++;
		}
		p = read_back(&c, p,
			      is_malloc ? KF_RECORD_MALLOC : KF_RECORD_FREE,
			      address, size);
		UNIT_REQUIRE(c.time == cursor.time && p == cursor.at);
	}
	ck_assert_uint_gt(far, 1000);
	ck_assert(!kf_clock_is_cheap() || near > 1000);
}
END_TEST

START_TEST(time_never_runs_backwards)
{
	struct kf_write_cursor cursor = writer_at(UINT64_MAX / 2);
	struct kf_record_cursor c = cursor_at(cursor.time);
	uint64_t now;

	ck_assert(!kf_cursor_write(&cursor, chunk, KF_RECORD_FREE_QUICK, true,
				   160, 0, &now));
	kf_cursor_write_far(&cursor, chunk, KF_RECORD_FREE_QUICK, 160, 0, now);
	read_back(&c, chunk, KF_RECORD_FREE, 160, 0);
	ck_assert_uint_eq(c.time, UINT64_MAX / 2);
}
END_TEST

/* What a signal handler finds in the middle of an event. */
START_TEST(pen_in_hand_is_not_lent)
{
	struct kf_write_cursor cursor = writer_at(0);
	uint8_t *end, *inner;

	kf_process_know();
	cursor.state = *kf_process_state;
	ck_assert(kf_cursor_reserve(&cursor, &end));
	ck_assert(!kf_cursor_reserve(&cursor, &inner));
	kf_cursor_commit(&cursor, end);
	ck_assert_ptr_eq(cursor.end, chunk + sizeof(chunk));
	ck_assert(kf_cursor_reserve(&cursor, &end));
	kf_cursor_commit(&cursor, end);
	kf_process_change();
	ck_assert(!kf_cursor_reserve(&cursor, &end));
	ck_assert_ptr_eq(cursor.end, chunk + sizeof(chunk));
	cursor.state = *kf_process_state;
	cursor.at = cursor.end;
	ck_assert(!kf_cursor_reserve(&cursor, &end));
	ck_assert(!kf_cursor_reserve(NULL, &end));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		quick_events_come_back_whatever_their_numbers,
		time_never_runs_backwards,
		pen_in_hand_is_not_lent,
	};

	return unit_run("record/cursor", tests, KF_ARRAY_SIZE(tests));
}
