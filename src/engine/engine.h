/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an engine is: a strategy that turns sizes into blocks.
 *
 * The layer above has settled what the C library's words mean before an
 * engine is asked: sizes are not 0 and at most PTRDIFF_MAX, alignments are
 * powers of two and at least 16, pointers are not NULL. An engine neither
 * sets errno nor fires the per-call probes.
 */
#ifndef KF_ENGINE_ENGINE_H
#define KF_ENGINE_ENGINE_H

#include "base/compiler.h"

/* What mallinfo and its kin tell. Bytes unless said. */
struct kf_engine_info {
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

/* What a free or a realloc found wrong with a pointer. */
enum kf_misuse { KF_FINE, KF_INVALID_POINTER, KF_DOUBLE_FREE };

/* All members are set; each keeps errno. */
struct kf_engine {
	const char *name;
	/* Once, before anything else. */
	void (*init)(void);
	/* A block, zeroed if wanted, or NULL when there is no memory. */
	void *(*alloc)(size_t size, size_t align, bool zeroed);
	enum kf_misuse (*release)(void *p);
	/*
	 * The block at its new size, contents kept, or NULL and nothing
	 * changed. @wrong tells of a pointer that is no block.
	 */
	void *(*resize)(void *p, size_t size, enum kf_misuse *wrong);
	/* Usable bytes of a block; 0: it is none. */
	size_t (*usable)(
		const void *p); /*
				 * From now on, or no longer, every call goes
				 * through the slow path; holds for the calling
				 * thread and for those that start later.
				 */
	void (*slow_down)(bool on);
	/* Give caches back, so that a failed alloc may be tried again. */
	void (*reclaim)(void);
	void (*thread_exit)(void);
	void (*fork_prepare)(void);
	void (*fork_done)(bool child);
	void (*info)(struct kf_engine_info *info);
};

/* The engine in use; constant after start. */
extern const struct kf_engine *kf_engine;

#define KF_ENGINE(id, help) extern const struct kf_engine kf_engine_##id;
#include "engine/engines.def"
#undef KF_ENGINE

/**
 * kf_engine_find() - an engine by its name
 * @name:	the name, or NULL for the default
 *
 * Context: any.
 * Return: the engine, or NULL where none has that name.
 */
const struct kf_engine *kf_engine_find(const char *name);

/* Thresholds of large blocks, glibc's rule; set by mallopt too. */
struct kf_large_conf {
	size_t mmap_threshold;	/* atomic */
	size_t mmap_max;	/* mapped blocks at most */
	bool dynamic;		/* the thresholds follow what is freed */
	unsigned int arena_max; /* thread heaps at most, 0: no limit */
};

extern struct kf_large_conf kf_large_conf;

#endif
