/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A stats file that is read again and again and changed in any way in between:
 * the cache changes no result.
 */
#include "config.h"

#include "reader/file-cache.h"
#include "reader/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define NAME "cached"
#define MAX_LOOKS 32
#define TABLES (KF_TABLE_TAGS | KF_TABLE_STACKS | KF_TABLE_EVENTS)

/* What a file says of itself for good is its writer's not to change. */
static bool same_file(const struct kf_snapshot *a, const struct kf_snapshot *b)
{
	if (memcmp(&a->id, &b->id, sizeof(a->id)) ||
	    a->nr_counters != b->nr_counters)
		return false;
	for (unsigned int i = 0; i < a->nr_counters; i++) {
		const struct kf_counter *x = &a->counters[i];
		const struct kf_counter *y = &b->counters[i];

		if (strcmp(x->name, y->name) || x->scope != y->scope ||
		    x->type != y->type)
			return false;
	}
	return true;
}

static void compare(const struct kf_snapshot *cached,
		    const struct kf_snapshot *anew)
{
	fuzz_require(
		cached->nr_classes == anew->nr_classes &&
			!memcmp(cached->classes, anew->classes,
				cached->nr_classes * sizeof(*cached->classes)),
		"classes are others");
	fuzz_require(
		cached->nr_threads == anew->nr_threads &&
			!memcmp(cached->threads, anew->threads,
				cached->nr_threads * sizeof(*cached->threads)),
		"threads are others");
	fuzz_require(
		!memcmp(&cached->totals, &anew->totals, sizeof(cached->totals)),
		"totals are others");
	fuzz_require(cached->nr_tags == anew->nr_tags &&
			     cached->nr_stacks == anew->nr_stacks &&
			     cached->nr_modules == anew->nr_modules &&
			     cached->nr_events == anew->nr_events,
		     "tables are others");
}

/*
 * Two descriptions may give one word to two counters: values are compared where
 * names are those of before.
 */
static void look(struct kf_file_cache *cache, int dirfd)
{
	bool torn = false;
	struct kf_read_how how = {
		.tables = TABLES, .cache = &cache->descs[0], .torn = &torn};
	struct kf_snapshot s, anew;
	const struct kf_place dir = {.dev = 1, .ino = 1};
	struct stat st;

	fuzz_require(!fstatat(dirfd, NAME, &st, 0), "the file is not there");
	how.cached = kf_file_cache_get(cache, &dir, NAME, (uint64_t)st.st_ino);
	how.regular = true;
	kf_snapshot_read_as(dirfd, NAME, &how, &s);
	how.cached = NULL;
	how.cache = NULL;
	kf_snapshot_read_as(dirfd, NAME, &how, &anew);
	fuzz_require(anew.result != KF_READ_OK || s.result == KF_READ_OK,
		     "the cache makes a good file a bad one");
	if (s.result == KF_READ_OK && anew.result == KF_READ_OK &&
	    same_file(&s, &anew))
		compare(&s, &anew);
	kf_snapshot_release(&s);
	kf_snapshot_release(&anew);
	kf_file_cache_sweep(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int dirfd = open(fuzz_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct kf_file_cache *cache = kf_file_cache_new();
	struct fuzz_in in = {data, size};

	fuzz_require(cache && dirfd >= 0, "no directory");
	unlinkat(dirfd, NAME, 0);
	for (int i = 0; i < MAX_LOOKS && fuzz_change(&in, NAME); i++)
		look(cache, dirfd);
	kf_file_cache_free(cache);
	close(dirfd);
	return 0;
}
