/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * base/list.h against an array that keeps the same order.
 */
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/unit/unit.h"

#define NR_ITEMS 50

struct item {
	int number;
	struct kf_list link;
};

static struct item items[NR_ITEMS];

static struct item *item_of(struct kf_list *link)
{
	return kf_container_of(link, struct item, link);
}

/* The list holds just these items, in this order, seen from both ends. */
static void check_is(struct kf_list *head, const int *numbers, size_t nr)
{
	struct kf_list *pos;
	size_t i = 0;

	kf_list_for_each(pos, head) {
		UNIT_REQUIRE(i < nr);
		UNIT_REQUIRE(item_of(pos)->number == numbers[i]);
		UNIT_REQUIRE(pos->prev->next == pos);
		UNIT_REQUIRE(pos->next->prev == pos);
		i++;
	}
	UNIT_REQUIRE(i == nr);
	UNIT_REQUIRE(kf_list_empty(head) == (nr == 0));
	if (nr == 0) {
		UNIT_REQUIRE(!kf_list_first(head));
		UNIT_REQUIRE(!kf_list_last(head));
		return;
	}
	UNIT_REQUIRE(kf_list_first(head) == &items[numbers[0]].link);
	UNIT_REQUIRE(kf_list_last(head) == &items[numbers[nr - 1]].link);
}

static void make_items(void)
{
	for (int i = 0; i < NR_ITEMS; i++) {
		items[i].number = i;
		kf_list_init(&items[i].link);
	}
}

START_TEST(new_list_is_empty)
{
	struct kf_list made = KF_LIST_INIT(made);
	struct kf_list set;

	kf_list_init(&set);
	check_is(&made, NULL, 0);
	check_is(&set, NULL, 0);
}
END_TEST

START_TEST(members_added_at_the_head_come_in_reverse)
{
	struct kf_list head = KF_LIST_INIT(head);

	make_items();
	for (int i = 0; i < 3; i++)
		kf_list_add(&items[i].link, &head);
	check_is(&head, (int[]){2, 1, 0}, 3);
}
END_TEST

START_TEST(members_added_at_the_tail_come_in_order)
{
	struct kf_list head = KF_LIST_INIT(head);

	make_items();
	for (int i = 0; i < 3; i++)
		kf_list_add_tail(&items[i].link, &head);
	check_is(&head, (int[]){0, 1, 2}, 3);
}
END_TEST

START_TEST(member_goes_behind_or_before_another_member)
{
	struct kf_list head = KF_LIST_INIT(head);

	make_items();
	kf_list_add(&items[0].link, &head);
	kf_list_add(&items[1].link, &items[0].link);
	kf_list_add_tail(&items[2].link, &items[1].link);
	check_is(&head, (int[]){0, 2, 1}, 3);
}
END_TEST

START_TEST(removed_member_is_alone_and_removed_again_does_no_harm)
{
	struct kf_list head = KF_LIST_INIT(head);

	make_items();
	for (int i = 0; i < 3; i++)
		kf_list_add_tail(&items[i].link, &head);
	kf_list_del(&items[1].link);
	ck_assert(kf_list_empty(&items[1].link));
	kf_list_del(&items[1].link);
	check_is(&head, (int[]){0, 2}, 2);
}
END_TEST

START_TEST(safe_loop_may_remove_every_member)
{
	struct kf_list head = KF_LIST_INIT(head);
	struct kf_list *pos, *tmp;
	int seen = 0;

	make_items();
	for (int i = 0; i < NR_ITEMS; i++)
		kf_list_add_tail(&items[i].link, &head);
	kf_list_for_each_safe(pos, tmp, &head) {
		ck_assert_int_eq(item_of(pos)->number, seen);
		kf_list_del(pos);
		memset(pos, 0xff, sizeof(*pos));
		seen++;
	}
	ck_assert_int_eq(seen, NR_ITEMS);
	check_is(&head, NULL, 0);
}
END_TEST

/* The model: an array of numbers, with insertion and removal by shifting. */
struct model {
	int numbers[NR_ITEMS];
	size_t nr;
};

static size_t model_find(const struct model *model, int number)
{
	size_t at = 0;

	while (at < model->nr && model->numbers[at] != number)
		at++;
	return at;
}

static void model_add(struct model *model, size_t at, int number)
{
	memmove(model->numbers + at + 1, model->numbers + at,
		(model->nr - at) * sizeof(int));
	model->numbers[at] = number;
	model->nr++;
}

static void model_del(struct model *model, size_t at)
{
	model->nr--;
	memmove(model->numbers + at, model->numbers + at + 1,
		(model->nr - at) * sizeof(int));
}

START_TEST(list_agrees_with_an_array)
{
	struct kf_list head = KF_LIST_INIT(head);
	struct model model = {.nr = 0};
	uint64_t state = 2;

	make_items();
	for (int i = 0; i < 20000; i++) {
		int n = (int)(chance_below(&state, NR_ITEMS));
		size_t at = model_find(&model, n);

		if (at < model.nr) {
			kf_list_del(&items[n].link);
			model_del(&model, at);
		} else if (chance_below(&state, 2)) {
			kf_list_add(&items[n].link, &head);
			model_add(&model, 0, n);
		} else {
			kf_list_add_tail(&items[n].link, &head);
			model_add(&model, model.nr, n);
		}
		check_is(&head, model.numbers, model.nr);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		new_list_is_empty,
		members_added_at_the_head_come_in_reverse,
		members_added_at_the_tail_come_in_order,
		member_goes_behind_or_before_another_member,
		removed_member_is_alone_and_removed_again_does_no_harm,
		safe_loop_may_remove_every_member,
		list_agrees_with_an_array,
	};

	return unit_run("base/list", tests, KF_ARRAY_SIZE(tests));
}
