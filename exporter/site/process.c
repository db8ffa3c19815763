/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The page of a process: its identity, its memory, and the tables of its stats
 * file, which is read for each request.
 */
#include "config.h"

#include "exporter/site/site.h"
#include "exporter/cgroup.h"
#include "exporter/site/sites.h"
#include "exporter/site/subject.h"

#include <inttypes.h>
#include <stdio.h>

static void process_term(struct kf_buf *out, const char *what, const char *raw)
{
	if (!*raw)
		return;
	kf_buf_fmt(out, "<dt>%s</dt><dd>", what);
	kf_html_text(out, raw);
	kf_buf_str(out, "</dd>\n");
}

static void process_when(struct kf_buf *out, uint64_t created_ns)
{
	time_t t = (time_t)(created_ns / 1000000000), now = time(NULL);
	long up = now > t ? (long)(now - t) : 0;
	char text[40];
	struct tm tm;

	if (!gmtime_r(&t, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		return;
	kf_buf_fmt(out, "<dt>Since</dt><dd>%s (", text);
	if (up >= 86400)
		kf_buf_fmt(out, "%ldd ", up / 86400);
	if (up >= 3600)
		kf_buf_fmt(out, "%ldh ", up / 3600 % 24);
	if (up >= 60)
		kf_buf_fmt(out, "%ldm ", up / 60 % 60);
	kf_buf_fmt(out, "%lds)</dd>\n", up % 60);
}

static void process_identity(struct kf_buf *out,
			     const struct kf_subject *subject,
			     const struct kf_stats_identity *id)
{
	kf_buf_str(out, "<section id=\"identity\"><h2>Identity</h2>\n"
			"<dl class=\"facts\">\n");
	if (subject->pid)
		kf_buf_fmt(out, "<dt>Pid</dt><dd>%d</dd>\n", subject->pid);
	if (id->pid != subject->pid)
		kf_buf_fmt(out,
			   "<dt>Pid as it sees itself</dt><dd>%" PRId32
			   "</dd>\n",
			   id->pid);
	process_term(out, "Container", subject->container);
	process_term(out, "Command", id->comm);
	process_term(out, "Program", id->exe);
	kf_buf_fmt(out, "<dt>User id</dt><dd>%" PRIu32 "</dd>\n", id->uid);
	process_when(out, id->created_ns);
	process_term(out, "Engine", id->engine);
	process_term(out, "Library", id->version);
	process_term(out, "Stats file", subject->path);
	kf_buf_str(out, "</dl></section>\n");
}

static void process_limit_card(struct kf_buf *out,
			       const struct kf_groups_conf *conf, int pid)
{
	struct kf_cgroup_memory memory = {0};
	struct kf_cgroup_place place;

	if (!pid || !kf_cgroup_find(conf->procfs, pid, &place) ||
	    !kf_cgroup_read(conf->cgroupfs, &place, &memory) || !memory.limit)
		return;
	kf_html_card(out, "Limit of its cgroup");
	kf_buf_str(out, "<p>");
	kf_html_bytes(out, (double)memory.limit);
	kf_buf_str(out, "</p><small>");
	kf_html_bytes(out, memory.current < memory.limit
				   ? (double)(memory.limit - memory.current)
				   : 0);
	kf_buf_str(out, " are left</small></div>\n");
}

static void process_bytes_card(struct kf_buf *out, const char *title,
			       uint64_t bytes)
{
	kf_html_card(out, title);
	kf_buf_str(out, "<p>");
	kf_html_bytes(out, (double)bytes);
	kf_buf_str(out, "</p><small>");
}

static void process_own_limit_card(struct kf_buf *out,
				   const struct kf_snapshot *s)
{
	uint64_t limit = kf_snapshot_value(s, "limit");
	uint64_t held = s->totals.held;

	if (!limit || limit > INT64_MAX)
		return;
	process_bytes_card(out, "Limit of held memory", limit);
	kf_html_bytes(out, held < limit ? (double)(limit - held) : 0);
	kf_buf_str(out, " are left</small></div>\n");
}

/* The totals, and how they grew between the last two scans. */
static void process_calls_card(const struct kf_site *site, struct kf_buf *out,
			       const struct kf_subject *subject,
			       const struct kf_totals *t)
{
	struct kf_rates rates =
		kf_timelines_rates(site->timelines, subject->id);

	kf_html_card(out, "Calls of malloc");
	kf_buf_str(out, "<p>");
	kf_html_count(out, t->mallocs);
	kf_html_rate(out, rates.mallocs, " <small>", "</small>");
	kf_buf_str(out, "</p><small>");
	kf_html_count(out, t->frees);
	kf_buf_str(out, " of free");
	kf_html_rate(out, rates.frees, ", ", "");
	kf_buf_str(out, "</small></div>\n");
}

static void process_cards(const struct kf_site *site, struct kf_buf *out,
			  const struct kf_subject *subject,
			  const struct kf_snapshot *s)
{
	const struct kf_groups_conf *conf = &site->sources->groups->conf;
	const struct kf_totals *t = &s->totals;
	const uint64_t part[KF_NR_PARTS] = {t->live, t->rounding, t->cached,
					    t->free, t->metadata};
	struct kf_proc_memory memory;

	kf_proc_memory(conf->procfs, subject->pid, &memory);
	kf_buf_str(out, "<section class=\"cards\" id=\"cards\">\n");
	process_bytes_card(out, "Held from the kernel", t->held);
	kf_buf_fmt(out, "%.1f %% of it free pages</small></div>\n",
		   t->held ? 100.0 * (double)t->free / (double)t->held : 0);
	process_bytes_card(out, "Live", t->live);
	kf_buf_str(out, "in ");
	kf_html_count(out, t->live_blocks);
	kf_buf_str(out, " blocks</small></div>\n");
	process_calls_card(site, out, subject, t);
	if (memory.resident) {
		process_bytes_card(out, "Resident", memory.resident);
		kf_buf_str(out, "all of the process</small></div>\n");
	}
	process_own_limit_card(out, s);
	process_limit_card(out, conf, subject->pid);
	kf_buf_str(out, "<div class=\"wide card\"><h2>Held by use</h2>");
	kf_html_bar(out, part, 0);
	kf_html_legend(out, part);
	kf_buf_str(out, "</div>\n</section>\n");
}

static void process_write_page(const struct kf_site *site, struct kf_buf *out,
			       const struct kf_subject *subject,
			       const struct kf_snapshot *s, enum kf_sites_by by)
{
	kf_html_begin(out, subject->name, site->telemetry_path);
	kf_buf_str(out, "<h1>");
	kf_html_text(out, subject->name);
	if (subject->pid)
		kf_buf_fmt(out, " <small>pid %d</small>", subject->pid);
	kf_buf_str(out, "</h1>\n");
	if (subject->ended)
		kf_site_end(subject, s, out);
	process_cards(site, out, subject, s);
	kf_site_verdict(site, subject, s, out);
	kf_sites_guards(s, site->names, subject->pid, out);
	if (!subject->ended)
		kf_site_timeline(site, subject->id, out);
	kf_site_actions(site, subject, s, out);
	if (s->nr_stacks)
		kf_site_flame(subject->id, by, out);
	kf_site_map(subject, s, out);
	process_identity(out, subject, &s->id);
	kf_site_tables(subject, s, site->names, by, out);
	kf_html_end(out);
}

bool kf_site_process(const struct kf_site *site,
		     const struct kf_site_request *q, struct kf_buf *out)
{
	struct kf_subject subject = {0};
	struct kf_snapshot s = {0};
	bool found = kf_subject_find(site->sources->groups, q, &subject);

	if (found) {
		found = kf_subject_read(&subject,
					KF_TABLE_TAGS | KF_TABLE_STACKS |
						KF_TABLE_MOMENTS |
						KF_TABLE_REPORTS | KF_TABLE_MAP,
					&s);
		if (found)
			process_write_page(site, out, &subject, &s,
					   kf_sites_by(q->by));
		kf_snapshot_release(&s);
	}
	kf_subject_release(&subject);
	return found;
}
