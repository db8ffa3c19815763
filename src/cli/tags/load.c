/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loads tags from a stats file or from JSON, told apart by the first bytes.
 */
#include "config.h"

#include "cli/one.h"
#include "cli/process.h"
#include "cli/tags/set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t tags_load_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void take_table(struct kf_tag_set *set, const struct kf_snapshot *s)
{
	set->nr = set->room = s->nr_tags;
	if (!s->nr_tags)
		return;
	set->tag = aligned_alloc(64, s->nr_tags * sizeof(*set->tag));
	if (!set->tag) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	memcpy(set->tag, s->tags, s->nr_tags * sizeof(*set->tag));
	set->self_usage = s->nr_tags * sizeof(*set->tag);
}

static uint64_t tagged_bytes(const struct kf_tag_set *set)
{
	struct kf_tags_view view;

	kf_tag_set_view(set, &view);
	free(view.node);
	return kf_tags_live(view.allocated, view.freed);
}

void kf_tag_set_of_file(struct kf_tag_set *set, const struct kf_file *f)
{
	const struct kf_snapshot *s = &f->snap;
	uint64_t live = s->totals.live + s->totals.rounding;

	memset(set, 0, sizeof(*set));
	set->id = s->id;
	set->id.pid = kf_process_id(f);
	set->started_ns = s->id.created_ns;
	set->now_ns = tags_load_now();
	set->vm_rss = kf_process_resident(f);
	set->vm_size = kf_process_virtual(f);
	take_table(set, s);
	set->untagged = kf_tags_live(live, tagged_bytes(set));
}

int kf_tag_file_read(const char *path, struct kf_snapshot *s)
{
	kf_snapshot_read_with(AT_FDCWD, path, KF_TABLE_TAGS, s);
	return s->result == KF_READ_OK ? 0 : kf_refuse_file("tags", path, s);
}

static int load_stats(struct kf_tag_set *set, const char *path)
{
	struct kf_file f = {.life = KF_LIFE_UNKNOWN};
	int status = kf_tag_file_read(path, &f.snap);

	if (!status)
		kf_tag_set_of_file(set, &f);
	kf_snapshot_release(&f.snap);
	return status;
}

/* Whether a file begins like a stats file; its offset is 0 afterwards. */
static bool is_stats(FILE *in)
{
	uint64_t magic = 0;
	bool is = fread(&magic, sizeof(magic), 1, in) == 1 &&
		  magic == KF_STATS_MAGIC;

	rewind(in);
	return is;
}

int kf_tag_set_load(struct kf_tag_set *set, const char *path)
{
	struct stat st;
	FILE *in;
	int status;

	memset(set, 0, sizeof(*set));
	if (!strcmp(path, "-"))
		return kf_tag_set_parse(set, stdin, "stdin");
	in = fopen(path, "re");
	if (!in || fstat(fileno(in), &st)) {
		kf_error("tags: %s: %s", path, strerror(errno));
		status = KF_EXIT_FAILED;
	} else if (S_ISREG(st.st_mode) && is_stats(in)) {
		status = load_stats(set, path);
	} else {
		status = kf_tag_set_parse(set, in, path);
	}
	if (in)
		fclose(in);
	return status;
}
