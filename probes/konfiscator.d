/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declares every probe of konfiscator. Generated from this file: the header with
 * its semaphores, the stub for --disable-probes, the tapset, the table in the
 * manual, and the checks of the ELF notes and of the scripts. The C name of a
 * probe of the second provider includes the provider.
 *
 * The probes are ABI: never rename one, only append arguments; a changed
 * meaning gets a new name that ends in _v2. The comment above a probe says when
 * it fires. "per call" marks the three probes without a semaphore, which sit in
 * every call; "Lock:" names the lock that is held when the probe fires.
 * Do not put a comment on a probe's own line: dtrace(1) would lose the probe.
 */
provider konfiscator {
	/* a region of address space was reserved and its first pages were taken. Lock: pages */
	probe memory_heap_new(uint64_t heap, uint64_t size);
	/* a region grew; size is its new size. Lock: pages */
	probe memory_heap_more(uint64_t heap, uint64_t size);
	/* a region gave the end of its memory back; size is its new size. Lock: pages */
	probe memory_heap_less(uint64_t heap, uint64_t size);
	/* before a region is unmapped; size is its size. Lock: pages */
	probe memory_heap_free(uint64_t heap, uint64_t size);
	/*
	 * a region grew, with memory_heap_new or memory_heap_more: regions take
	 * the place of the program break. address is where the new bytes begin.
	 * Lock: pages
	 */
	probe memory_sbrk_more(uint64_t address, uint64_t bytes);
	/*
	 * a region gave the end of its memory back, with memory_heap_less or
	 * memory_heap_free. address is where the bytes began. Lock: pages
	 */
	probe memory_sbrk_less(uint64_t address, uint64_t bytes);
	/* a thread heap was made. Lock: arenas */
	probe memory_arena_new(uint64_t arena, uint64_t size);
	/* a thread was assigned to a shared arena; left is the arena that it left, 0: none */
	probe memory_arena_reuse(uint64_t arena, uint64_t left);
	/* a thread got a lock after waiting; waited is in nanoseconds. Lock: the one that lock names */
	probe memory_arena_reuse_wait(uint64_t lock, uint64_t arena, uint64_t left, uint64_t waited);
	/* a thread took over the heap of a thread that has ended. Lock: arenas */
	probe memory_arena_reuse_free_list(uint64_t arena);
	/* an arena could not serve a request, before another one is tried */
	probe memory_arena_retry(uint64_t bytes, uint64_t arena);
	/* malloc found no memory, before it gives cached memory back and retries */
	probe memory_malloc_retry(uint64_t bytes);
	/* as memory_malloc_retry, in calloc */
	probe memory_calloc_retry(uint64_t bytes);
	/* as memory_malloc_retry, in realloc */
	probe memory_realloc_retry(uint64_t bytes, uint64_t old);
	/* as memory_malloc_retry, in the aligned calls */
	probe memory_memalign_retry(uint64_t bytes, uint64_t alignment);
	/* mallopt was called, before the change */
	probe memory_mallopt(uint64_t param, uint64_t value);
	/* M_MXFAST was set, which changes nothing; old is 0 at first */
	probe memory_mallopt_mxfast(uint64_t value, uint64_t old);
	/* M_TRIM_THRESHOLD was set */
	probe memory_mallopt_trim_threshold(uint64_t value, uint64_t old, uint64_t dyn_disabled);
	/* M_TOP_PAD was set */
	probe memory_mallopt_top_pad(uint64_t value, uint64_t old, uint64_t dyn_disabled);
	/* M_MMAP_THRESHOLD was set */
	probe memory_mallopt_mmap_threshold(uint64_t value, uint64_t old, uint64_t dyn_disabled);
	/* M_MMAP_MAX was set */
	probe memory_mallopt_mmap_max(uint64_t value, uint64_t old, uint64_t dyn_disabled);
	/* M_PERTURB was set */
	probe memory_mallopt_perturb(uint64_t value, uint64_t old);
	/* M_ARENA_TEST was set */
	probe memory_mallopt_arena_test(uint64_t value, uint64_t old);
	/* M_ARENA_MAX was set */
	probe memory_mallopt_arena_max(uint64_t value, uint64_t old);
	/* a free of a mapped block changed both thresholds */
	probe memory_mallopt_free_dyn_thresholds(uint64_t mmap_threshold, uint64_t trim_threshold);
	/* GLIBC_TUNABLES has glibc.malloc.tcache_max, which changes nothing; old is a value before it, 0: none */
	probe memory_tunable_tcache_max_bytes(uint64_t value, uint64_t old);
	/* as memory_tunable_tcache_max_bytes, of glibc.malloc.tcache_count */
	probe memory_tunable_tcache_count(uint64_t value, uint64_t old);
	/* as memory_tunable_tcache_max_bytes, of glibc.malloc.tcache_unsorted_limit */
	probe memory_tunable_tcache_unsorted_limit(uint64_t value, uint64_t old);
	/* memory was taken from the kernel. Lock: pages, if the memory is part of a heap */
	probe memory_mmap_more(uint64_t address, uint64_t bytes);
	/* memory was unmapped. Lock: pages, if the memory was part of a heap */
	probe memory_mmap_less(uint64_t address, uint64_t bytes);
	/* pages were given back to the kernel, their addresses kept. Lock: pages */
	probe memory_purge(uint64_t address, uint64_t bytes);
	/* a block too large for the size classes, or a guarded one, was allocated */
	probe large_alloc(uint64_t pointer, uint64_t bytes);
	/* a block too large for the size classes, or a guarded one, was freed */
	probe large_free(uint64_t pointer, uint64_t bytes);
	/* the free runs were searched, lowest address first; found is 0 if none fits. Lock: pages */
	probe free_list_search(uint64_t wanted, uint64_t found, uint64_t visited);
	/* a free run was split by an allocation. Lock: pages; in the engine tlsf: engine */
	probe free_list_split(uint64_t run, uint64_t kept, uint64_t left_over);
	/* a freed run was merged with one or both of its free neighbours. Lock: pages; in the engine tlsf: engine */
	probe defrag_coalesce(uint64_t run, uint64_t had, uint64_t has, uint64_t merged);
	/* a slab of one size class was made, of pages from the thread's run cache or the free runs */
	probe slab_new(uint64_t slab, uint64_t class_bytes);
	/* an empty slab was freed; its pages go to the thread's run cache or to the free runs. Lock: arenas, if another thread freed it */
	probe slab_free(uint64_t slab, uint64_t class_bytes);
	/* a thread's empty bin was filled */
	probe cache_fill(uint64_t class_bytes, uint64_t blocks);
	/* a thread's bin was given back */
	probe cache_flush(uint64_t class_bytes, uint64_t blocks);
	/* the engine tlsf added a pool, because no pool could serve a request for wanted bytes. Lock: engine */
	probe pool_grow(uint64_t pool, uint64_t bytes, uint64_t wanted);
	/* blocks that other threads had freed came back to a heap: its thread collected them, or another thread took their slabs. Lock: arenas, if another thread did */
	probe remote_collect(uint64_t arena, uint64_t blocks);
	/* per call: a block was allocated, by any function */
	probe alloc(uint64_t pointer, uint64_t bytes, uint64_t usable);
	/* per call: a block was released, by any function */
	probe release(uint64_t pointer, uint64_t usable);
	/* per call: realloc changed a block's size; new is its new address */
	probe resize(uint64_t old, uint64_t new, uint64_t bytes);
	/* a request failed; error is the errno */
	probe out_of_memory(uint64_t bytes, uint64_t error);
	/* a pointer that is not the start of a block was freed */
	probe invalid_free(uint64_t pointer);
	/* a block that is already free was freed */
	probe double_free(uint64_t pointer);
	/* with double_free, if the block is one of a slab; bin is the number of its size class */
	probe memory_tcache_double_free(uint64_t pointer, uint64_t bin);
	/* a damaged block was found; kind 3: bytes beside it were written, 4: it was written to after its free, 5: it was freed by a function that does not match its allocation */
	probe heap_corruption(uint64_t pointer, uint64_t kind);
	/* a sampled block was put alone on a page between inaccessible ones */
	probe guard_alloc(uint64_t pointer, uint64_t bytes);
	/*
	 * a guarded block was misused; address is the one that was accessed or freed,
	 * block its block or 0; kind 0: overflow, 1: underflow, 2: use after
	 * free, 3: double free, 4: invalid free, 5: access beside no block
	 */
	probe guard_fault(uint64_t address, uint64_t block, uint64_t kind);
	/* the stats file was opened; path is the address of the file's name */
	probe stats_open(uint64_t path);
	/* a forked child has repaired its heap */
	probe fork_child(uint64_t parent_pid);
	/* a thread ended; its arena is free for another thread */
	probe thread_exit(uint64_t arena);
	/*
	 * a call that leaves the fast path begins; call is 0 for malloc,
	 * 1 calloc, 2 realloc, 3 the aligned calls, 4 free; bytes is the
	 * requested size, 0 for free
	 */
	probe slow_enter(uint64_t bytes, uint64_t call);
	/*
	 * a call that left the fast path ends; pointer is the block, 0 if there
	 * was no memory; bytes is the requested size, for free the block's size
	 */
	probe slow_leave(uint64_t pointer, uint64_t bytes, uint64_t call);
	/*
	 * a block was sampled; bytes are its usable bytes, weight the bytes that
	 * the sample stands for; tag is its entry in the stats file's table of
	 * tags, 0: none
	 */
	probe sample_alloc(uint64_t pointer, uint64_t bytes, uint64_t weight, uint64_t tag);
	/* before a sampled block is freed or changed by realloc */
	probe sample_free(uint64_t pointer, uint64_t bytes, uint64_t weight);
	/* a thread entered a tag; tag is its entry in the stats file's table, text the address of its name */
	probe tag_push(uint64_t tag, uint64_t text);
	/* a thread left a tag */
	probe tag_pop(uint64_t tag);
	/* a snapshot of the tags was written; path is the address of the file's name */
	probe snapshot_written(uint64_t path);
	/* sized delete or free_sized passed a size, told, that the block cannot have */
	probe size_mismatch(uint64_t pointer, uint64_t told, uint64_t usable);
	/* the memory held from the kernel reached 90 % of most, the limit of KONFISCATOR_LIMIT. Lock: pages, or engine */
	probe limit_near(uint64_t held, uint64_t most);
	/* memory was short in the cgroup or on the system, and free memory is given back (KONFISCATOR_LIMIT): held is the memory held from the kernel before, stalled the microseconds in which tasks waited for memory since the last look, high how often memory.high was exceeded since then */
	probe memory_pressure(uint64_t held, uint64_t stalled, uint64_t high);
	/* a thread in real-time mode made a call: 0 malloc, 1 calloc, 2 realloc, 3 the aligned calls, 4 free; caller is the return address, 0 if stacks are not taken. Where calls are allowed, it fires at the end of those that are counted: why is the sum of 1 waited for a lock, 2 made a system call, 4 had a page fault, and number is the last system call, if it made one */
	probe realtime_violation(uint64_t call, uint64_t size, uint64_t caller, uint64_t why, uint64_t number);
};

/*
 * The probes that OpenTelemetry's profiler attaches to. It reads the argument
 * registers of the calling convention, not the notes; here both agree.
 */
provider otel_memory {
	/* as sample_alloc */
	probe alloc(uint64_t pointer, uint64_t bytes, uint64_t weight);
	/* as sample_free */
	probe free(uint64_t pointer);
};
