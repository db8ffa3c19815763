/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The start of the counters, and their publication: see stats.h.
 */
#include "stats/internal.h"

#include "sys/process.h"

#include <errno.h>

/*
 * A file begins with this size, what the descriptions leave of it is slots:
 * one for the thread that every program has, one for what it counts before
 * and behind its threads, and those of the thread's events: so the file of a
 * program without threads never grows. One that has itself killed for opening
 * a file would not survive that.
 */
#define FIRST_BYTES (24 * KF_KIB)
#define FEWEST_SLOTS 6

/*
 * Of a limited address space at most this part is taken for slots, as most
 * programs never use more than the first.
 */
#define LIMIT_SHARE 256
#define FEW_SLOTS 16

/* How far the image lies from the other mappings. */
#define APART KF_GIB

/* Where the kernel gives nothing at the start: an image with one slot. */
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

/* Pages may be large: the slots are those that end with a page. */
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
 * Addresses for the first slots, where those behind them stay free for long:
 * the kernel takes addresses in turn, from the program's other mappings on.
 * Addresses that nobody uses would count where a program has all it has locked.
 */
static char *stats_reserve(size_t size)
{
	char *near = kf_vm_reserve(size, kf_stats.page);
	char *far = near ? near - APART : NULL;

	if (!near || !kf_vm_claim(far, size))
		return near;
	kf_vm_drop(near, size);
	return far;
}

void kf_stats_init(void)
{
	size_t first;

	kf_stats.page = kf_vm_page();
	first = first_slots();
	kf_stats.max_slots = KF_MAX(whole_pages(wanted_slots()), first);
	kf_stats.base = stats_reserve(kf_image_size(first));
	if (!kf_stats.base ||
	    !kf_vm_put_memory(kf_stats.base, kf_image_size(first))) {
		kf_stats.base = last_resort;
		kf_stats.in_bss = true;
		kf_stats.max_slots = first = 1;
	}
	kf_image_fill(kf_stats.base, first);
	kf_stats.nr_slots = first;
	kf_stats.nr_shown = first;
	kf_stats_words = (void *)(kf_stats.base + KF_AT_WORDS);
	kf_stats_classes = (void *)(kf_stats.base + KF_AT_CLASSES);
}

/* Returns why there can be no file, or 0. */
static int unfit(void)
{
	if (kf_stats.torn)
		return ESTALE;
	if (kf_stats.in_bss)
		return ENOMEM;
	return kf_backing_is_barred() ? EPERM : 0;
}

static void publish(const struct kf_stats_conf *conf, bool forked)
{
	struct kf_stats_header *h = (void *)kf_stats.base;

	kf_image_set_classes(kf_stats.base, conf->class_bytes);
	kf_stats.class_bytes = conf->class_bytes;
	kf_store(&kf_stats.unseen, !conf->enabled);
	if (kf_stats.unseen || kf_stats.on_file)
		return;
	if (!forked)
		kf_stats.was_filtered = kf_process_is_filtered();
	kf_stats_control()->filtered = kf_stats.was_filtered;
	kf_stats.path[0] = '\0';
	kf_stats.error = unfit();
	if (kf_stats.error)
		return;
	kf_identity_fill((void *)(kf_stats.base + KF_AT_IDENTITY), conf,
			 forked);
	kf_ending_fill((void *)(kf_stats.base + KF_AT_ENDING));
	kf_stats.error = -kf_backing_make(conf);
	if (kf_stats.error)
		return;
	kf_stats.nr_shown = kf_stats.nr_slots;
	kf_image_show(kf_stats.base, kf_stats.nr_shown);
	kf_stats.on_file = true;
	if (conf->guard)
		kf_guard_install();
	kf_store_release(&h->ready, 1);
}

void kf_stats_publish(const struct kf_stats_conf *conf, bool forked)
{
	if (kf_stats.stranded)
		kf_stats_fork_child();
	if (kf_stats.stranded || !kf_growth_enter())
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
