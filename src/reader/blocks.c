/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Live blocks, packed into the entries of a map.
 */
#include "reader/blocks.h"

struct entry {
	uint64_t address;
	uint64_t size;
	uint64_t time;
	uint32_t thread : 20;
	uint32_t function : 5;
	uint32_t align_log2 : 6;
	uint32_t flag : 1;
} __attribute__((packed));

_Static_assert(sizeof(struct entry) == 28, "entries stay small");

static void block_unpack(const struct entry *e, struct kf_block *block)
{
	*block = (struct kf_block){
		.address = e->address,
		.size = e->size,
		.time = e->time,
		.thread = e->thread,
		.function = (uint8_t)e->function,
		.align_log2 = (uint8_t)e->align_log2,
		.flag = e->flag,
	};
}

void kf_blocks_init(struct kf_blocks *b)
{
	b->map = (struct kf_map){.entry_size = sizeof(struct entry)};
}

int kf_blocks_put(struct kf_blocks *b, const struct kf_block *block,
		  struct kf_block *old)
{
	uint64_t nr = b->map.nr;
	struct entry *e = kf_map_add(&b->map, block->address);

	if (!e)
		return -1;
	block_unpack(e, old);
	e->size = block->size;
	e->time = block->time;
	e->thread = KF_MIN(block->thread, KF_BLOCK_MAX_THREAD);
	e->function = KF_MIN(block->function, KF_BLOCK_MAX_FUNCTION);
	e->align_log2 = KF_MIN(block->align_log2, KF_BLOCK_MAX_ALIGN_LOG2);
	e->flag = block->flag;
	return b->map.nr == nr;
}

bool kf_blocks_take(struct kf_blocks *b, uint64_t address,
		    struct kf_block *block)
{
	const struct entry *e = kf_map_find(&b->map, address);

	if (!e)
		return false;
	block_unpack(e, block);
	kf_map_remove(&b->map, address);
	return true;
}

struct each {
	void (*see)(const struct kf_block *block, void *arg);
	void *arg;
};

static void see_entry(const void *entry, void *arg)
{
	const struct each *each = arg;
	struct kf_block block;

	block_unpack(entry, &block);
	each->see(&block, each->arg);
}

void kf_blocks_each(const struct kf_blocks *b,
		    void (*see)(const struct kf_block *block, void *arg),
		    void *arg)
{
	struct each each = {see, arg};

	kf_map_each(&b->map, see_entry, &each);
}

void kf_blocks_release(struct kf_blocks *b)
{
	kf_map_release(&b->map);
}
