/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view timeline: live and held bytes over time, as a table with bars or as
 * a picture.
 */
#include "config.h"

#include "cli/report/report.h"

#include <stdlib.h>
#include <string.h>

#define BAR 32
#define ROWS 24

static struct kf_series timeline_series;

enum { TIME, LIVE, MOST, BLOCKS, HELD, ALLOCS, FREES, ALLOCATED, BARS };

static const struct kf_column timeline_columns[] = {
	[TIME] = {"TIME", "time_seconds", KF_CELL_SECONDS},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[MOST] = {"MOST", "most_live_bytes", KF_CELL_BYTES},
	[BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
	[HELD] = {"HELD", "held_bytes", KF_CELL_BYTES},
	[ALLOCS] = {"ALLOCS", "allocs", KF_CELL_COUNT},
	[FREES] = {"FREES", "frees", KF_CELL_COUNT},
	[ALLOCATED] = {NULL, "allocated_bytes", KF_CELL_BYTES},
	[BARS] = {"MOST LIVE", NULL, KF_CELL_TEXT},
};

static void timeline_begin(struct kf_report *r)
{
	kf_series_init(&timeline_series, r->pick.from, r->history.head.held);
}

static void timeline_step(struct kf_report *r, const struct kf_step *s)
{
	kf_series_step(&timeline_series, s, &r->replay.now);
}

static void add_bar(struct kf_cell *cell, uint64_t n, uint64_t most, bool peak)
{
	static const char bar[] = "################################";
	int len = most ? (int)((double)n / (double)most * BAR + 0.5) : 0;
	char *text = kf_format("%.*s%s", len, bar, peak ? " peak" : "");

	kf_cell_text(cell, text);
	free(text);
}

static void timeline_add_row(struct kf_table *t, const struct kf_replay *p,
			     size_t i)
{
	const struct kf_series_bucket *b = &timeline_series.bucket[i];
	struct kf_cell *row = kf_table_row(t);
	uint64_t time = timeline_series.from + i * timeline_series.width;
	bool peak = p->peak.bytes && p->peak_time >= time &&
		    p->peak_time - time < timeline_series.width;

	row[TIME].real = (double)time / 1e9;
	row[LIVE].count = b->live;
	row[MOST].count = b->live_max;
	row[BLOCKS].count = b->blocks;
	row[HELD].count = b->held;
	row[ALLOCS].count = b->allocs;
	row[FREES].count = b->frees;
	row[ALLOCATED].count = b->allocated;
	add_bar(&row[BARS], b->live_max, p->peak.bytes, peak);
}

static int timeline_end(struct kf_report *r)
{
	struct kf_table t;

	kf_series_finish(&timeline_series,
			 r->rows_given ? KF_MAX(r->rows, (size_t)1) : ROWS);
	kf_table_init(&t, timeline_columns, KF_ARRAY_SIZE(timeline_columns));
	for (size_t i = 0; i < timeline_series.nr; i++)
		timeline_add_row(&t, &r->replay, i);
	return kf_report_table(r, &t, -1, SIZE_MAX);
}

static void timeline_draw_data(FILE *g, struct kf_unit x, struct kf_unit y)
{
	fprintf(g, "$data << EOD\n");
	for (size_t i = 0; i < timeline_series.nr; i++) {
		const struct kf_series_bucket *b = &timeline_series.bucket[i];

		fprintf(g, "%.9g %.9g %.9g\n",
			(double)(timeline_series.from +
				 i * timeline_series.width) /
				x.scale,
			(double)b->live_max / y.scale,
			(double)b->held / y.scale);
	}
	fprintf(g, "EOD\n");
}

static void draw_peak(const struct kf_report *r, FILE *g, struct kf_unit x,
		      struct kf_unit y)
{
	const struct kf_replay *p = &r->replay;
	double at = (double)p->peak_time / x.scale;
	double n = (double)p->peak.bytes / y.scale;
	double from = (double)r->pick.from / x.scale;
	double to = (double)p->end_time / x.scale;
	/* the label goes to the side with more room */
	bool left = at - from > (to - from) / 2;

	fprintf(g, "$peak << EOD\n%.9g %.9g\nEOD\n", at, n);
	fprintf(g,
		"set label 1 'peak: %.4g %s at %.4g %s' at %.9g,%.9g %s "
		"offset character %d,0.9 front\n",
		n, y.name, at, x.name, at, n, left ? "right" : "left",
		left ? -1 : 1);
}

static void timeline_draw(struct kf_report *r, FILE *g)
{
	const struct kf_replay *p = &r->replay;
	uint64_t most = KF_MAX(p->peak.bytes, p->peak_held);
	struct kf_unit x = kf_unit_time(p->end_time);
	struct kf_unit y = kf_unit_bytes(most);
	char *title = kf_format("Heap of %s (process %d)", kf_report_program(r),
				r->history.head.identity.pid);

	kf_series_finish(&timeline_series, KF_SERIES_MAX);
	timeline_draw_data(g, x, y);
	draw_peak(r, g, x, y);
	fprintf(g, "set title ");
	kf_plot_text(g, title);
	fprintf(g,
		"\nset xlabel 'time since the recording began (%s)'\n"
		"set ylabel 'memory (%s)'\n"
		"set grid lc rgb '#dddddd'\nset border 3\nset tics nomirror\n"
		"set key top left Left reverse\n"
		"set xrange [%.9g:%.9g]\nset yrange [0:%.9g]\n",
		x.name, y.name, (double)r->pick.from / x.scale,
		(double)KF_MAX(p->end_time, r->pick.from + 1) / x.scale,
		most ? (double)most / y.scale * 1.15 : 1);
	fprintf(g, "plot $data using 1:2 with fillsteps fs solid 0.35 noborder "
		   "lc rgb '#1f77b4' title 'live: asked for and not freed', "
		   "$data using 1:2 with steps lc rgb '#1f77b4' notitle");
	if (p->peak_held)
		fprintf(g, ", $data using 1:3 with steps lw 1.5 lc rgb "
			   "'#ff7f0e' title 'held from the kernel'");
	fprintf(g, ", $peak using 1:2 with points pt 7 ps 1 lc rgb '#d62728' "
		   "notitle\n");
	free(title);
}

const struct kf_view kf_view_timeline = {
	.name = "timeline",
	.begin = timeline_begin,
	.step = timeline_step,
	.end = timeline_end,
	.draw = timeline_draw,
};
