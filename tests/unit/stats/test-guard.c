/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/guard.c: SIGBUS, when somebody cuts the file short under its writer.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

#define NR_THREADS 4
#define ROUNDS 100000

static struct kf_slot *slot;

/* A core file of each death that is wanted here helps nobody. */
static void want_no_core(void)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
}

/* A sanitizer handles the signal as well. */
static void publish_alone(void)
{
	signal(SIGBUS, SIG_DFL);
	support_publish();
}

static void cut(void)
{
	UNIT_REQUIRE(!truncate(kf_stats_path(), 0));
}

START_TEST(program_survives_the_truncation_of_the_file)
{
	publish_alone();
	slot = kf_stats_slot_take();
	cut();
	errno = 1234;
	slot->class[1].mallocs++;
	UNIT_REQUIRE(errno == 1234);
	UNIT_REQUIRE(slot->class[1].mallocs == 1);
	UNIT_REQUIRE(!kf_stats_path());
	UNIT_REQUIRE(kf_stats_error() == ESTALE);
}
END_TEST

START_TEST(everything_works_on_after_a_truncation)
{
	struct kf_slot *last = NULL;
	struct kf_stats_conf conf;
	pid_t pid;

	publish_alone();
	slot = kf_stats_slot_take();
	cut();
	kf_stats_begin();
	kf_word_add(KF_WORD_splits, 1);
	kf_stats_end();
	for (int i = 0; i < 100; i++)
		last = kf_stats_slot_take();
	last->class[1].mallocs++;
	kf_stats_slot_label(last, KF_SLOT_IN_USE);
	kf_stats_prepare_fork();
	pid = fork();
	if (pid == 0) {
		kf_stats_fork_child();
		slot->class[1].mallocs++;
		conf = support_conf();
		kf_stats_publish(&conf, true);
		_exit(kf_stats_path() ? 1 : 0);
	}
	kf_stats_parent_fork();
	UNIT_REQUIRE(support_join(pid) == 0);
	conf = support_conf();
	kf_stats_publish(&conf, false);
	UNIT_REQUIRE(!kf_stats_path());
}
END_TEST

START_TEST(truncation_is_survived_at_every_other_touch)
{
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();
		struct kf_slot *s;

		if (pid) {
			UNIT_REQUIRE(support_join(pid) == 0);
			continue;
		}
		publish_alone();
		s = kf_stats_slot_take();
		cut();
		switch (i) {
		case 0:
			kf_stats_slot_label(s, KF_SLOT_IDLE);
			break;
		case 1:
			for (int j = 0; j < 20; j++)
				s = kf_stats_slot_take();
			break;
		case 2:
			kf_stats_prepare_fork();
			break;
		case 3:
			kf_stats_fork_child();
			break;
		case 4:
			kf_word_add_atomic(KF_WORD_lost_slots, 1);
			break;
		}
		s->class[1].mallocs++;
		exit(0);
	}
}
END_TEST

static void *count(void *unused)
{
	struct kf_slot *s = kf_stats_slot_take();

	for (int i = 0; i < ROUNDS; i++) {
		((volatile struct kf_slot *)s)->class[i % 100].mallocs++;
		kf_word_add_atomic(KF_WORD_lost_slots, 1);
	}
	return NULL;
}

START_TEST(threads_survive_the_truncation_together)
{
	pthread_t thread[NR_THREADS];

	publish_alone();
	for (int i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(!pthread_create(&thread[i], NULL, count, NULL));
	cut();
	for (int i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(!pthread_join(thread[i], NULL));
	kf_word_add(KF_WORD_splits, 1);
}
END_TEST

/* The file is cut to a length, grown again by another hand, cut again. */
START_TEST(file_cut_in_the_middle_is_left_as_a_whole)
{
	char path[PATH_MAX];

	publish_alone();
	snprintf(path, sizeof(path), "%s", kf_stats_path());
	slot = kf_stats_slot_take();
	/* What is left of a page can still be written. */
	UNIT_REQUIRE(!truncate(
		path, (off_t)KF_ALIGN_DOWN(KF_AT_SLOTS, kf_stats.page)));
	slot->class[1].mallocs++;
	UNIT_REQUIRE(!truncate(path, 0));
	kf_word_add(KF_WORD_splits, 1);
	UNIT_REQUIRE(slot->class[1].mallocs == 1);
}
END_TEST

static int status_of(void (*act)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		want_no_core();
		act();
		_exit(0);
	}
	return support_join(pid);
}

static void touch_a_short_file_of_its_own(void)
{
	int fd = open(support_path_in("own"), O_RDWR | O_CREAT, 0600);
	volatile char *p =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*p = 1;
}

static void kill_itself(void)
{
	kill(getpid(), SIGBUS);
}

static void raise_it(void)
{
	raise(SIGBUS);
}

START_TEST(any_other_sigbus_kills_as_before)
{
	int status;

	publish_alone();
	status = status_of(touch_a_short_file_of_its_own);
	UNIT_REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	status = status_of(kill_itself);
	UNIT_REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	status = status_of(raise_it);
	UNIT_REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}
END_TEST

static void own_handler(int sig)
{
}

START_TEST(handler_of_the_program_stays)
{
	struct sigaction act;

	signal(SIGBUS, own_handler);
	support_publish();
	UNIT_REQUIRE(!sigaction(SIGBUS, NULL, &act));
	UNIT_REQUIRE(act.sa_handler == own_handler);
}
END_TEST

START_TEST(ignored_signal_stays_ignored)
{
	struct sigaction act;

	signal(SIGBUS, SIG_IGN);
	support_publish();
	UNIT_REQUIRE(!sigaction(SIGBUS, NULL, &act));
	UNIT_REQUIRE(act.sa_handler == SIG_IGN);
}
END_TEST

START_TEST(nothing_is_installed_when_not_asked_for)
{
	struct kf_stats_conf conf;
	struct sigaction act;

	signal(SIGBUS, SIG_DFL);
	support_begin();
	conf = support_conf();
	conf.guard = false;
	kf_stats_publish(&conf, false);
	UNIT_REQUIRE(kf_stats_path());
	UNIT_REQUIRE(!sigaction(SIGBUS, NULL, &act));
	UNIT_REQUIRE(act.sa_handler == SIG_DFL);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		program_survives_the_truncation_of_the_file,
		everything_works_on_after_a_truncation,
		truncation_is_survived_at_every_other_touch,
		threads_survive_the_truncation_together,
		file_cut_in_the_middle_is_left_as_a_whole,
		any_other_sigbus_kills_as_before,
		handler_of_the_program_stays,
		ignored_signal_stays_ignored,
		nothing_is_installed_when_not_asked_for,
	};

	return unit_run("stats/guard", tests, KF_ARRAY_SIZE(tests));
}
