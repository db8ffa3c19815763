/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/find.c: directories full of good, bad and old files.
 */
#include "config.h"

#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

START_TEST(bad_files_are_in_the_list_and_do_no_harm)
{
	struct kf_files files;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	support_write(&f, "b-good");
	support_bytes("no", 2, "a-text");
	support_bytes(f.bytes, 500, "c-cut");
	support_bytes("", 0, ".hidden");
	ck_assert_int_eq(mkfifo(support_path("d-fifo"), 0600), 0);
	support_find(&files);
	ck_assert_uint_eq(files.nr, 4);
	ck_assert_str_eq(files.file[0].name, "a-text");
	ck_assert_int_eq(files.file[0].snap.result, KF_READ_FOREIGN);
	ck_assert_int_eq(files.file[0].life, KF_LIFE_UNKNOWN);
	ck_assert_str_eq(files.file[1].name, "b-good");
	ck_assert_int_eq(files.file[1].life, KF_LIFE_ALIVE);
	ck_assert_int_eq(files.file[1].pid, getpid());
	ck_assert_int_eq(files.file[2].snap.result, KF_READ_DAMAGED);
	ck_assert_int_eq(files.file[3].snap.result, KF_READ_FOREIGN);
	kf_files_release(&files);
	kf_files_release(&files);
	fixture_free(&f);
}
END_TEST

START_TEST(of_one_process_files_the_newest_counts)
{
	struct kf_files files;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	support_write(&f, "b-newest");
	f.id->created_ns -= 1000;
	support_write(&f, "c-older");
	f.id->created_ns -= 1000;
	support_write(&f, "a-oldest");
	support_find(&files);
	ck_assert_uint_eq(files.nr, 3);
	ck_assert_int_eq(files.file[0].life, KF_LIFE_EXECED);
	ck_assert_int_eq(files.file[0].pid, 0);
	ck_assert_int_eq(files.file[1].life, KF_LIFE_ALIVE);
	ck_assert_int_eq(files.file[2].life, KF_LIFE_EXECED);
	kf_files_release(&files);
	fixture_free(&f);
}
END_TEST

/* Who was visited, by the number in the file's name. */
struct visits {
	unsigned int seen[300];
	unsigned int execed[300];
	unsigned int alive;
};

static int count_visit(void *ctx, const struct kf_file *f)
{
	struct visits *v = ctx;
	long n = strtol(f->name, NULL, 10);

	ck_assert_int_eq(f->snap.result, KF_READ_OK);
	ck_assert_uint_eq(f->snap.totals.mallocs, (uint64_t)n);
	v->seen[n]++;
	v->execed[n] += f->life == KF_LIFE_EXECED;
	v->alive += f->life == KF_LIFE_ALIVE;
	return 0;
}

/* Many enough for several readers; all are files of one process. */
START_TEST(visit_shows_each_file_and_at_last_who_execed)
{
	const char *dirs[] = {support_dir, NULL};
	struct kf_find find = {.dirs = dirs};
	struct visits v = {0};
	struct fixture f;
	char name[16];

	support_begin();
	fixture_make(&f, 1);
	for (unsigned int i = 0; i < 300; i++) {
		f.id->created_ns = 1000 + i;
		f.slots[0].class[1].mallocs = i;
		snprintf(name, sizeof(name), "%u", i);
		support_write(&f, name);
	}
	ck_assert_int_eq(kf_files_visit(&find, count_visit, &v), 0);
	for (unsigned int i = 0; i < 299; i++) {
		ck_assert_uint_eq(v.seen[i], 2);
		ck_assert_uint_eq(v.execed[i], 1);
	}
	ck_assert_uint_eq(v.seen[299], 1);
	ck_assert_uint_eq(v.execed[299], 0);
	ck_assert_uint_eq(v.alive, 300);
	fixture_free(&f);
}
END_TEST

static int end_at_third(void *ctx, const struct kf_file *f)
{
	unsigned int *nr = ctx;

	return ++*nr == 3 ? 7 : 0;
}

START_TEST(visit_ends_when_it_is_told)
{
	const char *dirs[] = {support_dir, NULL};
	struct kf_find find = {.dirs = dirs};
	unsigned int nr = 0;
	struct fixture f;
	char name[16];

	support_begin();
	fixture_make(&f, 1);
	for (unsigned int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%u", i);
		support_write(&f, name);
	}
	ck_assert_int_eq(kf_files_visit(&find, end_at_third, &nr), 7);
	ck_assert_uint_eq(nr, 3);
	fixture_free(&f);
}
END_TEST

/* What the reader waits for in all, microseconds. */
static uint64_t slept;

int usleep(useconds_t us)
{
	const struct timespec ts = {0, (long)us * 1000};

	slept += us;
	return nanosleep(&ts, NULL);
}

static int sum_mallocs(void *ctx, const struct kf_file *f)
{
	uint64_t *sum = ctx;

	ck_assert_int_eq(f->snap.result, KF_READ_OK);
	*sum += f->snap.totals.mallocs;
	return 0;
}

/* As each writer leaves one that is killed at a bad moment; anyone can. */
START_TEST(files_torn_for_ever_take_no_longer_than_one)
{
	const char *dirs[] = {support_dir, NULL};
	struct kf_find find = {.dirs = dirs};
	struct kf_files files;
	struct fixture f;
	uint64_t sum = 0;
	char name[16];

	support_begin();
	fixture_make(&f, 1);
	f.words->seq = 1;
	f.slots[0].class[1].mallocs = 3;
	for (unsigned int i = 0; i < 100; i++) {
		f.id->created_ns = 1000 + i;
		f.id->start_ticks = 1 + i;
		snprintf(name, sizeof(name), "%u", i);
		support_write(&f, name);
	}
	support_find(&files);
	ck_assert_uint_eq(files.nr, 100);
	for (unsigned int i = 0; i < 100; i++) {
		ck_assert_int_eq(files.file[i].snap.result, KF_READ_OK);
		ck_assert_uint_eq(files.file[i].snap.totals.mallocs, 3);
	}
	kf_files_release(&files);
	ck_assert_int_eq(kf_files_visit(&find, sum_mallocs, &sum), 0);
	ck_assert_uint_eq(sum, 300);
	ck_assert_uint_lt(slept, 1000000);
	fixture_free(&f);
}
END_TEST

static int count_late(void *ctx, const struct kf_file *f)
{
	*(unsigned int *)ctx += f->snap.result == KF_READ_LATE;
	return 0;
}

START_TEST(without_time_all_files_are_late)
{
	const char *dirs[] = {support_dir, NULL};
	struct kf_find find = {.dirs = dirs, .until_ns = 1};
	unsigned int nr = 0;
	struct fixture f;
	char name[16];

	support_begin();
	fixture_make(&f, 1);
	for (unsigned int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%u", i);
		support_write(&f, name);
	}
	find.file_cache = kf_file_cache_new();
	ck_assert_int_eq(kf_files_visit(&find, count_late, &nr), 0);
	ck_assert_uint_eq(nr, 10);
	find.until_ns = 0;
	nr = 0;
	ck_assert_int_eq(kf_files_visit(&find, count_late, &nr), 0);
	ck_assert_uint_eq(nr, 0);
	/* what is open by then stays so */
	find.until_ns = 1;
	ck_assert_int_eq(kf_files_visit(&find, count_late, &nr), 0);
	ck_assert_uint_eq(nr, 10);
	kf_file_cache_free(find.file_cache);
	fixture_free(&f);
}
END_TEST

START_TEST(missing_directory_is_no_error)
{
	const char *dirs[] = {"/no/such/directory", NULL};
	struct kf_find find = {.dirs = dirs};
	struct kf_files files;

	ck_assert_int_eq(kf_files_find(&find, &files), 0);
	ck_assert_uint_eq(files.nr, 0);
	kf_files_release(&files);
}
END_TEST

START_TEST(directory_with_two_names_is_read_once)
{
	const char *dirs[] = {support_dir, NULL, NULL};
	struct kf_find find = {.dirs = dirs};
	struct kf_files files;
	struct fixture f;
	char again[80];

	support_begin();
	snprintf(again, sizeof(again), "%s/.", support_dir);
	dirs[1] = again;
	fixture_make(&f, 1);
	support_write(&f, "file");
	ck_assert_int_eq(kf_files_find(&find, &files), 0);
	ck_assert_uint_eq(files.nr, 1);
	kf_files_release(&files);
	fixture_free(&f);
}
END_TEST

static bool has(char **dirs, const char *dir)
{
	for (; *dirs; dirs++) {
		if (!strcmp(*dirs, dir))
			return true;
	}
	return false;
}

START_TEST(usual_directories_are_the_librarys)
{
	char own[64], **dirs;

	setenv("KONFISCATOR_DIR", "/first", 1);
	setenv("XDG_RUNTIME_DIR", "/runtime", 1);
	dirs = kf_default_dirs();
	ck_assert_ptr_nonnull(dirs);
	ck_assert_str_eq(dirs[0], "/first");
	ck_assert_str_eq(dirs[1], "/run/konfiscator");
	ck_assert_str_eq(dirs[2], "/runtime/konfiscator");
	snprintf(own, sizeof(own), "/tmp/konfiscator-stats-%u", geteuid());
	ck_assert_str_eq(dirs[3], own);
	free(dirs);
	unsetenv("KONFISCATOR_DIR");
	unsetenv("XDG_RUNTIME_DIR");
	dirs = kf_default_dirs();
	ck_assert_ptr_nonnull(dirs);
	ck_assert_str_eq(dirs[0], "/run/konfiscator");
	ck_assert(!has(dirs, "/runtime/konfiscator"));
	free(dirs);
}
END_TEST

START_TEST(root_sees_the_directories_of_all_users)
{
	char dir[] = "/tmp/konfiscator-stats-XXXXXX", **dirs;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	dirs = kf_default_dirs();
	ck_assert_ptr_nonnull(dirs);
	ck_assert_int_eq(has(dirs, dir), geteuid() == 0);
	free(dirs);
	rmdir(dir);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		bad_files_are_in_the_list_and_do_no_harm,
		of_one_process_files_the_newest_counts,
		visit_shows_each_file_and_at_last_who_execed,
		visit_ends_when_it_is_told,
		files_torn_for_ever_take_no_longer_than_one,
		without_time_all_files_are_late,
		missing_directory_is_no_error,
		directory_with_two_names_is_read_once,
		usual_directories_are_the_librarys,
		root_sees_the_directories_of_all_users,
	};

	return unit_run("reader/find", tests, KF_ARRAY_SIZE(tests));
}
