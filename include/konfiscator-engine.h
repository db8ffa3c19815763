/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine contract of konfiscator. An engine allocates and frees blocks.
 *
 * An engine is a struct konf_engine. An engine inside the library is listed in
 * src/engines/engines.def. An external engine is a shared object that exports
 * the struct as konf_engine; KONFISCATOR_ENGINE=/path/of/engine.so selects it.
 * konfiscator handles counting, probes, errno, retries, misuse and the
 * semantics of the C library's functions for all engines.
 *
 * Guarantees to an engine:
 *	- @size is not 0, except with KONF_ENGINE_ZERO, and @size + @align
 *	  is at most PTRDIFF_MAX;
 *	- @align is a power of two, at least 16;
 *	- @p is not NULL, was allocated by this engine and is not freed, as far
 *	  as check() and usable_size() can tell. Blocks of the default engine,
 *	  which serves until init() has returned, are never passed;
 *	- init() is called once, before any other function;
 *	- without KONF_ENGINE_THREADS one call runs at a time, no fork happens
 *	  during a call, and allocations of a signal handler or of the engine
 *	  itself during a call are served by the default engine. usable_size()
 *	  and check() are exceptions: they may run at any time, in any thread,
 *	  on a block that the caller owns.
 *
 * Obligations of an engine:
 *	- blocks do not overlap and have at least sizeof(void *) usable bytes;
 *	- usable_size() of a block changes only when the block is resized;
 *	- the engine waits only for the kernel, and never ends the program.
 *
 * An engine may change errno, unless it sets KONF_ENGINE_ERRNO.
 */
#ifndef KONFISCATOR_ENGINE_H
#define KONFISCATOR_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change that breaks engines built before. */
#define KONF_ENGINE_VERSION 1

/* The name under which a shared object exports its struct konf_engine. */
#define KONF_ENGINE_SYMBOL "konf_engine"

/* Any thread may call at any time, also while another thread forks. */
#define KONF_ENGINE_THREADS 1u
/* Memory does not come from the host's map(), and is not counted as held. */
#define KONF_ENGINE_ELSEWHERE 2u
/* free() and every successful function preserve errno. */
#define KONF_ENGINE_ERRNO 8u
/* Inside the library: call init() only after the program is relocated. */
#define KONF_ENGINE_LATE 4u

/* alloc() accepts size 0 and returns a block without usable bytes. */
#define KONF_ENGINE_ZERO 16u

#define KONF_ENGINE_FLAGS                                                 \
	(KONF_ENGINE_THREADS | KONF_ENGINE_ELSEWHERE | KONF_ENGINE_LATE | \
	 KONF_ENGINE_ERRNO | KONF_ENGINE_ZERO)

/* Errors of a pointer, or of the block that it points to. */
enum konf_misuse {
	KONF_FINE,
	KONF_INVALID_POINTER,
	KONF_DOUBLE_FREE,
	KONF_OVERFLOW,	       /* bytes beside the block were written */
	KONF_WRITE_AFTER_FREE, /* the block was written to after its free */
	KONF_MISMATCH,	       /* freed in another way than allocated */
};

/*
 * Functions that konfiscator provides to an engine; constant. They may be
 * called at any time. @size and @align are in bytes, multiples of 4096; @align
 * is a power of two.
 */
struct konf_host {
	uint32_t version; /* KONF_ENGINE_VERSION of the library */
	uint32_t size;	  /* of this struct */
	/* Map zeroed memory, which counts as held. Returns NULL on failure. */
	void *(*map)(size_t size, size_t align);
	/*
	 * Unmap all or a part of such memory. Tools that intercept munmap(2)
	 * see the call after the engine has returned; with KONF_ENGINE_THREADS
	 * they do not see it.
	 */
	void (*unmap)(void *addr, size_t size);
	/* Print one line, given without newline, on stderr. */
	void (*say)(const char *line);
};

/* Memory of an engine beside live blocks, in bytes unless noted. */
struct konf_engine_info {
	size_t free;	    /* in free blocks */
	size_t free_blocks; /* a number */
	size_t top;	    /* bytes that trim() would give back */
};

/*
 * Members after @usable_size may be NULL. None is called before init().
 */
struct konf_engine {
	uint32_t version; /* KONF_ENGINE_VERSION */
	uint32_t size;	  /* sizeof(struct konf_engine) */
	uint32_t flags;	  /* of KONF_ENGINE_... */
	uint32_t reserved;
	const char *name; /* 1 to 15 of a-z, 0-9 and - */

	/* Allocate a block. Returns NULL if there is no memory. */
	void *(*alloc)(size_t size, size_t align);
	void (*free)(void *p);
	/*
	 * Return the usable bytes of a block, 0 if @p is not a block. Takes no
	 * lock.
	 */
	size_t (*usable_size)(const void *p);

	/*
	 * Return NULL when ready, or a short reason why the engine is unusable.
	 */
	const char *(*init)(const struct konf_host *host);
	/* Like alloc(), with @size zeroed bytes. Default: alloc and memset. */
	void *(*alloc_zeroed)(size_t size, size_t align);
	/*
	 * Resize a block and keep its contents; the result is aligned to at
	 * least 16. Returns NULL, and changes nothing, on failure. Default:
	 * keep the block if it is large enough and at least half used,
	 * otherwise alloc, copy and free.
	 */
	void *(*realloc)(void *p, size_t size);
	/*
	 * Check a pointer before it is freed or resized. An error ends the
	 * program with one line. Default: no check. Takes no lock.
	 */
	enum konf_misuse (*check)(const void *p);
	/*
	 * Give free memory, except for @pad bytes, back to the kernel. Also
	 * called before a failed request is retried. Returns the bytes given
	 * back.
	 */
	size_t (*trim)(size_t pad);
	/* Fill in *@info, which is zeroed before. */
	void (*info)(struct konf_engine_info *info);
	/* mallopt(3) was called with a parameter and a value that glibc takes.
	 */
	void (*option)(int param, int value);
	/*
	 * Called around fork(): in the forking thread before and after it, and
	 * in the only thread of the child. Not needed without
	 * KONF_ENGINE_THREADS.
	 */
	void (*fork_prepare)(void);
	void (*fork_parent)(void);
	void (*fork_child)(void);
};

#ifdef __cplusplus
}
#endif

#endif
