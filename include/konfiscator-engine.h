/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine contract of konfiscator: what turns sizes into blocks.
 *
 * An engine is one struct konf_engine. Inside the library it is named in
 * src/engines/engines.def; outside it is a shared object that exports the
 * struct by the name konf_engine, and KONFISCATOR_ENGINE=/path/of/it.so
 * selects it. Counting, probes, errno, retries, misuse and what the C library's
 * names mean are konfiscator's business, once for all engines.
 *
 * What an engine may rely on:
 *	- @size is not 0, unless it says KONF_ENGINE_ZERO, and @size + @align
 *	  is at most PTRDIFF_MAX;
 *	- @align is a power of two, at least 16;
 *	- @p is not NULL and was given by this engine and not yet freed, as far
 *	  as check() and usable_size() can tell; it is none of the default
 *	  engine's, which serves before this one stands;
 *	- init() comes before any other call, and once;
 *	- without KONF_ENGINE_THREADS one call runs at a time, no fork happens
 *	  during one, and a signal handler or the engine itself that allocates
 *	  during one is served by the default engine. usable_size() and check()
 *	  are the exception: they may run at any time, in any thread, on a block
 *	  that its caller owns.
 *
 * What it promises:
 *	- blocks do not overlap and have at least sizeof(void *) usable bytes;
 *	- usable_size() of a block does not change between the calls that make
 *	  and resize it;
 *	- it waits for nobody but the kernel, and never ends the program.
 *
 * It may leave errno as it likes, unless it says KONF_ENGINE_ERRNO.
 */
#ifndef KONFISCATOR_ENGINE_H
#define KONFISCATOR_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change that an engine built before would not survive. */
#define KONF_ENGINE_VERSION 1

/* The name under which a shared object exports its struct konf_engine. */
#define KONF_ENGINE_SYMBOL "konf_engine"

/* Calls may come from any thread at any time, also while another forks. */
#define KONF_ENGINE_THREADS 1u
/* The memory does not come from the host's map(): it is not counted as held. */
#define KONF_ENGINE_ELSEWHERE 2u
/* errno is kept by free() and by all that succeeds. */
#define KONF_ENGINE_ERRNO 8u
/* Inside the library: wait with init() until the program is relocated. */
#define KONF_ENGINE_LATE 4u

/* alloc() takes size 0: a block without a usable byte. */
#define KONF_ENGINE_ZERO 16u

#define KONF_ENGINE_FLAGS                                                 \
	(KONF_ENGINE_THREADS | KONF_ENGINE_ELSEWHERE | KONF_ENGINE_LATE | \
	 KONF_ENGINE_ERRNO | KONF_ENGINE_ZERO)

/* What is wrong with a pointer, or with the block that it points to. */
enum konf_misuse {
	KONF_FINE,
	KONF_INVALID_POINTER,
	KONF_DOUBLE_FREE,
	KONF_OVERFLOW,	       /* bytes beside the block were written */
	KONF_WRITE_AFTER_FREE, /* it was written after it was freed */
	KONF_MISMATCH,	       /* it is freed in another way than it was made */
};

/*
 * What konfiscator gives to an engine; constant. All may be called at any
 * time. @size and @align: bytes, multiples of 4096; @align is a power of two.
 */
struct konf_host {
	uint32_t version; /* KONF_ENGINE_VERSION of the library */
	uint32_t size;	  /* of this struct */
	/* Zeroed memory of the kernel, counted as held, or NULL. */
	void *(*map)(size_t size, size_t align);
	/*
	 * Give all or a part of it back. Tools that listen to munmap(2) hear of
	 * it once the engine has returned; with KONF_ENGINE_THREADS they do
	 * not.
	 */
	void (*unmap)(void *addr, size_t size);
	/* One line to stderr, without its newline. */
	void (*say)(const char *line);
};

/* What an engine knows of its memory beside live blocks. Bytes unless said. */
struct konf_engine_info {
	size_t free;	    /* in free blocks */
	size_t free_blocks; /* a number */
	size_t top;	    /* what trim() would give back */
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

	/* A block, or NULL when there is no memory. */
	void *(*alloc)(size_t size, size_t align);
	void (*free)(void *p);
	/* Usable bytes of a block; 0: it is none. Takes no lock. */
	size_t (*usable_size)(const void *p);

	/* NULL: ready; or in a few words why it cannot be used. */
	const char *(*init)(const struct konf_host *host);
	/* As alloc(); @size bytes are 0. Default: alloc and memset. */
	void *(*alloc_zeroed)(size_t size, size_t align);
	/*
	 * The block at its new size, contents kept, aligned to 16 at least; or
	 * NULL and nothing changed. Default: the same block where it is large
	 * enough and not half of it is wasted, else alloc, copy and free.
	 */
	void *(*realloc)(void *p, size_t size);
	/*
	 * What is wrong with a pointer, before it is freed or resized. Default:
	 * nothing. With one, what it refuses ends the program in one line.
	 * Takes no lock.
	 */
	enum konf_misuse (*check)(const void *p);
	/*
	 * Give free memory back to the kernel but for @pad bytes; called before
	 * a failed request is tried again too. Returns what was given back.
	 */
	size_t (*trim)(size_t pad);
	/* All set to 0 before. */
	void (*info)(struct konf_engine_info *info);
	/* mallopt(3) was called with a parameter and a value that glibc takes.
	 */
	void (*option)(int param, int value);
	/*
	 * Around fork(): before it and after it in the forking thread, in the
	 * child its only one. Without KONF_ENGINE_THREADS none is needed.
	 */
	void (*fork_prepare)(void);
	void (*fork_parent)(void);
	void (*fork_child)(void);
};

#ifdef __cplusplus
}
#endif

#endif
