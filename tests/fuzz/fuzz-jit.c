/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files with names of code, any bytes: after a first byte, if it is even a map
 * of perf, else a jitdump file.
 */
#include "config.h"

#include "reader/jitdump.h"
#include "reader/perf-map.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define ROOM 32

static void check_owner(const struct kf_jit_ranges *r, uint64_t address)
{
	const struct kf_jit_range *found = kf_jit_ranges_find(r, address);
	const struct kf_jit_range *last = NULL;

	for (uint64_t i = 0; i < r->nr; i++) {
		if (address >= r->range[i].begin && address < r->range[i].end)
			last = &r->range[i];
	}
	fuzz_require(found == last, "an address has another owner");
}

static void look_up(int fd, bool is_dump, const struct kf_jit_range *range)
{
	char name[ROOM], file[ROOM];
	struct kf_jit_line line = {.file = file, .size = sizeof(file)};

	memset(name, 'x', sizeof(name));
	memset(file, 'x', sizeof(file));
	if (is_dump) {
		kf_jitdump_name(fd, range, name, sizeof(name));
		kf_jitdump_line(fd, range, range->begin, &line);
		kf_jitdump_line(fd, range, range->end - 1, &line);
		fuzz_require(memchr(file, '\0', sizeof(file)),
			     "a file's name has no end");
	} else {
		fuzz_require(kf_perf_map_name(fd, range, name, sizeof(name)),
			     "a name of a map is lost");
	}
	fuzz_require(memchr(name, '\0', sizeof(name)), "a name has no end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_jit_ranges r = {0};
	bool is_dump = size && (data[0] & 1);
	int fd;

	if (!size || size > FUZZ_MOST)
		return 0;
	fd = open(fuzz_file(data + 1, size - 1), O_RDONLY | O_CLOEXEC);
	fuzz_require(fd >= 0, "no file");
	if (is_dump)
		kf_jitdump_read(fd, size - 1, &r);
	else
		fuzz_require(kf_perf_map_read(fd, 0, size - 1, &r),
			     "no memory");
	fuzz_require(kf_jit_ranges_settle(&r), "no memory");
	for (uint64_t i = 0; i < r.nr; i++) {
		check_owner(&r, r.range[i].begin);
		check_owner(&r, r.range[i].end);
		look_up(fd, is_dump, &r.range[i]);
	}
	kf_jit_ranges_release(&r);
	close(fd);
	return 0;
}
