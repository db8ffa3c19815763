/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/listed.c: the names of directories, and the share of each user.
 */
#include "config.h"

#include "reader/file-cache.h"
#include "reader/listed.h"
#include "stats/ledger-layout.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void list(struct kf_listing *l, struct kf_file_cache *cache,
		 const char *part)
{
	struct kf_place place = {.dev = 1, .ino = 2};

	place.fd = open(support_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(place.fd, 0);
	ck_assert_int_eq(kf_listing_add(l, place.fd, &place, 0, part, cache),
			 0);
	close(place.fd);
}

static struct kf_listed *named(struct kf_listing *l, const char *name)
{
	for (unsigned int i = 0; i < l->nr; i++) {
		if (!strcmp(l->file[i].name, name))
			return &l->file[i];
	}
	ck_abort_msg("%s is not listed", name);
	return NULL;
}

START_TEST(names_are_listed_but_hidden_ones)
{
	struct kf_listing l = {0};

	support_begin();
	support_bytes("", 0, ".hidden");
	support_bytes("", 0, "one");
	support_bytes("", 0, "other");
	ck_assert_int_eq(mkfifo(support_path("fifo"), 0600), 0);
	list(&l, NULL, NULL);
	ck_assert_uint_eq(l.nr, 3);
	ck_assert(named(&l, "one")->regular);
	ck_assert(!named(&l, "fifo")->regular);
	kf_listing_release(&l);
	list(&l, NULL, "oth");
	ck_assert_uint_eq(l.nr, 1);
	ck_assert_str_eq(l.file[0].name, "other");
	kf_listing_release(&l);
}
END_TEST

START_TEST(files_that_were_good_come_first)
{
	struct kf_file_cache *cache = kf_file_cache_new();
	struct kf_listing l = {0};
	int fd;

	ck_assert_ptr_nonnull(cache);
	support_begin();
	support_bytes("", 0, "good");
	support_bytes("", 0, "odd");
	list(&l, cache, NULL);
	ck_assert_int_eq(named(&l, "good")->turn, KF_TURN_OTHERS);
	named(&l, "good")->cached->known = true;
	named(&l, "odd")->cached->odd = true;
	kf_listing_release(&l);
	list(&l, cache, NULL);
	ck_assert_int_eq(named(&l, "good")->turn, KF_TURN_KNOWN);
	ck_assert_int_eq(named(&l, "odd")->turn, KF_TURN_ODD);
	kf_listing_release(&l);
	/* another file has the name now */
	fd = open(support_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(renameat(fd, "odd", fd, "good"), 0);
	close(fd);
	list(&l, cache, NULL);
	ck_assert_int_eq(named(&l, "good")->turn, KF_TURN_OTHERS);
	kf_listing_release(&l);
	kf_file_cache_free(cache);
}
END_TEST

START_TEST(user_has_as_many_files_as_the_library_makes)
{
	struct kf_listing l = {0};
	struct kf_listed f = {.owner = 1};

	l.share = calloc(KF_NR_SHARES, sizeof(*l.share));
	ck_assert_ptr_nonnull(l.share);
	for (unsigned int i = 0; i < KF_LEDGER_FILES; i++)
		ck_assert_ptr_nonnull(kf_share_take(&l, &f));
	ck_assert_ptr_null(kf_share_take(&l, &f));
	/* another directory, and another user */
	f.place = 1;
	ck_assert_ptr_nonnull(kf_share_take(&l, &f));
	f.owner = 2;
	ck_assert_ptr_nonnull(kf_share_take(&l, &f));
	ck_assert_uint_eq(kf_share_take(&l, &f)->nr_files, 2);
	kf_listing_release(&l);
}
END_TEST

START_TEST(user_whose_files_take_long_has_no_time_left)
{
	struct kf_listing l = {0};
	struct kf_listed one = {.owner = 1}, other = {.owner = 2};

	l.share = calloc(KF_NR_SHARES, sizeof(*l.share));
	ck_assert_ptr_nonnull(l.share);
	kf_share_take(&l, &one)->ns += 1000000000;
	ck_assert(kf_share_is_over(kf_share_take(&l, &one)));
	ck_assert(!kf_share_is_over(kf_share_take(&l, &other)));
	kf_listing_release(&l);
}
END_TEST

START_TEST(any_number_of_users_have_room)
{
	struct kf_listing l = {0};
	struct kf_listed f = {0};

	l.share = calloc(KF_NR_SHARES, sizeof(*l.share));
	ck_assert_ptr_nonnull(l.share);
	for (f.owner = 0; f.owner < 10 * KF_NR_SHARES; f.owner++)
		ck_assert_ptr_nonnull(kf_share_take(&l, &f));
	kf_listing_release(&l);
}
END_TEST

START_TEST(owner_is_that_of_the_file)
{
	struct kf_listing l = {0};
	int fd;

	support_begin();
	support_bytes("", 0, "mine");
	list(&l, NULL, NULL);
	fd = open(support_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert(kf_listed_owned(&l.file[0], fd));
	ck_assert_uint_eq(l.file[0].owner, geteuid());
	unlink(support_path("mine"));
	ck_assert(!kf_listed_owned(&l.file[0], fd));
	close(fd);
	kf_listing_release(&l);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		names_are_listed_but_hidden_ones,
		files_that_were_good_come_first,
		user_has_as_many_files_as_the_library_makes,
		user_whose_files_take_long_has_no_time_left,
		any_number_of_users_have_room,
		owner_is_that_of_the_file,
	};

	return unit_run("reader/listed", tests, KF_ARRAY_SIZE(tests));
}
