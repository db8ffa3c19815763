/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory of heaps whose owners do nothing.
 *
 * Only its owner takes a heap's memory back to the pages, in slow paths. An
 * owner that sleeps takes none, whatever other threads free. So any thread may
 * reclaim what the owner's fast paths cannot reach: slabs whose used blocks
 * were all freed by other threads, slabs without used blocks, the run cache,
 * and the medium blocks of the block cache. It touches no bin and nothing else
 * of slabs of tiny blocks, as the owner may have been stopped in the middle of
 * a fast path.
 *
 * A flag, @held, keeps the owner out of its slow paths. The owner sets @busy
 * and then reads @held, the other thread sets @held and then reads @busy; a
 * membarrier(2) of the other thread takes the place of the owner's fence
 * between the two, so slow paths cost no more. A busy heap is left alone. The
 * owner of a held heap waits, and so does its signal handler that came between
 * the owner's two steps. The other thread holds the arenas lock, but the owner
 * does not wait for it: where the handler came, the owner may have a lock of a
 * higher rank. The holder waits for nothing.
 *
 * The last store of a fast path to a slab takes a block off the used ones. If
 * all used blocks are remote ones, no fast path can be given a block of the
 * slab, and after a second membarrier(2) no store to the slab is on its way. A
 * slab without any used block may be about to be disposed of by its owner, who
 * looks again in the slow path: kf_slab_emptied_alone().
 *
 * Before the pages of slabs go back, the keys of their blocks are counted. If
 * the program freed a block again that was sent, the slab may have a live
 * block: the double free is reported, and the slab is left as it is, without an
 * owner.
 *
 * Without membarrier(2), or where the program filters system calls, memory
 * waits for its owner.
 */
#ifndef KF_HEAP_RECLAIM_H
#define KF_HEAP_RECLAIM_H

#include "base/compiler.h"

/* Whether there were more slabs than kf_heap_reclaim_old() takes. Atomic. */
extern bool kf_reclaim_goes_on __kf_hidden;

/**
 * kf_heap_reclaim() - free memory of all heaps of other threads
 * kf_heap_reclaim_old() - the same, now and then
 *
 * kf_heap_reclaim_old() does so once in a second, and in the next slow paths
 * while there are more slabs than it frees at a time. It leaves run caches and
 * empty slabs to owners that took a slow path since the last time.
 *
 * Context: any thread. Takes the arenas lock, then the pages lock.
 */
void kf_heap_reclaim(void);
void kf_heap_reclaim_old(void);

#endif
