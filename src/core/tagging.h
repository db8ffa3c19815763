/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tags and the allocator together: what src/tags counts, and the marks by which
 * the blocks of a thread with a tag are known (heap/marked.h).
 *
 * The mark of a block is its tag's node, with the tree.
 */
#ifndef KF_CORE_TAGGING_H
#define KF_CORE_TAGGING_H

#include "heap/marked.h"
#include "tags/tags.h"

/**
 * kf_tagging_init() - take over the options, and hear of marked blocks
 *
 * Context: once, at start, before the recorder's.
 */
void kf_tagging_init(void);

/**
 * kf_tagging_begin() - have a tree for the calling thread
 *
 * Starts the library and settles a fork, if that is due.
 *
 * Context: any thread. Keeps errno.
 * Return: false where the thread cannot have tags.
 */
bool kf_tagging_begin(void);

/**
 * kf_tagging_thread_exit() - the calling thread has left its heap
 *
 * Context: late in the life of a thread.
 */
void kf_tagging_thread_exit(void);

/* The mark for blocks of the calling thread, 0 none. */
static inline uint32_t kf_tagging_mark(void)
{
	if (unlikely(kf_tags.base && !kf_tag_has_tree(kf_tag_self)) &&
	    !kf_tagging_begin())
		return 0;
	return kf_tag_mark_now(kf_tag_self);
}

#endif
