/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/file-cache.c: searches with the cache find the same as searches
 * without.
 */
#include "config.h"

#include "reader/file-cache.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct kf_file_cache *cache;

/* What the last search said of the only file. */
static struct {
	unsigned int nr;
	enum kf_read_result result;
	enum kf_life life;
	int32_t pid;
	uint64_t mallocs;
	unsigned int nr_threads;
	uint64_t resident;
	uint64_t created_ns;
	char comm[16];
} last;

static int note(void *ctx, const struct kf_file *f)
{
	last.nr++;
	last.result = f->snap.result;
	last.life = f->life;
	last.pid = f->pid;
	last.mallocs = f->snap.totals.mallocs;
	last.nr_threads = f->snap.nr_threads;
	last.resident = f->resident;
	last.created_ns = f->snap.id.created_ns;
	memcpy(last.comm, f->comm, sizeof(last.comm));
	return 0;
}

static void search(void)
{
	const char *dirs[] = {support_dir, NULL};
	struct kf_find find = {
		.dirs = dirs, .memory = true, .file_cache = cache};

	memset(&last, 0, sizeof(last));
	ck_assert_int_eq(kf_files_visit(&find, note, NULL), 0);
}

static void begin(struct fixture *f)
{
	support_begin();
	fixture_make(f, 2);
	cache = kf_file_cache_new();
	ck_assert_ptr_nonnull(cache);
}

static void end(struct fixture *f)
{
	kf_file_cache_free(cache);
	fixture_free(f);
}

/* The same file, with other bytes: as its process would change it. */
static void store(const struct fixture *f, const char *name)
{
	int fd = open(support_path(name), O_WRONLY | O_CREAT, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, f->bytes, f->size, 0), (ssize_t)f->size);
	close(fd);
}

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

/* A process that waits, and does what each byte says. */
static pid_t begin_child(int *orders)
{
	int fds[2];
	pid_t child;
	char order;

	ck_assert_int_eq(pipe(fds), 0);
	child = fork();
	if (!child) {
		close(fds[1]);
		while (read(fds[0], &order, 1) == 1) {
			if (order == 'n')
				prctl(PR_SET_NAME, "another");
			else if (order == 'x')
				execlp("sleep", "sleep", "1000", NULL);
		}
		_exit(0);
	}
	close(fds[0]);
	*orders = fds[1];
	return child;
}

static bool is_called(pid_t child, const char *name)
{
	char path[64], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", child);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	text[strcspn(text, "\n")] = '\0';
	return !strcmp(text, name);
}

static void order(int orders, pid_t child, char what, const char *name)
{
	ck_assert_int_eq(write(orders, &what, 1), 1);
	while (!is_called(child, name))
		usleep(1000);
}

START_TEST(counters_are_those_of_now)
{
	struct fixture f;

	begin(&f);
	for (uint64_t i = 0; i < 5; i++) {
		f.slots[0].class[1].mallocs = 10 * i;
		f.words->seq = 2 * i;
		store(&f, "file");
		search();
		ck_assert_uint_eq(last.nr, 1);
		ck_assert_int_eq(last.result, KF_READ_OK);
		ck_assert_int_eq(last.life, KF_LIFE_ALIVE);
		ck_assert_int_eq(last.pid, getpid());
		ck_assert_uint_eq(last.mallocs, 10 * i);
		ck_assert_uint_gt(last.resident, 0);
	}
	end(&f);
}
END_TEST

START_TEST(slots_that_come_are_seen)
{
	struct fixture f;
	uint32_t nr;

	begin(&f);
	nr = f.header->slots.nr;
	f.header->slots.nr = 1;
	store(&f, "file");
	search();
	ck_assert_uint_eq(last.nr_threads, 1);
	f.header->slots.nr = nr;
	f.slots[1].state = KF_SLOT_IN_USE;
	store(&f, "file");
	search();
	ck_assert_uint_eq(last.nr_threads, 2);
	end(&f);
}
END_TEST

START_TEST(another_file_of_the_name_is_read)
{
	struct fixture f;

	begin(&f);
	support_write(&f, "file");
	search();
	f.id->created_ns += 1000;
	ck_assert_int_eq(unlink(support_path("file")), 0);
	support_write(&f, "file");
	search();
	ck_assert_uint_eq(last.nr, 1);
	ck_assert_uint_eq(last.created_ns, f.id->created_ns);
	end(&f);
}
END_TEST

START_TEST(file_that_is_damaged_since_is_damaged)
{
	struct fixture f;

	begin(&f);
	store(&f, "file");
	search();
	ck_assert_int_eq(last.result, KF_READ_OK);
	f.header->slots.offset = 1u << 30;
	store(&f, "file");
	search();
	ck_assert_int_eq(last.result, KF_READ_DAMAGED);
	end(&f);
}
END_TEST

START_TEST(process_that_ended_is_dead)
{
	struct fixture f;
	pid_t child;
	int orders;

	begin(&f);
	child = begin_child(&orders);
	ck_assert_int_eq(fixture_set_process(&f, child), 0);
	support_write(&f, "file");
	search();
	search();
	ck_assert_int_eq(last.life, KF_LIFE_ALIVE);
	ck_assert_int_eq(last.pid, child);
	kill(child, SIGKILL);
	/* one that waits to be reaped has ended, too */
	ck_assert_int_eq(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT),
			 0);
	search();
	ck_assert_int_eq(last.life, KF_LIFE_DEAD);
	waitpid(child, NULL, 0);
	search();
	ck_assert_int_eq(last.life, KF_LIFE_DEAD);
	close(orders);
	end(&f);
}
END_TEST

START_TEST(process_is_called_as_it_is_now)
{
	struct fixture f;
	pid_t child;
	int orders;

	begin(&f);
	child = begin_child(&orders);
	ck_assert_int_eq(fixture_set_process(&f, child), 0);
	support_write(&f, "file");
	search();
	search();
	order(orders, child, 'n', "another");
	search();
	ck_assert_int_eq(last.life, KF_LIFE_ALIVE);
	ck_assert_str_eq(last.comm, "another");
	close(orders);
	waitpid(child, NULL, 0);
	end(&f);
}
END_TEST

START_TEST(process_that_execed_is_seen)
{
	struct fixture f;
	pid_t child;
	int orders;

	begin(&f);
	child = begin_child(&orders);
	ck_assert_int_eq(fixture_set_process(&f, child), 0);
	support_write(&f, "file");
	search();
	search();
	ck_assert_int_eq(last.life, KF_LIFE_ALIVE);
	order(orders, child, 'x', "sleep");
	search();
	ck_assert_int_eq(last.life, KF_LIFE_EXECED);
	close(orders);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	end(&f);
}
END_TEST

START_TEST(what_has_gone_is_closed)
{
	unsigned int before;
	struct fixture f;

	begin(&f);
	search();
	before = open_files();
	support_write(&f, "file");
	search();
	ck_assert_uint_eq(open_files(), before + 1);
	unlink(support_path("file"));
	search();
	ck_assert_uint_eq(open_files(), before);
	support_write(&f, "file");
	search();
	kf_file_cache_free(cache);
	ck_assert_uint_eq(open_files(), before);
	cache = NULL;
	end(&f);
}
END_TEST

START_TEST(without_descriptors_processes_are_looked_up_each_time)
{
	struct rlimit few = {KF_FILE_CACHE_LOWEST, KF_FILE_CACHE_LOWEST};
	unsigned int before;
	struct fixture f;

	begin(&f);
	search();
	before = open_files();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (uint64_t i = 1; i < 4; i++) {
		f.slots[0].class[1].mallocs = i;
		store(&f, "file");
		search();
		ck_assert_int_eq(last.life, KF_LIFE_ALIVE);
		ck_assert_uint_eq(last.mallocs, i);
	}
	ck_assert_uint_eq(open_files(), before);
	end(&f);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		counters_are_those_of_now,
		slots_that_come_are_seen,
		another_file_of_the_name_is_read,
		file_that_is_damaged_since_is_damaged,
		process_that_ended_is_dead,
		process_is_called_as_it_is_now,
		process_that_execed_is_seen,
		what_has_gone_is_closed,
		without_descriptors_processes_are_looked_up_each_time,
	};

	return unit_run("reader/file-cache", tests, KF_ARRAY_SIZE(tests));
}
