/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Several recordings as one: those of a program and of its children, which
 * record into files of their own. Each is a part with a script of its own, and
 * is played in a process of its own, one after another. What the parts had at
 * the same recorded time is added up: a part counts from its first to its last
 * sample. Times are compared by the clock of the day at the recordings' begins.
 */
#include "config.h"

#include "cli/whatif/whatif.h"
#include "cli/zstd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The most recordings: each has an open file. */
#define MAX_PARTS 500

/* The part has not begun, or has ended. */
#define NOT_THERE (-1)

struct kf_part {
	struct kf_script script;
	uint64_t begin_ns;	   /* CLOCK_REALTIME */
	int at[KF_SCRIPT_SAMPLES]; /* its sample at each sample of all */
};

/* A part has a new level: at a sample, or at its end. */
struct change {
	uint64_t time_ns;
	size_t part;
	int sample;
};

static void parts_add(struct kf_part_list *list, const char *path)
{
	char **more = kf_alloc(list->nr + 1, sizeof(*more));

	if (list->nr)
		memcpy(more, list->path, list->nr * sizeof(*more));
	more[list->nr++] = kf_format("%s", path);
	free(list->path);
	list->path = more;
}

static bool part_is_recording(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	uint64_t magic = 0;
	struct stat st;
	bool is;

	if (fd < 0)
		return false;
	is = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	     ((pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
	       magic == KF_RECORD_MAGIC) ||
	      kf_zstd_is(fd));
	close(fd);
	return is;
}

/* The recordings of a directory, by name; other files are left out. */
static int list_directory(struct kf_part_list *list, const char *command,
			  const char *dir)
{
	struct dirent **entries;
	int nr = scandir(dir, &entries, NULL, alphasort);
	size_t before = list->nr;

	if (nr < 0) {
		kf_error("%s: %s: %s", command, dir, strerror(errno));
		return KF_EXIT_FAILED;
	}
	for (int i = 0; i < nr; i++) {
		char *path = kf_format("%s/%s", dir, entries[i]->d_name);

		if (part_is_recording(path))
			parts_add(list, path);
		free(path);
		free(entries[i]);
	}
	free(entries);
	if (list->nr > before)
		return 0;
	kf_error("%s: %s: no recording is in this directory", command, dir);
	return KF_EXIT_FAILED;
}

int kf_part_list_make(struct kf_part_list *list, const char *command, int argc,
		      char **argv)
{
	struct stat st;
	int status = 0;

	for (int i = 0; !status && i < argc; i++) {
		if (!stat(argv[i], &st) && S_ISDIR(st.st_mode))
			status = list_directory(list, command, argv[i]);
		else
			parts_add(list, argv[i]);
	}
	if (!status && list->nr > MAX_PARTS) {
		kf_error("%s: %zu recordings: at most %d can be replayed as "
			 "one",
			 command, list->nr, MAX_PARTS);
		status = KF_EXIT_USAGE;
	}
	return status;
}

void kf_part_list_release(struct kf_part_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		free(list->path[i]);
	free(list->path);
	list->path = NULL;
	list->nr = 0;
}

void kf_parts_begin(struct kf_whatif *w, size_t nr)
{
	w->parts = kf_alloc(nr, sizeof(*w->parts));
	w->nr_parts = nr;
}

void kf_parts_set(struct kf_whatif *w, size_t i, const struct kf_script *script)
{
	const struct kf_history *h = &w->report.history;

	w->parts[i].script = *script;
	w->parts[i].begin_ns = h->head.real_ns + h->kept_from;
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	/* of one part's samples the later one, and its end last */
	return (int)((unsigned int)x->sample > (unsigned int)y->sample) -
	       (int)((unsigned int)x->sample < (unsigned int)y->sample);
}

static size_t changes_of(const struct kf_whatif *w, struct change *changes)
{
	size_t nr = 0;

	for (size_t p = 0; p < w->nr_parts; p++) {
		const struct kf_script *s = &w->parts[p].script;
		uint64_t begin = w->parts[p].begin_ns;

		for (uint32_t i = 0; i < s->head.nr_samples; i++)
			changes[nr++] = (struct change){
				begin + s->samples[i].time_ns, p, (int)i};
		if (s->head.nr_samples)
			changes[nr++] = (struct change){begin + s->end_ns, p,
							NOT_THERE};
	}
	qsort(changes, nr, sizeof(*changes), by_time);
	/* what the last one had at its end is not lost */
	return nr ? nr - 1 : 0;
}

static uint64_t live_at(const struct kf_part *p, int sample)
{
	return sample == NOT_THERE ? 0 : p->script.samples[sample].live;
}

/* Choose the samples of all, and find the peak of live bytes. */
static void choose_samples(struct kf_whatif *w, const struct change *changes,
			   size_t nr, int *now)
{
	struct kf_sampler *sampler = kf_alloc(1, sizeof(*sampler));
	struct kf_script *all = &w->script;
	uint64_t live = 0;

	kf_sampler_init(sampler);
	for (size_t i = 0; i < nr; i++) {
		const struct change *c = &changes[i];

		live -= live_at(&w->parts[c->part], now[c->part]);
		live += live_at(&w->parts[c->part], c->sample);
		now[c->part] = c->sample;
		all->peak_live = KF_MAX(all->peak_live, live);
		all->end_ns = c->time_ns - changes[0].time_ns;
		kf_sampler_add(sampler, i + 1, all->end_ns, live);
	}
	all->head.nr_samples = kf_sampler_finish(sampler, all->samples);
	free(sampler);
}

/* Note which sample of each part is the one at each sample of all. */
static void place_parts(struct kf_whatif *w, const struct change *changes,
			size_t nr, int *now)
{
	const struct kf_script *all = &w->script;
	uint32_t k = 0;

	for (size_t i = 0; i < nr && k < all->head.nr_samples; i++) {
		now[changes[i].part] = changes[i].sample;
		if (all->samples[k].op != i + 1)
			continue;
		for (size_t p = 0; p < w->nr_parts; p++)
			w->parts[p].at[k] = now[p];
		k++;
	}
}

static void parts_add_up(struct kf_whatif *w)
{
	for (size_t p = 0; p < w->nr_parts; p++) {
		const struct kf_script *s = &w->parts[p].script;

		w->script.calls += s->calls;
		w->script.from_before += s->from_before;
		w->script.anomalies += s->anomalies;
		w->script.threads += s->threads;
	}
}

void kf_parts_merge(struct kf_whatif *w)
{
	size_t room = w->nr_parts * (KF_SCRIPT_SAMPLES + 1);
	struct change *changes = kf_alloc(room, sizeof(*changes));
	int *now = kf_alloc(w->nr_parts, sizeof(*now));
	size_t nr = changes_of(w, changes);

	w->script.fd = -1;
	parts_add_up(w);
	memset(now, 0xff, w->nr_parts * sizeof(*now));
	choose_samples(w, changes, nr, now);
	memset(now, 0xff, w->nr_parts * sizeof(*now));
	place_parts(w, changes, nr, now);
	free(now);
	free(changes);
}

uint64_t kf_parts_largest(const struct kf_whatif *w)
{
	uint64_t largest = w->nr_parts ? 0 : w->script.peak_live;

	for (size_t p = 0; p < w->nr_parts; p++)
		largest = KF_MAX(largest, w->parts[p].script.peak_live);
	return largest;
}

static void played_add(const struct kf_whatif *w, const struct kf_part *part,
		       const struct kf_played *one, struct kf_played *all)
{
	all->begin = one->begin;
	all->end.cpu_ns += one->end.cpu_ns;
	all->end.wall_ns += one->end.wall_ns;
	all->end.faults += one->end.faults;
	all->end.failed += one->end.failed;
	for (uint32_t k = 0; k < w->script.head.nr_samples; k++) {
		if (part->at[k] != NOT_THERE)
			all->resident[k] += one->resident[part->at[k]];
	}
}

int kf_parts_play(const struct kf_whatif *w, const struct kf_player *how,
		  char *const *env, const char *name, struct kf_played *played)
{
	struct kf_player player = *how;
	struct kf_played *one;
	int rc = 0;

	if (!w->nr_parts)
		return kf_player_run(how, env, name, played);
	one = kf_alloc(1, sizeof(*one));
	memset(played, 0, sizeof(*played));
	for (size_t p = 0; !rc && p < w->nr_parts; p++) {
		player.script = &w->parts[p].script;
		rc = kf_player_run(&player, env, name, one);
		if (!rc)
			played_add(w, &w->parts[p], one, played);
	}
	free(one);
	return rc;
}

void kf_parts_release(struct kf_whatif *w)
{
	for (size_t p = 0; p < w->nr_parts; p++)
		kf_script_close(&w->parts[p].script);
	free(w->parts);
	w->parts = NULL;
	w->nr_parts = 0;
}
