/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host of engines: all requests of the slow path come here. The host keeps
 * what the engine contract (include/konfiscator-engine.h) promises to engines,
 * and counts their blocks.
 *
 * The default engine serves beside a hosted one: the blocks that were allocated
 * before the other was installed, requests from inside of it, and requests
 * while a fork is on. The address map tells whose a block is: any address that
 * the map does not know belongs to the hosted engine.
 *
 * Sizes are below KF_SIZE_LIMIT, and not 0 unless the engine that serves has
 * KONF_ENGINE_ZERO. Alignments are powers of two from 16 to below that limit.
 * Pointers are not NULL. No function changes errno or fires a probe of a call.
 */
#ifndef KF_ENGINES_HOST_H
#define KF_ENGINES_HOST_H

#include "engines/engine.h"
#include "heap/heap.h"

/* What mallinfo(3) and the like report. Bytes, or numbers of blocks. */
struct kf_host_info {
	size_t arena;		      /* held, without mapped blocks */
	size_t used;		      /* live, without mapped blocks */
	size_t cached;		      /* free blocks inside slabs */
	struct konf_engine_info free; /* free memory beside these */
	size_t mapped_blocks;	      /* number */
	size_t mapped_bytes;
	size_t peak;		   /* most held at once */
	size_t peak_mapped_blocks; /* number */
	size_t peak_mapped_bytes;
};

/**
 * kf_host_init() - make the default engine usable
 *
 * Context: once, by one thread, before anything else here.
 */
void kf_host_init(void);

/**
 * kf_host_install() - let another engine serve from now on
 * @engine:	the engine; has all members that must be set
 *
 * Calls its init().
 *
 * Context: once, by one thread, after kf_host_init().
 * Return: NULL, or the engine's words why it cannot be used; nothing has
 *	   changed then.
 */
const char *kf_host_install(const struct kf_engine *engine);

/**
 * kf_host_alloc() - a block
 * @size:	bytes
 * @align:	power of two
 * @zeroed:	whether it must read as zeroes
 * @mark:	its mark (heap/marked.h), 0 for none
 * @usable:	out: its usable bytes
 *
 * Context: any thread.
 * Return: the block, counted, or NULL when there is no memory.
 */
void *kf_host_alloc(size_t size, size_t align, bool zeroed, uint32_t mark,
		    size_t *usable) __must_check;

/**
 * kf_host_free() - free a block
 * @p:		the block
 * @usable:	kf_host_usable() of it
 *
 * Context: any thread.
 * Return: KONF_FINE, or what is wrong with the pointer; nothing changed then.
 */
enum konf_misuse kf_host_free(void *p, size_t usable);

/**
 * kf_host_realloc() - a block at another size, contents kept
 * @p:		the block
 * @size:	bytes
 * @wrong:	out: what is wrong with the pointer
 *
 * Context: any thread.
 * Return: the block, or NULL and nothing changed.
 */
void *kf_host_realloc(void *p, size_t size,
		      enum konf_misuse *wrong) __must_check;

/**
 * kf_host_usable() - usable bytes of a block
 * @p:		any pointer
 *
 * Context: any thread. Takes no lock.
 * Return: bytes; 0: it is no block.
 */
size_t kf_host_usable(const void *p);

/**
 * kf_host_slow_down() - send every call through the slow path, or end that
 * @on:		whether to
 *
 * Holds for the calling thread and for those that start later.
 *
 * Context: any thread.
 */
void kf_host_slow_down(bool on);

/**
 * kf_host_trim() - give caches and free memory back to the kernel
 * @pad:	bytes to keep
 *
 * Context: any thread.
 * Return: whether there was any.
 */
bool kf_host_trim(size_t pad);

/**
 * kf_host_option() - tell the engine of mallopt(3)
 * @param:	as there
 * @value:	as there
 *
 * Context: any thread.
 */
void kf_host_option(int param, int value);

/**
 * kf_host_fork_prepare() - hold all heaps still for a fork
 * kf_host_fork_done() - end that
 * @child:	whether this is the child
 *
 * Context: the thread that forks; in the child its only thread.
 */
void kf_host_fork_prepare(void);
void kf_host_fork_done(bool child);

/**
 * kf_host_info() - what the heap holds
 * @out:	out
 *
 * Context: any thread.
 */
void kf_host_info(struct kf_host_info *out);

/**
 * kf_host_finish() - the program ends: let the engine check its blocks
 *
 * Context: our destructor. Other threads may go on.
 */
void kf_host_finish(void);

/*
 * A hosted engine that needs no lock is called by these, in the hosted mode,
 * with sizes below KF_SIZE_LIMIT. Constant once the engine serves.
 */
extern struct kf_next_malloc kf_host_direct __kf_hidden;

/**
 * kf_host_mark() - give a block that has no mark one
 * @p:		a live block, of at least KF_MARKS_LEAST bytes
 * @mark:	the mark, not 0
 *
 * Context: the block's owner.
 * Return: false where there is no place for it.
 */
bool kf_host_mark(void *p, uint32_t mark) __must_check;

/**
 * kf_host_know() - count only blocks that are allocated from now on
 *
 * For an engine that passes on to a malloc which the program has used before
 * without this library. Frees of other blocks are counted apart, and no block
 * is the default engine's.
 *
 * Context: once before calls come, and while none come, to begin anew.
 */
void kf_host_know(void);

/**
 * kf_host_is_direct() - whether the hosted mode may call the engine
 *
 * Context: any thread, while an engine is hosted; kf_process_change() is called
 *	    when the answer changes.
 * Return: false where the engine needs the lock or does not keep errno, while
 *	   blocks are filled, once a block had a mark, and after kf_host_know().
 */
bool kf_host_is_direct(void);

#endif
