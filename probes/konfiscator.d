/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every probe of konfiscator, declared once. All else is made from this page:
 * the header with its semaphores, the stub for --disable-probes, the tapset,
 * the table in the manual, and the checks of the ELF notes and of the scripts.
 * In C a probe of another provider than the first has that in its name.
 *
 * The probes are ABI: none is renamed, arguments are only appended, a changed
 * meaning takes a name that ends in _v2. The comment above a probe says when it
 * fires; "per call" in it marks the three bare probes that sit in every call,
 * and behind "Lock:" stands the lock that is held then, if there is one.
 * A comment never stands on a probe's own line: dtrace(1) would lose the probe.
 */
provider konfiscator {
	/* a region of address space was reserved and its first pages taken. Lock: pages */
	probe memory_heap_new(uint64_t heap, uint64_t size);
	/* a region grew; size is its new size. Lock: pages */
	probe memory_heap_more(uint64_t heap, uint64_t size);
	/* a region gave back its end; size is its new size. Lock: pages */
	probe memory_heap_less(uint64_t heap, uint64_t size);
	/* a region is about to go; size is what it had. Lock: pages */
	probe memory_heap_free(uint64_t heap, uint64_t size);
	/* a thread heap was made. Lock: arenas */
	probe memory_arena_new(uint64_t arena, uint64_t size);
	/* a thread was put on a shared arena, leaving another (0: it had none) */
	probe memory_arena_reuse(uint64_t arena, uint64_t left);
	/* a thread had to wait for a lock, so many nanoseconds; it has it now. Lock: the one that it names */
	probe memory_arena_reuse_wait(uint64_t lock, uint64_t arena, uint64_t left, uint64_t waited);
	/* a thread adopted the heap of a thread that has gone. Lock: arenas */
	probe memory_arena_reuse_free_list(uint64_t arena);
	/* an arena could not serve a request, another is tried */
	probe memory_arena_retry(uint64_t bytes, uint64_t arena);
	/* malloc found no memory, gives back what is cached and tries again */
	probe memory_malloc_retry(uint64_t bytes);
	/* the same in calloc */
	probe memory_calloc_retry(uint64_t bytes);
	/* the same in realloc */
	probe memory_realloc_retry(uint64_t bytes, uint64_t old);
	/* the same in the aligned calls */
	probe memory_memalign_retry(uint64_t bytes, uint64_t alignment);
	/* mallopt was called; before the change */
	probe memory_mallopt(uint64_t param, uint64_t value);
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
	/* the free of a mapped block moved both thresholds */
	probe memory_mallopt_free_dyn_thresholds(uint64_t mmap_threshold, uint64_t trim_threshold);
	/* memory was taken from the kernel. Lock: pages, where it is a part of a heap */
	probe memory_mmap_more(uint64_t address, uint64_t bytes);
	/* memory was given back to the kernel with its addresses. Lock: pages, where it is a part of a heap */
	probe memory_mmap_less(uint64_t address, uint64_t bytes);
	/* pages were handed back, their addresses kept. Lock: pages */
	probe memory_purge(uint64_t address, uint64_t bytes);
	/* a block too large for the size classes was allocated */
	probe large_alloc(uint64_t pointer, uint64_t bytes);
	/* such a block was freed */
	probe large_free(uint64_t pointer, uint64_t bytes);
	/* the free runs were searched, lowest address first; found 0: none fits. Lock: pages */
	probe free_list_search(uint64_t wanted, uint64_t found, uint64_t visited);
	/* a free run was split at its allocation. Lock: pages; of the engine tlsf: engine */
	probe free_list_split(uint64_t run, uint64_t kept, uint64_t left_over);
	/* a freed run was merged with one or both of its neighbours. Lock: pages; of the engine tlsf: engine */
	probe defrag_coalesce(uint64_t run, uint64_t had, uint64_t has, uint64_t merged);
	/* pages became a slab of one size class */
	probe slab_new(uint64_t slab, uint64_t class_bytes);
	/* an empty slab went back to the free runs */
	probe slab_free(uint64_t slab, uint64_t class_bytes);
	/* a thread's empty list was filled */
	probe cache_fill(uint64_t class_bytes, uint64_t blocks);
	/* a thread's list was given back */
	probe cache_flush(uint64_t class_bytes, uint64_t blocks);
	/* the engine tlsf added a pool of so many bytes, as none served a request for wanted bytes. Lock: engine */
	probe pool_grow(uint64_t pool, uint64_t bytes, uint64_t wanted);
	/* blocks freed by other threads came home */
	probe remote_collect(uint64_t arena, uint64_t blocks);
	/* per call: a block was allocated, by any function */
	probe alloc(uint64_t pointer, uint64_t bytes, uint64_t usable);
	/* per call: a block was released, by any function */
	probe release(uint64_t pointer, uint64_t usable);
	/* per call: realloc changed a block's size; new is where it is now */
	probe resize(uint64_t old, uint64_t new, uint64_t bytes);
	/* a request failed; error is the errno it leaves */
	probe out_of_memory(uint64_t bytes, uint64_t error);
	/* a pointer was freed that is not the start of one of our blocks */
	probe invalid_free(uint64_t pointer);
	/* a block was freed that is free */
	probe double_free(uint64_t pointer);
	/* a block was found damaged; kind 3: bytes beside it were written, 4: it was written after its free, 5: it was freed in another way than it was made */
	probe heap_corruption(uint64_t pointer, uint64_t kind);
	/* the stats file was opened; path is the address of its name */
	probe stats_open(uint64_t path);
	/* a forked child has put its heap in order */
	probe fork_child(uint64_t parent_pid);
	/* a thread ended and left its arena to the next one */
	probe thread_exit(uint64_t arena);
	/*
	 * a call that the thread's own lists cannot serve begins; call is 0
	 * for malloc, 1 calloc, 2 realloc, 3 the aligned calls, 4 free, which
	 * asks for 0 bytes
	 */
	probe slow_enter(uint64_t bytes, uint64_t call);
	/*
	 * such a call ends; pointer is the block, 0 where there was no memory;
	 * bytes are those asked for, of a free those that the block had
	 */
	probe slow_leave(uint64_t pointer, uint64_t bytes, uint64_t call);
	/*
	 * a block was sampled; bytes are its usable ones, weight those that it
	 * stands for; tag is its entry in the stats file's table of tags, 0 none
	 */
	probe sample_alloc(uint64_t pointer, uint64_t bytes, uint64_t weight, uint64_t tag);
	/* a sampled block is about to be freed or changed by realloc */
	probe sample_free(uint64_t pointer, uint64_t bytes, uint64_t weight);
	/* a thread entered a tag; tag is its entry in the stats file's table, text the address of its name */
	probe tag_push(uint64_t tag, uint64_t text);
	/* a thread left a tag */
	probe tag_pop(uint64_t tag);
	/* a snapshot of the tags was written; path is the address of the file's name */
	probe snapshot_written(uint64_t path);
	/* a block of usable bytes was freed with another size, by sized delete or free_sized, than a call can have made it with */
	probe size_mismatch(uint64_t pointer, uint64_t told, uint64_t usable);
};

/*
 * The names that OpenTelemetry's profiler looks for. It reads the registers that
 * a call has its arguments in, and not the notes: both say the same here.
 */
provider otel_memory {
	/* as sample_alloc */
	probe alloc(uint64_t pointer, uint64_t bytes, uint64_t weight);
	/* as sample_free */
	probe free(uint64_t pointer);
};
