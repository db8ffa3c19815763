/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tables of a process' page: sizes, threads, tags, sites, counters. A table
 * without rows is left out.
 */
#include "config.h"

#include "base/saturate.h"
#include "exporter/site/site.h"
#include "exporter/site/sites.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAX_ROWS 200

static void table_head_row(struct kf_buf *out, const char *const *columns)
{
	kf_buf_str(out, "<table class=\"stack\"><thead><tr>");
	for (; *columns; columns++) {
		bool right = **columns == '>';

		kf_buf_fmt(out,
			   right ? "<th class=\"n\">%s</th>" : "<th>%s</th>",
			   *columns + right);
	}
	kf_buf_str(out, "</tr></thead>\n<tbody>\n");
}

static void table_begin(struct kf_buf *out, const char *id, const char *title,
			const char *const *columns)
{
	kf_buf_fmt(out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
	table_head_row(out, columns);
}

static void table_end(struct kf_buf *out, size_t left_out)
{
	kf_buf_str(out, "</tbody></table>\n");
	if (left_out)
		kf_buf_fmt(out, "<p class=\"hint\">and %zu more</p>\n",
			   left_out);
	kf_buf_str(out, "</section>\n");
}

/* Live bytes of a class; large blocks have different sizes. */
static uint64_t table_live_bytes(const struct kf_class_count *c)
{
	return kf_times(kf_class_blocks(c), c->bytes);
}

static void table_size_row(const struct kf_class_count *c, uint64_t most,
			   struct kf_buf *out)
{
	kf_buf_fmt(out, "<tr data-key=\"%" PRIu64 "\">", (uint64_t)c->bytes);
	if (c->bytes)
		kf_html_bytes_cell(out, "Block size", c->bytes);
	else
		kf_buf_str(out, "<td class=\"n\" data-label=\""
				"Block size\">large</td>");
	kf_html_count_cell(out, "Live blocks", kf_class_blocks(c));
	if (c->bytes)
		kf_html_bytes_cell(out, "Live bytes", table_live_bytes(c));
	else
		kf_buf_str(out, "<td class=\"n\"></td>");
	kf_buf_str(out, "<td class=\"bars\">");
	kf_html_share(out, kf_class_blocks(c), most);
	kf_buf_str(out, "</td>");
	kf_html_total_cell(out, "Mallocs", c->mallocs, false);
	kf_html_total_cell(out, "Frees", c->frees, false);
	kf_buf_str(out, "</tr>\n");
}

/* The table of classes with live blocks, or of the others. */
static void table_sizes_that(bool live, const struct kf_snapshot *s,
			     struct kf_buf *out)
{
	static const char *const columns[] = {
		">Block size", ">Live blocks", ">Live bytes", "Live blocks",
		">Mallocs",    ">Frees",       NULL};
	const struct kf_class_count *c;
	uint64_t most = 0;
	unsigned int i;

	for (i = 0; i < s->nr_classes; i++)
		most = KF_MAX(most, kf_class_blocks(&s->classes[i]));
	table_head_row(out, columns);
	for (i = 0; i < s->nr_classes; i++) {
		/* large blocks are first in the file, and last here */
		c = &s->classes[(i + 1) % s->nr_classes];
		if (live ? kf_class_blocks(c)
			 : c->mallocs && !kf_class_blocks(c))
			table_size_row(c, most, out);
	}
	kf_buf_str(out, "</tbody></table>\n");
}

static void table_sizes(const struct kf_snapshot *s, struct kf_buf *out)
{
	unsigned int live = 0, empty = 0;

	for (unsigned int i = 0; i < s->nr_classes; i++) {
		live += kf_class_blocks(&s->classes[i]) != 0;
		empty += s->classes[i].mallocs &&
			 !kf_class_blocks(&s->classes[i]);
	}
	if (!live && !empty)
		return;
	kf_buf_str(out, "<section id=\"sizes\">\n<h2>Sizes</h2>\n");
	if (live)
		table_sizes_that(true, s, out);
	if (empty) {
		kf_buf_fmt(out,
			   "<details><summary>without live blocks: %u"
			   "</summary>\n",
			   empty);
		table_sizes_that(false, s, out);
		kf_buf_str(out, "</details>\n");
	}
	kf_buf_str(out, "</section>\n");
}

static int table_by_allocated(const void *a, const void *b)
{
	const struct kf_thread_count *x = a, *y = b;

	if (x->allocated != y->allocated)
		return x->allocated < y->allocated ? 1 : -1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static void table_threads(const struct kf_snapshot *s, struct kf_buf *out)
{
	static const char *const columns[] = {
		"Thread",     ">Thread id", ">Mallocs", ">Frees",
		">Allocated", "Allocated",  NULL};
	unsigned int i;

	/* no other thread uses the snapshot */
	qsort(s->threads, s->nr_threads, sizeof(s->threads[0]),
	      table_by_allocated);
	table_begin(out, "threads", "Threads", columns);
	for (i = 0; i < s->nr_threads && i < MAX_ROWS; i++) {
		const struct kf_thread_count *t = &s->threads[i];

		kf_buf_fmt(out,
			   "<tr data-key=\"%" PRId32 "\"><td class=\"name\">",
			   t->tid);
		kf_html_text(out, t->name[0] ? t->name : "(no name)");
		if (t->state == KF_SLOT_IDLE)
			kf_buf_str(out, " <span class=\"tag\">ended</span>");
		kf_buf_fmt(out,
			   "</td><td class=\"n\" data-label=\"Thread id\">"
			   "%" PRId32 "</td>",
			   t->tid);
		kf_html_total_cell(out, "Mallocs", t->mallocs, false);
		kf_html_total_cell(out, "Frees", t->frees, false);
		kf_html_total_cell(out, "Allocated", t->allocated, true);
		kf_buf_str(out, "<td class=\"bars\">");
		kf_html_share(out, t->allocated, s->threads[0].allocated);
		kf_buf_str(out, "</td></tr>\n");
	}
	table_end(out, s->nr_threads - i);
}

/* This table is long and rarely needed, so it is collapsed. */
static void table_counters(const struct kf_snapshot *s, struct kf_buf *out)
{
	static const char *const columns[] = {"Counter", ">Value", "Meaning",
					      NULL};
	unsigned int i;

	kf_buf_str(
		out,
		"<section id=\"counters\">\n<h2>Counters</h2>\n"
		"<details><summary>all counters of its stats file</summary>\n");
	table_head_row(out, columns);
	for (i = 0; i < s->nr_counters; i++) {
		const struct kf_counter *c = &s->counters[i];

		kf_buf_str(out, "<tr><td class=\"name\">");
		kf_html_text(out, c->name);
		kf_buf_str(out, "</td>");
		if (c->unit == KF_UNIT_BYTES)
			kf_html_bytes_cell(out, "Value", c->value);
		else
			kf_html_count_cell(out, "Value", c->value);
		kf_buf_str(out, "<td class=\"help\">");
		kf_html_text(out, c->help);
		kf_buf_str(out, "</td></tr>\n");
	}
	kf_buf_str(out, "</tbody></table>\n</details>\n</section>\n");
}

void kf_site_tables(const struct kf_subject *subject,
		    const struct kf_snapshot *s, struct kf_name_cache *cache,
		    enum kf_sites_by by, struct kf_buf *out)
{
	if (s->nr_tags > 1)
		kf_sites_tags(s, out);
	kf_sites_stacks(subject, s, cache, by, out);
	if (s->nr_classes)
		table_sizes(s, out);
	if (s->nr_threads)
		table_threads(s, out);
	table_counters(s, out);
}
