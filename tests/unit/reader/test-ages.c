/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/ages.c: ages and lifetimes by stack, from a stats file and through a
 * profile, and what they say of a stack.
 */
#include "config.h"

#include "base/saturate.h"
#include "reader/profile.h"

#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ULL
#define S (1000 * MS)
#define NR_STACKS 4
#define NR_SAMPLES 8
#define LAST (KF_STATS_SPANS - 1)

static struct fixture f;
static struct kf_stats_lifetimes *lifetimes;
static struct kf_stats_sample *samples;

static void make(void)
{
	size_t at;

	support_begin();
	fixture_make_with(&f, 1, 0, NR_STACKS);
	at = KF_ALIGN_UP(f.size, (size_t)64);
	f.size = at + NR_STACKS * sizeof(*lifetimes) +
		 NR_SAMPLES * sizeof(*samples);
	f.bytes = realloc(f.bytes, f.size);
	ck_assert_ptr_nonnull(f.bytes);
	f.header = (void *)f.bytes;
	f.words = (void *)(f.bytes + f.header->words.offset);
	f.stacks = (void *)(f.bytes + f.header->stacks.offset);
	lifetimes = (void *)(f.bytes + at);
	samples = (void *)(lifetimes + NR_STACKS);
	memset(lifetimes, 0, f.size - at);
	f.header->lifetimes = (struct kf_stats_section){
		(uint32_t)at, sizeof(*lifetimes), NR_STACKS, 0};
	f.header->samples =
		(struct kf_stats_section){(uint32_t)((char *)samples - f.bytes),
					  sizeof(*samples), NR_SAMPLES, 0};
	f.header->total_size = f.size;
	for (int i = 0; i < NR_STACKS; i++)
		f.stacks[i].hash = 1;
}

static struct kf_stats_sample *add(uint32_t i, uint32_t stack, uint64_t born)
{
	samples[i] = (struct kf_stats_sample){
		.address = 0x1000,
		.bytes = 1000,
		.weight = 3000,
		.born = born,
		.stack = stack,
	};
	return &samples[i];
}

static void read_file(struct kf_snapshot *s)
{
	support_write(&f, "ages");
	ck_assert_int_eq(kf_snapshot_read_with(AT_FDCWD, support_path("ages"),
					       KF_TABLE_STACKS | KF_TABLE_AGES,
					       s),
			 KF_READ_OK);
}

START_TEST(ages_are_summed_up_by_stack)
{
	struct kf_snapshot s;
	struct kf_ages *a;

	make();
	add(0, 1, 90 * S);
	add(1, 1, 99 * S);
	add(2, 1, 100 * S + 1); /* after the clock was read */
	add(5, 2, 100 * S - 20 * MS);
	lifetimes[2].bytes[0] = 5000;
	lifetimes[2].variance[0] = 7;
	lifetimes[2].foreign = 2000;
	read_file(&s);
	a = kf_ages_of(&s, 100 * S);
	ck_assert_ptr_nonnull(a);
	ck_assert_uint_eq(a[1].samples, 3);
	ck_assert_uint_eq(a[1].oldest_ns, 10 * S);
	ck_assert_uint_eq(a[1].mean_ns / MS, 3666);
	ck_assert_double_eq(a[1].span[0].live.value, 3000);
	ck_assert_double_eq(a[1].span[4].live.value, 3000);
	ck_assert_double_eq(a[1].span[5].live.value, 3000);
	ck_assert_double_eq(a[1].span[5].live.variance, 3000.0 * 2000);
	ck_assert_double_eq(kf_ages_live(&a[1], LAST).value, 9000);
	ck_assert_double_eq(kf_ages_freed(&a[1], LAST).value, 0);
	ck_assert_double_eq(a[2].span[2].live.value, 3000);
	ck_assert_double_eq(a[2].span[0].freed.value, 5000);
	ck_assert_double_eq(a[2].span[0].freed.variance, 7 * 1048576.0);
	ck_assert_double_eq(a[2].foreign.value, 2000);
	ck_assert_uint_eq(a[3].samples, 0);
	kf_ages_add(&a[2], &a[1]);
	ck_assert_uint_eq(a[2].samples, 4);
	ck_assert_uint_eq(a[2].oldest_ns, 10 * S);
	ck_assert_uint_eq(a[2].mean_ns / MS, 2755);
	free(a);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(what_cannot_be_a_sample_is_left_out)
{
	struct kf_snapshot s;

	make();
	add(0, 1, S)->address = 0;
	add(1, NR_STACKS, S);
	add(2, UINT32_MAX, S);
	add(3, 1, S)->bytes = 0;
	add(4, 1, S)->bytes = 3001;
	add(5, 1, S)->weight = KF_MOST + 1;
	add(6, 3, S);
	f.stacks[3].hash = 0;
	add(7, 1, UINT64_MAX);
	read_file(&s);
	ck_assert_uint_eq(s.nr_samples, NR_SAMPLES);
	for (uint32_t i = 0; i < 7; i++)
		ck_assert_uint_eq(s.samples[i].address, 0);
	ck_assert_uint_ne(s.samples[7].address, 0);
	kf_snapshot_release(&s);
	f.header->samples.nr = UINT32_MAX;
	support_write(&f, "ages");
	ck_assert_int_eq(support_result("ages"), KF_READ_DAMAGED);
	f.header->samples.nr = 1;
	f.header->samples.entry_size = sizeof(*samples) - 8;
	support_write(&f, "ages");
	ck_assert_int_eq(support_result("ages"), KF_READ_DAMAGED);
	fixture_free(&f);
}
END_TEST

START_TEST(an_ended_process_has_ages_at_the_last_known_time)
{
	struct kf_snapshot s;

	make();
	add(0, 1, 90 * S);
	ck_assert_int_eq(fixture_set(&f, "seen_at", 95000), 0);
	read_file(&s);
	ck_assert_uint_eq(kf_ages_now(&s, false), 95 * S);
	ck_assert_uint_gt(kf_ages_now(&s, true), 0);
	s.samples[1] = s.samples[0];
	s.samples[1].born = 97 * S;
	ck_assert_uint_eq(kf_ages_now(&s, false), 97 * S);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

/* Ages of a stack whose samples stand for much, so that none is an accident. */
static struct kf_ages ages(uint64_t oldest, uint64_t mean)
{
	struct kf_ages a = {
		.samples = 100, .oldest_ns = oldest, .mean_ns = mean};

	a.span[kf_stats_span(oldest)].live = (struct kf_estimate){1e6, 1e8};
	return a;
}

START_TEST(a_leak_is_told_from_churn)
{
	struct kf_ages a = ages(60 * S, 30 * S);

	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_GROWS);
	/* That most die young changes nothing for those that do not. */
	a.span[0].freed.value = 1e9;
	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_GROWS);
	/* Some of the old ones are freed after all. */
	a.span[4].freed.value = 1e5;
	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_GROWS);
	a.span[5].freed.value = 2e4;
	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_UNKNOWN);
	/* Most of the old ones are. */
	a.span[5].freed.value = 2e6;
	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_CHURNS);
	/* ... even older than all that live. */
	a = ages(60 * S, 30 * S);
	a.span[LAST].freed.value = 2e6;
	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_CHURNS);
}
END_TEST

START_TEST(what_came_at_once_and_stays_is_no_growth)
{
	struct kf_ages a = ages(60 * S, 59 * S);

	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_STAYS);
	a.mean_ns = 55 * S;
	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_GROWS);
}
END_TEST

START_TEST(little_evidence_is_no_verdict)
{
	struct kf_ages a = ages(S - 1, S / 2);

	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_UNKNOWN);
	a.span[2].freed.value = 2e6;
	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_CHURNS);
	/* Two samples. */
	a = ages(60 * S, 30 * S);
	a.span[5].live.variance = 1e12 / 2;
	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_UNKNOWN);
	a = (struct kf_ages){0};
	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_UNKNOWN);
	a.span[0].freed.value = 1;
	ck_assert_int_eq(kf_ages_kind(&a), KF_AGES_CHURNS);
}
END_TEST

struct record {
	size_t size;
	char bytes[4096];
};

static void put(struct record *r, const void *bytes, size_t size)
{
	ck_assert_uint_le(r->size + size, sizeof(r->bytes));
	memcpy(r->bytes + r->size, bytes, size);
	r->size += size;
}

static void put_head(struct record *r)
{
	const struct kf_profile_header head = {
		.magic = KF_PROFILE_MAGIC,
		.major = KF_PROFILE_MAJOR,
		.minor = KF_PROFILE_MINOR,
		.header_size = sizeof(head),
	};
	const struct kf_profile_stack stack = {
		.record = {KF_PROFILE_STACK, sizeof(stack)}, .entry = 9};

	r->size = 0;
	put(r, &head, sizeof(head));
	put(r, &stack, sizeof(stack));
}

static void put_snapshot(struct record *r, uint64_t time_ns)
{
	const struct kf_profile_snapshot s = {
		.record = {KF_PROFILE_SNAPSHOT, sizeof(s)}, .time_ns = time_ns};

	put(r, &s, sizeof(s));
}

static void put_ages(struct record *r, uint32_t entry, uint64_t nr,
		     uint32_t span)
{
	const struct kf_profile_span of = {
		.span = span, .live = 4711, .live_variance = 3};
	const struct kf_profile_ages a = {
		.record = {KF_PROFILE_AGES, sizeof(a) + sizeof(of)},
		.entry = entry,
		.nr = 1,
		.samples = nr,
		.oldest_ns = 5 * S,
		.mean_ns = 3 * S,
		.foreign = 17,
	};

	put(r, &a, sizeof(a));
	put(r, &of, sizeof(of));
}

static void take(const struct record *r, struct kf_profile *p)
{
	char *bytes = malloc(r->size);

	ck_assert_ptr_nonnull(bytes);
	memcpy(bytes, r->bytes, r->size);
	ck_assert_int_eq(kf_profile_take(bytes, r->size, p), KF_READ_OK);
}

START_TEST(a_profile_has_the_ages_of_each_time)
{
	static struct record r;
	struct kf_profile p;
	struct kf_ages a;

	put_head(&r);
	put_snapshot(&r, 0);
	put_snapshot(&r, 10 * S);
	put_ages(&r, 9, 2, 4);
	put_ages(&r, 8, 2, 4); /* of no stack */
	put_snapshot(&r, 12 * S);
	put_snapshot(&r, 20 * S);
	put_ages(&r, 9, 0, 4);
	take(&r, &p);
	ck_assert_uint_eq(p.nr_ages, 3);
	kf_profile_ages_at(&p, 9 * S, &a);
	ck_assert_uint_eq(a.samples, 0);
	kf_profile_ages_at(&p, 10 * S, &a);
	ck_assert_uint_eq(a.samples, 2);
	ck_assert_uint_eq(a.oldest_ns, 5 * S);
	ck_assert_double_eq(a.span[4].live.value, 4711);
	ck_assert_double_eq(a.span[4].live.variance, 3 * 1048576.0);
	ck_assert_double_eq(a.foreign.value, 17);
	/* Nothing has changed but the time. */
	kf_profile_ages_at(&p, 15 * S, &a);
	ck_assert_uint_eq(a.oldest_ns, 7 * S);
	ck_assert_uint_eq(a.mean_ns, 5 * S);
	kf_profile_ages_at(&p, UINT64_MAX, &a);
	ck_assert_uint_eq(a.samples, 0);
	ck_assert_uint_eq(a.oldest_ns, 0);
	kf_profile_release(&p);
}
END_TEST

START_TEST(impossible_ages_in_a_profile_do_no_harm)
{
	static struct record r;
	struct kf_profile_ages bad = {
		.record = {KF_PROFILE_AGES, sizeof(bad)}, .entry = 9, .nr = 1};
	struct kf_profile p;
	struct kf_ages a;

	put_head(&r);
	put_snapshot(&r, 10 * S);
	put_ages(&r, 9, UINT64_MAX, KF_STATS_SPANS);
	put_snapshot(&r, 3 * S);
	put(&r, &bad, sizeof(bad));
	take(&r, &p);
	ck_assert(p.cut);
	ck_assert_uint_eq(p.nr_ages, 1);
	kf_profile_ages_at(&p, 3 * S, &a);
	kf_profile_ages_at(&p, 10 * S, &a);
	ck_assert_uint_eq(a.oldest_ns, 5 * S);
	ck_assert_double_eq(kf_ages_live(&a, LAST).value, 0);
	kf_profile_release(&p);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		ages_are_summed_up_by_stack,
		what_cannot_be_a_sample_is_left_out,
		an_ended_process_has_ages_at_the_last_known_time,
		a_leak_is_told_from_churn,
		what_came_at_once_and_stays_is_no_growth,
		little_evidence_is_no_verdict,
		a_profile_has_the_ages_of_each_time,
		impossible_ages_in_a_profile_do_no_harm,
	};

	return unit_run("reader/ages", tests, KF_ARRAY_SIZE(tests));
}
