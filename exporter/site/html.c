/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Elements of pages. Bars and lines are inline SVG: geometry is in attributes,
 * appearance in the style sheet.
 */
#include "config.h"

#include "exporter/site/html.h"
#include "exporter/clock.h"
#include "exporter/site/assets.h"
#include "reader/human.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#define BAR_WIDTH 1000
#define SPARK_WIDTH 100
#define SPARK_HEIGHT 24
#define SPARK_POINTS 60

const char *const kf_part_names[KF_NR_PARTS] = {
	[KF_PART_LIVE] = "live",	 [KF_PART_ROUNDING] = "rounding",
	[KF_PART_CACHED] = "cached",	 [KF_PART_FREE] = "free",
	[KF_PART_METADATA] = "metadata",
};

static const char *const part_help[KF_NR_PARTS] = {
	[KF_PART_LIVE] = "what the program asked for and has",
	[KF_PART_ROUNDING] = "what its blocks have beyond that",
	[KF_PART_CACHED] = "free blocks inside slabs",
	[KF_PART_FREE] = "free pages",
	[KF_PART_METADATA] = "the allocator's own tables",
};

void kf_html_text(struct kf_buf *out, const char *raw)
{
	char clean[1024];

	kf_buf_html(out, kf_utf8_clean(clean, sizeof(clean), raw));
}

/* The script that computes rates needs a clock that is never set. */
static void html_as_of(struct kf_buf *out)
{
	time_t now = time(NULL);
	char text[40] = "";
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	kf_buf_fmt(out,
		   "<p id=\"as-of\"><span data-ms=\"%" PRIu64
		   "\">As of %s</span></p>\n",
		   kf_clock_ns(CLOCK_MONOTONIC) / 1000000, text);
}

void kf_html_begin(struct kf_buf *out, const char *title, const char *metrics)
{
	kf_buf_str(out,
		   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		   "<meta charset=\"utf-8\" />\n<meta name=\"viewport\" "
		   "content=\"width=device-width, initial-scale=1\" />\n"
		   "<meta name=\"color-scheme\" content=\"light dark\" />\n"
		   "<title>");
	kf_html_text(out, title);
	kf_buf_str(out, " - konfiscator</title>\n");
	kf_assets_link(out);
	kf_buf_str(
		out,
		"</head>\n<body>\n<header>\n<a class=\"brand\" href=\"/\">"
		"<svg viewBox=\"0 0 16 16\" aria-hidden=\"true\">"
		"<rect class=\"live\" x=\"1\" y=\"2\" width=\"9\" height=\"3\" />"
		"<rect class=\"cached\" x=\"11\" y=\"2\" width=\"4\" height=\"3\" />"
		"<rect class=\"live\" x=\"1\" y=\"6.5\" width=\"5\" height=\"3\" />"
		"<rect class=\"free\" x=\"7\" y=\"6.5\" width=\"8\" height=\"3\" />"
		"<rect class=\"live\" x=\"1\" y=\"11\" width=\"12\" height=\"3\" />"
		"<rect class=\"rounding\" x=\"14\" y=\"11\" width=\"1\" height=\"3\" />"
		"</svg>konfiscator</a>\n<nav><a href=\"/\">Overview</a> "
		"<a href=\"/ended\">Ended</a> "
		"<a href=\"");
	kf_buf_html(out, metrics);
	kf_buf_str(out, "\">Metrics</a></nav>\n");
	html_as_of(out);
	kf_buf_str(out, "</header>\n<main>\n");
}

void kf_html_end(struct kf_buf *out)
{
	kf_buf_str(out,
		   "</main>\n<footer>konfiscator_exporter " PACKAGE_VERSION);
	if (kf_assets_charts())
		kf_buf_str(out,
			   " &#183; charts by uPlot "
			   "(<a href=\"/static/licences.txt\">licence</a>)");
	kf_buf_str(out, "</footer>\n</body>\n</html>\n");
}

void kf_html_bytes(struct kf_buf *out, double bytes)
{
	char text[32];

	kf_buf_fmt(out, "<span title=\"%.0f bytes\">%s</span>", bytes,
		   kf_human_size(text, sizeof(text), bytes));
}

void kf_html_count(struct kf_buf *out, uint64_t count)
{
	static const char units[] = "kMGTPE";
	double n = (double)count;
	unsigned int i = 0;

	if (count < 10000) {
		kf_buf_fmt(out, "%" PRIu64, count);
		return;
	}
	while (n >= 999.5 && units[i]) {
		n /= 1000;
		i++;
	}
	kf_buf_fmt(out, "<span title=\"%" PRIu64 "\">%.*f %c</span>", count,
		   n < 99.95 ? (n < 9.995 ? 2 : 1) : 0, n, units[i - 1]);
}

void kf_html_rate(struct kf_buf *out, double rate, const char *before,
		  const char *after)
{
	if (isnan(rate))
		return;
	kf_buf_str(out, before);
	rate = fmin(rate, 1e18);
	if (rate > 0 && rate < 9.95)
		kf_buf_fmt(out, "%.1f", rate);
	else
		kf_html_count(out, (uint64_t)(rate + 0.5));
	kf_buf_fmt(out, "/s%s", after);
}

static void html_begin_cell(struct kf_buf *out, const char *label)
{
	kf_buf_fmt(out, "<td class=\"n\" data-label=\"%s\">", label);
}

void kf_html_bytes_cell(struct kf_buf *out, const char *label, uint64_t n)
{
	html_begin_cell(out, label);
	kf_html_bytes(out, (double)n);
	kf_buf_str(out, "</td>");
}

void kf_html_count_cell(struct kf_buf *out, const char *label, uint64_t n)
{
	html_begin_cell(out, label);
	kf_html_count(out, n);
	kf_buf_str(out, "</td>");
}

void kf_html_total_cell(struct kf_buf *out, const char *label, uint64_t n,
			bool bytes)
{
	kf_buf_fmt(out,
		   "<td class=\"n\" data-label=\"%s\" data-total=\"%" PRIu64
		   "\" data-unit=\"%s\">",
		   label, n, bytes ? "bytes" : "calls");
	if (bytes)
		kf_html_bytes(out, (double)n);
	else
		kf_html_count(out, n);
	kf_buf_str(out, "</td>");
}

static double html_percent(uint64_t n, uint64_t of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

void kf_html_bar(struct kf_buf *out, const uint64_t part[KF_NR_PARTS],
		 uint64_t full)
{
	uint64_t sum = kf_parts_sum(part);
	double at = 0, width;
	unsigned int i;

	full = KF_MAX(full, sum);
	kf_buf_fmt(out,
		   "<svg class=\"bar\" viewBox=\"0 0 %d 10\" "
		   "preserveAspectRatio=\"none\" role=\"img\"><title>",
		   BAR_WIDTH);
	for (i = 0; i < KF_NR_PARTS; i++)
		kf_buf_fmt(out, "%s%s %.1f %%", i ? ", " : "", kf_part_names[i],
			   html_percent(part[i], sum));
	kf_buf_fmt(out,
		   "</title><rect class=\"none\" width=\"%d\" height=\"10\" />",
		   BAR_WIDTH);
	for (i = 0; i < KF_NR_PARTS; i++) {
		width = html_percent(part[i], full) * BAR_WIDTH / 100;
		if (width > 0)
			kf_buf_fmt(out,
				   "<rect class=\"%s\" x=\"%.2f\" "
				   "width=\"%.2f\" height=\"10\" />",
				   kf_part_names[i], at, width);
		at += width;
	}
	kf_buf_str(out, "</svg>");
}

void kf_html_share(struct kf_buf *out, uint64_t n, uint64_t full)
{
	double width = html_percent(KF_MIN(n, full), full) * BAR_WIDTH / 100;

	kf_buf_fmt(out,
		   "<svg class=\"bar\" viewBox=\"0 0 %d 10\" "
		   "preserveAspectRatio=\"none\" role=\"img\">"
		   "<title>%.1f %%</title>"
		   "<rect class=\"none\" width=\"%d\" height=\"10\" />"
		   "<rect class=\"live\" width=\"%.2f\" height=\"10\" /></svg>",
		   BAR_WIDTH, width * 100 / BAR_WIDTH, BAR_WIDTH, width);
}

void kf_html_legend(struct kf_buf *out, const uint64_t part[KF_NR_PARTS])
{
	uint64_t sum = kf_parts_sum(part);
	unsigned int i;

	kf_buf_str(out, "<ul class=\"legend\">");
	for (i = 0; i < KF_NR_PARTS; i++) {
		kf_buf_fmt(out,
			   "<li title=\"%s\"><svg viewBox=\"0 0 10 10\" "
			   "aria-hidden=\"true\"><rect class=\"%s\" "
			   "width=\"10\" height=\"10\" /></svg>%s <b>",
			   part_help[i], kf_part_names[i], kf_part_names[i]);
		kf_html_bytes(out, (double)part[i]);
		kf_buf_fmt(out, "</b> %.1f %%</li>\n",
			   html_percent(part[i], sum));
	}
	kf_buf_str(out, "</ul>\n");
}

/* A line that gaps divide. */
struct spark {
	struct kf_buf *out;
	unsigned int nr; /* points of this part */
	double x, y;	 /* the last one */
};

static void html_spark_point(struct spark *line, double x, double y)
{
	kf_buf_fmt(line->out, "%s%.1f,%.1f ",
		   line->nr++ ? "" : "<polyline points=\"", x, y);
	line->x = x;
	line->y = y;
}

/* A part of one point is a dot. */
static void html_spark_end(struct spark *line)
{
	if (line->nr == 1)
		html_spark_point(line, line->x, line->y);
	if (line->nr)
		kf_buf_str(line->out, "\" />");
	line->nr = 0;
}

void kf_html_spark(struct kf_buf *out, const uint64_t *ms, const float *value,
		   unsigned int nr, uint64_t gap_ms)
{
	struct spark line = {.out = out};
	unsigned int step = nr / SPARK_POINTS + 1, i, known = 0;
	float top = 0, last = 0;

	for (i = 0; i < nr; i++) {
		if (isnan(value[i]))
			continue;
		last = value[i];
		top = KF_MAX(top, value[i]);
		known++;
	}
	if (known < 2 || top <= 0 || ms[nr - 1] <= ms[0])
		return;
	kf_buf_fmt(out,
		   "<svg class=\"spark\" viewBox=\"0 0 %d %d\" "
		   "preserveAspectRatio=\"none\" aria-hidden=\"true\">",
		   SPARK_WIDTH, SPARK_HEIGHT);
	/* always draw the last value */
	for (i = (nr - 1) % step; i < nr; i += step) {
		if (isnan(value[i])) {
			html_spark_end(&line);
			continue;
		}
		if (i >= step && ms[i] - ms[i - step] > gap_ms * step)
			html_spark_end(&line);
		html_spark_point(&line,
				 (double)(ms[i] - ms[0]) * SPARK_WIDTH /
					 (double)(ms[nr - 1] - ms[0]),
				 1 + (1 - (double)(value[i] / top)) *
						 (SPARK_HEIGHT - 2));
	}
	html_spark_end(&line);
	kf_buf_str(out, "</svg><small>");
	kf_html_bytes(out, (double)last);
	kf_buf_str(out, ", max ");
	kf_html_bytes(out, (double)top);
	kf_buf_str(out, "</small>");
}

void kf_html_card(struct kf_buf *out, const char *title)
{
	kf_buf_fmt(out, "<div class=\"card\"><h2>%s</h2>", title);
}
