/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/ledger.c and reader/ledger.c: each fold once, whatever kills the writer
 * and when; who may write; how many rows there are.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/ledger.h"
#include "sys/file.h"
#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

#define MANY_STOPS 2000

static int dirfd = -1;
static struct kf_ledger_row add;
static char ledger_name[64];

static void begin(void)
{
	support_publish();
	dirfd = open(support_dir, O_RDONLY | O_DIRECTORY);
	UNIT_REQUIRE(dirfd >= 0);
	memset(&add, 0, sizeof(add));
	snprintf(add.key.comm, sizeof(add.key.comm), "program");
	snprintf(add.key.cmdline, sizeof(add.key.cmdline), "program --once");
	add.value[KF_LEDGER_VALUES / 2] = 3;
	add.class[5].mallocs = 7;
	add.class[5].frees = 2;
}

static int name_it(void *ctx, const char *name)
{
	snprintf(ledger_name, sizeof(ledger_name), "%s", name);
	++*(int *)ctx;
	return 0;
}

/* The only ledger of the directory. */
static enum kf_read_result read_ledger(struct kf_ledger *l)
{
	int nr = 0;

	UNIT_REQUIRE(!kf_ledgers_visit(dirfd, name_it, &nr));
	memset(l, 0, sizeof(*l));
	if (!nr)
		return KF_READ_NOT_READY;
	UNIT_REQUIRE(nr == 1);
	return kf_ledger_read(dirfd, ledger_name, l);
}

static int open_ledger(struct kf_ledger_writer *w)
{
	return kf_ledger_open(w, dirfd, geteuid(), kf_fold_described(), true);
}

/* What a stats file looks like of which nothing but its mark matters. */
static void make_target(struct kf_ledger_target *t, const char *name)
{
	struct kf_file_stat st;
	size_t size;
	char *bytes = support_read(kf_stats_path(), &size);
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0640);

	UNIT_REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	UNIT_REQUIRE(!kf_file_stat(fd, &st));
	close(fd);
	free(bytes);
	*t = (struct kf_ledger_target){
		.name = name,
		.dev = st.dev,
		.ino = st.ino,
		.created_ns = 1000 + (uint64_t)name[0],
		.pid = 77,
		.reason = KF_LEDGER_EXIT,
	};
}

static int fold(const struct kf_ledger_target *t)
{
	struct kf_ledger_writer w;
	int r = open_ledger(&w);

	if (r)
		return r;
	r = kf_ledger_fold(&w, &add, t);
	kf_ledger_close(&w);
	return r;
}

/* Ends the child at its @nth stop; returns whether it came to its end before.
 */
static bool fold_killed_at(const struct kf_ledger_target *t, int nth)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(fold(t) ? 1 : 0);
	}
	UNIT_REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	for (int i = 0; i < nth; i++) {
		UNIT_REQUIRE(!ptrace(PTRACE_SYSCALL, pid, NULL, NULL));
		UNIT_REQUIRE(waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status)) {
			UNIT_REQUIRE(WEXITSTATUS(status) == 0);
			return true;
		}
	}
	kill(pid, SIGKILL);
	UNIT_REQUIRE(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	return false;
}

/* Folds of @nr files that all counted the same. */
static void require_folds(uint64_t nr)
{
	struct kf_ledger l;
	const struct kf_snapshot *s;

	UNIT_REQUIRE(read_ledger(&l) == KF_READ_OK);
	UNIT_REQUIRE(l.nr_folds == nr);
	s = kf_ledger_row(&l, 1);
	UNIT_REQUIRE(nr ? s != NULL : s == NULL);
	if (s) {
		UNIT_REQUIRE(l.rows[1].exits == nr);
		UNIT_REQUIRE(s->classes[5].mallocs == 7 * nr);
		UNIT_REQUIRE(s->classes[5].frees == 2 * nr);
		UNIT_REQUIRE(l.rows[1].value[KF_LEDGER_VALUES / 2] == 3 * nr);
		UNIT_REQUIRE(!strcmp(s->id.comm, "program"));
		UNIT_REQUIRE(!strcmp(s->ending.cmdline, "program --once"));
	}
	kf_ledger_release(&l);
}

static bool is_marked(const char *name)
{
	struct kf_snapshot s;
	bool marked;

	UNIT_REQUIRE(kf_snapshot_read(dirfd, name, &s) == KF_READ_OK);
	marked = s.ending.folded != 0;
	kf_snapshot_release(&s);
	return marked;
}

/* What a killed writer left counts for nothing or for one, and then for one. */
static bool survives_a_kill_at(int nth, bool keep)
{
	struct kf_ledger_target a, b;
	struct kf_ledger l;
	uint64_t seen;
	bool done;

	make_target(&a, "a");
	make_target(&b, "b");
	a.keep = b.keep = keep;
	UNIT_REQUIRE(!fold(&a));
	done = fold_killed_at(&b, nth);
	UNIT_REQUIRE(read_ledger(&l) == KF_READ_OK);
	seen = l.nr_folds;
	kf_ledger_release(&l);
	UNIT_REQUIRE(seen == 1 || seen == 2);
	require_folds(seen);
	UNIT_REQUIRE(!fold(&b));
	require_folds(2);
	UNIT_REQUIRE(keep ? is_marked("b") : faccessat(dirfd, "b", F_OK, 0));
	UNIT_REQUIRE(!fold(&b));
	UNIT_REQUIRE(!fold(&a));
	require_folds(2);
	UNIT_REQUIRE(!unlinkat(dirfd, ledger_name, 0));
	return done;
}

START_TEST(killed_writer_loses_and_doubles_nothing)
{
	int stops[2] = {0, 0};

	begin();
	for (int keep = 0; keep < 2; keep++) {
		while (stops[keep] < MANY_STOPS &&
		       !survives_a_kill_at(stops[keep] + 1, keep))
			stops[keep]++;
	}
	/* each call has two stops: before it, and after it */
	UNIT_REQUIRE(stops[0] > 30 && stops[0] < MANY_STOPS);
	UNIT_REQUIRE(stops[1] > 30 && stops[1] < MANY_STOPS);
}
END_TEST

START_TEST(writer_killed_while_it_makes_the_ledger_hurts_nobody)
{
	struct kf_ledger_target a;
	int nth = 1;
	bool done;

	begin();
	do {
		make_target(&a, "a");
		done = fold_killed_at(&a, nth);
		UNIT_REQUIRE(!fold(&a));
		require_folds(1);
		UNIT_REQUIRE(!unlinkat(dirfd, ledger_name, 0));
		nth += 3;
	} while (!done && nth < MANY_STOPS);
	UNIT_REQUIRE(done && nth > 60);
}
END_TEST

START_TEST(reader_sees_whole_folds_while_they_are_made)
{
	struct kf_ledger_target t = {.reason = KF_LEDGER_EXIT};
	uint64_t last = 0;
	int status;
	pid_t pid;

	begin();
	UNIT_REQUIRE(!fold(&t));
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3000; i++) {
			if (fold(&t))
				_exit(1);
		}
		_exit(0);
	}
	for (;;) {
		bool over = waitpid(pid, &status, WNOHANG) == pid;
		struct kf_ledger l;
		enum kf_read_result r = read_ledger(&l);

		UNIT_REQUIRE(r == KF_READ_OK || r == KF_READ_NOT_READY);
		if (r == KF_READ_OK) {
			UNIT_REQUIRE(l.rows[1].exits == l.nr_folds);
			UNIT_REQUIRE(l.rows[1].class[5].mallocs ==
				     7 * l.nr_folds);
			UNIT_REQUIRE(l.nr_folds >= last);
			last = l.nr_folds;
		}
		kf_ledger_release(&l);
		if (over)
			break;
	}
	UNIT_REQUIRE(status == 0 && last == 3001);
}
END_TEST

START_TEST(rows_are_bounded_and_nothing_is_lost)
{
	struct kf_ledger_target t = {.reason = KF_LEDGER_EXEC};
	uint64_t execs = 0, mallocs = 0;
	struct kf_ledger l;

	begin();
	for (int i = 0; i < 400; i++) {
		snprintf(add.key.comm, sizeof(add.key.comm), "p%d", i);
		UNIT_REQUIRE(!fold(&t));
	}
	UNIT_REQUIRE(read_ledger(&l) == KF_READ_OK);
	UNIT_REQUIRE(l.nr_rows <= KF_LEDGER_ROWS && l.nr_rows > 8);
	for (unsigned int i = 0; i < l.nr_rows; i++) {
		execs += l.rows[i].execs;
		mallocs += l.rows[i].class[5].mallocs;
	}
	UNIT_REQUIRE(execs == 400 && mallocs == 2800);
	UNIT_REQUIRE(l.rows[0].execs == 400 - (l.nr_rows - 1));
	UNIT_REQUIRE(!l.rows[0].key.comm[0]);
	kf_ledger_release(&l);
}
END_TEST

START_TEST(program_with_many_command_lines_takes_few_rows)
{
	struct kf_ledger_target t = {.reason = KF_LEDGER_EXIT};
	struct kf_stats_identity id = {.comm = "program"};
	struct kf_stats_ending ending = {.cmdline = "program 99"};
	struct kf_ledger l;

	begin();
	memset(add.key.cmdline, 0, sizeof(add.key.cmdline));
	for (int i = 0; i < 100; i++) {
		snprintf(add.key.cmdline, sizeof(add.key.cmdline), "program %d",
			 i);
		UNIT_REQUIRE(!fold(&t));
	}
	UNIT_REQUIRE(read_ledger(&l) == KF_READ_OK);
	UNIT_REQUIRE(l.nr_rows == 1 + KF_LEDGER_CMDLINES + 1);
	UNIT_REQUIRE(!l.rows[KF_LEDGER_CMDLINES + 1].key.cmdline[0]);
	UNIT_REQUIRE(l.rows[KF_LEDGER_CMDLINES + 1].exits ==
		     100 - KF_LEDGER_CMDLINES);
	UNIT_REQUIRE(kf_ledger_row_of(&l, &id, &ending) ==
		     KF_LEDGER_CMDLINES + 1);
	snprintf(ending.cmdline, sizeof(ending.cmdline), "program 3");
	UNIT_REQUIRE(kf_ledger_row_of(&l, &id, &ending) == 4);
	kf_ledger_release(&l);
}
END_TEST

START_TEST(planted_ledgers_are_never_written_to)
{
	struct kf_ledger_target t = {.reason = KF_LEDGER_EXIT};
	struct kf_ledger l;
	struct stat st;

	begin();
	UNIT_REQUIRE(!fold(&t));
	UNIT_REQUIRE(read_ledger(&l) == KF_READ_OK);
	kf_ledger_release(&l);
	/* others may write to it */
	UNIT_REQUIRE(!fchmodat(dirfd, ledger_name, 0666, 0));
	UNIT_REQUIRE(fold(&t) == -EPERM);
	/* a link */
	UNIT_REQUIRE(!renameat(dirfd, ledger_name, dirfd, "elsewhere"));
	UNIT_REQUIRE(!fchmodat(dirfd, "elsewhere", 0600, 0));
	UNIT_REQUIRE(!symlinkat("elsewhere", dirfd, ledger_name));
	UNIT_REQUIRE(fold(&t) == -EPERM);
	UNIT_REQUIRE(kf_ledger_read(dirfd, ledger_name, &l) == KF_READ_FOREIGN);
	UNIT_REQUIRE(!unlinkat(dirfd, ledger_name, 0));
	/* a pipe */
	UNIT_REQUIRE(!mkfifoat(dirfd, ledger_name, 0600));
	UNIT_REQUIRE(fold(&t) == -EPERM);
	UNIT_REQUIRE(!unlinkat(dirfd, ledger_name, 0));
	/* another user's: only root can make one */
	UNIT_REQUIRE(!renameat(dirfd, "elsewhere", dirfd, ledger_name));
	if (!fchownat(dirfd, ledger_name, 12345, 12345, 0)) {
		UNIT_REQUIRE(fold(&t) == -EPERM);
		UNIT_REQUIRE(kf_ledger_read(dirfd, ledger_name, &l) ==
			     KF_READ_FOREIGN);
		UNIT_REQUIRE(
			!fchownat(dirfd, ledger_name, geteuid(), (gid_t)-1, 0));
	}
	require_folds(1);
	UNIT_REQUIRE(!fstatat(dirfd, ledger_name, &st, 0));
	UNIT_REQUIRE(st.st_mode == (S_IFREG | 0600));
}
END_TEST

START_TEST(damaged_ledger_is_begun_anew)
{
	struct kf_ledger_target t = {.reason = KF_LEDGER_EXIT};
	struct kf_ledger l;
	int fd;

	begin();
	UNIT_REQUIRE(!fold(&t));
	require_folds(1);
	fd = openat(dirfd, ledger_name, O_WRONLY);
	UNIT_REQUIRE(fd >= 0 && pwrite(fd, "damage", 6, 40) == 6 && !close(fd));
	UNIT_REQUIRE(read_ledger(&l) == KF_READ_DAMAGED);
	kf_ledger_release(&l);
	UNIT_REQUIRE(fold(&t) == -EINVAL);
	UNIT_REQUIRE(!fold(&t));
	require_folds(1);
}
END_TEST

START_TEST(nobody_waits_long_for_a_lock)
{
	struct kf_ledger_target t = {.reason = KF_LEDGER_EXIT};
	struct kf_ledger_writer w;
	int ready[2], status;
	pid_t pid;

	begin();
	UNIT_REQUIRE(!pipe(ready));
	pid = fork();
	if (pid == 0) {
		char c = open_ledger(&w) ? 'n' : 'y';

		UNIT_REQUIRE(write(ready[1], &c, 1) == 1);
		pause();
	}
	UNIT_REQUIRE(read(ready[0], &status, 1) == 1 && (char)status == 'y');
	UNIT_REQUIRE(fold(&t) == -EAGAIN);
	/* the dead hold nothing */
	kill(pid, SIGKILL);
	UNIT_REQUIRE(waitpid(pid, &status, 0) == pid);
	UNIT_REQUIRE(!fold(&t));
	require_folds(1);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		killed_writer_loses_and_doubles_nothing,
		writer_killed_while_it_makes_the_ledger_hurts_nobody,
		reader_sees_whole_folds_while_they_are_made,
		rows_are_bounded_and_nothing_is_lost,
		program_with_many_command_lines_takes_few_rows,
		planted_ledgers_are_never_written_to,
		damaged_ledger_is_begun_anew,
		nobody_waits_long_for_a_lock,
	};

	return unit_run("stats/ledger", tests, KF_ARRAY_SIZE(tests));
}
