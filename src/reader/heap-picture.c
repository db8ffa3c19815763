/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The picture of a heap's map: for each region one square for each stretch of
 * it, whose colour says how much of its memory is in use. src/web/map.css has
 * the colours.
 */
#include "config.h"

#include "reader/heap-picture.h"

#include "reader/heap-map.h"
#include "reader/human.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define MAX_REGIONS 100
#define IN_LINE 128u   /* cells */
#define LINE_HEIGHT 10 /* pixels */

static void picture_bytes(FILE *out, uint64_t bytes)
{
	char text[32];

	fprintf(out, "<span title=\"%" PRIu64 " bytes\">%s</span>", bytes,
		kf_human_size(text, sizeof(text), (double)bytes));
}

static void picture_say_command(int pid, const char *what, FILE *out)
{
	fprintf(out, "<code>konfiscator ctl %d map=now</code> %s", pid, what);
}

static void picture_say_when(const struct kf_snapshot *s, FILE *out)
{
	time_t noted = (time_t)(kf_heap_map_noted(s) / 1000000000);
	char text[40];
	struct tm tm;

	if (gmtime_r(&noted, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		fprintf(out, "As of <b>%s</b>", text);
}

/* All cells of one level, as one shape. */
static void picture_put_level(const struct kf_snapshot *s,
			      const struct kf_cell_span *r, int level,
			      FILE *out)
{
	bool any = false;

	for (uint32_t i = 0, nr; i < r->nr; i += nr) {
		uint32_t line = KF_ALIGN_DOWN(i, IN_LINE) + IN_LINE;

		nr = kf_heap_map_alike(s, r->first + i,
				       r->first + KF_MIN(line, r->nr));
		if (kf_cell_level(&s->cells[r->first + i]) != level)
			continue;
		if (!any)
			fprintf(out, "<path class=\"m%d\" d=\"", level);
		fprintf(out, "M%u %uh%uv.9h-%uz", i % IN_LINE, i / IN_LINE, nr,
			nr);
		any = true;
	}
	if (any)
		fputs("\" />", out);
}

/* Nothing to be seen: what a pointer on a line of cells is told. */
static void picture_put_tip(const struct kf_snapshot *s,
			    const struct kf_cell_span *r, uint32_t line,
			    FILE *out)
{
	uint32_t end = KF_MIN((line + 1) * IN_LINE, r->nr);
	struct kf_cell_span part =
		kf_heap_map_part(s, r->first + line * IN_LINE, r->first + end);
	char memory[32];

	fprintf(out,
		"<rect y=\"%" PRIu32 "\" width=\"%" PRIu32
		"\" height=\"1\"><title>%#" PRIx64 " to %#" PRIx64
		": %.1f %% of %s is in use</title></rect>",
		line, part.nr, part.begin, part.end,
		kf_cell_percent(&part.sums),
		kf_human_size(memory, sizeof(memory),
			      (double)kf_cell_memory(&part.sums)));
}

static void picture_put_picture(const struct kf_snapshot *s,
				const struct kf_cell_span *r, FILE *out)
{
	uint32_t lines = (r->nr + IN_LINE - 1) / IN_LINE;

	fprintf(out,
		"<svg viewBox=\"0 0 %u %" PRIu32 "\" height=\"%" PRIu32
		"\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-label=\"%.1f %% of it is in use\">",
		IN_LINE, lines, lines * LINE_HEIGHT, kf_cell_percent(&r->sums));
	for (int level = KF_CELL_ABSENT; level <= KF_CELL_FULL; level++)
		picture_put_level(s, r, level, out);
	for (uint32_t line = 0; line < lines; line++)
		picture_put_tip(s, r, line, out);
	fputs("</svg>", out);
}

static void picture_put_sums(const struct kf_cell_sums *sums, FILE *out)
{
	fprintf(out, "<b>%.1f %%</b> of ", kf_cell_percent(sums));
	picture_bytes(out, kf_cell_memory(sums));
	fputs(" is in use, ", out);
	picture_bytes(out, sums->free);
	fputs(" are free blocks, ", out);
	picture_bytes(out, sums->dirty);
	fputs(" dirty free pages", out);
}

static void picture_put_region(const struct kf_snapshot *s,
			       const struct kf_cell_span *r, FILE *out)
{
	fprintf(out, "<figure><figcaption><code>%#" PRIx64 "</code> ",
		r->begin);
	picture_put_sums(&r->sums, out);
	fputs("</figcaption>", out);
	picture_put_picture(s, r, out);
	fputs("</figure>\n", out);
}

static void picture_put_regions(const struct kf_snapshot *s,
				uint32_t nr_regions, FILE *out)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < s->nr_cells && shown < MAX_REGIONS; shown++) {
		struct kf_cell_span r = kf_heap_map_region(s, i);

		picture_put_region(s, &r, out);
		i += r.nr;
	}
	if (shown < nr_regions)
		fprintf(out,
			"<p class=\"hint\">and %" PRIu32 " more regions</p>\n",
			nr_regions - shown);
}

static void picture_put_legend(FILE *out)
{
	fputs("<ul class=\"legend\"><li><svg viewBox=\"0 0 10 10\" "
	      "aria-hidden=\"true\"><path class=\"m-1\" "
	      "d=\"M0 0h10v10h-10z\" /></svg>no memory</li>\n<li>"
	      "0 % <svg class=\"scale\" viewBox=\"0 0 110 10\" "
	      "aria-hidden=\"true\">",
	      out);
	for (int level = KF_CELL_EMPTY; level <= KF_CELL_FULL; level++)
		fprintf(out, "<path class=\"m%d\" d=\"M%d 0h10v10h-10z\" />",
			level, level * 10);
	fputs("</svg>100 % of the memory there is in use</li></ul>\n", out);
}

static void picture_put_all(const struct kf_snapshot *s, int pid, FILE *out)
{
	struct kf_cell_sums all;
	uint32_t nr_regions;

	all = kf_heap_map_all(s, &nr_regions);
	fputs("<p>", out);
	picture_say_when(s, out);
	fprintf(out, ", in %" PRIu32 " region%s: ", nr_regions,
		nr_regions == 1 ? "" : "s");
	picture_put_sums(&all, out);
	fputs(". Each cell is ", out);
	picture_bytes(out, kf_heap_map_length(s));
	fputs(".</p>\n", out);
	picture_put_legend(out);
	picture_put_regions(s, nr_regions, out);
	fputs("<p class=\"hint\">", out);
	if (pid)
		picture_say_command(pid, "notes it again. ", out);
	fputs("Blocks with a mapping of their own are not in it: no "
	      "free memory is beside them.</p>\n",
	      out);
}

bool kf_heap_picture_is_known(const struct kf_snapshot *s, int pid)
{
	return s->nr_cells || (pid && strcmp(s->id.engine, "firstfit") == 0);
}

void kf_heap_picture(const struct kf_snapshot *s, int pid, FILE *out)
{
	fputs("<div class=\"heap-map\">\n", out);
	if (s->nr_cells) {
		picture_put_all(s, pid, out);
	} else {
		fputs("<p class=\"hint\">", out);
		picture_say_command(
			pid,
			"lets the process note how full each stretch of its "
			"heap is; a page made after that has the map.</p>\n",
			out);
	}
	fputs("</div>\n", out);
}
