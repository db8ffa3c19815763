/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The quarantine of the engine secure: a ring of freed blocks, oldest first,
 * bounded by their number and by their bytes. What was written into a block
 * while it waited shows when it leaves, or at the end of the program.
 */
#include "engine/secure.h"

#include "pages/pages.h"
#include "stats/stats.h"

#define MOST 4096
#define MOST_BYTES (8 * KF_MIB)

static struct {
	struct kf_secure_block *ring; /* of MOST */
	uint32_t first;
	uint32_t nr;
	size_t bytes; /* small blocks'; the others' pages are gone */
} waiting;

bool kf_secure_wait_init(void)
{
	size_t bytes = KF_ALIGN_UP(MOST * sizeof(*waiting.ring), KF_PAGE);

	waiting.ring = kf_engine_map(bytes, KF_PAGE);
	if (waiting.ring)
		kf_word_add_atomic(KF_WORD_metadata, bytes);
	return waiting.ring;
}

static void leave(void)
{
	struct kf_secure_block block = waiting.ring[waiting.first];

	waiting.first = (waiting.first + 1) % MOST;
	waiting.nr--;
	waiting.bytes -= block.area->size;
	if (block.area->nr > 1)
		kf_secure_slot_leave(block);
	else
		kf_secure_area_drop(block.area);
}

void kf_secure_wait(struct kf_secure_block block)
{
	if (waiting.nr == MOST)
		leave();
	waiting.ring[(waiting.first + waiting.nr++) % MOST] = block;
	waiting.bytes += block.area->size;
	while (waiting.bytes > MOST_BYTES)
		leave();
}

void kf_secure_wait_no_more(void)
{
	while (waiting.nr)
		leave();
}
