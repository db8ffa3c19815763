/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables of tags and call stacks.
 */
#include "config.h"

#include "exporter/site/sites.h"
#include "exporter/site/names.h"
#include "exporter/site/subject.h"
#include "reader/estimate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TAGS 50
#define MAX_STACKS 20
#define MAX_FRAMES 12
#define NR_CALLERS 3

/* An entry with its sort key, largest first. */
struct ranked {
	uint64_t bytes;
	uint32_t at;
};

static int sites_by_bytes(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->at < y->at ? -1 : 1;
}

/* The difference of counters read at different times, at least 0. */
static uint64_t sites_not_below_0(uint64_t n)
{
	return (int64_t)n < 0 ? 0 : n;
}

#define MAX_DEPTH 16

/* Collect a tag and its parents; return their number. */
static unsigned int sites_ancestry(const struct kf_snapshot *s, uint32_t at,
				   uint32_t path[MAX_DEPTH])
{
	unsigned int nr = 0;

	for (; at && at < s->nr_tags && nr < MAX_DEPTH; at = s->tags[at].parent)
		path[nr++] = at;
	return nr;
}

void kf_sites_tag_path(const struct kf_snapshot *s, uint32_t at, char *path,
		       size_t size)
{
	uint32_t tags[MAX_DEPTH];
	unsigned int nr = sites_ancestry(s, at, tags);
	size_t len = 0;

	path[0] = '\0';
	/* the root is the thread, which is shown elsewhere */
	for (nr -= nr > 0; nr && len < size; nr--)
		len += (size_t)snprintf(path + len, size - len, "%s%s",
					len ? "/" : "",
					s->tags[tags[nr - 1]].name);
}

static void sites_tag_name(const struct kf_snapshot *s, uint32_t at,
			   struct kf_buf *out)
{
	uint32_t path[MAX_DEPTH];
	unsigned int nr = sites_ancestry(s, at, path);

	while (nr) {
		const struct kf_stats_tag *t = &s->tags[path[--nr]];

		kf_html_text(out, t->name[0] ? t->name : "(no name)");
		if (nr)
			kf_buf_str(out, " <span class=\"sep\">&#8250;</span> ");
	}
}

static void sites_tag_row(const struct kf_snapshot *s, const struct ranked *r,
			  uint64_t most, struct kf_buf *out)
{
	const struct kf_stats_tag *t = &s->tags[r->at];

	kf_buf_fmt(out, "<tr data-key=\"%" PRIu32 "\"><td class=\"name\">",
		   r->at);
	sites_tag_name(s, r->at, out);
	kf_buf_str(out, "</td>");
	kf_html_bytes_cell(out, "Live", r->bytes);
	kf_buf_str(out, "<td class=\"bars\">");
	kf_html_share(out, r->bytes, most);
	kf_buf_str(out, "</td>");
	kf_html_count_cell(out, "Live blocks",
			   sites_not_below_0(kf_stats_tag_blocks(t)));
	kf_html_bytes_cell(out, "Peak", t->peak);
	kf_html_total_cell(out, "Allocated", t->allocated, true);
	kf_buf_str(out, "</tr>\n");
}

void kf_sites_tags(const struct kf_snapshot *s, struct kf_buf *out)
{
	struct ranked *list = calloc(s->nr_tags, sizeof(*list));
	uint32_t i, nr = 0;

	if (!list) {
		out->failed = true;
		return;
	}
	for (i = 1; i < s->nr_tags; i++) {
		if (s->tags[i].state == KF_TAG_FREE)
			continue;
		list[nr].bytes =
			sites_not_below_0(kf_stats_tag_live(&s->tags[i]));
		list[nr++].at = i;
	}
	qsort(list, nr, sizeof(*list), sites_by_bytes);
	kf_buf_str(out,
		   "<section id=\"tags\">\n<h2>Tags</h2>\n"
		   "<table class=\"stack\"><thead><tr><th>Tag</th>"
		   "<th class=\"n\">Live</th><th>Live</th>"
		   "<th class=\"n\">Live blocks</th><th class=\"n\">Peak</th>"
		   "<th class=\"n\">Allocated</th></tr></thead>\n<tbody>\n");
	if (!nr)
		kf_buf_str(out, "<tr><td colspan=\"6\">none yet</td></tr>\n");
	for (i = 0; i < nr && i < MAX_TAGS; i++)
		sites_tag_row(s, &list[i], list[0].bytes, out);
	kf_buf_str(out, "</tbody></table>\n");
	if (nr > i)
		kf_buf_fmt(out, "<p class=\"hint\">and %u more</p>\n", nr - i);
	kf_buf_str(out, "</section>\n");
	free(list);
}

/* Stacks that read alike. */
struct site {
	const struct kf_stats_stack *stack; /* one of them */
	struct kf_estimate live;
	uint64_t samples;
	uint32_t nr;
	bool more; /* outer calls are left out */
	/* the innermost first */
	bool recursive[MAX_FRAMES];
	const struct kf_frame *frame[MAX_FRAMES];
};

static int sites_compare_calls(const struct kf_frame *a,
			       const struct kf_frame *b)
{
	int order = a == b ? 0 : strcmp(a->function, b->function);

	if (a == b || order)
		return order;
	order = strcmp(a->library, b->library);
	if (!order && a->file && b->file)
		order = strcmp(a->file, b->file);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int sites_by_words(const void *a, const void *b)
{
	const struct site *x = a, *y = b;
	int order = (x->stack->tag > y->stack->tag) -
		    (x->stack->tag < y->stack->tag);

	if (!order)
		order = (int)x->more - (int)y->more;
	if (!order)
		order = (x->nr > y->nr) - (x->nr < y->nr);
	if (!order && !x->nr)
		order = (int)(x->stack->flags & KF_STACK_OVERFLOW) -
			(int)(y->stack->flags & KF_STACK_OVERFLOW);
	for (uint32_t i = 0; !order && i < x->nr; i++)
		order = sites_compare_calls(x->frame[i], y->frame[i]);
	return order;
}

static int sites_by_live(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->live.value != y->live.value)
		return x->live.value < y->live.value ? 1 : -1;
	return sites_by_words(a, b);
}

/* Make stacks that read alike one; return how many are left. */
static uint32_t sites_add_up(struct site *all, uint32_t nr)
{
	uint32_t left = 0;

	qsort(all, nr, sizeof(*all), sites_by_words);
	for (uint32_t i = 0; i < nr; i++) {
		struct site *to = &all[left ? left - 1 : 0];

		if (!left || sites_by_words(to, &all[i])) {
			all[left++] = all[i];
			continue;
		}
		to->live = kf_estimate_sum(to->live, all[i].live);
		to->samples += all[i].samples;
		for (uint32_t k = 0; k < to->nr; k++)
			to->recursive[k] |= all[i].recursive[k];
	}
	qsort(all, left, sizeof(*all), sites_by_live);
	return left;
}

/* Returns the number of stacks with live bytes; out of memory is a failure. */
static uint32_t sites_gather(const struct kf_snapshot *s, enum kf_sites_by by,
			     struct kf_symbols *names, struct site *all,
			     struct kf_buf *out)
{
	struct kf_calls calls;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		const struct kf_stats_stack *st = &s->stacks[i];
		struct site *to = &all[nr];

		if (!st->hash || !sites_not_below_0(st->allocated - st->freed))
			continue;
		if (!kf_names_calls(names, s, st, &calls)) {
			out->failed = true;
			break;
		}
		to->stack = st;
		to->live = kf_estimate_stack(
			st, by == KF_SITES_BY_BLOCKS ? KF_ESTIMATE_LIVE_BLOCKS
						     : KF_ESTIMATE_LIVE);
		to->samples = st->samples;
		to->nr = (uint32_t)KF_MIN(calls.nr, (size_t)MAX_FRAMES);
		to->more = calls.nr > MAX_FRAMES || st->flags & KF_STACK_CUT;
		memcpy(to->frame, calls.frame, to->nr * sizeof(*to->frame));
		memcpy(to->recursive, calls.recursive,
		       to->nr * sizeof(*to->recursive));
		nr++;
	}
	return nr;
}

static void sites_name(const struct site *site, uint32_t i, struct kf_buf *out)
{
	char name[KF_NAME_ROOM];

	kf_names_text(site->frame[i], name);
	kf_buf_html(out, name);
	if (site->recursive[i])
		kf_buf_str(out, KF_RECURSIVE);
}

static void sites_frame(const struct site *site, uint32_t i, struct kf_buf *out)
{
	kf_buf_str(out, "<li><code>");
	sites_name(site, i, out);
	kf_buf_str(out, "</code>");
	if (site->frame[i]->named) {
		kf_buf_str(out, " <span class=\"tag\">");
		kf_html_text(out, site->frame[i]->library);
		kf_buf_str(out, "</span>");
	}
	kf_buf_str(out, "</li>");
}

/* Write the innermost functions in a line. */
static void sites_callers(const struct site *site, struct kf_buf *out)
{
	kf_buf_str(out, "<code>");
	for (uint32_t i = 0; i < site->nr && i < NR_CALLERS; i++) {
		if (i)
			kf_buf_str(out, " <span class=\"sep\">&#8249;</span> ");
		sites_name(site, i, out);
	}
	kf_buf_str(out, "</code>");
}

static void sites_amount(struct kf_buf *out, enum kf_sites_by by, double n)
{
	if (by == KF_SITES_BY_BLOCKS)
		kf_html_count(out, (uint64_t)(fmin(n, 1e18) + 0.5));
	else
		kf_html_bytes(out, n);
}

static void sites_stack(const struct kf_snapshot *s, const struct site *site,
			enum kf_sites_by by, struct kf_buf *out)
{
	const struct kf_stats_stack *st = site->stack;

	kf_buf_str(out, "<details><summary><b>");
	sites_amount(out, by, site->live.value);
	kf_buf_str(out, "</b> &#177; ");
	sites_amount(out, by, kf_estimate_error(site->live));
	kf_buf_str(out, by == KF_SITES_BY_BLOCKS ? " blocks " : " ");
	sites_callers(site, out);
	kf_buf_fmt(out, " <span class=\"hint\">%" PRIu64 " sample%s</span> ",
		   site->samples, site->samples == 1 ? "" : "s");
	if (st->tag) {
		kf_buf_str(out, "<span class=\"tag\">");
		sites_tag_name(s, st->tag, out);
		kf_buf_str(out, "</span>");
	}
	kf_buf_str(out, "</summary><ol class=\"frames\">");
	for (uint32_t i = 0; i < site->nr; i++)
		sites_frame(site, i, out);
	if (site->more)
		kf_buf_str(out, "<li>outer calls are left out</li>");
	if (!site->nr)
		kf_buf_fmt(out, "<li>%s</li>",
			   st->flags & KF_STACK_OVERFLOW
				   ? "stacks beyond the table"
				   : "the stack could not be taken");
	kf_buf_str(out, "</ol></details>\n");
}

static bool sites_any(const struct kf_snapshot *s)
{
	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		if (s->stacks[i].samples)
			return true;
	}
	return false;
}

/* How to get samples, of a process that has none. */
static void sites_none(int pid, struct kf_buf *out)
{
	kf_buf_str(out, "<p class=\"hint\">No block was sampled.");
	if (pid)
		kf_buf_fmt(
			out,
			" <code>konfiscator ctl %d sample=64K</code> samples "
			"one for each 64 KiB from now on.",
			pid);
	kf_buf_str(out, "</p>\n</section>\n");
}

enum kf_sites_by kf_sites_by(const char *by)
{
	return by && strcmp(by, "blocks") == 0 ? KF_SITES_BY_BLOCKS
					       : KF_SITES_BY_BYTES;
}

/* The two orders, the other one as a link. */
static void sites_choice(const struct kf_subject *subject, enum kf_sites_by by,
			 struct kf_buf *out)
{
	static const char *const names[] = {"bytes", "blocks"};

	kf_buf_str(out, "<p class=\"choice\">Live memory by");
	for (int i = KF_SITES_BY_BYTES; i <= KF_SITES_BY_BLOCKS; i++) {
		if (i == (int)by)
			kf_buf_fmt(out, " <b>%s</b>", names[i]);
		else
			kf_buf_fmt(out,
				   " <a href=\"/process/%016" PRIx64
				   "?by=%s#sites\">%s</a>",
				   subject->id, names[i], names[i]);
	}
	kf_buf_str(out, "</p>\n");
}

void kf_sites_stacks(const struct kf_subject *subject,
		     const struct kf_snapshot *s, struct kf_name_cache *cache,
		     enum kf_sites_by by, struct kf_buf *out)
{
	char lost[KF_STACKS_LOST_TEXT];
	struct kf_symbols *names;
	struct site *all;
	const char *lacks;
	uint32_t nr = 0;

	kf_buf_str(out, "<section id=\"sites\">\n<h2>Top sites</h2>\n");
	if (!sites_any(s)) {
		sites_none(subject->pid, out);
		return;
	}
	sites_choice(subject, by, out);
	all = calloc(s->nr_stacks, sizeof(*all));
	names = kf_names_open(cache, subject->pid, s);
	if (all && names)
		nr = sites_add_up(all, sites_gather(s, by, names, all, out));
	else
		out->failed = true;
	if (!nr)
		kf_buf_str(out,
			   "<p class=\"hint\">No sampled block is live.</p>\n");
	for (uint32_t i = 0; i < nr && i < MAX_STACKS; i++)
		sites_stack(s, &all[i], by, out);
	if (kf_stacks_lost_say(s, lost, sizeof(lost)))
		kf_buf_fmt(out, "<p class=\"hint\">%s.</p>\n", lost);
	lacks = kf_names_close(names);
	if (lacks)
		kf_buf_fmt(
			out,
			"<p class=\"hint\">Some functions have no names: the "
			"exporter needs %s to open files of this process.</p>\n",
			lacks);
	kf_buf_str(out, "</section>\n");
	free(all);
}
