/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view latency: the durations of calls by function; as a picture, over
 * time.
 *
 * Durations are counted in buckets of an eighth of a power of two, so that a
 * percentile is exact to 12.5 %. There are buckets for each of some hundred
 * columns of time, whose width doubles when there are too many columns.
 */
#include "config.h"

#include "cli/report/report.h"

#include "base/bits.h"
#include "reader/human.h"

#include <stdlib.h>
#include <string.h>

#define NR_COLUMNS 256
#define STEPS 8
#define NR_BUCKETS (37 * STEPS) /* to 9 minutes; the last one has the rest */
#define FIRST_WIDTH 512		/* ns */

struct calls {
	uint64_t nr;
	uint64_t took; /* ns */
	uint64_t most;
	uint64_t bucket[NR_BUCKETS];
	uint32_t column[NR_COLUMNS][NR_BUCKETS];
};

static struct calls *latency_calls; /* by kind */
static uint64_t latency_width = FIRST_WIDTH;

enum { FUNCTION, TIMED, MEAN, P50, P90, P99, P999, MOST, TOTAL };

static const struct kf_column latency_columns[] = {
	[FUNCTION] = {"FUNCTION", "function", KF_CELL_TEXT},
	[TIMED] = {"TIMED", "timed_calls", KF_CELL_COUNT},
	[MEAN] = {"MEAN", "mean_seconds", KF_CELL_SECONDS},
	[P50] = {"50%", "p50_seconds", KF_CELL_SECONDS},
	[P90] = {"90%", "p90_seconds", KF_CELL_SECONDS},
	[P99] = {"99%", "p99_seconds", KF_CELL_SECONDS},
	[P999] = {"99.9%", "p999_seconds", KF_CELL_SECONDS},
	[MOST] = {"LONGEST", "longest_seconds", KF_CELL_SECONDS},
	[TOTAL] = {"TOTAL", "total_seconds", KF_CELL_SECONDS},
};

static size_t latency_bucket(uint64_t ns)
{
	unsigned int log2 = kf_ilog2(ns | 1);
	size_t i;

	if (log2 < 3)
		return ns;
	i = (log2 - 2) * STEPS + (ns >> (log2 - 3)) % STEPS;
	return KF_MIN(i, (size_t)NR_BUCKETS - 1);
}

/* The longest duration of a bucket. */
static uint64_t bucket_end(size_t i)
{
	if (i < STEPS)
		return i;
	return ((STEPS + i % STEPS + 1) << (i / STEPS - 1)) - 1;
}

static void latency_begin(struct kf_report *r)
{
	latency_calls = kf_alloc(KF_RECORD_NR_KINDS, sizeof(*latency_calls));
}

/* Merges pairs of columns. */
static void latency_halve(struct calls *c)
{
	for (size_t i = 0; i < NR_COLUMNS / 2; i++) {
		uint32_t *to = c->column[i];
		const uint32_t *a = c->column[2 * i];
		const uint32_t *b = c->column[2 * i + 1];

		for (size_t k = 0; k < NR_BUCKETS; k++)
			to[k] = a[k] + b[k];
	}
	memset(c->column[NR_COLUMNS / 2], 0, sizeof(c->column) / 2);
}

static void latency_step(struct kf_report *r, const struct kf_step *s)
{
	uint64_t since = s->event->time - r->pick.from;
	uint64_t took = s->event->took;
	struct calls *c;

	if (!s->picked || !took)
		return;
	while (since / latency_width >= NR_COLUMNS) {
		for (size_t k = 0; k < KF_RECORD_NR_KINDS; k++)
			latency_halve(&latency_calls[k]);
		latency_width *= 2;
	}
	c = &latency_calls[s->event->kind];
	c->nr++;
	c->took += took;
	c->most = KF_MAX(c->most, took);
	c->bucket[latency_bucket(took)]++;
	c->column[since / latency_width][latency_bucket(took)]++;
}

static uint64_t latency_share(const uint64_t *bucket, uint64_t nr,
			      unsigned int mille)
{
	uint64_t below = 0, want = (nr * mille + 999) / 1000;
	size_t i = 0;

	while (i + 1 < NR_BUCKETS && below + bucket[i] < want)
		below += bucket[i++];
	return bucket_end(i);
}

static double share_seconds(const struct calls *c, unsigned int mille)
{
	return (double)KF_MIN(latency_share(c->bucket, c->nr, mille), c->most) /
	       1e9;
}

static int latency_end(struct kf_report *r)
{
	struct kf_table t;

	kf_table_init(&t, latency_columns, KF_ARRAY_SIZE(latency_columns));
	for (unsigned int k = 0; k < KF_RECORD_NR_KINDS; k++) {
		const struct calls *c = &latency_calls[k];
		struct kf_cell *row;

		if (!c->nr)
			continue;
		row = kf_table_row(&t);
		kf_cell_text(&row[FUNCTION], kf_report_function(k));
		row[TIMED].count = c->nr;
		row[MEAN].real = (double)c->took / (double)c->nr / 1e9;
		row[P50].real = share_seconds(c, 500);
		row[P90].real = share_seconds(c, 900);
		row[P99].real = share_seconds(c, 990);
		row[P999].real = share_seconds(c, 999);
		row[MOST].real = (double)c->most / 1e9;
		row[TOTAL].real = (double)c->took / 1e9;
	}
	return kf_report_table(r, &t, -1, SIZE_MAX);
}

/* Time, median, 99th percentile and maximum of each column with calls. */
static void latency_draw_data(const struct kf_report *r, FILE *g,
			      const struct calls *c, unsigned int kind,
			      struct kf_unit x)
{
	fprintf(g, "$d%u << EOD\n", kind);
	for (size_t i = 0; i < NR_COLUMNS; i++) {
		uint64_t bucket[NR_BUCKETS], nr = 0;
		double at = (double)r->pick.from +
			    ((double)i + 0.5) * (double)latency_width;

		for (size_t k = 0; k < NR_BUCKETS; k++) {
			bucket[k] = c->column[i][k];
			nr += bucket[k];
		}
		if (nr)
			fprintf(g, "%.9g %llu %llu %llu\n", at / x.scale,
				(unsigned long long)latency_share(bucket, nr,
								  500) +
					1,
				(unsigned long long)latency_share(bucket, nr,
								  990) +
					1,
				(unsigned long long)latency_share(bucket, nr,
								  1000) +
					1);
	}
	fprintf(g, "EOD\n");
}

static void draw_panel(FILE *g, const struct calls *c, unsigned int kind)
{
	double mean = (double)c->took / (double)c->nr;
	char text[32];

	fprintf(g,
		"set title '%s: %llu timed calls, mean %s'\n"
		"plot $d%u using 1:4 with points pt 7 ps 0.3 lc rgb '#d62728' "
		"title 'longest', $d%u using 1:3 with lines lc rgb '#ff7f0e' "
		"title '99 %%', $d%u using 1:2 with lines lw 1.5 lc rgb "
		"'#1f77b4' title 'half', %.9g with lines dt 2 lc rgb '#555555' "
		"title 'mean'\n",
		kf_report_function(kind), (unsigned long long)c->nr,
		kf_human_seconds(text, sizeof(text), mean / 1e9), kind, kind,
		kind, mean);
}

static void latency_draw(struct kf_report *r, FILE *g)
{
	static const unsigned int grid[][2] = {{1, 1}, {1, 1}, {1, 2},
					       {2, 2}, {2, 2}, {2, 3}};
	const struct kf_replay *p = &r->replay;
	struct kf_unit x = kf_unit_time(p->end_time);
	unsigned int nr = 0;
	char *title =
		kf_format("How long calls took in %s (process %d)",
			  kf_report_program(r), r->history.head.identity.pid);

	for (unsigned int k = 0; k < KF_RECORD_NR_KINDS; k++)
		nr += latency_calls[k].nr > 0;
	nr = KF_MIN(nr, (unsigned int)KF_ARRAY_SIZE(grid) - 1);
	fprintf(g, "set multiplot layout %u,%u title ", grid[nr][0],
		grid[nr][1]);
	kf_plot_text(g, title);
	fprintf(g,
		"\nset xlabel 'time since the recording began (%s)'\n"
		"set ylabel 'duration of a call (ns)'\nset logscale y\n"
		"set format y '%%.0s%%c'\n"
		"set grid lc rgb '#dddddd'\nset border 3\nset tics nomirror\n"
		"set key tmargin center horizontal samplen 1 width 1\n"
		"set xrange [%.9g:%.9g]\nset yrange [10:*]\n",
		x.name, (double)r->pick.from / x.scale,
		(double)KF_MAX(p->end_time, r->pick.from + 1) / x.scale);
	if (!nr)
		fprintf(g, "set title 'no call was timed'\n"
			   "set yrange [1:10]\nplot NaN notitle\n");
	for (unsigned int k = 0; k < KF_RECORD_NR_KINDS; k++) {
		if (!latency_calls[k].nr)
			continue;
		latency_draw_data(r, g, &latency_calls[k], k, x);
		draw_panel(g, &latency_calls[k], k);
	}
	fprintf(g, "unset multiplot\n");
	free(title);
}

static void latency_release(void)
{
	free(latency_calls);
}

const struct kf_view kf_view_latency = {
	.name = "latency",
	.begin = latency_begin,
	.step = latency_step,
	.end = latency_end,
	.draw = latency_draw,
	.release = latency_release,
};
