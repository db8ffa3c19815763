/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The candidates, and several runs of each. A round runs every candidate once,
 * so that what the machine does meanwhile hits all of them. A dry play in each
 * round tells what the replayer needs itself, which is subtracted.
 */
#include "config.h"

#include "cli/whatif/whatif.h"

#include <stdlib.h>
#include <string.h>

struct kf_candidate *kf_candidate_add(struct kf_whatif *w, const char *name,
				      char *preload)
{
	struct kf_candidate *c;

	w->candidates = realloc(w->candidates, (w->nr + 1) * sizeof(*c));
	if (!w->candidates) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	c = &w->candidates[w->nr++];
	memset(c, 0, sizeof(*c));
	c->name = kf_format("%s", name);
	c->preload = preload;
	c->over_ns = -1;
	kf_candidate_setenv(c, kf_format("LD_PRELOAD%s%s", preload ? "=" : "",
					 preload ? preload : ""));
	return c;
}

void kf_candidate_setenv(struct kf_candidate *c, char *variable)
{
	char **env = kf_alloc(c->nr_env + 2, sizeof(*env));

	if (c->nr_env)
		memcpy(env, c->env, c->nr_env * sizeof(*env));
	env[c->nr_env++] = variable;
	free(c->env);
	c->env = env;
}

void kf_candidates_release(struct kf_whatif *w)
{
	for (size_t i = 0; i < w->nr; i++) {
		struct kf_candidate *c = &w->candidates[i];

		for (size_t k = 0; k < c->nr_env; k++)
			free(c->env[k]);
		free(c->env);
		free(c->name);
		free(c->settings);
		free(c->preload);
		free(c->runs);
		free(c->curve);
		free(c->from);
	}
	free(w->candidates);
	w->candidates = NULL;
	w->nr = 0;
}

static double at_least_0(double x)
{
	return x > 0 ? x : 0;
}

static double run_minus(uint64_t n, uint64_t idle)
{
	return at_least_0((double)n - (double)idle);
}

/* Levels between two samples are taken as a straight line. */
static double curve_mean(const struct kf_whatif *w, const double *curve)
{
	const struct kf_script_sample *s = w->script.samples;
	uint32_t nr = w->script.head.nr_samples;
	double sum = 0, time = 0;

	for (uint32_t i = 1; i < nr; i++) {
		double ns = (double)(s[i].time_ns - s[i - 1].time_ns);

		sum += ns * (curve[i] + curve[i - 1]) / 2;
		time += ns;
	}
	return time > 0 ? sum / time : nr ? curve[nr - 1] : 0;
}

static void take_curve(const struct kf_whatif *w, struct kf_candidate *c,
		       const struct kf_played *played,
		       const struct kf_played *idle, double *run)
{
	uint32_t nr = w->script.head.nr_samples;

	free(c->curve);
	c->curve = kf_alloc(nr + 1, sizeof(*c->curve));
	c->over_ns = -1;
	for (uint32_t i = 0; i < nr; i++) {
		c->curve[i] = run_minus(played->resident[i], idle->resident[i]);
		run[KF_PEAK] = KF_MAX(run[KF_PEAK], c->curve[i]);
		if (w->limit && c->over_ns < 0 &&
		    c->curve[i] > (double)w->limit)
			c->over_ns = (double)w->script.samples[i].time_ns;
	}
	run[KF_MEAN] = curve_mean(w, c->curve);
	run[KF_LAST] = nr ? c->curve[nr - 1] : 0;
}

static void take_run(const struct kf_whatif *w, struct kf_candidate *c,
		     const struct kf_played *played,
		     const struct kf_played *idle)
{
	double *runs =
		kf_alloc((c->nr + 1) * (size_t)KF_NR_MEASURES, sizeof(*runs));
	double *run = &runs[c->nr * (size_t)KF_NR_MEASURES];

	if (c->nr)
		memcpy(runs, c->runs,
		       c->nr * (size_t)KF_NR_MEASURES * sizeof(*runs));
	free(c->runs);
	c->runs = runs;
	c->nr++;
	take_curve(w, c, played, idle, run);
	run[KF_CPU_NS] = run_minus(played->end.cpu_ns, idle->end.cpu_ns);
	run[KF_WALL_NS] = run_minus(played->end.wall_ns, idle->end.wall_ns);
	run[KF_FAULTS] = run_minus(played->end.faults, idle->end.faults);
	c->failed = played->end.failed;
	if (!c->from)
		c->from = kf_format("%s", played->begin.malloc_from);
}

int kf_candidate_run(const struct kf_whatif *w, struct kf_candidate *c,
		     const struct kf_played *idle)
{
	struct kf_played *played = kf_alloc(1, sizeof(*played));
	int rc = kf_parts_play(w, &w->player, c->env, c->name, played);

	if (rc)
		c->broken = true;
	else
		take_run(w, c, played, idle);
	free(played);
	return rc;
}

int kf_idle_run(const struct kf_whatif *w, struct kf_played *idle)
{
	struct kf_player player = w->player;
	char preload[] = "LD_PRELOAD";
	char *env[] = {preload, NULL};

	player.dry = true;
	player.paced = false;
	return kf_parts_play(w, &player, env, "no allocator", idle);
}

int kf_candidates_play(struct kf_whatif *w)
{
	struct kf_played *idle = kf_alloc(1, sizeof(*idle));
	int rc = 0;

	for (unsigned int round = 0; !rc && round < w->nr_runs; round++) {
		rc = kf_idle_run(w, idle);
		for (size_t i = 0; !rc && i < w->nr; i++) {
			if (!w->candidates[i].broken)
				kf_candidate_run(w, &w->candidates[i], idle);
		}
	}
	free(idle);
	return rc;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct kf_figure kf_candidate_figure(const struct kf_candidate *c,
				     enum kf_measure m)
{
	double *all = kf_alloc(c->nr, sizeof(*all));
	struct kf_figure f;

	for (unsigned int i = 0; i < c->nr; i++)
		all[i] = c->runs[i * (size_t)KF_NR_MEASURES + m];
	qsort(all, c->nr, sizeof(*all), compare_doubles);
	f.least = all[0];
	f.most = all[c->nr - 1];
	f.median = (all[(c->nr - 1) / 2] + all[c->nr / 2]) / 2;
	free(all);
	return f;
}
