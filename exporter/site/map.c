/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The map of a process' heap: a picture of each region, one square for each
 * stretch of it, whose colour says how much of its memory is in use. Only the
 * process can tell, when it is ordered to: the page shows the last map.
 */
#include "config.h"

#include "exporter/site/site.h"
#include "reader/heap-map.h"
#include "reader/human.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define MAX_REGIONS 100
#define IN_LINE 128u   /* cells */
#define LINE_HEIGHT 10 /* pixels */

static void map_say_command(struct kf_buf *out, int pid, const char *what)
{
	kf_buf_fmt(out, "<code>konfiscator ctl %d map=now</code> %s", pid,
		   what);
}

static void map_say_when(struct kf_buf *out, const struct kf_snapshot *s)
{
	time_t noted = (time_t)(kf_heap_map_noted(s) / 1000000000);
	char text[40];
	struct tm tm;

	if (gmtime_r(&noted, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		kf_buf_fmt(out, "As of <b>%s</b>", text);
}

/* All cells of one level, as one shape. */
static void map_put_level(struct kf_buf *out, const struct kf_snapshot *s,
			  const struct kf_cell_span *r, int level)
{
	bool any = false;

	for (uint32_t i = 0, nr; i < r->nr; i += nr) {
		uint32_t line = KF_ALIGN_DOWN(i, IN_LINE) + IN_LINE;

		nr = kf_heap_map_alike(s, r->first + i,
				       r->first + KF_MIN(line, r->nr));
		if (kf_cell_level(&s->cells[r->first + i]) != level)
			continue;
		if (!any)
			kf_buf_fmt(out, "<path class=\"m%d\" d=\"", level);
		kf_buf_fmt(out, "M%u %uh%uv.9h-%uz", i % IN_LINE, i / IN_LINE,
			   nr, nr);
		any = true;
	}
	if (any)
		kf_buf_str(out, "\" />");
}

/* Nothing to be seen: what a pointer on a line of cells is told. */
static void map_put_tip(struct kf_buf *out, const struct kf_snapshot *s,
			const struct kf_cell_span *r, uint32_t line)
{
	uint32_t end = KF_MIN((line + 1) * IN_LINE, r->nr);
	struct kf_cell_span part =
		kf_heap_map_part(s, r->first + line * IN_LINE, r->first + end);
	char memory[32];

	kf_buf_fmt(out,
		   "<rect y=\"%" PRIu32 "\" width=\"%" PRIu32
		   "\" height=\"1\"><title>%#" PRIx64 " to %#" PRIx64
		   ": %.1f %% of %s is in use</title></rect>",
		   line, part.nr, part.begin, part.end,
		   kf_cell_percent(&part.sums),
		   kf_human_size(memory, sizeof(memory),
				 (double)kf_cell_memory(&part.sums)));
}

static void map_put_picture(struct kf_buf *out, const struct kf_snapshot *s,
			    const struct kf_cell_span *r)
{
	uint32_t lines = (r->nr + IN_LINE - 1) / IN_LINE;

	kf_buf_fmt(out,
		   "<svg viewBox=\"0 0 %u %" PRIu32 "\" height=\"%" PRIu32
		   "\" preserveAspectRatio=\"none\" role=\"img\" "
		   "aria-label=\"%.1f %% of it is in use\">",
		   IN_LINE, lines, lines * LINE_HEIGHT,
		   kf_cell_percent(&r->sums));
	for (int level = KF_CELL_ABSENT; level <= KF_CELL_FULL; level++)
		map_put_level(out, s, r, level);
	for (uint32_t line = 0; line < lines; line++)
		map_put_tip(out, s, r, line);
	kf_buf_str(out, "</svg>");
}

static void map_put_sums(struct kf_buf *out, const struct kf_cell_sums *sums)
{
	kf_buf_fmt(out, "<b>%.1f %%</b> of ", kf_cell_percent(sums));
	kf_html_bytes(out, (double)kf_cell_memory(sums));
	kf_buf_str(out, " is in use, ");
	kf_html_bytes(out, (double)sums->free);
	kf_buf_str(out, " are free blocks, ");
	kf_html_bytes(out, (double)sums->dirty);
	kf_buf_str(out, " dirty free pages");
}

static void map_put_region(struct kf_buf *out, const struct kf_snapshot *s,
			   const struct kf_cell_span *r)
{
	kf_buf_fmt(out, "<figure><figcaption><code>%#" PRIx64 "</code> ",
		   r->begin);
	map_put_sums(out, &r->sums);
	kf_buf_str(out, "</figcaption>");
	map_put_picture(out, s, r);
	kf_buf_str(out, "</figure>\n");
}

static void map_put_regions(struct kf_buf *out, const struct kf_snapshot *s,
			    uint32_t nr_regions)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < s->nr_cells && shown < MAX_REGIONS; shown++) {
		struct kf_cell_span r = kf_heap_map_region(s, i);

		map_put_region(out, s, &r);
		i += r.nr;
	}
	if (shown < nr_regions)
		kf_buf_fmt(out,
			   "<p class=\"hint\">and %" PRIu32
			   " more regions</p>\n",
			   nr_regions - shown);
}

static void map_put_legend(struct kf_buf *out)
{
	kf_buf_str(out, "<ul class=\"legend\"><li><svg viewBox=\"0 0 10 10\" "
			"aria-hidden=\"true\"><path class=\"m-1\" "
			"d=\"M0 0h10v10h-10z\" /></svg>no memory</li>\n<li>"
			"0 % <svg class=\"scale\" viewBox=\"0 0 110 10\" "
			"aria-hidden=\"true\">");
	for (int level = KF_CELL_EMPTY; level <= KF_CELL_FULL; level++)
		kf_buf_fmt(out, "<path class=\"m%d\" d=\"M%d 0h10v10h-10z\" />",
			   level, level * 10);
	kf_buf_str(out,
		   "</svg>100 % of the memory there is in use</li></ul>\n");
}

static void map_put_all(struct kf_buf *out, const struct kf_snapshot *s,
			int pid)
{
	struct kf_cell_sums all;
	uint32_t nr_regions;

	all = kf_heap_map_all(s, &nr_regions);
	kf_buf_str(out, "<p>");
	map_say_when(out, s);
	kf_buf_fmt(out, ", in %" PRIu32 " region%s: ", nr_regions,
		   nr_regions == 1 ? "" : "s");
	map_put_sums(out, &all);
	kf_buf_str(out, ". Each cell is ");
	kf_html_bytes(out, (double)kf_heap_map_length(s));
	kf_buf_str(out, ".</p>\n");
	map_put_legend(out);
	map_put_regions(out, s, nr_regions);
	kf_buf_str(out, "<p class=\"hint\">");
	if (pid)
		map_say_command(out, pid, "notes it again. ");
	kf_buf_str(out, "Blocks with a mapping of their own are not in it: no "
			"free memory is beside them.</p>\n");
}

void kf_site_map(const struct kf_subject *subject, const struct kf_snapshot *s,
		 struct kf_buf *out)
{
	int pid = subject->ended ? 0 : subject->pid;

	if (!s->nr_cells && (!pid || strcmp(s->id.engine, "firstfit") != 0))
		return;
	kf_buf_str(out, "<section id=\"map\">\n<h2>Map of the heap</h2>\n");
	if (s->nr_cells) {
		map_put_all(out, s, pid);
	} else {
		kf_buf_str(out, "<p class=\"hint\">");
		map_say_command(
			out, pid,
			"lets the process note how full each stretch "
			"of its heap is, and the map comes here.</p>\n");
	}
	kf_buf_str(out, "</section>\n");
}
