/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The start of the counters, and their publication: see stats.h.
 */
#include "stats/internal.h"

#include "sys/process.h"

#include <errno.h>

/*
 * The first size of a file; the bytes behind the descriptions are slots. They
 * are enough for a program without threads: one slot for its thread, one for
 * calls that no heap counts, and chunks for the thread's events. So its file
 * never grows, which a seccomp filter might answer with a kill.
 */
#define FIRST_BYTES (24 * KF_KIB)
#define FEWEST_SLOTS 6

/*
 * Slots may take at most this share of a limited address space, as most
 * programs use only the first few.
 */
#define LIMIT_SHARE 256
#define FEW_SLOTS 16

/* Distance of the image from the other mappings. */
#define DISTANCE KF_GIB

/* An image with one slot, for a process whose first mmap fails. */
static char last_resort[KF_AT_SLOTS + sizeof(struct kf_slot)] __kf_aligned(
	KF_CACHE_LINE);

struct kf_stats_state kf_stats;
struct kf_stats_words *kf_stats_words;
struct kf_stats_class *kf_stats_classes;

static size_t wanted_slots(void)
{
	uint64_t share = kf_process_address_limit() / LIMIT_SHARE;
	size_t nr = KF_STATS_MAX_SLOTS;

	while (nr > FEW_SLOTS && kf_image_size(nr) > share)
		nr /= 2;
	return nr;
}

/* The most slots, at most @nr, of an image that ends with a page. */
static size_t whole_pages(size_t nr)
{
	size_t size = KF_ALIGN_DOWN(kf_image_size(nr), kf_stats.page);

	return (size - KF_AT_SLOTS) / sizeof(struct kf_slot);
}

static size_t first_slots(void)
{
	size_t nr = FEWEST_SLOTS;

	while (kf_image_size(nr + 1) <= FIRST_BYTES)
		nr++;
	return kf_image_fit(nr, kf_stats.page);
}

/*
 * Reserve addresses for the first slots, far from the library and the mappings
 * beside it: the kernel places mappings next to each other, so the addresses
 * behind stay free for long. Addresses for all slots would count in a program
 * that called mlockall().
 */
static char *stats_reserve(size_t size)
{
	uintptr_t here = KF_ALIGN_DOWN((uintptr_t)last_resort, kf_stats.page);
	char *far = (char *)(here - DISTANCE);

	return kf_vm_claim(far, size) ? far
				      : kf_vm_reserve(size, kf_stats.page);
}

void kf_stats_init(void)
{
	size_t first, most;

	kf_stats.page = kf_vm_page();
	first = first_slots();
	most = whole_pages(wanted_slots());
	kf_stats.max_slots = KF_MAX(most, first);
	kf_stats.base = stats_reserve(kf_image_size(first));
	if (!kf_stats.base ||
	    !kf_vm_put_memory(kf_stats.base, kf_image_size(first))) {
		kf_stats.base = last_resort;
		kf_stats.in_bss = true;
		kf_stats.max_slots = first = 1;
	}
	kf_stats.nr_slots = first;
	kf_stats.nr_shown = first;
	kf_stats_words = (void *)(kf_stats.base + KF_AT_WORDS);
	kf_stats_classes = (void *)(kf_stats.base + KF_AT_CLASSES);
	kf_image_fill();
}

/* Returns the errno why there can be no file, or 0. */
static int file_obstacle(void)
{
	if (kf_stats.counts_lost)
		return ESTALE;
	if (kf_stats.in_bss)
		return ENOMEM;
	return kf_process_is_barred() ? EPERM : 0;
}

void kf_stats_set_family(uint32_t family)
{
	struct kf_stats_header *h = (void *)kf_stats.base;

	kf_store(&h->family, family);
}

static void publish(const struct kf_stats_conf *conf, bool forked)
{
	struct kf_stats_header *h = (void *)kf_stats.base;

	for (size_t i = 0; i < KF_STATS_NR_CLASSES; i++)
		kf_stats_classes[i].bytes = conf->class_bytes[i];
	kf_stats.class_bytes = conf->class_bytes;
	kf_store(&kf_stats.disabled, !conf->enabled);
	if (kf_stats.disabled || kf_stats.on_file)
		return;
	if (!forked) {
		kf_stats.was_filtered = kf_process_is_filtered();
		kf_stats_set_family(conf->family);
	}
	kf_stats_control()->filtered = kf_stats.was_filtered;
	h->attached = conf->attached;
	kf_stats.path[0] = '\0';
	kf_stats.error = file_obstacle();
	if (kf_stats.error)
		return;
	kf_identity_fill((void *)(kf_stats.base + KF_AT_IDENTITY), conf,
			 forked);
	kf_ending_fill((void *)(kf_stats.base + KF_AT_ENDING));
	kf_stats.error = -kf_backing_make(conf);
	if (kf_stats.error)
		return;
	kf_stats.nr_shown = kf_stats.nr_slots;
	kf_image_show();
	kf_stats.on_file = true;
	kf_moments_note(kf_stats_self()->created_mono);
	if (conf->guard)
		kf_guard_install();
	kf_store_release(&h->ready, 1);
}

void kf_stats_publish(const struct kf_stats_conf *conf, bool forked)
{
	if (kf_stats.on_parents_file)
		kf_stats_fork_child();
	if (kf_stats.on_parents_file || !kf_growth_enter())
		return;
	publish(conf, forked);
	kf_growth_leave();
}

const char *kf_stats_path(void)
{
	return kf_load(&kf_stats.on_file) ? kf_stats.path : NULL;
}

const char *kf_stats_tried(void)
{
	return kf_stats.path;
}

int kf_stats_error(void)
{
	return kf_stats.error;
}

void kf_stats_restart(void)
{
	if (!kf_growth_enter())
		return;
	kf_stats.on_file = false;
	kf_stats.counts_lost = false;
	kf_stats.note = 0;
	kf_stats.nr_shown = kf_stats.nr_slots;
	kf_area_restart();
	kf_image_restart();
	kf_growth_leave();
}
