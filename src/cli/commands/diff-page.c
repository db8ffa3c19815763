/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The page of konfiscator diff: see diff.h. Without scripts there is the table.
 */
#include "config.h"

#include "cli/commands/diff.h"
#include "cli/profile/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AFTER, BEFORE, NR_COLUMNS };

static char *page_about(const struct kf_prof *prof, enum kf_metric metric)
{
	const struct kf_stats_identity *id = kf_prof_identity(prof);
	char value[32], error[32], at[32] = "";

	if (prof->time_ns)
		snprintf(at, sizeof(at), " after %.1f s",
			 (double)kf_prof_shown_ns(prof) / 1e9);
	return kf_format(
		"%s: %s, process %d%s: %s, estimated %s \302\261 %s",
		prof->path, id->name[0] ? id->name : id->comm, id->pid, at,
		kf_metric_title(metric),
		kf_page_amount(value, sizeof(value), metric, prof->total.value),
		kf_page_amount(error, sizeof(error), metric,
			       kf_estimate_error(prof->total)));
}

void kf_diff_page_add(struct kf_diff_page *page, const struct kf_prof *prof,
		      bool is_after)
{
	bool blocks = kf_metric_is_blocks(page->metric);
	struct kf_graph *g = &page->graph;

	g->nr_columns = NR_COLUMNS;
	g->column[AFTER] = (struct kf_graph_column){"after", "after", blocks};
	g->column[BEFORE] =
		(struct kf_graph_column){"before", "before", blocks};
	g->base = g->column[BEFORE].key;
	page->about[is_after] = page_about(prof, page->metric);
	for (size_t i = 0; i < prof->nr_sites; i++) {
		struct kf_estimate value[NR_COLUMNS] = {0};

		value[is_after ? AFTER : BEFORE] = prof->sites[i].value;
		kf_graph_add(g, prof, &prof->sites[i], value);
	}
}

static void page_cell(const struct kf_diff_page *page, const char *sign,
		      double value, const char *word, FILE *out)
{
	char text[32];

	fprintf(out, "<td class=\"n\" data-unit=\"%s\">%s%s</td>", word, sign,
		kf_page_amount(text, sizeof(text), page->metric, value));
}

/* The innermost call, with its callers folded. */
static void page_stack(const char *name, FILE *out)
{
	const char *rest = strstr(name, " < ");
	char *first = kf_format("%s", name);

	if (rest)
		first[rest - name] = '\0';
	fputs(rest ? "<details><summary>" : "", out);
	kf_xml_text(out, first);
	fputs(rest ? "</summary>" : "", out);
	kf_xml_text(out, rest ? rest : "");
	fputs(rest ? "</details>" : "", out);
	free(first);
}

static void page_row(const struct kf_diff_page *page,
		     const struct kf_diff_place *p, FILE *out)
{
	double change = p->after.value - p->before.value;
	struct kf_estimate both = {change,
				   p->after.variance + p->before.variance};

	fprintf(out, "<tr class=\"%s\">", change > 0 ? "grew" : "shrank");
	page_cell(page, change > 0 ? "+" : "\342\210\222", fabs(change), "",
		  out);
	page_cell(page, "\302\261 ", kf_estimate_error(both), "", out);
	page_cell(page, "", p->before.value, " before", out);
	page_cell(page, "", p->after.value, " after", out);
	fputs("<td>", out);
	page_stack(p->name, out);
	fputs("</td></tr>\n", out);
}

static void page_table(const struct kf_diff_page *page,
		       const struct kf_diff_place *place, size_t nr, FILE *out)
{
	size_t rows = 0;

	fputs("<h2>What differs by more than chance</h2>\n"
	      "<div class=\"scroll\" tabindex=\"0\"><table class=\"stacks\">"
	      "<tr><th class=\"n\">change<th class=\"n\">95 %<th class=\"n\">"
	      "before<th class=\"n\">after<th>stack, the innermost call first"
	      "</tr>\n",
	      out);
	for (size_t i = 0; i < nr; i++) {
		if (!place[i].differs)
			continue;
		page_row(page, &place[i], out);
		rows++;
	}
	fprintf(out,
		"</table></div>\n<p class=\"note\">%zu of %zu stacks</p>\n",
		rows, nr);
}

int kf_diff_page_write(struct kf_diff_page *page,
		       const struct kf_diff_place *place, size_t nr,
		       const char *output)
{
	static const char *const words[] = {"Before", "After"};
	struct kf_output o;
	FILE *out;

	if (kf_output_open(&o, output))
		return KF_EXIT_FAILED;
	out = o.file;
	kf_page_begin(out, "Difference of two profiles");
	fputs("<h1>Difference of two profiles</h1>\n", out);
	for (size_t i = 0; i < KF_ARRAY_SIZE(words); i++) {
		fprintf(out, "<p class=\"about\"><b>%s</b> ", words[i]);
		kf_xml_text(out, page->about[i]);
		fputs("</p>\n", out);
	}
	fputs("<h2>Call stacks</h2>\n"
	      "<div id=\"flame\" data-calls=\"#calls\"><noscript><p "
	      "class=\"note\">The flame graph needs scripts; the table has the "
	      "same facts.</p></noscript></div>\n",
	      out);
	kf_graph_write(&page->graph, out);
	page_table(page, place, nr, out);
	kf_page_end(out);
	return kf_output_close(&o, true) ? KF_EXIT_FAILED : KF_EXIT_OK;
}

void kf_diff_page_release(struct kf_diff_page *page)
{
	kf_graph_release(&page->graph);
	free(page->about[0]);
	free(page->about[1]);
	*page = (struct kf_diff_page){.metric = page->metric};
}
