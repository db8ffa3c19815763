/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Searches by replays: settings of the library, and the smallest pool of engine
 * tlsf.
 */
#include "config.h"

#include "cli/commands/whatif-tune.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Gains below this are not worth a setting. */
#define WORTH 0.01

/* The pool's size is exact to this share. */
#define POOL_STEPS 128
#define POOL_MAX_DOUBLINGS 6

static const char *const tune_settings[] = {
#define KF_TUNE(settings) settings,
#include "cli/commands/whatif-tune.def"
#undef KF_TUNE
};

static double tune_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Whether @a is as good as @b in both, and better in one. */
static bool tune_beats(const struct kf_candidate *a,
		       const struct kf_candidate *b)
{
	double ap = kf_candidate_figure(a, KF_PEAK).median;
	double bp = kf_candidate_figure(b, KF_PEAK).median;
	double at = kf_candidate_figure(a, KF_CPU_NS).median;
	double bt = kf_candidate_figure(b, KF_CPU_NS).median;
	double ap_limit = bp * (1 + WORTH), at_limit = bt * (1 + WORTH);

	return ap <= ap_limit && at <= at_limit &&
	       (ap < bp * (1 - WORTH) || at < bt * (1 - WORTH));
}

/* Candidate 0 is the default: a setting has to be better in something. */
static bool tune_is_worth(const struct kf_candidate *c,
			  const struct kf_candidate *usual)
{
	for (int m = KF_PEAK; m <= KF_CPU_NS; m += KF_CPU_NS - KF_PEAK) {
		struct kf_figure a = kf_candidate_figure(c, m);
		struct kf_figure b = kf_candidate_figure(usual, m);

		if (a.median < b.median * (1 - WORTH) && a.most < b.least)
			return true;
	}
	return false;
}

static void tune_mark_front(struct kf_whatif *w)
{
	for (size_t i = 0; i < w->nr; i++) {
		struct kf_candidate *c = &w->candidates[i];

		c->hidden = c->broken || !c->nr || c->failed;
		if (!c->hidden && i)
			c->hidden = !tune_is_worth(c, &w->candidates[0]);
		for (size_t k = 0; !c->hidden && k < w->nr; k++) {
			const struct kf_candidate *o = &w->candidates[k];

			if (k != i && o->nr && !o->broken && !o->failed &&
			    tune_beats(o, c))
				c->hidden = true;
		}
	}
}

/* One more run of each candidate that is not hidden. Returns -1 on failure. */
static int tune_round(struct kf_whatif *w, double until)
{
	struct kf_played *idle = kf_alloc(1, sizeof(*idle));
	int rc = kf_idle_run(w, idle);

	for (size_t i = 0; !rc && i < w->nr; i++) {
		struct kf_candidate *c = &w->candidates[i];

		if (c->hidden || c->broken)
			continue;
		if (i && tune_now() > until)
			break;
		kf_candidate_run(w, c, idle);
	}
	free(idle);
	return rc;
}

/* "--purge-ms=0 --huge=1" */
static char *tune_flags(const char *settings)
{
	char *flags = kf_format("--%s", settings);

	for (char *comma; (comma = strchr(flags, ','));) {
		char *longer;

		*comma = '\0';
		longer = kf_format("%s --%s", flags, comma + 1);
		free(flags);
		flags = longer;
	}
	for (char *p = flags; *p; p++)
		*p = *p == '_' ? '-' : *p;
	return flags;
}

static void tune_print_lines(const struct kf_whatif *w, size_t tried)
{
	size_t nr = 0;

	putchar('\n');
	for (size_t i = 1; i < w->nr; i++) {
		const struct kf_candidate *c = &w->candidates[i];
		char *flags;

		if (c->hidden)
			continue;
		flags = tune_flags(c->settings);
		printf("konfiscator run %s -- PROG\n", flags);
		free(flags);
		nr++;
	}
	if (!nr && tried > 1)
		printf("No setting %sis better than the default by more than "
		       "1 %%.\n",
		       tried < w->nr ? "that was tried " : "");
}

int kf_whatif_tune(struct kf_whatif *w, double seconds)
{
	double until = tune_now() + seconds;
	size_t tried = 0;
	int status = kf_whatif_set(w, NULL, "--tune");

	for (size_t i = 0; !status && i < KF_ARRAY_SIZE(tune_settings); i++)
		status = kf_whatif_set(w, tune_settings[i], "--tune");
	/* what engines report of each pool is not worth a line here */
	w->player.quiet = true;
	if (status || tune_round(w, until))
		return status ? status : KF_EXIT_FAILED;
	if (w->candidates[0].broken) {
		kf_error("whatif: --tune: the replay under the library did not "
			 "come to its end");
		return KF_EXIT_FAILED;
	}
	for (size_t i = 0; i < w->nr; i++)
		tried += w->candidates[i].nr > 0;
	for (unsigned int round = 1; round < w->nr_runs; round++) {
		tune_mark_front(w);
		w->candidates[0].hidden = false;
		if (tune_now() > until || tune_round(w, until))
			break;
	}
	tune_mark_front(w);
	w->candidates[0].hidden = false;
	if (tried < w->nr)
		kf_note(w->report.cli,
			"whatif: --budget: %zu of %zu settings were tried",
			tried, w->nr);
	status = kf_whatif_print(w);
	if (!status && w->report.cli->format == KF_FORMAT_TABLE)
		tune_print_lines(w, tried);
	return status;
}

/* Whether a pool of @bytes serves all calls; -1: it could not be tried. */
static int pool_serves(struct kf_whatif *w, uint64_t bytes)
{
	struct kf_played *idle = kf_alloc(1, sizeof(*idle));
	char *settings =
		kf_format("engine=tlsf,tlsf_initial=%llu,tlsf_additional=0",
			  (unsigned long long)bytes);
	int rc = kf_whatif_set(w, settings, "--pool-size");

	if (!rc)
		rc = kf_candidate_run(w, &w->candidates[0], idle);
	if (!rc)
		rc = !w->candidates[0].failed;
	else
		rc = -1;
	kf_candidates_release(w);
	free(settings);
	free(idle);
	return rc;
}

static const struct kf_column pool_columns[] = {
	{"POOL", "pool_bytes", KF_CELL_BYTES},
	{"PEAK LIVE", "peak_live_bytes", KF_CELL_BYTES},
	{"OVERHEAD", "overhead_percent", KF_CELL_PERCENT},
};

static int pool_print(const struct kf_whatif *w, uint64_t bytes)
{
	const struct kf_script *s = &w->script;
	struct kf_table t;
	struct kf_cell *row;

	kf_table_init(&t, pool_columns, KF_ARRAY_SIZE(pool_columns));
	row = kf_table_row(&t);
	row[0].count = bytes;
	row[1].count = s->peak_live;
	row[2].none = !s->peak_live;
	row[2].real = s->peak_live
			      ? ((double)bytes / (double)s->peak_live - 1) * 100
			      : 0;
	kf_table_print(&t, w->report.cli);
	kf_table_release(&t);
	if (w->report.cli->format == KF_FORMAT_TABLE)
		printf("\nkonfiscator run --engine=tlsf --tlsf-initial=%llu "
		       "--tlsf-additional=0 -- PROG\n",
		       (unsigned long long)bytes);
	return KF_EXIT_OK;
}

int kf_whatif_pool(struct kf_whatif *w)
{
	/* whole pages: the search ends, as its steps are pages */
	uint64_t least = KF_ALIGN_DOWN(
		KF_MAX(w->script.peak_live, (uint64_t)65536), (uint64_t)4096);
	uint64_t most =
		KF_ALIGN_UP(KF_MAX(w->script.peak_pool, least), (uint64_t)4096);
	uint64_t step;
	int rc;

	w->player.quiet = true;
	rc = pool_serves(w, most);
	for (int i = 0; !rc && i < POOL_MAX_DOUBLINGS; i++) {
		least = most;
		most *= 2;
		rc = pool_serves(w, most);
	}
	if (rc <= 0) {
		kf_error("whatif: --pool-size: %s",
			 rc ? "a pool could not be tried"
			    : "no pool that was tried serves all calls");
		return KF_EXIT_FAILED;
	}
	step = KF_ALIGN_UP(most / POOL_STEPS, (uint64_t)4096);
	while (most > least && most - least > step) {
		uint64_t middle =
			KF_ALIGN_UP(least + (most - least) / 2, (uint64_t)4096);

		rc = pool_serves(w, middle);
		if (rc < 0)
			return KF_EXIT_FAILED;
		if (rc)
			most = middle;
		else
			least = middle;
	}
	return pool_print(w, most);
}
