/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/regular.c: what is no regular file is not opened, and no link leads
 * out of a root.
 */
#include "config.h"

#include "reader/regular.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static int watch(const char *path)
{
	int fd = inotify_init1(IN_NONBLOCK);

	ck_assert_int_ge(inotify_add_watch(fd, path, IN_OPEN), 0);
	return fd;
}

static bool was_opened(int fd)
{
	struct inotify_event event[8];
	bool opened = read(fd, event, sizeof(event)) > 0;

	close(fd);
	return opened;
}

START_TEST(other_things_than_files_are_not_opened)
{
	int fd;

	support_begin();
	ck_assert_int_eq(mkfifo(support_path("fifo"), 0600), 0);
	fd = watch(support_path("fifo"));
	errno = 0;
	ck_assert_int_eq(kf_regular_open(support_path("fifo")), -1);
	ck_assert_int_eq(errno, ENOTSUP);
	ck_assert(!was_opened(fd));
	ck_assert_int_eq(kf_regular_open("/dev/null"), -1);
	ck_assert_int_eq(errno, ENOTSUP);
	ck_assert_int_eq(kf_regular_open("/"), -1);
	ck_assert_int_eq(errno, ENOTSUP);
	ck_assert_int_eq(kf_regular_open(support_path("none")), -1);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

static void make(const char *name, const char *text)
{
	support_bytes(text, strlen(text), name);
}

/* What a file that was opened begins with. */
static char first(int fd)
{
	char c = 0;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(read(fd, &c, 1), 1);
	close(fd);
	return c;
}

START_TEST(links_are_followed_to_files)
{
	int fd;

	support_begin();
	make("file", "f");
	fd = watch(support_path("file"));
	ck_assert_int_eq(symlink("file", support_path("link")), 0);
	ck_assert_int_eq(first(kf_regular_open(support_path("link"))), 'f');
	ck_assert(was_opened(fd));
}
END_TEST

START_TEST(no_link_leads_out_of_a_root)
{
	char root[128], out[256];

	support_begin();
	make("outside", "o");
	snprintf(root, sizeof(root), "%s/root", support_dir);
	snprintf(out, sizeof(out), "%s/outside", support_dir);
	ck_assert_int_eq(mkdir(root, 0700), 0);
	make("root/file", "f");
	ck_assert_int_eq(symlink("/file", support_path("root/inside")), 0);
	ck_assert_int_eq(symlink("../outside", support_path("root/up")), 0);
	ck_assert_int_eq(symlink(out, support_path("root/whole")), 0);
	ck_assert_int_eq(first(kf_regular_open_in(root, "/inside")), 'f');
	ck_assert_int_eq(first(kf_regular_open_in(root, "/../file")), 'f');
	ck_assert_int_eq(kf_regular_open_in(root, "/up"), -1);
	ck_assert_int_eq(kf_regular_open_in(root, "/whole"), -1);
	ck_assert_int_eq(kf_regular_open_in(root, "/.."), -1);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		other_things_than_files_are_not_opened,
		links_are_followed_to_files,
		no_link_leads_out_of_a_root,
	};

	return unit_run("reader/regular", tests, KF_ARRAY_SIZE(tests));
}
