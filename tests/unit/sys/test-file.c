/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sys/file.c: files, opened for a moment from inside malloc.
 */
#include "config.h"

#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* Where descriptors are moved to. */
#define HIGH 500

static char path[PATH_MAX];

static void remove_path(void)
{
	unlink(path);
}

/* A new empty file at path, its descriptor. */
static int begin(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%s/kf-file.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	UNIT_REQUIRE(fd >= 0);
	atexit(remove_path);
	return fd;
}

static void *thread_main(void *unused)
{
	return unused;
}

/* From here on the process counts as one with threads. */
static void begin_threads(void)
{
	pthread_t thread;

	UNIT_REQUIRE(!pthread_create(&thread, NULL, thread_main, NULL));
	UNIT_REQUIRE(!pthread_join(thread, NULL));
}

START_TEST(descriptor_is_closed_by_exec)
{
	int fd;

	close(begin());
	fd = kf_file_open(AT_FDCWD, path, O_RDONLY, 0);
	UNIT_REQUIRE(fd > STDERR_FILENO);
	UNIT_REQUIRE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	kf_file_close(fd);
}
END_TEST

START_TEST(descriptor_is_never_that_of_a_standard_stream)
{
	int fd;

	close(begin());
	close(STDERR_FILENO);
	fd = kf_file_open(AT_FDCWD, path, O_RDONLY, 0);
	UNIT_REQUIRE(fd >= HIGH);
	UNIT_REQUIRE(fcntl(STDERR_FILENO, F_GETFD) == -1);
	kf_file_close(fd);
}
END_TEST

START_TEST(descriptor_is_high_among_threads)
{
	int fd;

	close(begin());
	begin_threads();
	fd = kf_file_open(AT_FDCWD, path, O_RDONLY, 0);
	UNIT_REQUIRE(fd >= HIGH);
	UNIT_REQUIRE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	kf_file_close(fd);
	UNIT_REQUIRE(fcntl(fd, F_GETFD) == -1);
}
END_TEST

START_TEST(descriptor_is_low_where_high_ones_are_forbidden)
{
	struct rlimit limit, old;
	int fd;

	close(begin());
	begin_threads();
	UNIT_REQUIRE(!getrlimit(RLIMIT_NOFILE, &old));
	limit = old;
	limit.rlim_cur = 64;
	UNIT_REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit));
	fd = kf_file_open(AT_FDCWD, path, O_RDONLY, 0);
	UNIT_REQUIRE(!setrlimit(RLIMIT_NOFILE, &old));
	UNIT_REQUIRE(fd >= 0 && fd < 64);
	kf_file_close(fd);
}
END_TEST

START_TEST(failure_is_a_negative_errno_and_errno_is_kept)
{
	struct kf_file_stat st;
	char buf[8];

	errno = 1234;
	UNIT_REQUIRE(kf_file_open(AT_FDCWD, "/nonexistent/x", O_RDONLY, 0) ==
		     -ENOENT);
	UNIT_REQUIRE(kf_file_read("/nonexistent", buf, sizeof(buf)) == -ENOENT);
	UNIT_REQUIRE(buf[0] == '\0');
	UNIT_REQUIRE(kf_file_stat(-1, &st) == -EBADF);
	UNIT_REQUIRE(kf_file_write(-1, "x", 1, 0) == -EBADF);
	UNIT_REQUIRE(kf_file_extend(-1, 0, 1) == -EBADF);
	UNIT_REQUIRE(kf_file_mkdir("/") == -EEXIST);
	UNIT_REQUIRE(kf_file_inode("/nonexistent") == 0);
	kf_file_link("/nonexistent", buf, sizeof(buf));
	UNIT_REQUIRE(buf[0] == '\0');
	kf_file_close(-1);
	UNIT_REQUIRE(errno == 1234);
}
END_TEST

START_TEST(small_file_is_read_whole_and_a_large_one_is_cut)
{
	char buf[16];
	int fd = begin();

	UNIT_REQUIRE(write(fd, "hello\n", 6) == 6);
	UNIT_REQUIRE(kf_file_read(path, buf, sizeof(buf)) == 6);
	UNIT_REQUIRE(!strcmp(buf, "hello\n"));
	UNIT_REQUIRE(kf_file_read(path, buf, 4) == 3);
	UNIT_REQUIRE(!strcmp(buf, "hel"));
	close(fd);
}
END_TEST

START_TEST(fifo_without_a_writer_blocks_nobody)
{
	char buf[16];

	close(begin());
	UNIT_REQUIRE(!unlink(path));
	UNIT_REQUIRE(!mkfifo(path, 0600));
	UNIT_REQUIRE(kf_file_read(path, buf, sizeof(buf)) == 0);
	UNIT_REQUIRE(kf_file_open(AT_FDCWD, path, O_WRONLY, 0) == -ENXIO);
}
END_TEST

START_TEST(parts_are_written_after_each_other)
{
	const struct kf_file_part part[] = {{"one", 3}, {"two", 3}};
	struct rlimit limit, old;
	char buf[8];
	int r, fd = begin();

	UNIT_REQUIRE(kf_file_write_parts(fd, part, 2) == 0);
	UNIT_REQUIRE(kf_file_read(path, buf, sizeof(buf)) == 6);
	UNIT_REQUIRE(!strcmp(buf, "onetwo"));
	UNIT_REQUIRE(kf_file_write_parts(-1, part, 2) == -EBADF);
	UNIT_REQUIRE(!getrlimit(RLIMIT_FSIZE, &old));
	limit = old;
	limit.rlim_cur = 5;
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	r = kf_file_write_parts(fd, part, 2);
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &old));
	UNIT_REQUIRE(r == -EFBIG);
}
END_TEST

START_TEST(extended_file_has_its_space_and_reads_as_zeroes)
{
	struct kf_file_stat st;
	struct stat own;
	char buf[8192], zero[8192] = {0};
	int fd = begin();

	UNIT_REQUIRE(kf_file_write(fd, "x", 1, 0) == 0);
	UNIT_REQUIRE(kf_file_extend(fd, 1, sizeof(buf)) == 0);
	UNIT_REQUIRE(kf_file_stat(fd, &st) == 0);
	UNIT_REQUIRE(!fstat(fd, &own));
	UNIT_REQUIRE(st.size == sizeof(buf));
	UNIT_REQUIRE(st.ino == own.st_ino && st.dev == own.st_dev);
	UNIT_REQUIRE(st.uid == own.st_uid && st.mode == own.st_mode);
	UNIT_REQUIRE((size_t)own.st_blocks * 512 >= sizeof(buf));
	UNIT_REQUIRE(pread(fd, buf, sizeof(buf), 0) == sizeof(buf));
	UNIT_REQUIRE(buf[0] == 'x');
	UNIT_REQUIRE(!memcmp(buf + 1, zero, sizeof(buf) - 1));
	close(fd);
}
END_TEST

START_TEST(file_over_the_limit_is_refused_without_a_signal)
{
	struct rlimit limit, old;
	int fd = begin();
	int over, under;

	UNIT_REQUIRE(!getrlimit(RLIMIT_FSIZE, &old));
	limit = old;
	limit.rlim_cur = 4096;
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	over = kf_file_extend(fd, 0, 4097);
	under = kf_file_extend(fd, 0, 4096);
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &old));
	UNIT_REQUIRE(over == -EFBIG);
	UNIT_REQUIRE(under == 0);
	close(fd);
}
END_TEST

START_TEST(working_directory_and_links_are_found)
{
	char buf[PATH_MAX], want[PATH_MAX];

	UNIT_REQUIRE(!chdir("/proc"));
	UNIT_REQUIRE(kf_file_cwd(buf, sizeof(buf)) == 5);
	UNIT_REQUIRE(!strcmp(buf, "/proc"));
	UNIT_REQUIRE(kf_file_cwd(buf, 3) == -ERANGE);
	kf_file_link("/proc/self", buf, sizeof(buf));
	snprintf(want, sizeof(want), "%d", getpid());
	UNIT_REQUIRE(!strcmp(buf, want));
	kf_file_link("/proc/self", buf, 2);
	UNIT_REQUIRE(strlen(buf) == 1);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		descriptor_is_closed_by_exec,
		descriptor_is_never_that_of_a_standard_stream,
		descriptor_is_high_among_threads,
		descriptor_is_low_where_high_ones_are_forbidden,
		failure_is_a_negative_errno_and_errno_is_kept,
		small_file_is_read_whole_and_a_large_one_is_cut,
		fifo_without_a_writer_blocks_nobody,
		parts_are_written_after_each_other,
		extended_file_has_its_space_and_reads_as_zeroes,
		file_over_the_limit_is_refused_without_a_signal,
		working_directory_and_links_are_found,
	};

	return unit_run("sys/file", tests, KF_ARRAY_SIZE(tests));
}
