/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator diff: memory that lives in a second profile and did not live in
 * a first one, or the difference of their peaks or allocations. A limit judges
 * the stacks' own peaks: in which snapshot most was live is chance.
 *
 * Stacks are equal if their names are equal: addresses differ from run to run.
 * A difference that may be chance is not printed and does not count. Among
 * hundreds of stacks some differ by chance in every run, so the significance
 * level of each stack is chosen such that in 19 of 20 comparisons of two runs
 * of one program no stack differs (Bonferroni). Two tests have to agree. The
 * first uses the variance of the difference, the sum of both variances. If one
 * profile has no samples of a stack, its variance is not known; the second test
 * asks how likely it is that none of the other profile's blocks was sampled.
 */
#include "config.h"

#include "base/text.h"
#include "cli/commands/diff.h"
#include "cli/one.h"
#include "cli/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.05

enum { CHANGE, ERROR, BEFORE, AFTER, WHERE, NR_COLUMNS };

static const struct kf_column in_bytes[NR_COLUMNS] = {
	[CHANGE] = {"CHANGE", "change_bytes", KF_CELL_SIGNED},
	[ERROR] = {"+-", "error_95", KF_CELL_BYTES},
	[BEFORE] = {"BEFORE", "before_bytes", KF_CELL_BYTES},
	[AFTER] = {"AFTER", "after_bytes", KF_CELL_BYTES},
	[WHERE] = {"WHERE", "where", KF_CELL_TEXT, true},
};

static const struct kf_column in_blocks[NR_COLUMNS] = {
	[CHANGE] = {"CHANGE", "change_blocks", KF_CELL_SIGNED},
	[ERROR] = {"+-", "error_95", KF_CELL_COUNT},
	[BEFORE] = {"BEFORE", "before_blocks", KF_CELL_COUNT},
	[AFTER] = {"AFTER", "after_blocks", KF_CELL_COUNT},
	[WHERE] = {"WHERE", "where", KF_CELL_TEXT, true},
};

struct places {
	size_t nr;
	struct kf_diff_place *place;
};

static bool by_function;
static struct kf_profile_pick diff_pick = {
	.metric = KF_METRIC_LIVE,
	.usual = true,
	.at = -1,
};
static unsigned int diff_ended; /* how many of the programs have ended */
static bool diff_matched;	/* the filter matches a stack of one */
static uint64_t diff_most = UINT64_MAX;
static const char *diff_output; /* a page, or NULL */
static struct kf_diff_page diff_page;

static struct kf_diff_place *places_get(struct places *all, const char *name)
{
	for (size_t i = 0; i < all->nr; i++) {
		if (!kf_calls_compare(all->place[i].name, name)) {
			kf_take_marks(&all->place[i].name, name);
			return &all->place[i];
		}
	}
	/* the room doubles: it is full whenever the number is a power of 2 */
	if (!(all->nr & (all->nr - 1))) {
		size_t room = all->nr ? 2 * all->nr : 1;

		all->place = realloc(all->place, room * sizeof(*all->place));
		if (!all->place) {
			kf_error("out of memory");
			exit(KF_EXIT_FAILED);
		}
	}
	all->place[all->nr] =
		(struct kf_diff_place){.name = kf_format("%s", name)};
	return &all->place[all->nr++];
}

static uint64_t samples_of(const struct kf_site *site)
{
	bool peak = diff_pick.metric == KF_METRIC_PEAK;
	const struct kf_profile_count *c = peak ? &site->peak : &site->now;

	return (peak || diff_pick.metric == KF_METRIC_LIVE ||
		diff_pick.metric == KF_METRIC_BLOCKS) &&
			       c->freed_samples <= c->samples
		       ? c->samples - c->freed_samples
		       : c->samples;
}

static int add_profile(struct kf_cli *cli, const char *arg, bool is_after,
		       struct places *all)
{
	int status;
	char *path = kf_one_argument(cli, arg, &status);
	struct kf_prof prof = {
		.cli = cli,
		.path = path,
		.pick = diff_pick,
	};

	/* both are compared by the same metric */
	prof.pick.usual = false;
	if (!status)
		status = kf_prof_open(&prof);
	diff_ended += prof.at_end;
	diff_matched |= prof.matched;
	for (size_t i = 0; !status && i < prof.nr_sites; i++) {
		const struct kf_site *site = &prof.sites[i];
		char *name = by_function || !site->nr_frames
				     ? kf_site_group(&prof, site)
				     : kf_site_callers(site, 0, SIZE_MAX);
		struct kf_diff_place *p = places_get(all, name);

		kf_metric_add(is_after ? &p->after : &p->before, &site->value);
		p->samples += samples_of(site);
		free(name);
	}
	if (!status && diff_output)
		kf_diff_page_add(&diff_page, &prof, is_after);
	kf_prof_close(&prof);
	free(path);
	return status;
}

static struct kf_estimate place_change(const struct kf_diff_place *p)
{
	return (struct kf_estimate){
		p->after.value - p->before.value,
		p->after.variance + p->before.variance,
	};
}

static int by_change(const void *a, const void *b)
{
	double x = place_change(a).value, y = place_change(b).value;

	if (x != y)
		return x < y ? 1 : -1;
	return strcmp(((const struct kf_diff_place *)a)->name,
		      ((const struct kf_diff_place *)b)->name);
}

/*
 * The two-sided quantile of the normal distribution for a significance @level.
 */
static double deviations_sum(double level)
{
	double low = 0, high = 40;

	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		if (erfc(mid / M_SQRT2) > level)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/*
 * The logarithm of the probability that none of these blocks was sampled. n
 * samples, each taken with probability p, stand for n / p blocks; for blocks of
 * one size p follows from the sums.
 */
static double log_none_drawn(const struct kf_estimate *e, uint64_t samples)
{
	double n = (double)samples, p;

	if (e->value <= 0 || !samples)
		return 0;
	p = 1 - n * e->variance / (e->value * e->value);
	if (p >= 1)
		return -INFINITY;
	return p < 1e-6 ? -n : n / p * log1p(-p);
}

static bool is_chance(const struct kf_diff_place *p, double level,
		      double most_seldom)
{
	struct kf_estimate change = place_change(p);

	if (fabs(change.value) <= most_seldom * sqrt(change.variance))
		return true;
	if (p->before.value > 0 && p->after.value > 0)
		return false;
	return log_none_drawn(p->before.value > 0 ? &p->before : &p->after,
			      p->samples) > log(level);
}

/* Returns the sum of the significant differences. */
static double places_fill_table(struct kf_table *t, struct places *all)
{
	double level = LEVEL / (double)(all->nr ? all->nr : 1);
	double most_seldom = deviations_sum(level);
	double grown = 0;

	for (size_t i = 0; i < all->nr; i++) {
		struct kf_diff_place *p = &all->place[i];
		struct kf_estimate change = place_change(p);
		double error = kf_estimate_error(change);
		struct kf_cell *row;

		p->differs =
			change.value != 0 && !is_chance(p, level, most_seldom);
		if (!p->differs)
			continue;
		row = kf_table_row(t);
		row[CHANGE].count = (uint64_t)(int64_t)change.value;
		row[ERROR].count = (uint64_t)error;
		row[BEFORE].count = (uint64_t)p->before.value;
		row[AFTER].count = (uint64_t)p->after.value;
		kf_cell_text(&row[WHERE], p->name);
		grown += change.value;
	}
	return grown;
}

/* A share as a limit is one of what there was before. */
static void places_take_share(const struct places *all)
{
	uint64_t percent = diff_most & ~KF_LIMIT_SHARE;
	double before = 0;

	if (diff_most == UINT64_MAX || !(diff_most & KF_LIMIT_SHARE))
		return;
	for (size_t i = 0; i < all->nr; i++)
		before += all->place[i].before.value;
	diff_most = (uint64_t)(before * (double)percent / 100);
}

static void diff_print(const struct kf_cli *cli, struct kf_table *t)
{
	struct kf_cli plain = *cli;

	/* do not print a number of blocks in units of bytes */
	plain.exact |= kf_metric_is_blocks(diff_pick.metric);
	kf_table_print(t, &plain);
}

static void diff_tell_none(const struct kf_cli *cli)
{
	if (diff_ended && diff_pick.metric == KF_METRIC_LIVE)
		kf_note(cli,
			"diff: no difference in the memory that was live when the programs ended; --metric=peaks compares the stacks' own peaks, --metric=alloc all allocations");
	else
		kf_note(cli,
			"diff: nothing differs by more than chance; more samples, as by record --sample=16K, show smaller differences");
}

static int diff_refuse(double grown)
{
	static const char *const what[KF_NR_METRICS] = {
		[KF_METRIC_LIVE] = "live",
		[KF_METRIC_PEAK] = "live at the peak",
		[KF_METRIC_PEAKS] = "in the stacks' own peaks",
		[KF_METRIC_ALLOC] = "allocated",
		[KF_METRIC_COUNT] = "blocks allocated",
		[KF_METRIC_BLOCKS] = "live blocks",
	};
	char grown_text[32], most_text[32];

	kf_error("diff: %s more %s than before, over the limit of %s",
		 kf_metric_text(grown_text, sizeof(grown_text),
				diff_pick.metric, grown),
		 what[diff_pick.metric],
		 kf_metric_text(most_text, sizeof(most_text), diff_pick.metric,
				(double)diff_most));
	return KF_EXIT_FAILED;
}

/*
 * A program that frees everything at its end has nothing live then, so a limit
 * on what is live would never be exceeded.
 */
static bool gate_needs_peak(void)
{
	return diff_pick.usual && diff_most != UINT64_MAX && diff_ended == 2;
}

static const char *const diff_compared[KF_NR_METRICS] = {
	[KF_METRIC_LIVE] = "live memory",
	[KF_METRIC_PEAK] = "live memory at the peak",
	[KF_METRIC_PEAKS] = "the stacks' own peaks",
	[KF_METRIC_ALLOC] = "allocated memory",
	[KF_METRIC_COUNT] = "allocated blocks",
	[KF_METRIC_BLOCKS] = "live blocks",
};

static int diff_show(struct kf_cli *cli, struct places *all)
{
	int status = KF_EXIT_OK;
	struct kf_table t;
	double grown;

	if (all->nr)
		qsort(all->place, all->nr, sizeof(*all->place), by_change);
	kf_table_init(&t,
		      kf_metric_is_blocks(diff_pick.metric) ? in_blocks
							    : in_bytes,
		      NR_COLUMNS);
	grown = places_fill_table(&t, all);
	places_take_share(all);
	if (diff_output)
		status = kf_diff_page_write(&diff_page, all->place, all->nr,
					    diff_output);
	else
		diff_print(cli, &t);
	if (!t.nr_rows)
		diff_tell_none(cli);
	if (diff_most != UINT64_MAX)
		kf_note(cli, "diff: --fail-over compared %s%s",
			diff_compared[diff_pick.metric],
			gate_needs_peak()
				? ", as both programs have ended; "
				  "--metric=live compares memory that they "
				  "did not free"
				: "");
	kf_table_release(&t);
	if (status)
		return status;
	return grown <= (double)diff_most ? KF_EXIT_OK : diff_refuse(grown);
}

static void places_release(struct places *all)
{
	for (size_t i = 0; i < all->nr; i++)
		free(all->place[i].name);
	free(all->place);
	*all = (struct places){0};
}

static int add_both(struct kf_cli *cli, char **paths, struct places *all)
{
	int status;

	diff_ended = 0;
	diff_page.metric = diff_pick.metric;
	status = add_profile(cli, paths[0], false, all);
	if (!status)
		status = add_profile(cli, paths[1], true, all);
	if (status || !diff_pick.filter || diff_matched)
		return status;
	kf_error("diff: --filter: nothing in %s and %s matches '%s'", paths[0],
		 paths[1], diff_pick.filter);
	return KF_EXIT_NO_MATCH;
}

static int diff_run(struct kf_cli *cli, int argc, char **argv)
{
	struct places all = {0};
	int status;

	if (argc != 2) {
		kf_error("diff: two profiles are needed: konfiscator diff "
			 "BEFORE AFTER");
		return KF_EXIT_USAGE;
	}
	status = add_both(cli, argv, &all);
	if (!status && gate_needs_peak()) {
		places_release(&all);
		kf_diff_page_release(&diff_page);
		diff_pick.metric = KF_METRIC_PEAKS;
		status = add_both(cli, argv, &all);
	}
	if (!status)
		status = diff_show(cli, &all);
	places_release(&all);
	kf_diff_page_release(&diff_page);
	return status;
}

enum { OPT_FAIL_OVER = KF_OPT_OWN, OPT_BY };

static int diff_take_output(const char *path)
{
	const char *dot = strrchr(path, '.');

	diff_output = path;
	if (dot && dot != path && !strcmp(dot, ".html"))
		return 0;
	kf_error("diff: -o: '%s' does not end in .html", path);
	return KF_EXIT_USAGE;
}

static int diff_option(struct kf_cli *cli, int key, const char *arg)
{
	switch (key) {
	case OPT_FAIL_OVER:
		if (kf_parse_limit(arg, &diff_most) &&
		    (diff_most & ~KF_LIMIT_SHARE) <= PTRDIFF_MAX)
			return 0;
		kf_error("diff: --fail-over: '%s' is not a number of bytes, "
			 "with K, M, G or T, or 1%% to 100%%",
			 arg);
		return KF_EXIT_USAGE;
	case OPT_BY:
		by_function = !strcmp(arg, "function");
		if (by_function || !strcmp(arg, "stack"))
			return 0;
		kf_error("diff: --by: '%s' is not stack or function", arg);
		return KF_EXIT_USAGE;
	case 'o':
		return diff_take_output(arg);
	default:
		return kf_profile_pick_option(&diff_pick, "diff", key, arg);
	}
}

static const struct kf_option diff_options[] = {
	{'o', "output", "FILE.html",
	 "write a page with a red and blue flame graph"},
	{OPT_FAIL_OVER, "fail-over", "SIZE|N%",
	 "exit with status 1 if the growth is more than SIZE, or N% of BEFORE"},
	{OPT_BY, "by", "stack|function",
	 "compare stacks or functions (default stack)"},
	{KF_PROFILE_METRIC, "metric", "live|peak|peaks|alloc|count|blocks",
	 "compare this metric (default live; peaks with --fail-over if both programs have ended)"},
	{KF_PROFILE_FILTER, "filter", "REGEX",
	 "compare only stacks in which a name matches REGEX"},
	{0},
};

const struct kf_command kf_command_diff = {
	.name = "diff",
	.args = "BEFORE AFTER",
	.help = "Compare the memory of two profiles",
	.about =
		"BEFORE and AFTER are profiles of konfiscator record, or stats "
		"files. Differences\nthat may be chance are left out: two runs "
		"of the same program differ in 5 of 100\ncomparisons.",
	.examples =
		"  konfiscator diff before after           stacks whose live memory differs\n"
		"  konfiscator diff -o d.html before after a page with a red and blue flame graph\n"
		"  konfiscator diff --fail-over=8M before after    a gate for continuous integration",
	.options = diff_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.stacks = true,
	.pages = true,
	.option = diff_option,
	.run = diff_run,
};
