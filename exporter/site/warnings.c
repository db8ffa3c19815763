/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A list of warnings; empty if there are none.
 */
#include "config.h"

#include "exporter/site/site.h"
#include "exporter/groups/cgroups.h"

#include <inttypes.h>

/* Free pages count as fragmentation from both of these values on. */
#define FRAGMENTED_BYTES (64 * KF_MIB)
#define FRAGMENTED_SHARE 0.5

/* A cgroup is near its limit from this share on. */
#define NEAR_LIMIT 0.9

#define MAX_FILES 10

/* Counters that should stand still at 0. */
static const struct {
	const char *key;
	const char *text;
} alarms[] = {
	{"failed_total", "requests that got no memory"},
	{"double_frees_total", "frees of a block that was already free"},
	{"invalid_frees_total", "frees of pointers that were not blocks"},
	{"guard_overflows_total", "accesses behind a guarded block"},
	{"guard_underflows_total", "accesses before a guarded block"},
	{"guard_uses_after_free_total", "accesses to a guarded block after its "
					"free"},
	{"lost_slots_total",
	 "threads for whose counters the stats file had no room: the process makes more calls than shown"},
};

struct list {
	struct kf_buf *out;
	bool begun;
};

static void warnings_begin(struct list *list, const char *level)
{
	if (!list->begun)
		kf_buf_str(list->out, "<ul class=\"warnings\" id=\"warnings\" "
				      "aria-label=\"Warnings\">\n");
	list->begun = true;
	kf_buf_fmt(list->out, "<li class=\"%s\">", level);
}

static void warnings_name(struct list *list, const struct kf_group *group)
{
	kf_buf_str(list->out, "<b>");
	kf_html_text(list->out, group->name);
	kf_buf_str(list->out, "</b>: ");
}

static void warnings_of_group(struct list *list, const struct kf_groups *g,
			      const struct kf_group *group)
{
	uint64_t part[KF_NR_PARTS], held;
	size_t i;
	int fig;

	for (i = 0; i < KF_ARRAY_SIZE(alarms); i++) {
		fig = kf_figures_find(&g->figures, alarms[i].key);
		if (fig < 0 || !group->now[fig])
			continue;
		warnings_begin(list, "bad");
		warnings_name(list, group);
		kf_buf_fmt(list->out, "%" PRIu64 " %s</li>\n", group->now[fig],
			   alarms[i].text);
	}
	kf_parts_of(group->now, part);
	held = kf_parts_sum(part);
	if (part[KF_PART_FREE] < FRAGMENTED_BYTES ||
	    (double)part[KF_PART_FREE] < FRAGMENTED_SHARE * (double)held)
		return;
	warnings_begin(list, "mild");
	warnings_name(list, group);
	kf_html_bytes(list->out, (double)part[KF_PART_FREE]);
	kf_buf_fmt(list->out,
		   ", %.0f %% of what it holds, are free pages: after a peak, "
		   "or between blocks that live</li>\n",
		   100.0 * (double)part[KF_PART_FREE] / (double)held);
}

static void warnings_of_cgroup(struct list *list, const struct kf_groups *g,
			       const struct kf_cgroup *c)
{
	struct kf_cgroup_memory m;

	if (!kf_cgroup_read(g->conf.cgroupfs, &c->place, &m) || !m.limit ||
	    (double)m.current < NEAR_LIMIT * (double)m.limit)
		return;
	warnings_begin(list, "bad");
	kf_buf_str(list->out, "<b>");
	kf_html_text(list->out, c->place.path);
	kf_buf_fmt(list->out, "</b>: %.0f %% of its limit of ",
		   100.0 * (double)m.current / (double)m.limit);
	kf_html_bytes(list->out, (double)m.limit);
	kf_buf_str(list->out, " are used</li>\n");
}

static void warnings_of_files(struct list *list, const struct kf_groups *g)
{
	static const char *const why[KF_NR_READ_RESULTS] = {
		[KF_READ_OK] = "",
		[KF_READ_NOT_READY] = "it is being made",
		[KF_READ_FOREIGN] = "it is not a stats file",
		[KF_READ_INCOMPATIBLE] = "its layout is of another version",
		[KF_READ_DAMAGED] = "it is damaged",
		[KF_READ_ERROR] = "it cannot be read, the log says why",
		[KF_READ_CONFLICT] =
			"it names a process of another user than its owner",
		[KF_READ_IMPOSSIBLE] = "it counts what no process can",
	};
	const struct kf_bad_file *b;
	unsigned int nr = 0;

	for (b = g->bad; b; b = b->next, nr++) {
		if (nr >= MAX_FILES)
			continue;
		warnings_begin(list, "mild");
		kf_buf_str(list->out, "<code>");
		kf_html_text(list->out, b->path);
		kf_buf_fmt(list->out, "</code> is not shown: %s</li>\n",
			   why[b->result]);
	}
	if (nr > MAX_FILES) {
		warnings_begin(list, "mild");
		kf_buf_fmt(list->out, "%u more files are not shown</li>\n",
			   nr - MAX_FILES);
	}
}

void kf_site_warnings(struct kf_groups *g, struct kf_buf *out)
{
	struct list list = {.out = out};
	const struct kf_group *group;
	const struct kf_cgroup *c;

	kf_cgroups_look(g);
	for (c = g->cgroups; c; c = c->next)
		warnings_of_cgroup(&list, g, c);
	for (group = g->groups; group; group = group->next)
		warnings_of_group(&list, g, group);
	warnings_of_files(&list, g);
	if (g->dropped) {
		warnings_begin(&list, "mild");
		kf_buf_fmt(out,
			   "%" PRIu64 " processes are counted as "
			   "\"" KF_OTHER "\": there are more groups than "
			   "--groups.max allows</li>\n",
			   g->dropped);
	}
	if (g->save_errors) {
		warnings_begin(&list, "bad");
		kf_buf_fmt(out,
			   "The state file could not be written %" PRIu64
			   " times: counters would fall at a restart</li>\n",
			   g->save_errors);
	}
	if (list.begun)
		kf_buf_str(out, "</ul>\n");
}
