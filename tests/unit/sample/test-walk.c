/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sample/walk.c: chains of frames that are torn, made up or without an end, and
 * stacks that only the unwinder knows.
 */
#include "config.h"

#include "sample/rows.h"
#include "sample/walk.h"
#include "sys/process.h"
#include "sys/vm.h"

#include "tests/unit/unit.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MAX KF_STATS_STACK_MAX

/* As functions with frame pointers leave it. */
struct frame {
	const void *up;
	uintptr_t pc;
};

/* An address that is nobody's code; frames in the test itself count as ours. */
#define FOREIGN 0x1000

#define STACK (KF_MIB) /* what a sanitizer needs is in it */
#define ABOVE (64 * KF_KIB)

static struct kf_walked stack;

/* Memory above the stack of the thread that walks: frames go up. */
static struct frame *frames;
static char *lowest;

NOINLINE static void take(void)
{
	struct kf_walked *walked = kf_walk(MAX);

	UNIT_REQUIRE(walked);
	stack.nr = walked->nr;
	stack.flags = walked->flags;
	memcpy(stack.frame, walked->frame,
	       walked->nr * sizeof(walked->frame[0]));
	kf_walk_done(walked);
}

/* Takes the stack as if this function's caller had its frame at @up. */
NOINLINE static void walk_below(const void *up)
{
	const void *volatile *own = __builtin_frame_address(0);
	const void *saved = *own;

	*own = up;
	take();
	*own = saved;
}

/* That this is who called it is left out, as the test's. */
static void *call_walk_below(void *up)
{
	walk_below(up);
	return NULL;
}

static void begin(void)
{
	lowest = mmap(NULL, STACK + ABOVE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	UNIT_REQUIRE(lowest != MAP_FAILED);
	frames = (struct frame *)(lowest + STACK);
}

static void walk_from(const void *up)
{
	pthread_attr_t attr;
	pthread_t thread;

	memset(&stack, 0xff, sizeof(stack));
	pthread_attr_init(&attr);
	UNIT_REQUIRE(!pthread_attr_setstack(&attr, lowest, STACK));
	UNIT_REQUIRE(
		!pthread_create(&thread, &attr, call_walk_below, (void *)up));
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

/* So many frames, one above the other; the last one is the outmost. */
static void build(struct frame *at, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		at[i].up = i + 1 < nr ? &at[i + 1] : NULL;
		at[i].pc = FOREIGN + i;
	}
}

static void check_frames(uint32_t nr)
{
	ck_assert_uint_eq(stack.nr, nr);
	for (uint32_t i = 0; i < nr; i++)
		ck_assert_uint_eq(stack.frame[i], FOREIGN + i);
}

START_TEST(chain_ends_where_there_is_no_frame_above)
{
	begin();
	build(frames, 5);
	walk_from(frames);
	check_frames(5);
	ck_assert_uint_eq(stack.flags, KF_STACK_NO_TABLES);
}
END_TEST

START_TEST(chain_ends_at_a_return_address_of_none)
{
	begin();
	build(frames, 5);
	frames[3].pc = 0;
	walk_from(frames);
	check_frames(3);
}
END_TEST

START_TEST(chain_that_does_not_go_up_ends)
{
	static const int to[] = {3, 2, 0};

	begin();
	for (size_t i = 0; i < KF_ARRAY_SIZE(to); i++) {
		build(frames, 5);
		frames[3].up = &frames[to[i]];
		walk_from(frames);
		check_frames(4);
	}
}
END_TEST

START_TEST(misaligned_frame_pointers_are_not_followed)
{
	begin();
	for (size_t off = 1; off < sizeof(void *); off++) {
		build(frames, 5);
		frames[2].up = (const char *)&frames[3] + off;
		walk_from(frames);
		check_frames(3);
		walk_from((const char *)frames + off);
		check_frames(0);
	}
}
END_TEST

START_TEST(frames_that_nobody_can_read_are_not_read)
{
	char *page, *hidden;

	begin();
	page = (char *)frames;
	hidden = page + 2 * KF_PAGE;
	munmap(page + KF_PAGE, KF_PAGE);
	mprotect(hidden, KF_PAGE, PROT_NONE);

	const void *torn[] = {
		page + KF_PAGE,
		page + KF_PAGE + 64,
		hidden,
		/* its second word is on the page that is gone */
		page + KF_PAGE - sizeof(void *),
		(const void *)(UINTPTR_MAX - 15),
		(const void *)(UINTPTR_MAX - 7),
		(const void *)((UINTPTR_MAX >> 1) - 7),
	};

	for (size_t i = 0; i < KF_ARRAY_SIZE(torn); i++) {
		build(frames, 3);
		frames[2].up = torn[i];
		walk_from(frames);
		check_frames(3);
		walk_from(torn[i]);
		check_frames(0);
	}
}
END_TEST

START_TEST(frames_over_the_border_of_two_pages_are_read)
{
	char *border;
	struct frame *at;

	begin();
	border = (char *)frames + KF_PAGE;
	at = (struct frame *)(border - sizeof(void *));
	build(at, 4);
	walk_from(at);
	check_frames(4);
	/* The last frame of all ends with the last page. */
	munmap(border, KF_PAGE);
	at = (struct frame *)border - 4;
	build(at, 4);
	walk_from(at);
	check_frames(4);
	at[3].up = border;
	walk_from(at);
	check_frames(4);
}
END_TEST

START_TEST(a_deep_stack_is_cut_and_says_so)
{
	begin();
	build(frames, MAX);
	walk_from(frames);
	check_frames(MAX);
	ck_assert_uint_eq(stack.flags, KF_STACK_NO_TABLES);
	build(frames, 2 * MAX);
	walk_from(frames);
	check_frames(MAX);
	ck_assert_uint_eq(stack.flags, KF_STACK_CUT | KF_STACK_NO_TABLES);
}
END_TEST

START_TEST(own_frames_are_left_out_below_the_program_only)
{
	begin();
	build(frames, 8);
	frames[0].pc = frames[1].pc = (uintptr_t)build + 1;
	frames[5].pc = (uintptr_t)build + 1;
	walk_from(frames);
	ck_assert_uint_eq(stack.nr, 6);
	ck_assert_uint_eq(stack.frame[0], FOREIGN + 2);
	ck_assert_uint_eq(stack.frame[3], (uintptr_t)build + 1);
}
END_TEST

START_TEST(a_stack_has_as_many_frames_as_were_asked_for)
{
	struct kf_walked *two;

	kf_walk_done(kf_walk(2));
	kf_rows_start();
	two = kf_walk(2);
	ck_assert_uint_eq(two->nr, 2);
	ck_assert_uint_eq(two->flags, KF_STACK_CUT);
	kf_walk_done(two);
}
END_TEST

#define NR_BUFFERS 32

static struct kf_walked *walked[NR_BUFFERS];

static void *take_one(void *arg)
{
	walked[0] = kf_walk(MAX);
	return NULL;
}

static void take_all(void)
{
	for (int i = 0; i < NR_BUFFERS; i++) {
		walked[i] = kf_walk(MAX);
		ck_assert_ptr_nonnull(walked[i]);
		for (int k = 0; k < i; k++)
			ck_assert_ptr_ne(walked[i], walked[k]);
	}
	ck_assert_ptr_null(kf_walk(MAX));
}

START_TEST(stacks_are_taken_while_there_is_a_buffer)
{
	take_all();
	kf_walk_done(walked[7]);
	ck_assert_ptr_eq(kf_walk(MAX), walked[7]);
	ck_assert_ptr_null(kf_walk(MAX));
}
END_TEST

START_TEST(a_forked_child_has_the_buffers_of_other_threads)
{
	pthread_t thread;

	pthread_create(&thread, NULL, take_one, NULL);
	pthread_join(thread, NULL);
	ck_assert_ptr_nonnull(kf_walk(MAX));
	kf_walk_fork_child();
	/* not the one that this thread uses */
	for (int i = 1; i < NR_BUFFERS; i++)
		ck_assert_ptr_nonnull(kf_walk(MAX));
	ck_assert_ptr_null(kf_walk(MAX));
}
END_TEST

/* What backtrace() says, which asks the same tables in its own way. */
static void *oracle[2 * MAX];
static int oracle_nr;

static void take_both(void)
{
	oracle_nr = backtrace(oracle, KF_ARRAY_SIZE(oracle));
	take();
}

/*
 * The C library keeps no frame pointers. The frames nearer than its own are
 * the test's and left out; those behind it are all there.
 */
static int compare_and_walk(const void *a, const void *b)
{
	take_both();
	return 0;
}

static void check_against_the_oracle(void)
{
	int skipped = oracle_nr - (int)stack.nr;

	ck_assert_uint_ge(stack.nr, 4);
	ck_assert_int_gt(skipped, 0);
	for (uint32_t i = 0; i < stack.nr; i++)
		ck_assert_uint_eq(stack.frame[i],
				  (uintptr_t)oracle[skipped + (int)i]);
}

NOINLINE static void sort(void)
{
	int two[2] = {2, 1};

	qsort(two, 2, sizeof(two[0]), compare_and_walk);
}

START_TEST(stack_through_code_without_frame_pointers_is_whole)
{
	kf_rows_start();
	ck_assert_ptr_null(kf_rows_lack());
	/* Asked anew, and as what is known. */
	for (int i = 0; i < 3; i++) {
		sort();
		check_against_the_oracle();
	}
}
END_TEST

START_TEST(tables_are_followed_where_system_calls_are_barred)
{
	kf_rows_start();
	kf_process_bar(true);
	sort();
	kf_process_bar(false);
	check_against_the_oracle();
}
END_TEST

static void *sort_in_a_thread(void *arg)
{
	sort();
	return NULL;
}

START_TEST(stack_of_a_thread_ends_with_the_thread)
{
	uint32_t of_main;

	kf_rows_start();
	sort();
	of_main = stack.nr;
	for (int i = 0; i < 3; i++) {
		pthread_t thread;

		ck_assert_int_eq(
			pthread_create(&thread, NULL, sort_in_a_thread, NULL),
			0);
		pthread_join(thread, NULL);
		check_against_the_oracle();
		ck_assert_uint_lt(stack.nr, of_main);
	}
}
END_TEST

static volatile sig_atomic_t handled;

static void handle(int sig)
{
	memset(&stack, 0xff, sizeof(stack));
	take();
	handled = stack.nr == 0 && stack.flags == 0 ? 1 : -1;
}

START_TEST(below_a_signal_handler_it_gives_up)
{
	kf_rows_start();
	signal(SIGUSR1, handle);
	for (int i = 0; i < 3; i++) {
		handled = 0;
		raise(SIGUSR1);
		ck_assert_int_eq(handled, 1);
		sort();
		check_against_the_oracle();
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		chain_ends_where_there_is_no_frame_above,
		chain_ends_at_a_return_address_of_none,
		chain_that_does_not_go_up_ends,
		misaligned_frame_pointers_are_not_followed,
		frames_that_nobody_can_read_are_not_read,
		frames_over_the_border_of_two_pages_are_read,
		a_deep_stack_is_cut_and_says_so,
		own_frames_are_left_out_below_the_program_only,
		a_stack_has_as_many_frames_as_were_asked_for,
		stacks_are_taken_while_there_is_a_buffer,
		a_forked_child_has_the_buffers_of_other_threads,
		stack_through_code_without_frame_pointers_is_whole,
		tables_are_followed_where_system_calls_are_barred,
		stack_of_a_thread_ends_with_the_thread,
		below_a_signal_handler_it_gives_up,
	};

	return unit_run("sample/walk", tests, KF_ARRAY_SIZE(tests));
}
