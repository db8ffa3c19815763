/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who supplies the core with blocks, and counts them: the default engine
 * itself, whose fast paths count already, or the host of all other engines
 * (engines/host.c).
 *
 * The core has settled what the C library's words mean before it asks: sizes
 * are not 0 and below KF_SIZE_LIMIT, alignments are powers of two from 16 to
 * below that, pointers are not NULL. A backend neither changes errno nor fires
 * the per-call probes.
 */
#ifndef KF_HEAP_BACKEND_H
#define KF_HEAP_BACKEND_H

#include "base/compiler.h"

/* What mallinfo and its kin tell. Bytes unless said. */
struct kf_backend_info {
	size_t arena;	      /* held, without mapped blocks */
	size_t used;	      /* live, without mapped blocks */
	size_t cached;	      /* free blocks inside slabs */
	size_t free;	      /* free pages */
	size_t free_runs;     /* a number */
	size_t mapped_blocks; /* a number */
	size_t mapped_bytes;
	size_t top;		   /* what a trim would give back */
	size_t arenas;		   /* a number */
	size_t peak;		   /* most held at once */
	size_t peak_mapped_blocks; /* a number */
	size_t peak_mapped_bytes;
};

/* What a free or a realloc found wrong: enum konf_misuse of the engines. */
enum kf_misuse {
	KF_FINE,
	KF_INVALID_POINTER,
	KF_DOUBLE_FREE,
	KF_OVERFLOW,
	KF_WRITE_AFTER_FREE,
	KF_MISMATCH,
};

/* All members are set; each keeps errno. */
struct kf_backend {
	/* Once, before anything else. */
	void (*init)(void);
	/*
	 * A block, zeroed if wanted, counted, or NULL when there is no memory.
	 * @usable: out: its usable bytes.
	 */
	void *(*alloc)(size_t size, size_t align, bool zeroed, size_t *usable);
	/* Likewise one with a mark, not 0: see heap/marked.h. */
	void *(*alloc_marked)(size_t size, size_t align, bool zeroed,
			      uint32_t mark, size_t *usable);
	/* @usable: what usable() says of the block. */
	enum kf_misuse (*release)(void *p, size_t usable);
	/*
	 * The block at its new size, contents kept, or NULL and nothing
	 * changed. @wrong: out: tells of a pointer that is no block.
	 */
	void *(*resize)(void *p, size_t size, enum kf_misuse *wrong);
	/* Usable bytes of a block; 0: it is none. */
	size_t (*usable)(const void *p);
	/*
	 * From now on, or no longer, every call goes through the slow path;
	 * holds for the calling thread and for those that start later.
	 */
	void (*slow_down)(bool on);
	/*
	 * malloc_trim(), and before a failed alloc is tried again: give caches
	 * and free memory back but for @pad bytes. Whether there were any.
	 */
	bool (*trim)(size_t pad);
	/* mallopt(), after the library's own part in it. */
	void (*option)(int param, int value);
	void (*thread_exit)(void);
	void (*fork_prepare)(void);
	void (*fork_done)(bool child);
	void (*info)(struct kf_backend_info *info);
};

/* The backend in use; changes once at most, before main(). */
extern const struct kf_backend *kf_backend;

extern const struct kf_backend kf_backend_firstfit;

#endif
