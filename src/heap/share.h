/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sharing: small classes of which a heap has few blocks have no slabs there.
 *
 * A slab of their own would be empty for the most part, and what each class
 * needs at its own peak adds up. So another class, at most a quarter larger,
 * serves for it; its blocks they are, and are counted as such. malloc finds in
 * the heap which one (kf_fast_share), for some requests; then the class is
 * looked at again.
 */
#ifndef KF_HEAP_SHARE_H
#define KF_HEAP_SHARE_H

#include "heap/heap.h"

/**
 * kf_share_last() - the class whose slabs a group has
 * @class:	up to KF_NR_TINY
 *
 * Context: any.
 * Return: the last of its group, of which there are four to a doubling.
 */
unsigned int kf_share_last(unsigned int class);

/**
 * kf_share_is_rare() - whether a block of another class will do for a request
 * @heap:	the heap, which has no block of the class
 * @class:	up to KF_NR_TINY
 *
 * It does until the class has many blocks, or is asked for often. Counts the
 * request.
 *
 * Context: the heap's owner, inside kf_heap_enter().
 * Return: false: the class is to have its own.
 */
bool kf_share_is_rare(struct kf_heap *heap, unsigned int class) __must_check;

/**
 * kf_share_begin() - let malloc take another class' blocks for the next ones
 * @heap:	the heap
 * @class:	one for which kf_share_is_rare() is true
 * @found:	the one that served for it now
 *
 * Rather of the one that all of the group find than of the one that had a block
 * now.
 *
 * Context: as kf_share_is_rare().
 */
void kf_share_begin(struct kf_heap *heap, unsigned int class,
		    unsigned int found);

#endif
