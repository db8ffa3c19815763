/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sets of tags, and how trees become one. See tags/set.h.
 */
#include "config.h"

#include "base/saturate.h"
#include "base/text.h"
#include "cli/tags/set.h"

#include <stdlib.h>
#include <string.h>

static void tag_set_grow(struct kf_tag_set *set)
{
	uint32_t room = set->room ? 2 * set->room : 64;
	struct kf_stats_tag *tag;
	struct kf_tag_link *link;

	if (set->nr < set->room)
		return;
	/* struct kf_stats_tag is aligned to a cache line */
	tag = aligned_alloc(64, (size_t)room * sizeof(*tag));
	link = kf_alloc(room, sizeof(*link));
	if (!tag) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	if (set->nr) {
		memcpy(tag, set->tag, set->nr * sizeof(*tag));
		memcpy(link, set->link, set->nr * sizeof(*link));
	}
	free(set->tag);
	free(set->link);
	set->tag = tag;
	set->link = link;
	set->room = room;
}

static uint32_t tag_set_append(struct kf_tag_set *set)
{
	tag_set_grow(set);
	memset(&set->tag[set->nr], 0, sizeof(*set->tag));
	set->link[set->nr] = (struct kf_tag_link){0};
	return set->nr++;
}

static void tag_set_name(char *dst, const char *name)
{
	size_t n = 0;
	uint32_t code;

	while (name[n]) {
		size_t len = kf_utf8_decode(name + n, &code);

		len = len ? len : 1;
		if (n + len >= KF_STATS_TAG_NAME)
			break;
		n += len;
	}
	memcpy(dst, name, n);
	dst[n] = '\0';
}

uint32_t kf_tag_set_add(struct kf_tag_set *set, uint32_t parent,
			const char *name)
{
	struct kf_stats_tag *t;
	uint32_t entry;

	if (!set->nr)
		tag_set_append(set);
	entry = tag_set_append(set);
	t = &set->tag[entry];
	t->state = KF_TAG_IN_USE;
	t->parent = parent;
	t->root = parent ? set->tag[parent].root : entry;
	t->tid = set->tag[t->root].tid;
	t->depth = parent ? set->tag[parent].depth + 1 : 0;
	tag_set_name(t->name, name);
	set->link[entry].next = set->link[parent].child;
	set->link[parent].child = entry;
	return entry;
}

uint32_t kf_tag_set_get(struct kf_tag_set *set, uint32_t parent,
			const char *name)
{
	char cut[KF_STATS_TAG_NAME];
	uint32_t at = set->nr ? set->link[parent].child : 0;

	tag_set_name(cut, name);
	while (at && strcmp(set->tag[at].name, cut))
		at = set->link[at].next;
	return at ? at : kf_tag_set_add(set, parent, cut);
}

static void add_figures(struct kf_stats_tag *to, const struct kf_stats_tag *t)
{
	to->failed = kf_sum(to->failed, t->failed);
	to->entered = kf_sum(to->entered, t->entered);
	to->left = kf_sum(to->left, t->left);
	to->mallocs = kf_sum(to->mallocs, t->mallocs);
	to->callocs = kf_sum(to->callocs, t->callocs);
	to->reallocs = kf_sum(to->reallocs, t->reallocs);
	to->aligned = kf_sum(to->aligned, t->aligned);
	to->frees = kf_sum(to->frees, t->frees);
	to->allocated = kf_sum(to->allocated, t->allocated);
	to->freed = kf_sum(to->freed, t->freed);
	to->peak = kf_sum(to->peak, t->peak);
	to->resized = kf_sum(to->resized, t->resized);
	to->remote_frees = kf_sum(to->remote_frees, t->remote_frees);
	to->remote_freed = kf_sum(to->remote_freed, t->remote_freed);
	to->inherited = kf_sum(to->inherited, t->inherited);
	if (!to->vm_size)
		to->vm_size = t->vm_size;
	kf_tag_bound(to);
}

/* Merges the tree below @root into the tree below @into. */
static void merge_tree(struct kf_tag_set *to, const struct kf_tag_set *from,
		       const struct kf_tags_view *view, uint32_t root,
		       uint32_t into)
{
	uint32_t *place = kf_alloc(from->nr, sizeof(*place));

	place[root] = into;
	for (uint32_t at = root; at; at = kf_tags_next(view, root, at)) {
		const struct kf_stats_tag *t = &from->tag[at];

		if (at != root)
			place[at] =
				kf_tag_set_get(to, place[t->parent], t->name);
		add_figures(&to->tag[place[at]], t);
	}
	free(place);
}

static bool tag_matches(const regex_t *match, const char *name)
{
	return !match || !regexec(match, name, 0, NULL, 0);
}

unsigned int kf_tag_set_merge(struct kf_tag_set *to,
			      const struct kf_tag_set *from, const char *as,
			      const regex_t *match)
{
	struct kf_tags_view view;
	unsigned int nr = 0;

	kf_tag_set_view(from, &view);
	for (uint32_t root = view.nr ? view.node[0].child : 0; root;
	     root = view.node[root].next) {
		const char *name = from->tag[root].name;

		if (!tag_matches(match, name))
			continue;
		merge_tree(to, from, &view, root,
			   kf_tag_set_get(to, 0, as ? as : name));
		nr++;
	}
	free(view.node);
	return nr;
}

/* Copies the trees whose names do not match. */
static void copy_others(struct kf_tag_set *to, const struct kf_tag_set *from,
			const regex_t *match)
{
	struct kf_tags_view view;

	kf_tag_set_view(from, &view);
	for (uint32_t root = view.nr ? view.node[0].child : 0; root;
	     root = view.node[root].next) {
		const struct kf_stats_tag *t = &from->tag[root];
		uint32_t into;

		if (tag_matches(match, t->name))
			continue;
		into = kf_tag_set_add(to, 0, t->name);
		to->tag[into].state = t->state;
		to->tag[into].tid = t->tid;
		merge_tree(to, from, &view, root, into);
	}
	free(view.node);
}

int kf_tag_set_aggregate(struct kf_tag_set *set, const char *pattern)
{
	struct kf_tag_set all = *set;
	unsigned int nr;
	regex_t match;
	char why[256];
	int rc;

	rc = regcomp(&match, pattern, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		regerror(rc, &match, why, sizeof(why));
		kf_error("tags: --aggregate: '%s': %s", pattern, why);
		return -1;
	}
	all.nr = all.room = 0;
	all.tag = NULL;
	all.link = NULL;
	nr = kf_tag_set_merge(&all, set, pattern, &match);
	copy_others(&all, set, &match);
	regfree(&match);
	kf_tag_set_release(set);
	*set = all;
	return (int)nr;
}

void kf_tag_set_view(const struct kf_tag_set *set, struct kf_tags_view *view)
{
	*view = (struct kf_tags_view){
		.id = &set->id,
		.tag = set->tag,
		.nr = set->nr,
		.node = kf_alloc(set->nr, sizeof(*view->node)),
		.started_ns = set->started_ns,
		.now_ns = set->now_ns,
		.vm_size = set->vm_size,
		.vm_rss = set->vm_rss,
		.untagged = set->untagged,
		.self_usage = set->self_usage,
		.max_nodes = set->max_nodes,
		.max_levels = set->max_levels,
	};
	kf_tags_prepare(view);
}

void kf_tag_set_release(struct kf_tag_set *set)
{
	free(set->tag);
	free(set->link);
	memset(set, 0, sizeof(*set));
}
