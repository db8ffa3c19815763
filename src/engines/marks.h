/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Marks of blocks that have no room for them: those of hosted engines. And
 * which blocks are known, where the engine has blocks that were never counted:
 * a byte in place of a mark.
 *
 * A number for every 16 bytes of the address space, in a tree of tables, as the
 * kernel's of pages. Tables are made where the first mark of their addresses is
 * kept, and stay: an engine hands out the same addresses again. Who has a block
 * has its mark, so nobody waits for anybody; only a new table takes a lock.
 */
#ifndef KF_ENGINES_MARKS_H
#define KF_ENGINES_MARKS_H

#include "base/compiler.h"

/* A block of fewer bytes may share its 16 with another. */
#define KF_MARKS_LEAST ((size_t)16)

/**
 * kf_marks_put() - keep the mark of a block
 * @p:		the block, of at least KF_MARKS_LEAST bytes
 * @mark:	the mark, not 0
 *
 * Context: the block's owner. May take the pages lock.
 * Return: false where there is no place for it: it is not aligned to 16, or
 *	   there is no memory, or a fork is on.
 */
bool kf_marks_put(const void *p, uint32_t mark) __must_check;

/**
 * kf_marks_take() - the mark of a block, which has none afterwards
 * @p:		any address
 *
 * Context: the block's owner. No lock; signal handlers too.
 * Return: the mark; 0: it had none.
 */
uint32_t kf_marks_take(const void *p);

/**
 * kf_known_put() - note that a block is known
 * @p:		the block, of at least KF_MARKS_LEAST bytes
 *
 * Context: as kf_marks_put().
 * Return: as kf_marks_put().
 */
bool kf_known_put(const void *p) __must_check;

/**
 * kf_known_take() - whether a block is known; it is not afterwards
 * @p:		any address
 *
 * Context: as kf_marks_take().
 * Return: whether kf_known_put() noted it.
 */
bool kf_known_take(const void *p);

/**
 * kf_marks_clear() - forget all marks and all known blocks
 *
 * Context: while no other function here is called. Takes as long as it takes to
 *	    write a sixteenth of the heap, where blocks were known.
 */
void kf_marks_clear(void);

#endif
