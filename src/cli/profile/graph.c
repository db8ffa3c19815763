/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The data of a page's flame graph: see graph.h. Stacks become a tree; what is
 * below SMALL of each metric becomes one call, as a page of all would be large.
 */
#include "config.h"

#include "cli/profile/graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 1e-4
#define SMALL_NAME "[calls below 0.01 %]"

static __attribute__((noreturn)) void graph_no_memory(void)
{
	kf_error("out of memory");
	exit(KF_EXIT_FAILED);
}

static struct kf_graph_call *graph_look(struct kf_graph_call *call,
					const char *name)
{
	for (size_t i = 0; i < call->nr; i++) {
		if (!strcmp(call->calls[i].name, name))
			return &call->calls[i];
	}
	return NULL;
}

static struct kf_graph_call *graph_child(struct kf_graph_call *call,
					 const char *name)
{
	struct kf_graph_call *child = graph_look(call, name);

	if (child)
		return child;
	/* the room doubles: it is full whenever the number is a power of 2 */
	if (!(call->nr & (call->nr - 1))) {
		size_t room = call->nr ? 2 * call->nr : 1;

		call->calls = realloc(call->calls, room * sizeof(*child));
		if (!call->calls)
			graph_no_memory();
	}
	child = &call->calls[call->nr++];
	*child = (struct kf_graph_call){.name = kf_format("%s", name)};
	return child;
}

static void graph_place(struct kf_graph_call *call, const struct kf_frame *f)
{
	if (!call->library && strcmp(f->library, "?") != 0)
		call->library = kf_format("%s", f->library);
	if (!f->file)
		return;
	if (!call->file) {
		call->file = kf_format("%s", f->file);
		call->line = f->line;
	} else if (call->line != f->line) {
		call->line = 0;
	}
}

static void graph_count(const struct kf_graph *g, struct kf_graph_call *call,
			const struct kf_site *site,
			const struct kf_estimate *value)
{
	call->samples += site->now.samples;
	for (size_t i = 0; i < g->nr_columns; i++)
		kf_metric_add(&call->value[i], &value[i]);
}

void kf_graph_add(struct kf_graph *g, const struct kf_prof *prof,
		  const struct kf_site *site, const struct kf_estimate *value)
{
	struct kf_graph_call *call = &g->root;
	size_t nr;
	char **labels = kf_site_labels(prof, site, &nr);

	graph_count(g, call, site, value);
	for (size_t i = 0; i < nr; i++) {
		call = graph_child(call, labels[i]);
		graph_count(g, call, site, value);
		if (nr - i <= site->nr_frames) {
			graph_place(call, site->frames[nr - i - 1]);
			call->recursive |= site->recursive[nr - i - 1];
		}
	}
	kf_site_labels_free(labels, nr);
}

struct kf_graph_call *kf_graph_find(struct kf_graph *g,
				    const struct kf_prof *prof,
				    const struct kf_site *site)
{
	struct kf_graph_call *call = &g->root;
	size_t nr;
	char **labels = kf_site_labels(prof, site, &nr);

	for (size_t i = 0; i < nr && call; i++)
		call = graph_look(call, labels[i]);
	kf_site_labels_free(labels, nr);
	return call;
}

static void graph_free(struct kf_graph_call *call)
{
	for (size_t i = 0; i < call->nr; i++)
		graph_free(&call->calls[i]);
	free(call->calls);
	free(call->over);
	free(call->file);
	free(call->library);
	free(call->name);
}

static void graph_add_over(const struct kf_graph *g, struct kf_graph_call *to,
			   const struct kf_graph_call *from)
{
	if (!from->over)
		return;
	if (!to->over)
		to->over = kf_alloc(g->nr_moments, sizeof(*to->over));
	for (size_t m = 0; m < g->nr_moments; m++) {
		to->over[m].allocated += from->over[m].allocated;
		to->over[m].freed += from->over[m].freed;
		to->over[m].variance += from->over[m].variance;
		to->over[m].freed_variance += from->over[m].freed_variance;
	}
}

/* The counts of a call and of all below it. */
static void graph_join_over(const struct kf_graph *g, struct kf_graph_call *to,
			    const struct kf_graph_call *from)
{
	graph_add_over(g, to, from);
	for (size_t i = 0; i < from->nr; i++)
		graph_join_over(g, to, &from->calls[i]);
}

static bool graph_is_small(const struct kf_graph *g,
			   const struct kf_graph_call *call)
{
	for (size_t i = 0; i < g->nr_columns; i++) {
		if (call->value[i].value > SMALL * g->root.value[i].value)
			return false;
	}
	return true;
}

static void graph_prune(const struct kf_graph *g, struct kf_graph_call *call)
{
	struct kf_graph_call small = {0};
	size_t kept = 0;

	for (size_t i = 0; i < call->nr; i++) {
		struct kf_graph_call *child = &call->calls[i];

		if (!graph_is_small(g, child)) {
			graph_prune(g, child);
			call->calls[kept++] = *child;
			continue;
		}
		small.samples += child->samples;
		for (size_t k = 0; k < g->nr_columns; k++)
			kf_metric_add(&small.value[k], &child->value[k]);
		graph_join_over(g, &small, child);
		graph_free(child);
		small.nr++;
	}
	if (small.nr) {
		small.nr = 0;
		small.name = kf_format("%s", SMALL_NAME);
		call->calls[kept++] = small;
	}
	call->nr = kept;
}

/* For an element of a page: no "<" may end it. */
static void graph_text(FILE *out, const char *text)
{
	char safe[4096];

	fputc('"', out);
	for (const char *p = kf_escape(safe, sizeof(safe), text); *p; p++) {
		if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (*p == '<')
			fputs("\\u003c", out);
		else
			fputc(*p, out);
	}
	fputc('"', out);
}

static bool graph_is_same(const struct kf_profile_count *a,
			  const struct kf_profile_count *b)
{
	return a->allocated == b->allocated && a->freed == b->freed;
}

/* The moments at which counts changed, with the deviations of both sums. */
static void graph_write_over(const struct kf_graph *g,
			     const struct kf_graph_call *call, FILE *out)
{
	static const struct kf_profile_count none;
	const struct kf_profile_count *last = &none;
	const char *comma = "";

	fputs(",\"over\":[", out);
	for (size_t m = 0; m < g->nr_moments; m++) {
		const struct kf_profile_count *c = &call->over[m];
		double all, live;

		if (graph_is_same(c, last))
			continue;
		all = kf_metric_of(c, KF_METRIC_ALLOC).variance;
		live = kf_metric_of(c, KF_METRIC_LIVE).variance;
		fprintf(out, "%s[%zu,%" PRIu64 ",%" PRIu64 ",%.0f,%.0f]", comma,
			m, c->allocated, c->freed, sqrt(all),
			sqrt(KF_MAX(all - live, 0.0)));
		comma = ",";
		last = c;
	}
	fputc(']', out);
}

static void graph_write_call(const struct kf_graph *g,
			     const struct kf_graph_call *call, FILE *out)
{
	fputs("{\"name\":", out);
	graph_text(out, call->name);
	if (call->library) {
		fputs(",\"library\":", out);
		graph_text(out, call->library);
	}
	if (call->file) {
		char *place =
			call->line ? kf_format("%s:%u", call->file, call->line)
				   : kf_format("%s", call->file);

		fputs(",\"file\":", out);
		graph_text(out, place);
		free(place);
	}
	if (call->recursive)
		fputs(",\"recursive\":true", out);
	fprintf(out, ",\"samples\":%" PRIu64, call->samples);
	for (size_t i = 0; i < g->nr_columns; i++) {
		if (call->value[i].value > 0)
			fprintf(out, ",\"%s\":%.0f,\"%s_error_95\":%.0f",
				g->column[i].key, call->value[i].value,
				g->column[i].key,
				kf_estimate_error(call->value[i]));
	}
	if (call->over)
		graph_write_over(g, call, out);
	if (call->nr)
		fputs(",\"children\":[", out);
	for (size_t i = 0; i < call->nr; i++) {
		fputs(i ? ",\n" : "\n", out);
		graph_write_call(g, &call->calls[i], out);
	}
	fputs(call->nr ? "]}" : "}", out);
}

void kf_graph_write(struct kf_graph *g, FILE *out)
{
	free(g->root.name);
	g->root.name = kf_format("all");
	graph_prune(g, &g->root);
	fputs("<script type=\"application/json\" id=\"calls\">\n{\"columns\":[",
	      out);
	for (size_t i = 0; i < g->nr_columns; i++)
		fprintf(out,
			"%s{\"key\":\"%s\",\"title\":\"%s\",\"unit\":\"%s\"}",
			i ? "," : "", g->column[i].key, g->column[i].title,
			g->column[i].blocks ? "blocks" : "bytes");
	fputs("],\n", out);
	if (g->base)
		fprintf(out, "\"base\":\"%s\",\n", g->base);
	for (size_t m = 0; m < g->nr_moments; m++)
		fprintf(out, "%s%.3f", m ? "," : "\"moments\":[",
			(double)g->moment_ns[m] / 1e9);
	if (g->nr_moments)
		fprintf(out, "],\n\"shown\":%zu,\n", g->shown);
	fputs("\"root\":", out);
	graph_write_call(g, &g->root, out);
	fputs("}\n</script>\n", out);
}

void kf_graph_release(struct kf_graph *g)
{
	graph_free(&g->root);
	g->root = (struct kf_graph_call){0};
}
