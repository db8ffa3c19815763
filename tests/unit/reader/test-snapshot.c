/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/snapshot.c: what a good file says is read; a bad one never does harm
 * and is called what it is.
 */
#include "config.h"

#include "stats/stats.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

START_TEST(good_file_is_read)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 3);
	fixture_set(&f, "mmaps", 7);
	f.slots[0].class[1] = (struct kf_stats_pair){10, 4};
	f.slots[2].class[1] = (struct kf_stats_pair){5, 0};
	f.slots[2].scalar[KF_SLOT_failed] = 3;
	f.slots[2].state = KF_SLOT_IDLE;
	f.slots[0].scalar[KF_SLOT_failed] = 4;
	support_write(&f, "good");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("good"), &s),
			 KF_READ_OK);
	ck_assert_uint_eq(s.file_size, f.size);
	ck_assert_int_eq(s.id.pid, getpid());
	ck_assert_str_eq(s.id.engine, "firstfit");
	ck_assert_uint_eq(s.nr_counters, KF_NR_SLOT_STATS + KF_NR_WORD_STATS);
	ck_assert_uint_eq(kf_snapshot_value(&s, "mmaps"), 7);
	ck_assert_uint_eq(kf_snapshot_value(&s, "failed"), 7);
	ck_assert_uint_eq(kf_snapshot_value(&s, "no_such_counter"), 0);
	ck_assert_uint_eq(kf_snapshot_stat(&s, KF_STAT_mmaps), 7);
	ck_assert_uint_eq(kf_snapshot_stat(&s, KF_STAT_failed), 7);
	ck_assert_uint_eq(s.nr_classes, KF_STATS_NR_CLASSES);
	ck_assert_uint_eq(s.classes[1].bytes, 16);
	ck_assert_uint_eq(s.classes[1].mallocs, 15);
	ck_assert_uint_eq(s.classes[1].frees, 4);
	ck_assert_uint_eq(s.nr_threads, 2);
	ck_assert_str_eq(s.threads[0].name, "main");
	ck_assert_uint_eq(s.threads[0].allocated, 160);
	ck_assert_uint_eq(s.threads[1].state, KF_SLOT_IDLE);
	kf_snapshot_release(&s);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(last_of_many_slots_is_read)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 100);
	f.slots[0].class[1] = (struct kf_stats_pair){10, 4};
	f.slots[99].class[1] = (struct kf_stats_pair){5, 1};
	f.slots[99].scalar[KF_SLOT_failed] = 3;
	f.slots[99].state = KF_SLOT_IDLE;
	support_write(&f, "many");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("many"), &s),
			 KF_READ_OK);
	ck_assert_uint_eq(kf_snapshot_stat(&s, KF_STAT_failed), 3);
	ck_assert_uint_eq(s.classes[1].mallocs, 15);
	ck_assert_uint_eq(s.classes[1].frees, 5);
	ck_assert_uint_eq(s.nr_threads, 2);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(strings_that_fill_their_array_end)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	memset(f.id->comm, 'c', sizeof(f.id->comm));
	memset(f.id->exe, 'e', sizeof(f.id->exe));
	memset(f.id->name, 'n', sizeof(f.id->name));
	memset(f.id->version, 'v', sizeof(f.id->version));
	memset(f.slots[0].name, 't', sizeof(f.slots[0].name));
	memset(f.descs[0].help, 'h', sizeof(f.descs[0].help));
	support_write(&f, "full");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("full"), &s),
			 KF_READ_OK);
	ck_assert_uint_eq(strlen(s.id.comm), sizeof(s.id.comm) - 1);
	ck_assert_uint_eq(strlen(s.id.exe), sizeof(s.id.exe) - 1);
	ck_assert_uint_eq(strlen(s.threads[0].name), sizeof(f.slots[0].name));
	ck_assert_uint_eq(strlen(s.counters[0].help), sizeof(f.descs[0].help));
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(file_of_a_later_minor_version_is_read)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	f.header->minor = 9;
	/* a scope and a counter that this version knows nothing of */
	f.descs[0].scope = 77;
	memcpy(f.descs[1].name, "later", 6);
	f.slots[0].scalar[f.descs[1].index] = 5;
	support_write(&f, "later");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("later"), &s),
			 KF_READ_OK);
	ck_assert_uint_eq(s.minor, 9);
	ck_assert_uint_eq(s.nr_counters,
			  KF_NR_SLOT_STATS + KF_NR_WORD_STATS - 1);
	ck_assert_uint_eq(kf_snapshot_value(&s, "later"), 5);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

/* Their classes had 16 bytes. */
START_TEST(file_of_an_earlier_minor_version_is_read)
{
	struct kf_stats_section *sec;
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	f.classes[5].carved = 9;
	f.classes[5].slabs = 3;
	f.classes[6].slabs = -1;
	support_write(&f, "now");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("now"), &s),
			 KF_READ_OK);
	ck_assert(s.knows_slabs);
	ck_assert_uint_eq(s.classes[5].carved, 9);
	ck_assert_uint_eq(s.classes[5].slabs, 3);
	ck_assert_uint_eq(s.classes[6].slabs, 0);
	kf_snapshot_release(&s);

	f.header->minor = 1;
	sec = &f.header->classes;
	for (uint32_t i = 1; i < sec->nr; i++)
		memmove((char *)f.classes + (size_t)i * 16, &f.classes[i], 16);
	sec->entry_size = 16;
	support_write(&f, "before");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("before"), &s),
			 KF_READ_OK);
	ck_assert(!s.knows_slabs);
	ck_assert_uint_eq(s.classes[5].bytes, 80);
	ck_assert_uint_eq(s.classes[104].bytes, 32768);
	ck_assert_uint_eq(s.classes[5].carved, 0);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

/* The fixture's slots but the first, as if they lay in the second section. */
static void have_more_slots(struct fixture *f)
{
	struct kf_stats_header *h = f->header;

	h->more = h->slots;
	h->more.nr--;
	h->more.offset += h->more.entry_size;
	h->slots.nr = 1;
	for (unsigned int i = 0; i <= h->more.nr; i++) {
		f->slots[i].state = KF_SLOT_IN_USE;
		f->slots[i].tid = 100 + (int32_t)i;
		f->slots[i].class[1].mallocs = 10;
	}
}

START_TEST(more_slots_count_as_the_first)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 40);
	have_more_slots(&f);
	support_write(&f, "more");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("more"), &s),
			 KF_READ_OK);
	ck_assert_uint_eq(s.nr_threads, 40);
	ck_assert_int_eq(s.threads[39].tid, 139);
	ck_assert_uint_eq(s.totals.mallocs, 400);
	kf_snapshot_release(&s);

	/* a header of an earlier version ends before them */
	f.header->minor = 3;
	f.header->header_size = offsetof(struct kf_stats_header, more);
	support_write(&f, "before");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("before"), &s),
			 KF_READ_OK);
	ck_assert_uint_eq(s.nr_threads, 1);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(more_slots_than_there_can_be_are_damage)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 2);
	have_more_slots(&f);
	f.header->more.nr = 2;
	support_write(&f, "more");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("more"), &s),
			 KF_READ_DAMAGED);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

/* A table that only a file with more slots has room for would take memory. */
START_TEST(table_behind_the_first_128_mib_is_damage)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make_with(&f, 1, 0, 1);
	support_write(&f, "far");
	ck_assert(!truncate(support_path("far"), KF_STATS_MAX_REST + 8192));
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("far"), &s),
			 KF_READ_OK);
	kf_snapshot_release(&s);
	f.header->stacks.offset = KF_STATS_MAX_REST;
	support_write(&f, "far");
	ck_assert(!truncate(support_path("far"), KF_STATS_MAX_REST + 8192));
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("far"), &s),
			 KF_READ_DAMAGED);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(words_in_the_middle_of_a_change_are_taken_in_the_end)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	f.words->seq = 11;
	fixture_set(&f, "mmaps", 3);
	support_write(&f, "odd");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("odd"), &s),
			 KF_READ_OK);
	ck_assert_uint_eq(kf_snapshot_value(&s, "mmaps"), 3);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(what_is_no_stats_file_is_foreign)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	support_begin();
	support_bytes("hello world\n", 12, "text");
	support_bytes("x", 1, "short");
	ck_assert_int_eq(mkfifo(support_path("fifo"), 0600), 0);
	ck_assert_int_eq(symlink("/etc/passwd", support_path("link")), 0);
	ck_assert_int_eq(mkdir(support_path("dir"), 0700), 0);
	memcpy(name.sun_path, support_path("socket"),
	       strlen(support_path("socket")));
	ck_assert_int_eq(bind(fd, (void *)&name, sizeof(name)), 0);
	close(fd);
	ck_assert_int_eq(support_result("text"), KF_READ_FOREIGN);
	ck_assert_int_eq(support_result("short"), KF_READ_FOREIGN);
	ck_assert_int_eq(support_result("fifo"), KF_READ_FOREIGN);
	ck_assert_int_eq(support_result("link"), KF_READ_FOREIGN);
	ck_assert_int_eq(support_result("dir"), KF_READ_FOREIGN);
	ck_assert_int_eq(support_result("socket"), KF_READ_FOREIGN);
}
END_TEST

START_TEST(link_to_a_good_file_is_foreign)
{
	struct fixture f;
	char target[512];

	support_begin();
	fixture_make(&f, 1);
	support_write(&f, "good");
	memcpy(target, support_path("good"), strlen(support_path("good")) + 1);
	ck_assert_int_eq(symlink(target, support_path("link")), 0);
	ck_assert_int_eq(support_result("link"), KF_READ_FOREIGN);
	fixture_free(&f);
}
END_TEST

START_TEST(missing_file_is_an_error_with_its_reason)
{
	struct kf_snapshot s;

	support_begin();
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("no"), &s),
			 KF_READ_ERROR);
	ck_assert_int_eq(s.error, ENOENT);
	kf_snapshot_release(&s);
}
END_TEST

START_TEST(file_in_the_making_is_not_ready)
{
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	support_bytes("", 0, "empty");
	ck_assert_int_eq(support_result("empty"), KF_READ_NOT_READY);
	f.header->ready = 0;
	support_write(&f, "unready");
	ck_assert_int_eq(support_result("unready"), KF_READ_NOT_READY);
	f.header->magic = 0;
	support_write(&f, "zeroes");
	ck_assert_int_eq(support_result("zeroes"), KF_READ_NOT_READY);
	fixture_free(&f);
}
END_TEST

START_TEST(another_major_version_is_incompatible_not_damaged)
{
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	f.header->major = KF_STATS_MAJOR + 1;
	/* nothing else of its header may be believed */
	f.header->header_size = 0;
	f.header->total_size = UINT64_MAX;
	support_write(&f, "next");
	ck_assert_int_eq(support_result("next"), KF_READ_INCOMPATIBLE);
	f.header->major = 0;
	support_write(&f, "before");
	ck_assert_int_eq(support_result("before"), KF_READ_INCOMPATIBLE);
	f.header->magic ^= 1;
	support_write(&f, "magic");
	ck_assert_int_eq(support_result("magic"), KF_READ_FOREIGN);
	fixture_free(&f);
}
END_TEST

/* Every length of the header, with values that cannot hold. */
START_TEST(header_that_names_more_than_there_is_is_damaged)
{
	static const uint32_t wrong[] = {UINT32_MAX, UINT32_MAX - 7, 0x80000000,
					 0x7ffffff8, 0x10000000};
	struct kf_stats_section *sections;
	struct fixture f;

	support_begin();
	fixture_make(&f, 2);
	sections = &f.header->identity;
	for (int i = 0; i < 6; i++) {
		for (size_t k = 0; k < KF_ARRAY_SIZE(wrong); k++) {
			struct kf_stats_section good = sections[i];

			sections[i].offset = wrong[k];
			support_write(&f, "offset");
			ck_assert_int_eq(support_result("offset"),
					 KF_READ_DAMAGED);
			sections[i] = good;
			sections[i].entry_size = wrong[k];
			support_write(&f, "size");
			ck_assert_int_eq(support_result("size"),
					 KF_READ_DAMAGED);
			sections[i] = good;
			sections[i].nr = wrong[k];
			support_write(&f, "nr");
			ck_assert_int_eq(support_result("nr"), KF_READ_DAMAGED);
			sections[i] = good;
		}
	}
	f.header->total_size = f.size + 1;
	support_write(&f, "total");
	ck_assert_int_eq(support_result("total"), KF_READ_DAMAGED);
	f.header->total_size = 8;
	support_write(&f, "total");
	ck_assert_int_eq(support_result("total"), KF_READ_DAMAGED);
	f.header->total_size = f.size;
	f.header->header_size = sizeof(*f.header) - 1;
	support_write(&f, "header");
	ck_assert_int_eq(support_result("header"), KF_READ_DAMAGED);
	f.header->header_size = sizeof(*f.header);
	support_write(&f, "header");
	ck_assert_int_eq(support_result("header"), KF_READ_OK);
	fixture_free(&f);
}
END_TEST

START_TEST(entries_smaller_than_theirs_are_damaged)
{
	struct kf_stats_section *sections;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	sections = &f.header->identity;
	/* identity, descs, classes, words; control and slots */
	for (int i = 0; i < 6; i++) {
		uint32_t good = sections[i].entry_size;

		sections[i].entry_size = 4;
		support_write(&f, "small");
		ck_assert_int_eq(support_result("small"), KF_READ_DAMAGED);
		sections[i].entry_size = good;
	}
	fixture_free(&f);
}
END_TEST

/* Also where there are none: room is made for one. */
START_TEST(entries_too_large_to_be_true_are_damaged)
{
	struct kf_stats_section *sections, good;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	sections = &f.header->identity;
	/* descs, classes; control and slots */
	for (int i = 1; i < 6; i++) {
		if (&sections[i] == &f.header->words)
			continue;
		good = sections[i];
		sections[i].nr = 0;
		sections[i].entry_size = UINT32_MAX / 16;
		support_write(&f, "large");
		ck_assert_int_eq(support_result("large"), KF_READ_DAMAGED);
		sections[i] = good;
	}
	fixture_free(&f);
}
END_TEST

START_TEST(description_that_cannot_hold_is_damaged)
{
	struct kf_stats_desc good;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	good = f.descs[0];
	f.descs[0].index = KF_STATS_SLOT_SCALARS;
	support_write(&f, "index");
	ck_assert_int_eq(support_result("index"), KF_READ_DAMAGED);
	f.descs[0] = good;
	f.descs[0].index = f.descs[1].index;
	support_write(&f, "twice");
	ck_assert_int_eq(support_result("twice"), KF_READ_DAMAGED);
	f.descs[0] = f.descs[1];
	support_write(&f, "name");
	ck_assert_int_eq(support_result("name"), KF_READ_DAMAGED);
	f.descs[0] = good;
	f.descs[0].name[0] = '\n';
	support_write(&f, "newline");
	ck_assert_int_eq(support_result("newline"), KF_READ_DAMAGED);
	f.descs[0] = good;
	memcpy(f.descs[0].labels, "a=\"b\"} 1\nx{c=\"", 15);
	support_write(&f, "label");
	ck_assert_int_eq(support_result("label"), KF_READ_DAMAGED);
	f.descs[0] = good;
	f.descs[KF_NR_SLOT_STATS].index = UINT32_MAX;
	support_write(&f, "word");
	ck_assert_int_eq(support_result("word"), KF_READ_DAMAGED);
	fixture_free(&f);
}
END_TEST

/* As the writer's file may be at any moment, and as a full disk leaves it. */
START_TEST(truncation_at_any_place_is_told_and_harmless)
{
	struct fixture f;

	support_begin();
	fixture_make(&f, 2);
	for (size_t size = 0; size < f.size; size += size < 4096 ? 7 : 509) {
		enum kf_read_result result;

		support_bytes(f.bytes, size, "cut");
		result = support_result("cut");
		if (size == 0)
			ck_assert_int_eq(result, KF_READ_NOT_READY);
		else if (size < 8)
			ck_assert_int_eq(result, KF_READ_FOREIGN);
		else
			ck_assert_int_eq(result, KF_READ_DAMAGED);
	}
	fixture_free(&f);
}
END_TEST

/* Each bit of the header, one at a time: an answer, and no crash. */
START_TEST(flipped_header_bits_are_survived)
{
	size_t nr_ok = 0, nr_told = 0;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	for (size_t bit = 0; bit < 8 * sizeof(*f.header); bit++) {
		f.bytes[bit / 8] ^= (char)(1 << bit % 8);
		support_write(&f, "bit");
		if (support_result("bit") == KF_READ_OK)
			nr_ok++;
		else
			nr_told++;
		f.bytes[bit / 8] ^= (char)(1 << bit % 8);
	}
	/* most matter: reserved words, the minor version and others do not */
	ck_assert_uint_gt(nr_told, 8 * sizeof(*f.header) / 3);
	ck_assert_uint_gt(nr_ok, 0);
	fixture_free(&f);
}
END_TEST

START_TEST(random_bytes_anywhere_are_survived)
{
	uint64_t state = 5;
	struct fixture f;
	char *good;

	support_begin();
	fixture_make(&f, 1);
	good = malloc(f.size);
	ck_assert_ptr_nonnull(good);
	memcpy(good, f.bytes, f.size);
	for (int i = 0; i < 1000; i++) {
		for (int k = 0; k < 8; k++) {
			uint64_t n = chance_next(&state);
			/* half of them where the lengths are */
			size_t room = n & 1 ? sizeof(*f.header) : f.size;

			f.bytes[8 + (n >> 8) % (room - 8)] = (char)(n >> 1);
		}
		support_write(&f, "noise");
		support_result("noise");
		memcpy(f.bytes, good, f.size);
	}
	free(good);
	fixture_free(&f);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		good_file_is_read,
		last_of_many_slots_is_read,
		strings_that_fill_their_array_end,
		file_of_a_later_minor_version_is_read,
		file_of_an_earlier_minor_version_is_read,
		more_slots_count_as_the_first,
		more_slots_than_there_can_be_are_damage,
		table_behind_the_first_128_mib_is_damage,
		words_in_the_middle_of_a_change_are_taken_in_the_end,
		what_is_no_stats_file_is_foreign,
		link_to_a_good_file_is_foreign,
		missing_file_is_an_error_with_its_reason,
		file_in_the_making_is_not_ready,
		another_major_version_is_incompatible_not_damaged,
		header_that_names_more_than_there_is_is_damaged,
		entries_smaller_than_theirs_are_damaged,
		entries_too_large_to_be_true_are_damaged,
		description_that_cannot_hold_is_damaged,
		truncation_at_any_place_is_told_and_harmless,
		flipped_header_bits_are_survived,
		random_bytes_anywhere_are_survived,
	};

	return unit_run("reader/snapshot", tests, KF_ARRAY_SIZE(tests));
}
