/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The quarantine of the engine secure: a ring of freed blocks, oldest first,
 * bounded by their number and by their bytes; one for slots, and one for blocks
 * with pages of their own, so that neither pushes the other out. What was
 * written into a block while it waited shows when it leaves, or at the end of
 * the program.
 */
#include "engines/secure.h"

#include "pages/pages.h"
#include "stats/stats.h"

#define MOST 4096
#define MOST_BYTES (8 * KF_MIB)

struct ring {
	struct kf_secure_block *block; /* of MOST */
	uint32_t first;
	uint32_t nr;
	size_t bytes; /* of pages that are there */
};

enum { SLOTS, PAGES, NR_RINGS };

static struct ring waiting[NR_RINGS];

bool kf_secure_wait_init(void)
{
	size_t each = MOST * sizeof(struct kf_secure_block);
	size_t bytes = KF_ALIGN_UP(NR_RINGS * each, KF_PAGE);
	struct kf_secure_block *blocks = kf_engine_map(bytes, KF_PAGE);

	if (!blocks)
		return false;
	kf_word_add_atomic(KF_WORD_metadata, bytes);
	for (size_t i = 0; i < NR_RINGS; i++)
		waiting[i].block = blocks + i * MOST;
	return true;
}

/* One that lost its pages has no bytes. */
static size_t secure_wait_bytes_of(struct kf_secure_block block)
{
	return block.area->nr > 1 ? block.area->size : block.area->bytes;
}

static void secure_wait_leave(struct ring *ring)
{
	struct kf_secure_block block = ring->block[ring->first];

	ring->first = (ring->first + 1) % MOST;
	ring->nr--;
	ring->bytes -= secure_wait_bytes_of(block);
	if (block.area->nr > 1)
		kf_secure_slot_leave(block);
	else
		kf_secure_pages_leave(block.area);
}

void kf_secure_wait(struct kf_secure_block block)
{
	struct ring *ring = &waiting[block.area->nr > 1 ? SLOTS : PAGES];

	if (ring->nr == MOST)
		secure_wait_leave(ring);
	ring->block[(ring->first + ring->nr++) % MOST] = block;
	ring->bytes += secure_wait_bytes_of(block);
	while (ring->bytes > MOST_BYTES)
		secure_wait_leave(ring);
}

/* Those with pages of their own free more. */
bool kf_secure_wait_less(void)
{
	for (size_t i = NR_RINGS; i-- > 0;) {
		if (waiting[i].nr) {
			secure_wait_leave(&waiting[i]);
			return true;
		}
	}
	return false;
}
