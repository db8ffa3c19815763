/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/backing.c: where the file is made, and what may stand in its way.
 *
 * Every test runs in directories of its own: the library's usual ones are
 * reached only where a test says so, and what is made there is removed.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

static const char *publish_in(const char *dir, const char *runtime_dir)
{
	struct kf_stats_conf conf = support_conf();

	conf.dir = dir;
	conf.runtime_dir = runtime_dir;
	kf_stats_publish(&conf, false);
	return kf_stats_path();
}

static bool lies_below(const char *path, const char *dir)
{
	return path && !strncmp(path, dir, strlen(dir)) &&
	       path[strlen(dir)] == '/';
}

/* Made elsewhere, in one of the usual directories, or nowhere. */
static void check_is_not_below(const char *path, const char *dir)
{
	UNIT_REQUIRE(!lies_below(path, dir));
	if (path)
		UNIT_REQUIRE(!unlink(path));
}

START_TEST(file_is_named_after_command_and_pid)
{
	char want[64];
	const char *name;

	support_begin();
	UNIT_REQUIRE(!prctl(PR_SET_NAME, "a command"));
	name = publish_in(support_dir, NULL);
	UNIT_REQUIRE(lies_below(name, support_dir));
	name = strrchr(name, '/') + 1;
	snprintf(want, sizeof(want), "a command.%d.", getpid());
	UNIT_REQUIRE(!strncmp(name, want, strlen(want)));
	UNIT_REQUIRE(strlen(name) > strlen(want));
}
END_TEST

START_TEST(hostile_command_name_makes_a_harmless_file_name)
{
	char want[64];
	const char *name;

	support_begin();
	UNIT_REQUIRE(!prctl(PR_SET_NAME, "../a\nb\x7f/c"));
	name = publish_in(support_dir, NULL);
	UNIT_REQUIRE(lies_below(name, support_dir));
	name += strlen(support_dir) + 1;
	snprintf(want, sizeof(want), "_._a_b__c.%d.", getpid());
	UNIT_REQUIRE(!strncmp(name, want, strlen(want)));
	UNIT_REQUIRE(!strchr(name, '/'));
}
END_TEST

START_TEST(empty_command_name_makes_a_file_name_too)
{
	const char *name;

	support_begin();
	UNIT_REQUIRE(!prctl(PR_SET_NAME, ""));
	name = publish_in(support_dir, NULL);
	UNIT_REQUIRE(lies_below(name, support_dir));
	UNIT_REQUIRE(!strncmp(strrchr(name, '/'), "/_.", 3));
}
END_TEST

START_TEST(relative_directory_is_left_by_chdir_without_harm)
{
	support_begin();
	UNIT_REQUIRE(!mkdir(support_path_in("sub"), 0700));
	UNIT_REQUIRE(!chdir(support_dir));
	UNIT_REQUIRE(
		lies_below(publish_in("sub", NULL), support_path_in("sub")));
	UNIT_REQUIRE(!chdir("/"));
	for (int i = 0; i < 20; i++)
		kf_stats_slot_take();
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 0);
	free(support_check(kf_stats_path()));
}
END_TEST

START_TEST(missing_directory_is_not_made)
{
	support_begin();
	check_is_not_below(publish_in(support_path_in("missing"), NULL),
			   support_path_in("missing"));
	UNIT_REQUIRE(access(support_path_in("missing"), F_OK) == -1);
}
END_TEST

START_TEST(untrusted_environment_names_no_directory)
{
	struct kf_stats_conf conf;
	char runtime[PATH_MAX];

	support_begin();
	snprintf(runtime, sizeof(runtime), "%s", support_path_in("runtime"));
	UNIT_REQUIRE(!mkdir(runtime, 0700));
	conf = support_conf();
	conf.runtime_dir = runtime;
	conf.trusted = false;
	kf_stats_publish(&conf, false);
	check_is_not_below(kf_stats_path(), support_dir);
	UNIT_REQUIRE(support_nr_files(support_dir) == 1);
	UNIT_REQUIRE(support_nr_files(runtime) == 0);
}
END_TEST

/* Where /run/konfiscator is there, it comes first. */
static bool system_dir_is_there(void)
{
	return access("/run/konfiscator", F_OK) == 0;
}

START_TEST(runtime_directory_gets_one_of_ours)
{
	char want[PATH_MAX];
	struct stat st;

	support_begin();
	if (system_dir_is_there())
		return;
	snprintf(want, sizeof(want), "%s", support_path_in("konfiscator"));
	UNIT_REQUIRE(lies_below(publish_in(NULL, support_dir), want));
	UNIT_REQUIRE(!stat(want, &st));
	UNIT_REQUIRE((st.st_mode & 07777) == 0700);
}
END_TEST

static void check_own_dir_refused(void)
{
	check_is_not_below(publish_in(NULL, support_dir), support_dir);
}

START_TEST(link_in_place_of_our_directory_is_not_followed)
{
	support_begin();
	UNIT_REQUIRE(!mkdir(support_path_in("elsewhere"), 0700));
	UNIT_REQUIRE(!symlink("elsewhere", support_path_in("konfiscator")));
	check_own_dir_refused();
	UNIT_REQUIRE(support_nr_files(support_path_in("elsewhere")) == 0);
}
END_TEST

START_TEST(directory_others_may_write_to_is_not_ours)
{
	support_begin();
	UNIT_REQUIRE(!mkdir(support_path_in("konfiscator"), 0700));
	UNIT_REQUIRE(!chmod(support_path_in("konfiscator"), 0777));
	check_own_dir_refused();
	UNIT_REQUIRE(support_nr_files(support_path_in("konfiscator")) == 0);
}
END_TEST

START_TEST(directory_of_somebody_else_is_not_ours)
{
	support_begin();
	UNIT_REQUIRE(!mkdir(support_path_in("konfiscator"), 0700));
	if (chown(support_path_in("konfiscator"), geteuid() + 1, getegid())) {
		UNIT_REQUIRE(geteuid() != 0);
		return;
	}
	check_own_dir_refused();
	UNIT_REQUIRE(support_nr_files(support_path_in("konfiscator")) == 0);
}
END_TEST

START_TEST(fifo_in_place_of_a_directory_blocks_nobody)
{
	support_begin();
	UNIT_REQUIRE(!mkfifo(support_path_in("konfiscator"), 0600));
	check_own_dir_refused();
	kf_stats_fork_child();
	check_is_not_below(publish_in(support_path_in("konfiscator"), NULL),
			   support_dir);
}
END_TEST

START_TEST(file_in_place_of_a_directory_stays_as_it_is)
{
	struct stat st;

	support_begin();
	UNIT_REQUIRE(!close(open(support_path_in("konfiscator"),
				 O_WRONLY | O_CREAT, 0600)));
	check_own_dir_refused();
	UNIT_REQUIRE(!stat(support_path_in("konfiscator"), &st));
	UNIT_REQUIRE(S_ISREG(st.st_mode) && st.st_size == 0);
}
END_TEST

/* One byte short of what is needed: the kernel would send SIGXFSZ. */
START_TEST(size_limit_leaves_no_file_behind_and_kills_nobody)
{
	struct rlimit limit = {0, RLIM_INFINITY};
	int error;

	support_begin();
	limit.rlim_cur = kf_image_size(kf_stats.nr_slots) - 1;
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	publish_in(support_dir, NULL);
	error = kf_stats_error();
	limit.rlim_cur = RLIM_INFINITY;
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	UNIT_REQUIRE(!kf_stats_path());
	UNIT_REQUIRE(error == EFBIG);
	UNIT_REQUIRE(support_nr_files(support_dir) == 0);
	kf_word_add(KF_WORD_splits, 1);
}
END_TEST

START_TEST(process_without_descriptors_has_no_file)
{
	struct rlimit limit = {0, 0};
	struct rlimit old;
	int error;

	support_begin();
	UNIT_REQUIRE(!getrlimit(RLIMIT_NOFILE, &old));
	limit.rlim_max = old.rlim_max;
	UNIT_REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit));
	publish_in(support_dir, NULL);
	error = kf_stats_error();
	UNIT_REQUIRE(!setrlimit(RLIMIT_NOFILE, &old));
	UNIT_REQUIRE(!kf_stats_path());
	UNIT_REQUIRE(error == EMFILE);
	UNIT_REQUIRE(support_nr_files(support_dir) == 0);
}
END_TEST

START_TEST(path_that_is_too_long_is_no_path)
{
	static char dir[2 * PATH_MAX];

	support_begin();
	memset(dir, '/', sizeof(dir) - 1);
	memcpy(dir, support_dir, strlen(support_dir));
	check_is_not_below(publish_in(dir, dir), support_dir);
	/* Short enough to be opened, too long with a name behind it. */
	dir[PATH_MAX - 10] = '\0';
	kf_stats_fork_child();
	check_is_not_below(publish_in(dir, NULL), support_dir);
	UNIT_REQUIRE(support_nr_files(support_dir) == 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		file_is_named_after_command_and_pid,
		hostile_command_name_makes_a_harmless_file_name,
		empty_command_name_makes_a_file_name_too,
		relative_directory_is_left_by_chdir_without_harm,
		missing_directory_is_not_made,
		untrusted_environment_names_no_directory,
		runtime_directory_gets_one_of_ours,
		link_in_place_of_our_directory_is_not_followed,
		directory_others_may_write_to_is_not_ours,
		directory_of_somebody_else_is_not_ours,
		fifo_in_place_of_a_directory_blocks_nobody,
		file_in_place_of_a_directory_stays_as_it_is,
		size_limit_leaves_no_file_behind_and_kills_nobody,
		process_without_descriptors_has_no_file,
		path_that_is_too_long_is_no_path,
	};

	return unit_run("stats/backing", tests, KF_ARRAY_SIZE(tests));
}
