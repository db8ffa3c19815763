/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sys/maps.c: what the process has mapped, against what it maps itself.
 */
#include "config.h"

#include "sys/maps.h"
#include "sys/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define MANY 400

static struct kf_maps maps;

static bool find(const void *addr, struct kf_mapping *m)
{
	bool found = false;

	errno = 1234;
	UNIT_REQUIRE(!kf_maps_open(&maps));
	while (!found && kf_maps_next(&maps, m))
		found = (uintptr_t)addr >= m->begin && (uintptr_t)addr < m->end;
	UNIT_REQUIRE(errno == 1234);
	return found;
}

START_TEST(code_is_found_with_its_file)
{
	char path[PATH_MAX] = "";
	struct kf_mapping m;

	UNIT_REQUIRE(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	UNIT_REQUIRE(find((void *)(uintptr_t)&find, &m));
	UNIT_REQUIRE(m.executable && m.inode);
	UNIT_REQUIRE(!strcmp(m.path, path) && m.path_len == strlen(path));
	kf_maps_close(&maps);
	UNIT_REQUIRE(find(&maps, &m) && !m.executable);
	kf_maps_close(&maps);
}
END_TEST

/* Many times the buffer; neighbours of unlike protection are not merged. */
START_TEST(all_of_many_mappings_come_whole_and_in_order)
{
	size_t page = kf_vm_page();
	char *p = mmap(NULL, MANY * page, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kf_mapping m;
	uint64_t last = 0;
	size_t nr = 0;

	UNIT_REQUIRE(p != MAP_FAILED);
	for (size_t i = 0; i < MANY; i += 2)
		UNIT_REQUIRE(
			!mprotect(p + i * page, page, PROT_READ | PROT_EXEC));
	UNIT_REQUIRE(!kf_maps_open(&maps));
	while (kf_maps_next(&maps, &m)) {
		UNIT_REQUIRE(m.begin >= last && m.end > m.begin);
		last = m.end;
		if (m.begin < (uintptr_t)p ||
		    m.end > (uintptr_t)p + MANY * page || !m.executable)
			continue;
		UNIT_REQUIRE(m.begin == (uintptr_t)p + 2 * nr * page);
		UNIT_REQUIRE(!m.inode && !m.path_len);
		nr++;
	}
	UNIT_REQUIRE(nr == MANY / 2);
	kf_maps_close(&maps);
}
END_TEST

/* As deep as directories go; the path alone is longer than half the buffer. */
START_TEST(long_path_is_whole_and_its_neighbours_are_there)
{
	char name[201], *p;
	struct kf_mapping m;
	int fd;

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	UNIT_REQUIRE(!chdir(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp"));
	snprintf(name, 20, "deep-%d", getpid());
	for (int i = 0; i < 15; i++) {
		UNIT_REQUIRE(!mkdir(name, 0700) && !chdir(name));
		memset(name, 'd', sizeof(name) - 1);
	}
	fd = open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	UNIT_REQUIRE(fd >= 0 && !ftruncate(fd, 8));
	p = mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);
	UNIT_REQUIRE(p != MAP_FAILED);
	unlink("f");
	UNIT_REQUIRE(find(p, &m));
	UNIT_REQUIRE(m.path_len > 14 * 200 && m.path_len == strlen(m.path));
	UNIT_REQUIRE(strstr(m.path, "/f (deleted)"));
	kf_maps_close(&maps);
	UNIT_REQUIRE(find(&maps, &m));
	kf_maps_close(&maps);
	for (int i = 0; i < 14; i++)
		UNIT_REQUIRE(!chdir("..") && !rmdir(name));
	snprintf(name, 20, "deep-%d", getpid());
	UNIT_REQUIRE(!chdir("..") && !rmdir(name));
}
END_TEST

START_TEST(memory_that_is_gone_is_not_copied)
{
	size_t page = kf_vm_page();
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char to[8] = "";

	UNIT_REQUIRE(p != MAP_FAILED);
	memcpy(p + page - 8, "copied", sizeof("copied"));
	UNIT_REQUIRE(!munmap(p + page, page));
	errno = 1234;
	UNIT_REQUIRE(kf_vm_copy(to, (uintptr_t)p + page - 8, 8) &&
		     !strcmp(to, "copied"));
	UNIT_REQUIRE(!kf_vm_copy(to, (uintptr_t)p + page - 4, 8));
	UNIT_REQUIRE(!kf_vm_copy(to, (uintptr_t)p + page, 8));
	UNIT_REQUIRE(errno == 1234);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		code_is_found_with_its_file,
		all_of_many_mappings_come_whole_and_in_order,
		long_path_is_whole_and_its_neighbours_are_there,
		memory_that_is_gone_is_not_copied,
	};

	return unit_run("sys/maps", tests, KF_ARRAY_SIZE(tests));
}
