/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The picture: memory over the recorded time, a line for each candidate, and
 * what the program asked for.
 */
#include "config.h"

#include "cli/whatif/whatif.h"

#include <stdlib.h>

static uint64_t curves_most(const struct kf_whatif *w)
{
	double most = (double)w->script.peak_live;

	for (size_t i = 0; i < w->nr; i++) {
		const struct kf_candidate *c = &w->candidates[i];

		for (uint32_t k = 0; c->curve && k < w->script.head.nr_samples;
		     k++)
			most = KF_MAX(most, c->curve[k]);
	}
	return (uint64_t)most;
}

static void curves_data(const struct kf_whatif *w, FILE *g, struct kf_unit x,
			struct kf_unit y)
{
	fprintf(g, "$data << EOD\n");
	for (uint32_t k = 0; k < w->script.head.nr_samples; k++) {
		const struct kf_script_sample *s = &w->script.samples[k];

		fprintf(g, "%.9g %.9g", (double)s->time_ns / x.scale,
			(double)s->live / y.scale);
		for (size_t i = 0; i < w->nr; i++) {
			const double *curve = w->candidates[i].curve;

			if (curve)
				fprintf(g, " %.9g", curve[k] / y.scale);
			else
				fprintf(g, " NaN");
		}
		fputc('\n', g);
	}
	fprintf(g, "EOD\n");
}

static void curves_draw(struct kf_report *r, FILE *g)
{
	const struct kf_whatif *w =
		kf_container_of(r, const struct kf_whatif, report);
	uint64_t most = curves_most(w);
	struct kf_unit x = kf_unit_time(w->script.end_ns);
	struct kf_unit y = kf_unit_bytes(most);
	char *title =
		kf_format("%s under other allocators", kf_report_program(r));

	curves_data(w, g, x, y);
	fprintf(g, "set title ");
	kf_plot_text(g, title);
	fprintf(g,
		"\nset xlabel 'time since the recording began (%s)'\n"
		"set ylabel 'resident memory of the heap (%s)'\n"
		"set grid lc rgb '#dddddd'\nset border 3\nset tics nomirror\n"
		"set key top left Left reverse\nset yrange [0:%.9g]\n"
		"plot $data using 1:2 with fillsteps fs solid 0.25 noborder "
		"lc rgb '#999999' title 'asked for and not freed'",
		x.name, y.name, most ? (double)most / y.scale * 1.2 : 1);
	for (size_t i = 0; i < w->nr; i++) {
		if (!w->candidates[i].curve)
			continue;
		fprintf(g,
			", $data using 1:%zu with lines lw 1.5 lt %zu title ",
			i + 3, i + 1);
		kf_plot_text(g, w->candidates[i].name);
	}
	fputc('\n', g);
	free(title);
}

static const struct kf_view curves_view = {.name = "whatif",
					   .draw = curves_draw};

int kf_whatif_draw(struct kf_whatif *w)
{
	w->report.view = &curves_view;
	return kf_plot(&w->report);
}
