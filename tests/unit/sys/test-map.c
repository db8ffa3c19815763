/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sys/map.c: mappings whose address is chosen by us.
 */
#include "config.h"

#include "sys/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define PAGES 4

static size_t size;

static char *reserve(void)
{
	char *p;

	size = PAGES * kf_map_page();
	p = kf_map_reserve(size);
	UNIT_REQUIRE(p);
	return p;
}

static int new_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	UNIT_REQUIRE(fd >= 0);
	UNIT_REQUIRE(!ftruncate(fd, (off_t)size));
	return fd;
}

START_TEST(page_is_the_kernels)
{
	UNIT_REQUIRE(kf_map_page() == (size_t)sysconf(_SC_PAGESIZE));
}
END_TEST

START_TEST(memory_comes_zeroed_to_reserved_addresses)
{
	char *p = reserve();
	const char *zero = calloc(1, size);

	UNIT_REQUIRE(kf_map_anon(p, size) == p);
	UNIT_REQUIRE(!memcmp(p, zero, size));
	memset(p, 'x', size);
	UNIT_REQUIRE(kf_map_anon(p, size) == p);
	UNIT_REQUIRE(!memcmp(p, zero, size));
	kf_map_drop(p, size);
	free((void *)zero);
}
END_TEST

START_TEST(file_and_memory_take_each_others_place)
{
	char *p = reserve();
	int fd = new_file();
	char c;

	UNIT_REQUIRE(kf_map_file(p, size, fd, 0) == 0);
	p[1] = 'x';
	UNIT_REQUIRE(pread(fd, &c, 1, 1) == 1 && c == 'x');
	UNIT_REQUIRE(kf_map_anon(p, size) == p);
	UNIT_REQUIRE(p[1] == 0);
	p[1] = 'y';
	UNIT_REQUIRE(pread(fd, &c, 1, 1) == 1 && c == 'x');
	close(fd);
}
END_TEST

START_TEST(file_that_cannot_be_mapped_changes_nothing)
{
	char *p = reserve();

	UNIT_REQUIRE(kf_map_anon(p, size) == p);
	*p = 'x';
	errno = 1234;
	UNIT_REQUIRE(kf_map_file(p, size, -1, 0) == -EBADF);
	UNIT_REQUIRE(errno == 1234);
	UNIT_REQUIRE(*p == 'x');
}
END_TEST

START_TEST(copy_takes_a_files_place_in_one_step)
{
	char *p = reserve();
	char *copy = kf_map_anon(NULL, size);
	int fd = new_file();
	char c;

	UNIT_REQUIRE(copy);
	UNIT_REQUIRE(kf_map_file(p, size, fd, 0) == 0);
	*p = 'f';
	memset(copy, 'c', size);
	UNIT_REQUIRE(kf_map_replace(copy, size, p));
	UNIT_REQUIRE(p[0] == 'c' && p[size - 1] == 'c');
	UNIT_REQUIRE(pread(fd, &c, 1, 0) == 1 && c == 'f');
	UNIT_REQUIRE(!kf_map_replace(copy, size, p));
	UNIT_REQUIRE(p[0] == 'c');
	close(fd);
}
END_TEST

START_TEST(shared_memory_steps_in_where_private_is_refused)
{
	struct rlimit none = {0, 0}, old;
	char *p = reserve();
	void *got;

	UNIT_REQUIRE(!getrlimit(RLIMIT_DATA, &old));
	none.rlim_max = old.rlim_max;
	UNIT_REQUIRE(!setrlimit(RLIMIT_DATA, &none));
	got = kf_map_anon(p, size);
	UNIT_REQUIRE(!setrlimit(RLIMIT_DATA, &old));
	UNIT_REQUIRE(got == p);
	*p = 'x';
}
END_TEST

START_TEST(what_the_kernel_has_not_is_null)
{
	errno = 1234;
	UNIT_REQUIRE(!kf_map_reserve((size_t)1 << 62));
	UNIT_REQUIRE(!kf_map_anon(NULL, (size_t)1 << 62));
	UNIT_REQUIRE(errno == 1234);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		page_is_the_kernels,
		memory_comes_zeroed_to_reserved_addresses,
		file_and_memory_take_each_others_place,
		file_that_cannot_be_mapped_changes_nothing,
		copy_takes_a_files_place_in_one_step,
		shared_memory_steps_in_where_private_is_refused,
		what_the_kernel_has_not_is_null,
	};

	return unit_run("sys/map", tests, KF_ARRAY_SIZE(tests));
}
