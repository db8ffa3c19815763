/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/smaps.c: what each mapping counts as, by files as kernels of several
 * versions write them.
 */
#include "config.h"

#include "reader/smaps.h"
#include "stats/layout.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#define KIB 1024u

#define MAPPING(range, perms, path, rss, huge, flags)       \
	range " " perms " 00000000 00:00 0   " path "\n"    \
	      "Size: 4 kB\nRss: " #rss " kB\nPss: 999 kB\n" \
	      "AnonHugePages: " #huge " kB\n"               \
	      "VmFlags: rd wr mr mw me" flags "\n"

static const char smaps[] =
	/* a program, its data, what its data leave to zeroes, and the break */
	MAPPING("1000-9000", "r-xp", "/usr/bin/python3.11", 1, 0, "")
		MAPPING("9000-a000", "rw-p", "/usr/bin/python3.11", 2, 0,
			"") MAPPING("a000-1000000", "rw-p", "", 4, 0, "")
			MAPPING("1000000-2000000", "rw-p", "[heap]", 8, 0, "")
	/* code made at run time, and a mapping with a name */
	MAPPING("3000000-3001000", "rwxp", "", 16, 0, "") MAPPING(
		"3001000-3002000", "rw-p", "[anon:Name of it]", 32, 0, "")
	/* this library's heap */
	MAPPING("4000000-4001000", "rw-p", "[anon:" KF_STATS_HEAP_NAME "]", 1,
		0, "")
	/* an allocator's, and the stack-like behind its reserved addresses */
	MAPPING("10000000-10100000", "rw-p", "", 4096, 2048, " hg")
		MAPPING("10100000-14000000", "---p", "", 0, 0, "")
			MAPPING("14000000-14800000", "rw-p", "", 64, 0, "")
	/* stacks: by size, by pointer, by flag; and one that is none */
	MAPPING("20000000-20001000", "---p", "", 0, 0,
		"") MAPPING("20001000-20801000", "rw-p", "", 128, 0, "")
		MAPPING("21000000-21001000", "---p", "", 0, 0, "") MAPPING(
			"21001000-21101000", "rw-p", "", 256, 0,
			"") MAPPING("22000000-22001000", "---p", "", 0, 0, "")
			MAPPING("22001000-22101000", "rw-p", "", 512, 0, " nh")
				MAPPING("23000000-23001000", "---p", "", 0, 0,
					"") MAPPING("23001000-23101000", "rw-p",
						    "", 1024, 0, "")
	/* shared memory of all kinds, and files */
	MAPPING("30000000-30001000", "rw-s", "/memfd:a (deleted)", 8192, 0, "")
		MAPPING("30001000-30002000", "rw-s", "/dev/zero (deleted)",
			8192, 0, "") MAPPING("30002000-30003000", "rw-s",
					     "/dev/shm/b c", 8192, 0, "")
			MAPPING("40000000-40001000", "r--s", "/srv/Rss: 3 kB",
				16384, 0, "")
				MAPPING("7000000000-7000001000", "rw-p",
					"[stack]", 32768, 0, "")
					MAPPING("7000002000-7000003000", "r-xp",
						"[vdso]", 65536, 0, "");

START_TEST(each_mapping_counts_once)
{
	struct kf_smaps m;

	support_begin();
	support_text(smaps, "7/smaps");
	support_text("Name:\tx\nVmPTE:\t     100 kB\n", "7/status");
	support_text("Max stack size            8388608              unlimited"
		     "            bytes\n",
		     "7/limits");
	support_text("202 0x0 0x0 0x0 0x0 0x0 0x0 0x21002000 0x1234\n",
		     "7/task/9/syscall");
	ck_assert(kf_smaps_read(support_dir, 7, &m));
	ck_assert_uint_eq(m.files, (1 + 2 + 4 + 16384 + 65536) * KIB);
	ck_assert_uint_eq(m.program_break, 8 * KIB);
	ck_assert_uint_eq(m.code, (16 + 32) * KIB);
	ck_assert_uint_eq(m.anonymous, (1 + 4096 + 64 + 1024) * KIB);
	ck_assert_uint_eq(m.huge, 2048 * KIB);
	ck_assert_uint_eq(m.stacks, (128 + 256 + 512 + 32768) * KIB);
	ck_assert_uint_eq(m.shared, 3 * 8192 * KIB);
	ck_assert_uint_eq(m.tables, 100 * KIB);
	ck_assert_uint_eq(m.runtimes, KF_RUNTIME_PYTHON);
	ck_assert_uint_eq(m.resident, m.files + m.program_break + m.code +
					      m.anonymous + m.stacks +
					      m.shared);
}
END_TEST

static unsigned int runtimes_of(const char *text)
{
	struct kf_smaps m;

	support_text(text, "7/smaps");
	ck_assert(kf_smaps_read(support_dir, 7, &m));
	return m.runtimes;
}

START_TEST(runtimes_are_known_by_their_files)
{
	support_begin();
#define ONE(path) runtimes_of(MAPPING("1000-2000", "r-xp", path, 1, 0, ""))
	ck_assert_uint_eq(ONE("/opt/jdk/lib/server/libjvm.so"),
			  KF_RUNTIME_JAVA);
	ck_assert_uint_eq(ONE("/usr/bin/node"), KF_RUNTIME_NODE);
	ck_assert_uint_eq(ONE("/usr/lib/libnode.so.108"), KF_RUNTIME_NODE);
	ck_assert_uint_eq(ONE("/usr/lib/libpython3.12.so.1.0"),
			  KF_RUNTIME_PYTHON);
	ck_assert_uint_eq(ONE("/usr/bin/python3.8"), KF_RUNTIME_PYTHON);
	ck_assert_uint_eq(ONE("/usr/lib/python3.8/lib-dynload/a.so"), 0);
	ck_assert_uint_eq(ONE("/usr/bin/python3.8-config"), 0);
	ck_assert_uint_eq(ONE("/usr/bin/nodes"), 0);
	ck_assert_uint_eq(kf_runtime_of("java"), KF_RUNTIME_JAVA);
	ck_assert_uint_eq(kf_runtime_of(""), 0);
}
END_TEST

/* No process, an empty file, and lines that no kernel writes. */
START_TEST(what_is_no_list_of_mappings_is_not_known)
{
	struct kf_smaps m;

	support_begin();
	ck_assert(!kf_smaps_read(support_dir, 8, &m));
	ck_assert(!kf_smaps_read(support_dir, 0, &m));
	support_text("", "7/smaps");
	ck_assert(!kf_smaps_read(support_dir, 7, &m));
	support_text("Rss: 5 kB\nVmFlags:\n-\n\n1-\n1-2\nx y z\n", "7/smaps");
	kf_smaps_read(support_dir, 7, &m);
	ck_assert_uint_eq(m.resident, m.files + m.shared + m.stacks + m.code +
					      m.program_break + m.anonymous);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		each_mapping_counts_once,
		runtimes_are_known_by_their_files,
		what_is_no_list_of_mappings_is_not_known,
	};

	return unit_run("reader/smaps", tests, KF_ARRAY_SIZE(tests));
}
