/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pictures drawn by gnuplot: commands and data go through a pipe, and gnuplot's
 * stdout is the output file.
 */
#include "config.h"

#include "cli/report/report.h"

#include <string.h>

static const struct {
	const char *suffix;
	const char *terminal;
} plot_kinds[] = {
	{".png", "pngcairo noenhanced size 1200,675 font 'sans,11'"},
	{".svg", "svg noenhanced size 1200,675 font 'sans,14' background "
		 "'white'"},
	{".pdf", "pdfcairo noenhanced size 24cm,13.5cm font 'sans,11'"},
};

static const char *terminal_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < KF_ARRAY_SIZE(plot_kinds); i++) {
		if (!strcasecmp(dot, plot_kinds[i].suffix))
			return plot_kinds[i].terminal;
	}
	return NULL;
}

bool kf_plot_is_picture(const char *path)
{
	return terminal_of(path);
}

void kf_plot_text(FILE *gnuplot, const char *text)
{
	char safe[1024];

	fputc('\'', gnuplot);
	for (const char *p = kf_escape(safe, sizeof(safe), text); *p; p++) {
		if (*p == '\'')
			fputc('\'', gnuplot);
		fputc(*p, gnuplot);
	}
	fputc('\'', gnuplot);
}

struct kf_unit kf_unit_time(uint64_t ns)
{
	static const struct kf_unit units[] = {
		{"ns", 1}, {"\xc2\xb5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	size_t i = 0;

	while (i + 1 < KF_ARRAY_SIZE(units) &&
	       (double)ns >= 10 * units[i + 1].scale)
		i++;
	return units[i];
}

struct kf_unit kf_unit_bytes(uint64_t bytes)
{
	static const struct kf_unit units[] = {{"bytes", 1},
					       {"KiB", 1024.0},
					       {"MiB", 1048576.0},
					       {"GiB", 1073741824.0},
					       {"TiB", 1099511627776.0}};
	size_t i = 0;

	while (i + 1 < KF_ARRAY_SIZE(units) &&
	       (double)bytes >= 4 * units[i + 1].scale)
		i++;
	return units[i];
}

int kf_plot(struct kf_report *r)
{
	static const char *const argv[] = {"gnuplot", "-d", "-", NULL};
	struct kf_painter gnuplot = {.argv = argv, .package = "gnuplot-nox"};
	struct kf_output o;
	int rc;

	if (kf_output_open(&o, r->output))
		return KF_EXIT_FAILED;
	rc = kf_painter_start(&gnuplot, fileno(o.file));
	if (!rc) {
		fprintf(gnuplot.in, "set terminal %s\n",
			terminal_of(r->output));
		r->view->draw(r, gnuplot.in);
		rc = kf_painter_end(&gnuplot);
	}
	if (kf_output_close(&o, !rc))
		rc = -1;
	return rc ? KF_EXIT_FAILED : KF_EXIT_OK;
}
