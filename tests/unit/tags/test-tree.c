/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tags/tree.c and tags/tags.c: nodes found and made, trees claimed, left, taken
 * over and folded, and a thread's way through its tree.
 */
#include "config.h"

#include "tags/tree.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "sys/process.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

#define MANY 10000

static void start(void)
{
	kf_stats_init();
	kf_process_know();
}

/* A thread of this name begins; returns its root. */
static uint32_t begin(const char *name)
{
	UNIT_REQUIRE(!prctl(PR_SET_NAME, name, 0, 0, 0));
	kf_tag_self = &kf_tag_nobody;
	UNIT_REQUIRE(kf_tags_claim());
	return kf_tree_root(kf_tag_self->tree);
}

static uint32_t here(void)
{
	return kf_tag_current(kf_tag_self)->entry;
}

static uint32_t push(const char *name)
{
	if (!kf_tags_push_again(kf_tag_self, name))
		kf_tags_push(name);
	return here();
}

static void pop(unsigned int nr)
{
	while (nr--)
		kf_tags_pop();
}

static void came(uint32_t node, size_t usable, enum kf_tag_call call)
{
	if (kf_tags_came(&kf_tags.node[node], usable, call))
		kf_tags_rise(&kf_tags.node[node]);
}

START_TEST(names_are_compared_whole)
{
	char one[200], other[200];
	uint32_t a, b;

	start();
	begin("main");
	memset(one, 'n', sizeof(one));
	one[sizeof(one) - 1] = '\0';
	memcpy(other, one, sizeof(one));
	other[150] = 'm';
	a = push(one);
	pop(1);
	b = push(other);
	pop(1);
	ck_assert_uint_ne(a, b);
	ck_assert_str_eq(kf_tags_at(a)->name, kf_tags_at(b)->name);
	ck_assert_uint_eq(strlen(kf_tags_at(a)->name), KF_STATS_TAG_NAME - 1);
	ck_assert_uint_eq(push(one), a);
	pop(1);
	ck_assert_uint_eq(push(other), b);
	ck_assert_uint_eq(kf_tags_at(a)->entered, 2);
	ck_assert_uint_eq(kf_tags_at(a)->left, 2);
	ck_assert_uint_eq(kf_tags_at(b)->left, 1);
}
END_TEST

#define ROOM ((size_t)2 * KF_STATS_TAG_NAME)

/* One that ends where a page does that nobody may look behind. */
START_TEST(short_way_tells_names_apart_at_every_byte)
{
	char *page = mmap(NULL, 2 * KF_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t root;

	UNIT_REQUIRE(page != MAP_FAILED);
	UNIT_REQUIRE(!mprotect(page + KF_PAGE, KF_PAGE, PROT_NONE));
	start();
	root = begin("main");
	for (size_t len = 0; len < KF_STATS_TAG_NAME; len++) {
		/* In one page, or it would have to look at the next. */
		char name[ROOM] __kf_aligned(ROOM) = "";
		const struct kf_tag_node *node;
		char *end = page + KF_PAGE - len - 1;

		memset(name, 'n', len);
		memcpy(end, name, len + 1);
		node = &kf_tags.node[push(name)];
		ck_assert_uint_eq(node->parent, root);
		pop(1);
		ck_assert(kf_tag_is_named(node, name));
		ck_assert_uint_eq(push(end), node->entry);
		pop(1);
		for (size_t i = 0; i <= len; i++) {
			name[i]++;
			ck_assert(!kf_tag_is_named(node, name));
			name[i]--;
		}
		if (len)
			name[len - 1] = '\0';
		else
			name[0] = 'n';
		ck_assert(!kf_tag_is_named(node, name));
	}
	munmap(page, 2 * KF_PAGE);
}
END_TEST

START_TEST(same_name_elsewhere_is_another_node)
{
	uint32_t a, b, below;

	start();
	begin("main");
	a = push("a");
	below = push("b");
	pop(2);
	b = push("b");
	ck_assert_uint_ne(b, below);
	ck_assert_uint_eq(kf_tags_at(below)->parent, a);
	ck_assert_uint_eq(kf_tags_at(below)->depth, 2);
	ck_assert_uint_eq(kf_tags_at(b)->depth, 1);
	ck_assert_uint_eq(kf_tags_at(b)->root, kf_tags_at(below)->root);
	ck_assert_ptr_eq(kf_tags_above(below, 1), &kf_tags.node[a]);
}
END_TEST

START_TEST(mark_says_node_and_tree)
{
	uint32_t root, node;

	start();
	root = begin("main");
	ck_assert_uint_eq(kf_tag_mark_now(kf_tag_self), 0);
	ck_assert_uint_eq(kf_tag_mark(&kf_tags.node[root]), 0);
	node = push("a");
	ck_assert_uint_eq(kf_tag_of_mark(kf_tag_mark_now(kf_tag_self)), node);
	ck_assert_uint_eq(kf_tag_mark_now(kf_tag_self) >> KF_TAG_TREE_SHIFT,
			  kf_tag_self->tree);
	kf_tags_pause(true);
	ck_assert_uint_eq(kf_tag_mark_now(kf_tag_self), 0);
	ck_assert(!kf_tags_push_again(kf_tag_self, "b"));
	kf_tags_pause(false);
	ck_assert_uint_ne(kf_tag_mark_now(kf_tag_self), 0);
}
END_TEST

START_TEST(limits_are_kept_and_counted)
{
	uint32_t last;

	start();
	kf_tags.limits.levels = 3;
	kf_tags.limits.nodes = 5;
	begin("main");
	push("a");
	last = push("b");
	ck_assert_uint_eq(push("too deep"), last);
	ck_assert_uint_eq(push("deeper still"), last);
	ck_assert_uint_eq(kf_tags_at(last)->failed, 2);
	ck_assert_uint_eq(kf_tag_of_mark(kf_tag_mark_now(kf_tag_self)), last);
	pop(2);
	ck_assert_uint_eq(here(), last);
	pop(2);
	push("c");
	pop(1);
	push("d");
	pop(1);
	/* The root and four more: that is all. */
	last = here();
	ck_assert_uint_eq(push("e"), last);
	ck_assert_uint_eq(kf_tags_at(last)->failed, 1);
	pop(1);
	ck_assert_uint_ne(push("d"), last);
	pop(5);
	ck_assert_uint_eq(here(), last);
}
END_TEST

START_TEST(base_is_never_left)
{
	uint32_t root, base;

	start();
	kf_tags.base = "everything";
	root = begin("main");
	base = here();
	ck_assert_uint_eq(kf_tags_at(base)->parent, root);
	ck_assert_str_eq(kf_tags_at(base)->name, "everything");
	ck_assert_uint_ne(kf_tag_mark_now(kf_tag_self), 0);
	pop(3);
	ck_assert_uint_eq(here(), base);
	ck_assert_uint_eq(kf_tags_at(base)->left, 0);
	push("a");
	pop(2);
	ck_assert_uint_eq(here(), base);
}
END_TEST

START_TEST(tree_goes_on_for_the_next_thread_of_its_name)
{
	uint32_t tree, node, other;

	start();
	begin("worker");
	tree = kf_tag_self->tree;
	node = push("a");
	kf_tags_leave();
	ck_assert(!kf_tags_claim());
	ck_assert_uint_eq(kf_tags_at(node)->state, KF_TAG_FOLDED);
	ck_assert_int_eq(kf_tags_at(node)->tid, 0);
	begin("another");
	other = kf_tag_self->tree;
	ck_assert_uint_ne(other, tree);
	kf_tags_leave();
	begin("worker");
	ck_assert_uint_eq(kf_tag_self->tree, tree);
	ck_assert_int_eq(kf_tags_at(node)->tid, kf_process_tid());
	ck_assert_uint_eq(here(), kf_tree_root(tree));
	ck_assert_uint_eq(push("a"), node);
	ck_assert_uint_eq(kf_tags_at(node)->entered, 2);
}
END_TEST

static uint64_t all_mallocs(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < kf_tags.nr; i++) {
		if (kf_tags_at(i)->state != KF_TAG_FREE)
			sum += kf_tags_at(i)->mallocs;
	}
	return sum;
}

START_TEST(ended_threads_of_other_names_cost_no_more_entries)
{
	uint32_t few = 0, tree, kept, generation = 0;
	char name[KF_COMM_SIZE];

	start();
	begin("keeps");
	kept = push("kept");
	came(kept, 100, KF_TAG_MALLOC);
	tree = kf_tag_self->tree;
	kf_tags_leave();
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t node;

		snprintf(name, sizeof(name), "thread %u", i);
		begin(name);
		push("a");
		node = push("b");
		came(node, 100, KF_TAG_MALLOC);
		kf_tags_gone(node, 100, true);
		if (i == MANY / 2)
			few = kf_tags.nr;
		generation = kf_tags.node[node].generation;
		kf_tags_leave();
	}
	ck_assert_uint_eq(kf_tags.nr, few);
	ck_assert_uint_gt(generation, 1);
	/* What was folded is counted in the common tree. */
	ck_assert_uint_eq(all_mallocs(), MANY + 1);
	/* One with live blocks is nobody else's. */
	ck_assert_uint_eq(kf_stats_tag_live(kf_tags_at(kept)), 100);
	begin("keeps");
	ck_assert_uint_eq(kf_tag_self->tree, tree);
	ck_assert_uint_eq(push("kept"), kept);
}
END_TEST

START_TEST(folded_tree_has_the_paths_it_had)
{
	char name[KF_COMM_SIZE];
	uint64_t found = 0;

	start();
	for (uint32_t i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "thread %u", i);
		begin(name);
		push("outer");
		push("inner");
		pop(2);
		kf_tags_leave();
	}
	for (uint32_t i = 1; i < kf_tags.nr; i++) {
		const struct kf_stats_tag *t = kf_tags_at(i);

		if (t->state == KF_TAG_FREE || strcmp(t->name, "inner"))
			continue;
		ck_assert_str_eq(kf_tags_at(t->parent)->name, "outer");
		ck_assert_uint_eq(kf_tags_at(t->parent)->parent, t->root);
		ck_assert_uint_eq(t->left, t->entered);
		found += t->entered;
	}
	ck_assert_uint_eq(found, 200);
}
END_TEST

START_TEST(others_count_what_they_free)
{
	uint32_t node;

	start();
	begin("one");
	node = push("a");
	came(node, 100, KF_TAG_CALLOC);
	came(node, 50, KF_TAG_REALLOC);
	kf_tags_gone(node, 50, false);
	kf_tags_leave();
	begin("other");
	kf_tags_gone(node, 100, true);
	ck_assert_uint_eq(kf_tags_at(node)->remote_frees, 1);
	ck_assert_uint_eq(kf_tags_at(node)->remote_freed, 100);
	ck_assert_uint_eq(kf_tags_at(node)->frees, 0);
	ck_assert_uint_eq(kf_tags_at(node)->resized, 1);
	ck_assert_uint_eq(kf_stats_tag_live(kf_tags_at(node)), 0);
	ck_assert_uint_eq(kf_stats_tag_blocks(kf_tags_at(node)), 0);
	ck_assert_uint_eq(kf_tags_at(node)->peak, 150);
	kf_tags_reset_peaks();
	ck_assert_uint_eq(kf_tags_at(node)->peak, 0);
}
END_TEST

START_TEST(peak_is_exact_whoever_frees)
{
	uint32_t node;

	start();
	begin("one");
	node = push("a");
	came(node, 100, KF_TAG_MALLOC);
	ck_assert_uint_eq(kf_tags_at(node)->peak, 100);
	kf_tags_gone_remote(node, 100);
	came(node, 80, KF_TAG_MALLOC);
	ck_assert_uint_eq(kf_tags_at(node)->peak, 100);
	came(node, 60, KF_TAG_MALLOC);
	ck_assert_uint_eq(kf_tags_at(node)->peak, 140);
	kf_tags_gone(node, 60, true);
	came(node, 50, KF_TAG_MALLOC);
	ck_assert_uint_eq(kf_tags_at(node)->peak, 140);
	kf_tags_reset_peaks();
	ck_assert_uint_eq(kf_tags_at(node)->peak, 130);
	kf_tags_gone(node, 50, true);
	came(node, 51, KF_TAG_MALLOC);
	ck_assert_uint_eq(kf_tags_at(node)->peak, 131);
}
END_TEST

START_TEST(peak_of_a_child_is_its_own)
{
	struct kf_stats_tag *tag;
	uint32_t node;

	start();
	begin("one");
	node = push("a");
	tag = kf_tags_at(node);
	came(node, 100, KF_TAG_MALLOC);
	kf_tags_gone(node, 90, true);
	/* As a forked child finds it. */
	tag->allocated = 10;
	tag->freed = 0;
	tag->peak = 10;
	kf_tags_fork_child();
	came(node, 5, KF_TAG_MALLOC);
	ck_assert_uint_eq(tag->peak, 15);
}
END_TEST

static uint32_t gone;
static pthread_barrier_t forked;

static void *be_gone(void *unused)
{
	begin("gone");
	gone = push("a");
	pthread_barrier_wait(&forked);
	pthread_barrier_wait(&forked);
	return unused;
}

START_TEST(child_has_its_own_tree_only)
{
	pthread_t thread;
	uint32_t own;

	start();
	UNIT_REQUIRE(!pthread_barrier_init(&forked, NULL, 2));
	UNIT_REQUIRE(!pthread_create(&thread, NULL, be_gone, NULL));
	pthread_barrier_wait(&forked);
	begin("own");
	own = push("a");
	ck_assert_uint_ne(own, gone);
	ck_assert_uint_eq(kf_tags_at(gone)->state, KF_TAG_IN_USE);
	/* As if this thread had forked, and the other were not here. */
	kf_tags_fork_child();
	ck_assert_uint_eq(kf_tags_at(gone)->state, KF_TAG_FOLDED);
	ck_assert_uint_eq(kf_tags_at(own)->state, KF_TAG_IN_USE);
	ck_assert_int_eq(kf_tags_at(own)->tid, kf_process_tid());
	ck_assert_uint_eq(here(), own);
	pthread_barrier_wait(&forked);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(chosen_names_have_stacks)
{
	uint32_t chosen, other;

	start();
	kf_tags.stacks = "+net*,-net.cache";
	begin("net");
	chosen = push("net.http");
	other = push("net.cache");
	ck_assert(kf_tags_has_stacks(chosen));
	ck_assert(!kf_tags_has_stacks(other));
	/* Threads are no tags. */
	ck_assert(!kf_tags_has_stacks(kf_tree_root(kf_tag_self->tree)));
	ck_assert_uint_eq(kf_tags_at(chosen)->flags, KF_TAG_STACKS);
	ck_assert_uint_eq(kf_tags_at(other)->flags, 0);
	ck_assert_uint_eq(kf_tags.node[chosen].quick, 0);
	ck_assert_uint_ne(kf_tags.node[other].quick, 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		names_are_compared_whole,
		short_way_tells_names_apart_at_every_byte,
		same_name_elsewhere_is_another_node,
		mark_says_node_and_tree,
		limits_are_kept_and_counted,
		base_is_never_left,
		tree_goes_on_for_the_next_thread_of_its_name,
		ended_threads_of_other_names_cost_no_more_entries,
		folded_tree_has_the_paths_it_had,
		others_count_what_they_free,
		peak_is_exact_whoever_frees,
		peak_of_a_child_is_its_own,
		child_has_its_own_tree_only,
		chosen_names_have_stacks,
	};

	return unit_run("tags/tree", tests, KF_ARRAY_SIZE(tests));
}
