/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Allocates under tags and checks what is billed to them, by the library's own
 * answers and by malloc_usable_size(): billing CASE. Run it under the library.
 */
#include "konfiscator.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(cond)                                                        \
	do {                                                               \
		if (!(cond)) {                                             \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#cond);                                    \
			exit(1);                                           \
		}                                                          \
	} while (0)

#define NR_THREADS 8
#define NR_MOMENTS 100
#define NR_BLOCKS 500

struct sum {
	const char *ending; /* of the keys that are added up */
	uint64_t value;
	uint64_t keys;
};

static void add(void *arg, const char *key, uint64_t value)
{
	struct sum *s = arg;
	size_t len = strlen(key), end = strlen(s->ending);

	if (len < end || strcmp(key + len - end, s->ending))
		return;
	s->value += value;
	s->keys++;
}

/* A figure of a tag by its path below the thread's name, over all threads. */
static uint64_t figure(const char *ending)
{
	struct sum s = {.ending = ending};

	CHECK(!konf_tag_query(add, &s));
	return s.value;
}

static uint64_t keys(const char *ending)
{
	struct sum s = {.ending = ending};

	CHECK(!konf_tag_query(add, &s));
	return s.keys;
}

static void in_a_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, fn, arg));
	CHECK(!pthread_join(thread, NULL));
}

/* Not to be optimised away. */
static void *volatile kept, *volatile none;

static void *keep(void *p)
{
	CHECK(p);
	kept = p;
	return p;
}

static void *take(size_t size)
{
	return keep(malloc(size));
}

/* Blocks that the heap has ready from before are billed as well. */
static void ready(void)
{
	uint64_t bytes = 0;
	void *p[10];

	for (int i = 0; i < 10; i++)
		p[i] = take(64);
	for (int i = 0; i < 10; i++)
		free(p[i]);
	konf_tag_push("ready");
	for (int i = 0; i < 10; i++) {
		p[i] = take(64);
		bytes += malloc_usable_size(p[i]);
	}
	konf_tag_pop();
	CHECK(figure(".ready.nCallsTo_malloc") == 10);
	CHECK(figure(".ready.nBytesLive") == bytes);
	for (int i = 0; i < 10; i++)
		free(p[i]);
	CHECK(figure(".ready.nBytesLive") == 0);
}

static void kinds(void)
{
	static const size_t sizes[] = {1, 100, 1000, 5000, 40000, 500000};
	void *p[6 * 6];
	uint64_t bytes = 0;
	int nr = 0;

	konf_tag_push("kinds");
	for (int i = 0; i < 6; i++) {
		p[nr++] = take(sizes[i]);
		p[nr++] = keep(calloc(1, sizes[i]));
		p[nr++] = keep(realloc(none, sizes[i]));
		p[nr++] = keep(aligned_alloc(64, sizes[i]));
		p[nr++] = keep(memalign(4096, sizes[i]));
		CHECK(!posix_memalign(&p[nr], 256, sizes[i]));
		nr++;
	}
	konf_tag_pop();
	for (int i = 0; i < nr; i++)
		bytes += malloc_usable_size(p[i]);
	CHECK(figure(".kinds.nBytesLive") == bytes);
	CHECK(figure(".kinds.nBytesPeak") == bytes);
	CHECK(figure(".kinds.nBlocksLive") == (uint64_t)nr);
	CHECK(figure(".kinds.nCallsTo_malloc") == 6);
	CHECK(figure(".kinds.nCallsTo_calloc") == 6);
	CHECK(figure(".kinds.nCallsTo_realloc") == 6);
	CHECK(figure(".kinds.nCallsTo_aligned") == 18);
	CHECK(figure(".kinds.nTimesEnteredAndExited") == 1);
	for (int i = 0; i < nr; i++)
		free(p[i]);
	CHECK(figure(".kinds.nBytesLive") == 0);
	CHECK(figure(".kinds.nCallsTo_free") == (uint64_t)nr);
	CHECK(figure(".kinds.nBytesPeak") == bytes);
	konf_tag_reset_peaks();
	CHECK(figure(".kinds.nBytesPeak") == 0);
}

static void zeroes(void)
{
	konf_tag_push("zeroes");
	for (size_t size = 1; size < 300000; size = size * 3 / 2 + 5) {
		for (int i = 0; i < 20; i++) {
			unsigned char *p = take(size);

			memset(p, 0xff, size);
			free(p);
			p = keep(calloc(1, size));
			for (size_t k = 0; k < size; k++)
				CHECK(p[k] == 0);
			memset(p, 0xff, size);
			free(p);
		}
	}
	konf_tag_pop();
	CHECK(figure(".zeroes.nBytesLive") == 0);
}

static void *free_under_b(void *p)
{
	KONF_TAG_SCOPE("B");

	free(p);
	kept = NULL;
	return take(3000);
}

/* A block that A allocated in one thread leaves A when B's thread frees it. */
static void cross(void)
{
	void *p, *q;

	for (int i = 0; i < 200; i++) {
		konf_tag_push("A");
		p = take((size_t)i * 300 + 1);
		konf_tag_pop();
		CHECK(figure(".A.nBytesLive") == malloc_usable_size(p));
		in_a_thread(free_under_b, p);
		CHECK(figure(".A.nBytesLive") == 0);
		CHECK(figure(".A.nBlocksLive") == 0);
		q = kept;
		CHECK(figure(".B.nBytesLive") == malloc_usable_size(q));
		free(q);
		CHECK(figure(".B.nBytesLive") == 0);
	}
	CHECK(figure(".A.nCallsTo_free") == 200);
}

static void moves(void)
{
	static const size_t sizes[] = {100,   90,     500,     5000, 60000,
				       61000, 900000, 5000000, 100,  10};
	uint64_t untagged;
	char *p;

	for (int rounds = 0; rounds < 3; rounds++) {
		konf_tag_push("old");
		/* One that stays where it is, and has no tag any more. */
		p = take(500);
		konf_tag_pop();
		p = keep(realloc(p, 490));
		CHECK(figure(".old.nBytesLive") == 0);
		free(p);
		konf_tag_push("old");
		p = take(50);
		memset(p, 'x', 50);
		konf_tag_pop();
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			konf_tag_push(i % 2 ? "old" : "new");
			p = keep(realloc(p, sizes[i]));
			konf_tag_pop();
			CHECK(p[9] == 'x');
			CHECK(figure(i % 2 ? ".old.nBytesLive"
					   : ".new.nBytesLive") ==
			      malloc_usable_size(p));
			CHECK(figure(i % 2 ? ".new.nBytesLive"
					   : ".old.nBytesLive") == 0);
		}
		p = keep(realloc(p, 2000));
		CHECK(figure(".old.nBytesLive") == 0);
		CHECK(figure(".new.nBytesLive") == 0);
		untagged = malloc_usable_size(p);
		CHECK(untagged >= 2000);
		konf_tag_push("old");
		p = keep(realloc(p, 2100));
		CHECK(figure(".old.nBytesLive") == malloc_usable_size(p));
		kept = realloc(p, 0);
		konf_tag_pop();
		CHECK(figure(".old.nBlocksLive") == 0);
	}
}

static void names(void)
{
	char longer[2][201];
	void *p[2];

	konf_tag_push("Func");
	free(take(10));
	konf_tag_pop();
	konf_tag_push("FuncA");
	p[0] = take(10);
	konf_tag_pop();
	CHECK(figure(".Func.nBytesLive") == 0);
	CHECK(figure(".FuncA.nBlocksLive") == 1);
	free(p[0]);
	for (int i = 0; i < 2; i++) {
		memset(longer[i], 'n', 200);
		longer[i][199] = (char)('0' + i);
		longer[i][200] = '\0';
		konf_tag_push(longer[i]);
		p[i] = take(100);
		konf_tag_pop();
	}
	snprintf(longer[0] + 63, sizeof(longer[0]) - 63, ".nBlocksLive");
	CHECK(keys(longer[0]) == 2);
	CHECK(figure(longer[0]) == 2);
	konf_tag_push("");
	konf_tag_push("quote\" new\nline \\ \xff\xfe <&>");
	free(take(1));
	konf_tag_pop_all(2);
	for (int i = 0; i < 2; i++)
		free(p[i]);
}

/* Run with KONFISCATOR_TAG_LEVELS=5 and KONFISCATOR_TAG_NODES=20. */
static void overflow(void)
{
	void *p[40];
	char name[16];

	CHECK(konf_tag_limit(KONF_TAG_LEVELS) == 5);
	CHECK(konf_tag_limit(KONF_TAG_NODES) == 20);
	for (int i = 0; i < 10; i++)
		konf_tag_push("deep");
	p[0] = take(100);
	CHECK(figure("deep.deep.deep.deep.nBytesLive") ==
	      malloc_usable_size(p[0]));
	CHECK(figure("deep.deep.deep.deep.nPushNodeFailures") == 6);
	konf_tag_pop_all(6);
	free(take(10));
	CHECK(figure("deep.deep.deep.deep.nCallsTo_malloc") == 2);
	konf_tag_pop_all(4);
	free(p[0]);
	konf_tag_pop_all(3);
	konf_tag_push("wide");
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		konf_tag_push(name);
		p[i] = take(50);
		konf_tag_pop();
	}
	konf_tag_pop();
	CHECK(keys(".nBytesLive") == 20);
	CHECK(figure(".wide.nPushNodeFailures") == 40 - 13);
	CHECK(figure(".wide.nBlocksLive") == 40 - 13);
	for (int i = 0; i < 40; i++)
		free(p[i]);
	CHECK(figure(".nBytesLive") == 0);
}

static void *use_tag(void *arg)
{
	unsigned int *n = arg;
	char name[16];

	if (*n) {
		snprintf(name, sizeof(name), "t%u", (*n)++);
		prctl(PR_SET_NAME, name);
	}
	KONF_TAG_SCOPE("short");
	KONF_TAG_SCOPE("thread");
	free(take(100));
	return NULL;
}

static void short_threads(void)
{
	unsigned int same = 0, other = 1;
	uint64_t entries;

	for (int i = 0; i < 100; i++) {
		in_a_thread(use_tag, &same);
		in_a_thread(use_tag, &other);
	}
	entries = keys(".nBytesLive");
	CHECK(entries < 300);
	for (int i = 100; i < 5000; i++) {
		in_a_thread(use_tag, &same);
		in_a_thread(use_tag, &other);
	}
	CHECK(keys(".nBytesLive") <= entries + 3);
	CHECK(figure(".short.thread.nCallsTo_malloc") == 10000);
	CHECK(figure(".short.nTimesEnteredAndExited") == 10000);
	CHECK(figure(".nBytesLive") == 0);
}

static int child(void *p, void *q)
{
	CHECK(figure(".A.nBytesLive") ==
	      malloc_usable_size(p) + malloc_usable_size(q));
	CHECK(figure(".A.nBlocksLive") == 2);
	CHECK(figure(".A.nCallsTo_malloc") == 0);
	free(p);
	CHECK(figure(".A.nBytesLive") == malloc_usable_size(q));
	konf_tag_push("A");
	p = take(7000);
	konf_tag_pop();
	CHECK(figure(".A.nBlocksLive") == 2);
	CHECK(figure(".A.nCallsTo_malloc") == 1);
	free(p);
	free(q);
	CHECK(figure(".A.nBytesLive") == 0);
	return 23;
}

static void forks(void)
{
	void *p, *q;
	int status;
	pid_t pid;

	konf_tag_push("A");
	p = take(100);
	q = take(100000);
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0)
			_exit(child(p, q));
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 23);
	}
	konf_tag_pop();
	CHECK(figure(".A.nBlocksLive") == 2);
	CHECK(figure(".A.nCallsTo_malloc") == 2);
	free(p);
	free(q);
}

static void *adopt(void *arg)
{
	unsigned int nr = konf_tag_adopt(*(struct konf_tags *)arg);

	CHECK(nr == 2);
	free(take(10));
	konf_tag_pop_all(nr);
	free(take(10));
	return NULL;
}

static void carries(void)
{
	struct konf_tags tags, nobodys = {0, 0};

	konf_tag_push("job");
	konf_tag_push("step");
	tags = konf_tag_capture();
	in_a_thread(adopt, &tags);
	CHECK(figure(".job.step.nCallsTo_malloc") == 1);
	CHECK(konf_tag_adopt(nobodys) == 0);
	konf_tag_pause();
	free(take(10));
	konf_tag_resume();
	CHECK(figure(".job.step.nCallsTo_malloc") == 1);
	free(take(10));
	CHECK(figure(".job.step.nCallsTo_malloc") == 2);
	konf_tag_pop_all(2);
	free(take(10));
	konf_tag_pop();
	CHECK(figure(".nCallsTo_malloc") == 3);
}

static pthread_barrier_t barrier;
static uint64_t counted[NR_THREADS];
static void *exchange[NR_THREADS][NR_BLOCKS];

static void *bill(void *arg)
{
	size_t me = (size_t)arg, other = (me + 1) % NR_THREADS;
	unsigned int chance = (unsigned int)me * 7919 + 1;
	static const char *const tags[] = {"net", "cache", "parse", "store"};

	for (int moment = 0; moment < NR_MOMENTS; moment++) {
		for (int i = 0; i < NR_BLOCKS; i++) {
			unsigned int n = chance = chance * 1103515245 + 12345;
			void **p = &exchange[other][i];
			size_t size = n >> 16 & 15 ? n >> 16 & 1023
						   : n >> 12 & 131071;

			konf_tag_push(tags[n >> 8 & 3]);
			konf_tag_push(tags[n >> 10 & 3]);
			if (n >> 24 & 3)
				*p = keep(realloc(*p, size + 1));
			else
				free(*p), *p = keep(calloc(1, size + 1));
			konf_tag_pop_all(2);
		}
		counted[me] = 0;
		for (int i = 0; i < NR_BLOCKS; i++)
			counted[me] += malloc_usable_size(exchange[other][i]);
		pthread_barrier_wait(&barrier);
		/* The first thread looks while all others wait. */
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static uint64_t live(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void sums(void)
{
	pthread_t thread[NR_THREADS];
	uint64_t before = 0;

	CHECK(!pthread_barrier_init(&barrier, NULL, NR_THREADS + 1));
	for (size_t i = 0; i < NR_THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, bill, (void *)i));
	for (int moment = 0; moment < NR_MOMENTS; moment++) {
		uint64_t sum = 0, tagged;

		pthread_barrier_wait(&barrier);
		for (size_t i = 0; i < NR_THREADS; i++)
			sum += counted[i];
		tagged = figure(".nBytesLive");
		CHECK(tagged == sum);
		if (!moment)
			before = live() - tagged;
		CHECK(live() == before + tagged);
		pthread_barrier_wait(&barrier);
	}
	for (size_t i = 0; i < NR_THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	for (size_t i = 0; i < NR_THREADS * (size_t)NR_BLOCKS; i++)
		free(exchange[i / NR_BLOCKS][i % NR_BLOCKS]);
	CHECK(figure(".nBytesLive") == 0);
	CHECK(figure(".nBlocksLive") == 0);
}

static void *early;

__attribute__((constructor)) static void before_main(void)
{
	KONF_TAG_SCOPE("early");
	early = take(123);
}

__attribute__((destructor)) static void after_main(void)
{
	if (!early)
		return;
	KONF_TAG_SCOPE("late");
	free(early);
	CHECK(figure(".early.nBytesLive") == 0);
	free(take(10));
	CHECK(figure(".late.nCallsTo_malloc") == 1);
}

static void ends(void)
{
	CHECK(figure(".early.nBytesLive") == malloc_usable_size(early));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} cases[] = {
		{"kinds", kinds},	{"ready", ready},
		{"zeroes", zeroes},	{"cross", cross},
		{"moves", moves},	{"names", names},
		{"overflow", overflow}, {"forks", forks},
		{"carries", carries},	{"sums", sums},
		{"ends", ends},		{"short_threads", short_threads},
	};

	if (argc > 1 && strcmp(argv[1], "ends")) {
		free(early);
		early = NULL;
	}
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases);
	     i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		cases[i].fn();
		puts("all is billed");
		return 0;
	}
	return 2;
}
