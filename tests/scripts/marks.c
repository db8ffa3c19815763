/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * marks: fires the marks of the GNU C library's malloc, as that library does,
 * in a known order: what glibc-malloc is tested with where the C library has
 * none.
 */
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

int main(void)
{
	unsigned long arena = 0x7f0000000030, heap = 0x7f0000000000;
	unsigned long none = 0, size = 135168, more = 270336;

	for (unsigned long i = 0; i < 23; i++)
		STAP_PROBE2(libc, memory_sbrk_more, heap, size);
	for (unsigned long i = 0; i < 19; i++)
		STAP_PROBE2(libc, memory_sbrk_less, heap, size);
	STAP_PROBE2(libc, memory_heap_new, heap, size);
	STAP_PROBE2(libc, memory_arena_new, arena, size);
	STAP_PROBE2(libc, memory_heap_more, heap, more);
	STAP_PROBE2(libc, memory_heap_less, heap, size);
	STAP_PROBE2(libc, memory_heap_new, none, size);
	STAP_PROBE2(libc, memory_heap_free, none, size);
	for (unsigned long i = 0; i < 17; i++)
		STAP_PROBE3(libc, memory_arena_reuse_wait, arena, arena, none);
	STAP_PROBE2(libc, memory_arena_reuse, arena, heap);
	STAP_PROBE1(libc, memory_arena_reuse_free_list, arena);
	STAP_PROBE2(libc, memory_mallopt_free_dyn_thresholds, more, size);
	return 0;
}
