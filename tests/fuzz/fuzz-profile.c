/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile of any bytes: each record that it is said to have can be read.
 */
#include "config.h"

#include "reader/profile.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static uint64_t look_at_calls(const struct kf_profile *p, uint64_t address)
{
	struct kf_profile_named call[KF_PROFILE_CALLS];
	uint32_t nr = kf_profile_calls(p, address, 0, call);
	uint64_t sum = address;

	for (uint32_t i = 0; i < nr; i++) {
		sum += call[i].line;
		sum += call[i].function ? strlen(call[i].function) : 0;
		sum += call[i].file ? strlen(call[i].file) : 0;
	}
	return sum;
}

static void look_at_stacks(const struct kf_profile *p)
{
	char path[KF_PROFILE_TAG_PATH];
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nr_stacks; i++) {
		const struct kf_profile_stack *s = p->stacks[i];
		uint64_t frame[KF_STATS_STACK_MAX];
		uint32_t nr = kf_profile_frames(p, s, frame);

		for (uint32_t f = 0; f < nr; f++)
			sum += look_at_calls(p, frame[f]);
		sum += kf_profile_is_cut(p, s);
		sum += (uint64_t)kf_profile_stack_of(p, s->entry);
		kf_profile_tag_path(p, s->tag, path);
		fuzz_require(memchr(path, '\0', sizeof(path)),
			     "a tag's path has no end");
	}
	__asm__ volatile("" ::"r"(sum));
}

static void look_at_snapshots(const struct kf_profile *p)
{
	struct kf_profile_count *counts =
		calloc(p->nr_stacks + 1, sizeof(*counts));
	struct kf_ages *ages = calloc(p->nr_stacks + 1, sizeof(*ages));
	uint64_t inodes = 0;
	char name[17];

	fuzz_require(counts && ages, "no memory");
	for (size_t i = 0; i < p->nr_snapshots; i++)
		kf_profile_at(p, p->snapshots[i]->time_ns, counts);
	kf_profile_at(p, UINT64_MAX, counts);
	for (size_t i = 0; i < p->nr_snapshots; i++)
		kf_profile_ages_at(p, p->snapshots[i]->time_ns, ages);
	kf_profile_ages_at(p, UINT64_MAX, ages);
	for (size_t i = 0; i < p->nr_stacks; i++)
		inodes += kf_ages_kind(&ages[i]);
	for (size_t i = 0; i < p->nr_threads; i++)
		kf_profile_thread_name(p, p->threads[i]->tid, name);
	for (size_t i = 0; i < p->nr_modules; i++)
		inodes += kf_profile_file(p->modules[i]).inode;
	__asm__ volatile("" ::"r"(inodes));
	for (size_t i = 0; i < p->nr_modules; i++)
		fuzz_require(strlen(kf_profile_path(p->modules[i])) < 65536,
			     "a module's path is longer than the file");
	free(counts);
	free(ages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size ? size : 1);
	struct kf_profile p;

	fuzz_require(bytes, "no memory");
	memcpy(bytes, data, size);
	if (kf_profile_take(bytes, size, &p) == KF_READ_OK) {
		look_at_stacks(&p);
		look_at_snapshots(&p);
		for (size_t i = 0; i < p.nr_others; i++) {
			look_at_stacks(&p.others[i]);
			look_at_snapshots(&p.others[i]);
		}
	}
	kf_profile_release(&p);
	return 0;
}
