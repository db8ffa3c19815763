/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * worst FILE OPERATIONS BLOCKS MAX: the longest malloc and the longest free,
 * for bench/worst.py.
 *
 * Each operation takes a random place of a table of BLOCKS places: a block
 * there is freed, an empty place gets a block of 16 to MAX bytes, each doubling
 * half as frequent. The sequence is the same in every run. FILE keeps for each
 * operation the least time of all runs so far: what the allocator does comes
 * again in each of them, what the machine does in between seldom hits the same
 * operation.
 *
 * The first call, which makes the thread known, comes before and is not timed.
 * An operation of more than SUSPECT_NS during which, or shortly before which,
 * the kernel ran somebody else is not counted. Printed are, for malloc and then
 * for free, in ns: the mean, what 99.99 % and 99.999 % do not exceed, the
 * longest without a page fault during it or shortly before, the longest with
 * one, and the longest of FILE; and how many were not counted. Reading the
 * clock is part of each.
 */
#include "bench/programs/common.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SUSPECT_NS 5000
#define LOOK_EVERY 64 /* operations */
#define NR_TIMES (1 << 20)

static uint64_t operations = 10000000;
static uint64_t nr_blocks = 20000;
static uint64_t max_bytes = 1 << 20;

static const struct bench_arg args[] = {
	{"OPERATIONS", &operations, 1000, 1 << 28},
	{"BLOCKS", &nr_blocks, 1, 1 << 24},
	{"MAX", &max_bytes, 16, 1 << 30},
};

/* Of malloc and of free. */
static struct kind {
	uint64_t nr;
	uint64_t sum;
	uint64_t longest; /* without a page fault */
	uint64_t longest_fault;
	uint64_t longest_always;
	uint32_t times[NR_TIMES]; /* how many took so many ns */
} kinds[2];

static void **blocks;
static uint32_t *least; /* ns of each operation, 0: not known */
static long switches, faults;
static uint64_t not_counted;

static void *map(size_t bytes, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       flags | MAP_POPULATE, fd, 0);

	if (p == MAP_FAILED)
		bench_fail("no memory for a table of bytes", bytes);
	return p;
}

static uint32_t *map_file(const char *path)
{
	size_t bytes = operations * sizeof(uint32_t);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		bench_fail("the file cannot be made, of bytes", bytes);
	return map(bytes, fd);
}

/* What happened since the last look. */
struct seen {
	bool away;  /* others ran on this processor */
	bool fault; /* a page was entered */
};

static struct seen look(void)
{
	struct rusage use;
	struct seen seen;

	getrusage(RUSAGE_THREAD, &use);
	seen.away = switches != use.ru_nvcsw + use.ru_nivcsw;
	seen.fault = faults != use.ru_minflt + use.ru_majflt;
	switches = use.ru_nvcsw + use.ru_nivcsw;
	faults = use.ru_minflt + use.ru_majflt;
	return seen;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void count(struct kind *kind, uint64_t operation, uint64_t ns)
{
	struct seen seen = {false, false};
	uint64_t *longest = &kind->longest;

	if (ns > SUSPECT_NS)
		seen = look();
	if (seen.away) {
		not_counted++;
		return;
	}
	kind->nr++;
	kind->sum += ns;
	kind->times[ns < NR_TIMES ? ns : NR_TIMES - 1]++;
	if (seen.fault)
		longest = &kind->longest_fault;
	if (ns > *longest)
		*longest = ns;
	if (!least[operation] || ns < least[operation])
		least[operation] =
			(uint32_t)(ns < UINT32_MAX ? ns + !ns : UINT32_MAX);
}

static void run(void)
{
	uint64_t chance = 1;
	uint64_t i, begin, end;

	for (i = 0; i < operations; i++) {
		void **block = &blocks[bench_below(&chance, nr_blocks)];
		size_t bytes = bench_skewed(&chance, 16, max_bytes);
		struct kind *kind = &kinds[*block != NULL];

		if (i % LOOK_EVERY == 0)
			look();
		if (*block) {
			bench_check(*block);
			begin = now();
			free(*block);
			end = now();
			*block = NULL;
		} else {
			begin = now();
			*block = malloc(bytes);
			end = now();
			bench_stamp(bench_got(*block, bytes), bytes);
		}
		count(kind, i, end - begin);
		if (least[i] > kind->longest_always)
			kind->longest_always = least[i];
	}
}

/* What one in @part exceeds. */
static uint64_t exceeded_by_one_in(const struct kind *kind, uint64_t part)
{
	uint64_t few = kind->nr / part;
	uint64_t nr = 0;
	uint64_t ns = NR_TIMES;

	while (ns && nr <= few)
		nr += kind->times[--ns];
	return ns;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: worst FILE [OPERATIONS [BLOCKS "
				"[MAX]]]\n");
		return 2;
	}
	bench_args(argc - 1, argv + 1, args, sizeof(args) / sizeof(args[0]));
	blocks = map(nr_blocks * sizeof(*blocks), -1);
	least = map_file(argv[1]);
	for (int i = 0; i < 2; i++)
		for (size_t ns = 0; ns < NR_TIMES; ns += 1024)
			*(volatile uint32_t *)&kinds[i].times[ns] = 0;
	bench_free(bench_malloc(16));
	run();
	for (int i = 0; i < 2; i++)
		printf("%.1f %llu %llu %llu %llu %llu ",
		       (double)kinds[i].sum / (double)kinds[i].nr,
		       (unsigned long long)exceeded_by_one_in(&kinds[i], 10000),
		       (unsigned long long)exceeded_by_one_in(&kinds[i],
							      100000),
		       (unsigned long long)kinds[i].longest,
		       (unsigned long long)kinds[i].longest_fault,
		       (unsigned long long)kinds[i].longest_always);
	printf("%llu\n", (unsigned long long)not_counted);
	return 0;
}
