/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads of a replay. One of them has the turn, and plays until the script
 * names another one; the others sleep, each on a word of its own. So the calls
 * are in the recorded order, each in its own thread, and calls of a thread that
 * follow each other need no hand-over.
 *
 * A thread that ends is joined by thread 0 before the next operation: the
 * allocator's own work at the end of a thread is done then.
 */
#include "replayer/replayer.h"

#include "base/bits.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Room for allocators that walk stacks; only what is used is resident. */
#define STACK_SIZE ((size_t)256 << 10)

struct turn_thread {
	uint32_t go; /* 1: has the turn; a futex */
	bool alive;  /* only by who has the turn, as @id */
	pthread_t id;
};

static struct turn_thread *turn_threads; /* by number */
static struct turn_thread *turn_ended;	 /* to be joined by thread 0 */
static void (*turn_done)(void);

static void turn_wait(struct turn_thread *t)
{
	while (!kf_load_acquire(&t->go))
		syscall(SYS_futex, &t->go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL,
			0);
	kf_store(&t->go, 0);
}

static void *turn_main(void *arg);

static void turn_start(struct turn_thread *t)
{
	pthread_attr_t attr;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	t->alive = true;
	error = pthread_create(&t->id, &attr, turn_main, t);
	pthread_attr_destroy(&attr);
	if (error)
		kf_play_die("start a thread", error);
}

static void turn_pass(struct turn_thread *t)
{
	if (!t->alive)
		turn_start(t);
	kf_store_release(&t->go, 1);
	syscall(SYS_futex, &t->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void turn_join(void)
{
	struct turn_thread *t = turn_ended;

	if (!t)
		return;
	turn_ended = NULL;
	pthread_join(t->id, NULL);
	t->alive = false;
}

/* Thread 0 never ends before the process. */
static void *turn_main(void *arg)
{
	struct turn_thread *me = arg;
	uint32_t next = 0;

	for (;;) {
		turn_wait(me);
		turn_join();
		switch (kf_play_on(&next)) {
		case KF_PLAY_TURN:
			turn_pass(&turn_threads[next]);
			break;
		case KF_PLAY_END:
			turn_ended = me;
			turn_pass(&turn_threads[0]);
			return NULL;
		default:
			turn_done();
		}
	}
}

void kf_turn_play(void (*done)(void))
{
	turn_done = done;
	turn_threads = kf_play_map((kf_play.head.nr_threads + 1) *
				   sizeof(*turn_threads));
	turn_threads[0].alive = true;
	turn_threads[0].go = 1;
	turn_main(&turn_threads[0]);
	__builtin_unreachable();
}
