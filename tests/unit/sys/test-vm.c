/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sys/vm.c: memory taken, changed and given back, and mappings put where we
 * chose.
 */
#include "config.h"

#include "sys/vm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/space.h"
#include "tests/unit/unit.h"

#define PAGES 4

static size_t size;

static char *reserve(void)
{
	char *p;

	size = PAGES * kf_vm_page();
	p = kf_vm_reserve(size, kf_vm_page());
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
	UNIT_REQUIRE(kf_vm_page() == (size_t)sysconf(_SC_PAGESIZE));
}
END_TEST

START_TEST(memory_comes_zeroed_to_reserved_addresses)
{
	char *p = reserve();
	const char *zero = calloc(1, size);

	UNIT_REQUIRE(kf_vm_put_memory(p, size) == p);
	UNIT_REQUIRE(!memcmp(p, zero, size));
	memset(p, 'x', size);
	UNIT_REQUIRE(kf_vm_put_memory(p, size) == p);
	UNIT_REQUIRE(!memcmp(p, zero, size));
	kf_vm_drop(p, size);
	free((void *)zero);
}
END_TEST

START_TEST(file_and_memory_take_each_others_place)
{
	char *p = reserve();
	int fd = new_file();
	char c;

	UNIT_REQUIRE(kf_vm_put_file(p, size, fd, 0) == 0);
	p[1] = 'x';
	UNIT_REQUIRE(pread(fd, &c, 1, 1) == 1 && c == 'x');
	UNIT_REQUIRE(kf_vm_put_memory(p, size) == p);
	UNIT_REQUIRE(p[1] == 0);
	p[1] = 'y';
	UNIT_REQUIRE(pread(fd, &c, 1, 1) == 1 && c == 'x');
	close(fd);
}
END_TEST

START_TEST(file_that_cannot_be_mapped_changes_nothing)
{
	char *p = reserve();

	UNIT_REQUIRE(kf_vm_put_memory(p, size) == p);
	*p = 'x';
	errno = 1234;
	UNIT_REQUIRE(kf_vm_put_file(p, size, -1, 0) == -EBADF);
	UNIT_REQUIRE(errno == 1234);
	UNIT_REQUIRE(*p == 'x');
}
END_TEST

START_TEST(copy_takes_a_files_place_in_one_step)
{
	char *p = reserve();
	char *copy = kf_vm_put_memory(NULL, size);
	int fd = new_file();
	char c;

	UNIT_REQUIRE(copy);
	UNIT_REQUIRE(kf_vm_put_file(p, size, fd, 0) == 0);
	*p = 'f';
	memset(copy, 'c', size);
	UNIT_REQUIRE(kf_vm_move(copy, size, size, p));
	UNIT_REQUIRE(p[0] == 'c' && p[size - 1] == 'c');
	UNIT_REQUIRE(pread(fd, &c, 1, 0) == 1 && c == 'f');
	UNIT_REQUIRE(!kf_vm_move(copy, size, size, p));
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
	got = kf_vm_put_memory(p, size);
	UNIT_REQUIRE(!setrlimit(RLIMIT_DATA, &old));
	UNIT_REQUIRE(got == p);
	*p = 'x';
}
END_TEST

START_TEST(what_the_kernel_has_not_is_null)
{
	errno = 1234;
	UNIT_REQUIRE(!kf_vm_reserve((size_t)1 << 62, kf_vm_page()));
	UNIT_REQUIRE(!kf_vm_map((size_t)1 << 62, kf_vm_page()));
	UNIT_REQUIRE(!kf_vm_map(kf_vm_page(), (size_t)1 << 63));
	UNIT_REQUIRE(!kf_vm_put_memory(NULL, (size_t)1 << 62));
	UNIT_REQUIRE(errno == 1234);
}
END_TEST

/* Whether a page is mapped; mincore() fails on addresses that are not. */
static bool is_mapped(void *page)
{
	unsigned char in_core;

	return mincore(page, kf_vm_page(), &in_core) == 0;
}

START_TEST(memory_is_aligned_and_nothing_is_left_beside_it)
{
	size_t page = kf_vm_page();

	for (size_t align = page; align <= KF_GIB; align *= 8) {
		size_t before = space_bytes(SPACE_MAPPED);
		char *p = kf_vm_map(page, align);

		UNIT_REQUIRE(p && (uintptr_t)p % align == 0);
		*p = 'x';
		UNIT_REQUIRE(space_bytes(SPACE_MAPPED) == before + page);
		UNIT_REQUIRE(kf_vm_unmap(p, page));
		UNIT_REQUIRE(!is_mapped(p));
	}
}
END_TEST

START_TEST(decommitted_memory_is_kept_as_addresses_and_comes_back_zeroed)
{
	char *p = reserve();

	UNIT_REQUIRE(kf_vm_commit(p, size));
	memset(p, 'x', size);
	UNIT_REQUIRE(kf_vm_decommit(p, size));
	UNIT_REQUIRE(is_mapped(p));
	UNIT_REQUIRE(kf_vm_commit(p, size));
	UNIT_REQUIRE(p[0] == 0 && p[size - 1] == 0);
}
END_TEST

START_TEST(purged_memory_reads_as_zeroes)
{
	char *p = reserve();

	UNIT_REQUIRE(kf_vm_commit(p, size));
	memset(p, 'x', size);
	UNIT_REQUIRE(kf_vm_purge(p, size / 2));
	UNIT_REQUIRE(p[0] == 0 && p[size / 2 - 1] == 0);
	UNIT_REQUIRE(p[size / 2] == 'x');
}
END_TEST

START_TEST(mapping_grows_only_where_there_is_room)
{
	size_t page = kf_vm_page();
	char *p = reserve();

	UNIT_REQUIRE(kf_vm_unmap(p + page, page));
	UNIT_REQUIRE(kf_vm_resize(p, page, 2 * page));
	UNIT_REQUIRE(is_mapped(p + page));
	UNIT_REQUIRE(!kf_vm_resize(p, 2 * page, 3 * page));
	UNIT_REQUIRE(kf_vm_resize(p, 2 * page, page));
	UNIT_REQUIRE(!is_mapped(p + page));
}
END_TEST

START_TEST(moved_mapping_keeps_its_bytes)
{
	size_t page = kf_vm_page();
	char *p = kf_vm_map(page, page);
	char *to = kf_vm_reserve(2 * page, page);

	UNIT_REQUIRE(p && to);
	*p = 'x';
	UNIT_REQUIRE(!kf_vm_move(p, page, (size_t)1 << 62, to));
	UNIT_REQUIRE(*p == 'x');
	UNIT_REQUIRE(kf_vm_move(p, page, 2 * page, to));
	UNIT_REQUIRE(to[0] == 'x' && to[page] == 0);
	UNIT_REQUIRE(!is_mapped(p));
}
END_TEST

START_TEST(forked_child_finds_zeroes_where_they_were_asked_for)
{
	size_t page = kf_vm_page();
	char *p = kf_vm_map(page, page);
	int status;
	pid_t pid;

	UNIT_REQUIRE(p);
	*p = 'x';
	UNIT_REQUIRE(kf_vm_wipe_on_fork(p, page));
	pid = fork();
	if (pid == 0)
		_exit(*p);
	UNIT_REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	UNIT_REQUIRE(status == 0);
	UNIT_REQUIRE(*p == 'x');
}
END_TEST

static unsigned int nr_in_core(char *p, size_t pages)
{
	unsigned char in_core[PAGES];
	unsigned int nr = 0;

	UNIT_REQUIRE(!mincore(p, pages * kf_vm_page(), in_core));
	for (size_t i = 0; i < pages; i++)
		nr += in_core[i] & 1;
	return nr;
}

START_TEST(populated_memory_has_pages_and_its_contents)
{
	char *p = reserve();

	UNIT_REQUIRE(kf_vm_commit(p, size));
	p[kf_vm_page()] = 'x';
	UNIT_REQUIRE(nr_in_core(p, PAGES) == 1);
	UNIT_REQUIRE(kf_vm_populate(p, size));
	UNIT_REQUIRE(nr_in_core(p, PAGES) == PAGES);
	UNIT_REQUIRE(p[kf_vm_page()] == 'x' && p[0] == 0);
}
END_TEST

START_TEST(locked_memory_has_pages_and_a_limit)
{
	struct rlimit none = {0, 0};
	char *p = reserve();

	UNIT_REQUIRE(kf_vm_commit(p, size));
	if (kf_vm_lock(p, size) == 0)
		UNIT_REQUIRE(nr_in_core(p, PAGES) == PAGES);
	if (geteuid() == 0)
		UNIT_REQUIRE(!seteuid(65534));
	UNIT_REQUIRE(!setrlimit(RLIMIT_MEMLOCK, &none));
	errno = 1234;
	UNIT_REQUIRE(kf_vm_lock(p, size) < 0);
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
		memory_is_aligned_and_nothing_is_left_beside_it,
		decommitted_memory_is_kept_as_addresses_and_comes_back_zeroed,
		purged_memory_reads_as_zeroes,
		mapping_grows_only_where_there_is_room,
		moved_mapping_keeps_its_bytes,
		forked_child_finds_zeroes_where_they_were_asked_for,
		populated_memory_has_pages_and_its_contents,
		locked_memory_has_pages_and_a_limit,
	};

	return unit_run("sys/vm", tests, KF_ARRAY_SIZE(tests));
}
