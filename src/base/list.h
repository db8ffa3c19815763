/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A circular doubly linked list whose links lie inside the members.
 *
 * Each operation takes constant time and never fails, since it owns no memory.
 * Locking, and knowing on which list a member is, are left to the callers.
 *
 * One struct serves for heads and members. From a member's link to the struct
 * around it goes kf_container_of().
 */
#ifndef KF_BASE_LIST_H
#define KF_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Invariant, for heads and for members that are on a list:
 * l->next->prev == l and l->prev->next == l. An empty head points to itself.
 */
struct kf_list {
	struct kf_list *next; /* of a head: the first member */
	struct kf_list *prev; /* of a head: the last member */
};

/* The initial value of the head @name: an empty list. */
#define KF_LIST_INIT(name)       \
	{                        \
		&(name), &(name) \
	}

/*
 * From the first member to the last; @pos is the link, not the struct around
 * it. The body must not take @pos off the list.
 */
#define kf_list_for_each(pos, head) \
	for (pos = (head)->next; pos != (head); pos = pos->next)

/* The same, where the body may take @pos off; @tmp is the loop's own. */
#define kf_list_for_each_safe(pos, tmp, head)                    \
	for (pos = (head)->next, tmp = pos->next; pos != (head); \
	     pos = tmp, tmp = pos->next)

/**
 * kf_list_init() - make a head empty, or a member its own only neighbour
 * @list:	the head or member; its old links are overwritten
 *
 * Context: the caller keeps others away from @list.
 */
static inline void kf_list_init(struct kf_list *list)
{
	list->next = list;
	list->prev = list;
}

/**
 * kf_list_add() - put a member directly behind another link
 * @member:	the new member; must not be on a list
 * @where:	a head: @member becomes the first; a member: its next
 *
 * Context: the caller keeps others away from the list.
 */
static inline void kf_list_add(struct kf_list *member, struct kf_list *where)
{
	member->next = where->next;
	member->prev = where;
	where->next->prev = member;
	where->next = member;
}

/**
 * kf_list_add_tail() - put a member directly before another link
 * @member:	the new member; must not be on a list
 * @where:	a head: @member becomes the last; a member: its previous
 *
 * Context: the caller keeps others away from the list.
 */
static inline void kf_list_add_tail(struct kf_list *member,
				    struct kf_list *where)
{
	kf_list_add(member, where->prev);
}

/**
 * kf_list_del() - take a member off its list
 * @member:	the member; afterwards it is its own only neighbour, so that
 *		taking it off again does no harm
 *
 * Context: the caller keeps others away from the list.
 */
static inline void kf_list_del(struct kf_list *member)
{
	member->next->prev = member->prev;
	member->prev->next = member->next;
	kf_list_init(member);
}

/**
 * kf_list_empty() - whether a list has no member
 * @head:	the head; of a member: whether it is off any list, provided it
 *		came from kf_list_init() or kf_list_del()
 *
 * Context: the caller keeps writers away from the list.
 * Return: true when it is empty.
 */
static inline bool kf_list_empty(const struct kf_list *head)
{
	return head->next == head;
}

/**
 * kf_list_first() - the first member
 * @head:	the head
 *
 * Context: the caller keeps writers away from the list.
 * Return: the member's link, NULL when the list is empty.
 */
static inline struct kf_list *kf_list_first(const struct kf_list *head)
{
	return kf_list_empty(head) ? NULL : head->next;
}

/**
 * kf_list_last() - the last member
 * @head:	the head
 *
 * Context: the caller keeps writers away from the list.
 * Return: the member's link, NULL when the list is empty.
 */
static inline struct kf_list *kf_list_last(const struct kf_list *head)
{
	return kf_list_empty(head) ? NULL : head->prev;
}

#endif
