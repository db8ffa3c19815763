/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The engine that passes on: to the malloc that the program would have without
 * this library, the C library's or another one preloaded behind it.
 *
 * All functions must be of one object, or blocks would go from one heap to
 * another. How much that heap holds is not known here: what is live there is
 * taken for it.
 */
#include "engines/engine.h"

#include "engines/chunk.h"
#include "sys/next.h"
#include "sys/valgrind.h"

#include "base/text.h"

#include <string.h>

typedef void *malloc_fn(size_t size);
typedef void free_fn(void *p);
typedef void *calloc_fn(size_t nr, size_t size);
typedef void *realloc_fn(void *p, size_t size);
typedef int posix_memalign_fn(void **p, size_t align, size_t size);
typedef size_t usable_size_fn(const void *p);
typedef void *aligned_alloc_fn(size_t align, size_t size);
typedef int trim_fn(size_t pad);
typedef int mallopt_fn(int param, int value);

/* Constant after system_init(); those after the gap may be NULL. */
static struct {
	malloc_fn *malloc;
	free_fn *free;
	calloc_fn *calloc;
	realloc_fn *realloc;
	posix_memalign_fn *posix_memalign;
	usable_size_fn *usable_size;
	bool heads; /* sizes are read from these; see chunk.h */

	trim_fn *trim;
	mallopt_fn *mallopt;
	bool rounds; /* alignments that are no power of two */
} next;

static const char *system_complain(const char *what)
{
	static char words[256];
	struct kf_text text;

	kf_text_init(&text, words, sizeof(words));
	kf_text_str(&text, "the malloc of ");
	kf_text_str(&text, kf_next_path((const void *)next.malloc));
	kf_text_str(&text, " has no ");
	kf_text_str(&text, what);
	return words;
}

static void *aligned(size_t size, size_t align)
{
	void *p;

	return next.posix_memalign(&p, align, size) ? NULL : p;
}

/* Whether the word before a block says what malloc_usable_size() says. */
static bool agrees(void *p)
{
	/* With a tag in its address, what is before it has another tag. */
	bool does = p && !((uintptr_t)p >> 56) && kf_chunk_is_short(p) &&
		    kf_chunk_usable(kf_chunk_bytes(p)) == next.usable_size(p);

	next.free(p);
	return does;
}

/*
 * Whether blocks have heads as the GNU C library's have them: it must be this
 * library's malloc, with nothing around it that makes its blocks differ.
 * memcheck answers in its place, and would tell of the word.
 */
static bool find_heads(void)
{
	static const size_t sizes[] = {1, 24, 25, 1000, 5000, 40000};

	if (!kf_next_of("gnu_get_libc_version", (const void *)next.malloc) ||
	    kf_memcheck_is_on())
		return false;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!agrees(next.malloc(sizes[i])))
			return false;
	}
	return true;
}

/* An alignment that is no power of two. */
static bool find_rounding(const void *beside)
{
	aligned_alloc_fn *fn =
		(aligned_alloc_fn *)kf_next_of("aligned_alloc", beside);
	void *p = fn ? fn(24, 24) : NULL;

	next.free(p);
	return p;
}

static const char *system_init(const struct konf_host *host)
{
	const void *beside;

	next.malloc = (malloc_fn *)kf_next("malloc");
	if (!next.malloc)
		return "there is no malloc behind the library";
	beside = (const void *)next.malloc;

#define FIND(member, name) \
	(next.member = (__typeof__(next.member))kf_next_of(name, beside))
	if (!FIND(free, "free"))
		return system_complain("free");
	if (!FIND(calloc, "calloc"))
		return system_complain("calloc");
	if (!FIND(realloc, "realloc"))
		return system_complain("realloc");
	if (!FIND(posix_memalign, "posix_memalign"))
		return system_complain("posix_memalign");
	if (!FIND(usable_size, "malloc_usable_size"))
		return system_complain("malloc_usable_size");
	FIND(trim, "malloc_trim");
	FIND(mallopt, "mallopt");
#undef FIND
	next.heads = find_heads();
	next.rounds = find_rounding(beside);
	return NULL;
}

static void *system_alloc(size_t size, size_t align)
{
	return likely(align <= 16) ? next.malloc(size) : aligned(size, align);
}

static void *system_alloc_zeroed(size_t size, size_t align)
{
	void *p;

	if (likely(align <= 16))
		return next.calloc(1, size);
	p = aligned(size, align);
	return p ? memset(p, 0, size) : NULL;
}

static void system_release(void *p)
{
	next.free(p);
}

static void *system_resize(void *p, size_t size)
{
	return next.realloc(p, size);
}

static size_t system_usable_size(const void *p)
{
	if (next.heads && kf_chunk_is_short(p))
		return kf_chunk_usable(kf_chunk_bytes(p));
	return next.usable_size(p);
}

static size_t system_trim(size_t pad)
{
	return next.trim ? (size_t)next.trim(pad) : 0;
}

static int pass_mallopt(int param, int value)
{
	return next.mallopt ? next.mallopt(param, value) : 1;
}

static bool rounds(void)
{
	return next.rounds;
}

static void *zeroed(size_t size)
{
	return next.calloc(1, size);
}

static struct kf_next_malloc next_malloc(void)
{
	return (struct kf_next_malloc){next.malloc, next.free,
				       system_usable_size, zeroed, next.heads};
}

const struct kf_engine kf_engine_system = {
	.base =
		{
			KF_ENGINE_HEAD,
			.flags = KONF_ENGINE_THREADS | KONF_ENGINE_ERRNO |
				 KONF_ENGINE_ELSEWHERE | KONF_ENGINE_LATE,
			.name = "system",
			.alloc = system_alloc,
			.free = system_release,
			.usable_size = system_usable_size,
			.init = system_init,
			.alloc_zeroed = system_alloc_zeroed,
			.realloc = system_resize,
			.trim = system_trim,
		},
	.next = next_malloc,
	.mallopt = pass_mallopt,
	.rounds = rounds,
	.samples = true,
};
