/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sys/cgroup.c: the limit of a cgroup, in trees of files as the kernel shows
 * them.
 */
#include "config.h"

#include "sys/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/unit.h"

#define V1 "7:memory:%s\n3:cpu,cpuacct:/elsewhere\n0::/user\n"
#define V1_MOUNT                                                              \
	"30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" \
	"31 25 0:27 %s /cg/memory rw,relatime shared:9 master:1 - cgroup cgroup rw,memory\n"
#define V2_MOUNT                                \
	"21 1 8:1 / / rw - ext4 /dev/root rw\n" \
	"32 25 0:28 %s /cg rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_NONE "9223372036854771712\n"

static struct kf_cgroup cgroup;
static char root[] = "/tmp/kf-cgroup-XXXXXX";

static void put(const char *path, const char *format, const char *arg)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *c = full + strlen(root) + 1; (c = strchr(c, '/')); c++) {
		*c = '\0';
		mkdir(full, 0700);
		*c = '/';
	}
	f = fopen(full, "w");
	UNIT_REQUIRE(f);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(f, format, arg);
#pragma GCC diagnostic pop
	fclose(f);
}

static uint64_t limit(void)
{
	uint64_t found;

	errno = 1234;
	found = kf_cgroup_memory_limit(&cgroup, root);
	UNIT_REQUIRE(errno == 1234);
	return found;
}

static void begin(void)
{
	memcpy(root + strlen(root) - 6, "XXXXXX", 6);
	UNIT_REQUIRE(mkdtemp(root));
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", root);
	UNIT_REQUIRE(!system(command));
}

START_TEST(the_lowest_of_max_and_high_and_of_the_parents_counts)
{
	begin();
	UNIT_REQUIRE(limit() == 0);
	put("/proc/self/cgroup", "0::/a/b.slice/%s\n", "c");
	UNIT_REQUIRE(limit() == 0);
	put("/proc/self/mountinfo", V2_MOUNT, "/");
	UNIT_REQUIRE(limit() == 0);
	put("/cg/a/b.slice/c/memory.max", "%s", "max\n");
	put("/cg/a/b.slice/c/memory.high", "%s", "max\n");
	UNIT_REQUIRE(limit() == 0);
	put("/cg/a/b.slice/c/memory.max", "%s", "1048576000\n");
	UNIT_REQUIRE(limit() == 1048576000);
	put("/cg/a/b.slice/c/memory.high", "%s", "999999488\n");
	UNIT_REQUIRE(limit() == 999999488);
	put("/cg/a/b.slice/memory.max", "%s", "888889344\n");
	UNIT_REQUIRE(limit() == 888889344);
	put("/cg/a/memory.high", "%s", "777777152\n");
	UNIT_REQUIRE(limit() == 777777152);
	put("/cg/memory.max", "%s", "65536\n");
	UNIT_REQUIRE(limit() == 65536);
	put("/cg/memory.max", "%s", "rubbish\n");
	UNIT_REQUIRE(limit() == 777777152);
	end();
}
END_TEST

START_TEST(version_1_counts_where_it_has_the_memory_controller)
{
	begin();
	put("/proc/self/cgroup", V1, "/docker/x");
	put("/proc/self/mountinfo", V1_MOUNT, "/");
	put("/cg/memory/docker/x/memory.limit_in_bytes", "%s", V1_NONE);
	UNIT_REQUIRE(limit() == 0);
	put("/cg/memory/docker/memory.limit_in_bytes", "%s", "268435456\n");
	put("/cg/memory/docker/x/memory.max", "%s", "4096\n");
	UNIT_REQUIRE(limit() == 268435456);
	put("/cg/memory/docker/x/memory.limit_in_bytes", "%s", "67108864\n");
	UNIT_REQUIRE(limit() == 67108864);
	end();
}
END_TEST

/* A container may see its cgroup's path from outside, but mounts its own. */
START_TEST(a_container_finds_its_own_mount)
{
	begin();
	put("/proc/self/cgroup", V1, "/a b\\c/deep");
	put("/proc/self/mountinfo", V1_MOUNT, "/a\\040b\\134c");
	put("/cg/memory/deep/memory.limit_in_bytes", "%s", "1000000\n");
	put("/cg/memory/memory.limit_in_bytes", "%s", "3000000\n");
	UNIT_REQUIRE(limit() == 1000000);
	put("/proc/self/cgroup", V1, "/elsewhere/y");
	UNIT_REQUIRE(limit() == 3000000);
	put("/proc/self/cgroup", V1, "/../../up");
	put("/proc/self/mountinfo", V1_MOUNT, "/..");
	UNIT_REQUIRE(limit() == 3000000);
	/* not below: the names only begin alike */
	put("/proc/self/cgroup", V1, "/a b\\cdeep");
	put("/proc/self/mountinfo", V1_MOUNT, "/a\\040b\\134c");
	UNIT_REQUIRE(limit() == 3000000);
	end();
}
END_TEST

START_TEST(damaged_files_have_no_limit)
{
	static const char *const lines[] = {
		"", "0", "0:", "0::", "::::\n", "x y z\n", "0::/a",
	};
	static const char *const mounts[] = {
		"",
		"- cgroup2\n",
		" - \n",
		" - cgroup2 x y\n",
		"1 2 3 - cgroup2 x y\n",
		"1 2 3 / - cgroup2\n",
	};

	begin();
	put("/cg/memory.max", "%s", "4096\n");
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		put("/proc/self/cgroup", "%s", lines[i]);
		put("/proc/self/mountinfo", V2_MOUNT, "/a");
		limit();
	}
	put("/proc/self/cgroup", "%s", "0::/a\n");
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		put("/proc/self/mountinfo", "%s", mounts[i]);
		UNIT_REQUIRE(limit() == 0);
	}
	end();
}
END_TEST

static bool pressure(uint64_t stalled, uint64_t high)
{
	struct kf_pressure p;

	return kf_cgroup_pressure(&cgroup, root, &p) &&
	       p.stalled_us == stalled && p.high == high;
}

START_TEST(pressure_is_that_of_the_cgroup_or_else_of_the_system)
{
	begin();
	UNIT_REQUIRE(!pressure(0, 0));
	put("/proc/self/cgroup", "0::/a/%s\n", "c");
	put("/proc/self/mountinfo", V2_MOUNT, "/");
	put("/cg/a/c/memory.events", "low 5\nhigh %s\nmax 9\noom 1\n", "12");
	UNIT_REQUIRE(pressure(0, 12));
	put("/cg/a/c/memory.events", "%s", "rubbish\n");
	UNIT_REQUIRE(!pressure(0, 0));
	put("/proc/pressure/memory",
	    "some avg10=1.00 avg60=2.00 avg300=3.00 total=%s\n"
	    "full avg10=0.00 avg60=0.00 avg300=0.00 total=77\n",
	    "5006321");
	UNIT_REQUIRE(pressure(5006321, 0));
	put("/proc/self/cgroup", "0::/a/%s\n", "c");
	put("/proc/self/mountinfo", V2_MOUNT, "/");
	UNIT_REQUIRE(pressure(5006321, 0));
	put("/cg/a/c/memory.events", "low 5\nhigh %s\nmax 9\noom 1\n", "12");
	UNIT_REQUIRE(pressure(5006321, 12));
	put("/cg/a/c/memory.pressure", "some avg10=0.00 total=%s\n", "4");
	UNIT_REQUIRE(pressure(4, 12));
	put("/cg/a/c/memory.pressure", "%s", "rubbish\n");
	put("/cg/a/c/memory.events", "%s", "rubbish\n");
	UNIT_REQUIRE(pressure(5006321, 0));
	put("/proc/self/cgroup", V1, "/a");
	put("/proc/self/mountinfo", V1_MOUNT, "/");
	UNIT_REQUIRE(pressure(5006321, 0));
	end();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		the_lowest_of_max_and_high_and_of_the_parents_counts,
		version_1_counts_where_it_has_the_memory_controller,
		a_container_finds_its_own_mount,
		damaged_files_have_no_limit,
		pressure_is_that_of_the_cgroup_or_else_of_the_system,
	};

	return unit_run("sys/cgroup", tests, KF_ARRAY_SIZE(tests));
}
