/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tag table as JSON: malloc-tag's fields under malloc-tag's names, and fields
 * of konfiscator. Each tag is one line.
 */
#include "tags/format-internal.h"

#include <string.h>

static void json_number(struct kf_tags_out *o, const char *name, uint64_t n)
{
	kf_tags_out_print(o, "\"%s\": %lu, ", name, n);
}

static void json_string(struct kf_tags_out *o, const char *name,
			const char *text)
{
	kf_tags_out_print(o, "\"%s\": \"", name);
	kf_tags_out_quoted(o, text, KF_QUOTE_JSON);
	kf_tags_out_print(o, "\", ");
}

static void json_time(struct kf_tags_out *o, const char *name, uint64_t ns)
{
	kf_tags_out_print(o, "\"%s\": \"", name);
	kf_tags_out_time(o, ns);
	kf_tags_out_print(o, "\",\n");
}

static void calls(struct kf_tags_out *o, const struct kf_stats_tag *t)
{
	uint64_t blocks = kf_stats_tag_blocks(t);

	json_number(o, "nCallsTo_malloc", t->mallocs);
	json_number(o, "nCallsTo_realloc", t->reallocs);
	json_number(o, "nCallsTo_calloc", t->callocs);
	json_number(o, "nCallsTo_aligned", t->aligned);
	json_number(o, "nCallsTo_free", t->frees + t->remote_frees);
	json_number(o, "nCallsTo_freeByOthers", t->remote_frees);
	json_number(o, "nBlocksResized", t->resized);
	json_number(o, "nBlocksInherited", t->inherited);
	/* threads continue meanwhile: a free may be seen before its malloc */
	json_number(o, "nBlocksLive", (int64_t)blocks > 0 ? blocks : 0);
}

/* Whether a name may be the begin of a longer one, and equal another one. */
static bool is_cut(const char *name)
{
	return strlen(name) >= KF_STATS_TAG_NAME - 1;
}

/*
 * Whether an earlier entry of the same list has the same key: a tag with the
 * same begin of its name, or the tree of an earlier thread of the same tid.
 */
static bool is_second(const struct kf_tags_view *v, uint32_t entry)
{
	const struct kf_stats_tag *t = &v->tag[entry];
	uint32_t parent = v->node[entry].parent;

	if (parent && !is_cut(kf_tags_name(v, entry).s))
		return false;
	for (uint32_t at = v->node[parent].child; at && at != entry;
	     at = v->node[at].next) {
		if (parent ? !memcmp(v->tag[at].name, t->name,
				     KF_STATS_TAG_NAME)
			   : v->tag[at].tid == t->tid)
			return true;
	}
	return false;
}

/* An entry without its closing braces and the entries below it. */
static void open_entry(struct kf_tags_out *o, const struct kf_tags_view *v,
		       uint32_t entry)
{
	const struct kf_tags_node *n = &v->node[entry];
	const struct kf_stats_tag *t = &v->tag[entry];
	struct kf_tags_name name = kf_tags_name(v, entry);
	uint64_t live = kf_tags_live(n->sum_allocated, n->sum_freed);

	kf_tags_out_print(o, "\"scope_");
	kf_tags_out_quoted(o, name.s, KF_QUOTE_JSON);
	if (v->node[entry].parent && is_second(v, entry))
		kf_tags_out_print(o, "~%u", entry);
	kf_tags_out_print(o, "\": {");
	json_number(o, "nBytesTotal", live);
	json_number(o, "nBytesTotalAllocated", n->sum_allocated);
	json_number(o, "nBytesTotalFreed", n->sum_freed);
	json_number(o, "nBytesSelfAllocated", n->allocated);
	json_number(o, "nBytesSelfFreed", n->freed);
	json_number(o, "nBytesSelfFreedByOthers", t->remote_freed);
	json_number(o, "nBytesSelfLive", kf_tags_live(n->allocated, n->freed));
	json_number(o, "nBytesSelfPeak", t->peak);
	json_number(o, "nTimesEntered", t->entered);
	json_number(o, "nTimesEnteredAndExited", t->left);
	kf_tags_out_print(o, "\"nWeightPercentage\": \"");
	kf_tags_out_share(
		o, kf_tags_share(live, kf_tags_live(v->allocated, v->freed)));
	kf_tags_out_print(o, "\", ");
	calls(o, t);
	json_number(o, "nPushFailuresHere", t->failed);
	kf_tags_out_print(o, "\"nestedScopes\": {");
}

static void scopes(struct kf_tags_out *o, const struct kf_tags_view *v,
		   uint32_t root)
{
	uint32_t at = root, next;

	open_entry(o, v, root);
	while ((next = kf_tags_next(v, root, at))) {
		bool below = v->node[next].parent == at;

		while (v->node[next].parent != at) {
			kf_tags_out_print(o, "}}");
			at = v->node[at].parent;
		}
		kf_tags_out_print(o, below ? "\n" : ",\n");
		open_entry(o, v, next);
		at = next;
	}
	for (; at != root; at = v->node[at].parent)
		kf_tags_out_print(o, "}}");
	kf_tags_out_print(o, "}}");
}

static void tree(struct kf_tags_out *o, const struct kf_tags_view *v,
		 uint32_t root)
{
	const struct kf_stats_tag *t = &v->tag[root];
	struct kf_tags_name name = kf_tags_name(v, root);
	uint32_t tid = t->tid > 0 ? (uint32_t)t->tid : 0;
	uint64_t failed = 0;
	uint32_t nr = 0, levels = 0;

	for (uint32_t at = root; at; at = kf_tags_next(v, root, at)) {
		nr++;
		levels = KF_MAX(levels, v->node[at].depth + 1);
		failed += v->tag[at].failed;
	}
	kf_tags_out_print(o, "\"tree_for_TID%u", tid);
	/* the entry tells trees without a tid of their own apart */
	if (!tid || is_second(v, root))
		kf_tags_out_print(o, "_%u", root);
	kf_tags_out_print(o, "\": {");
	json_number(o, "TID", tid);
	json_string(o, "ThreadName", name.s);
	kf_tags_out_print(o, "\"bThreadHasEnded\": %s, ",
			  t->state == KF_TAG_FOLDED ? "true" : "false");
	json_number(o, "nTreeLevels", levels);
	json_number(o, "nTreeNodesInUse", nr);
	json_number(o, "nMaxTreeNodes", v->max_nodes);
	json_number(o, "nMaxTreeLevels", v->max_levels);
	json_number(o, "nPushNodeFailures", failed);
	/* each free finds the block's tag */
	json_number(o, "nFreeTrackingFailed", 0);
	json_number(o, "nVmSizeAtCreation", t->vm_size);
	kf_tags_out_print(o, "\n");
	scopes(o, v, root);
	kf_tags_out_print(o, "},\n");
}

bool kf_tags_write_json(const struct kf_tags_view *v,
			const struct kf_tags_sink *to)
{
	struct kf_tags_out o;

	kf_tags_out_begin(&o, to);
	kf_tags_out_print(&o, "{");
	json_number(&o, "nSchemaVersion", KF_TAGS_SCHEMA);
	json_number(&o, "PID", v->id->pid > 0 ? (uint64_t)v->id->pid : 0);
	json_string(&o, "Program", v->id->name[0] ? v->id->name : v->id->comm);
	json_string(&o, "Executable", v->id->exe);
	kf_tags_out_print(&o, "\n");
	json_time(&o, "tmStartProfiling", v->started_ns);
	json_time(&o, "tmCurrentSnapshot", v->now_ns);
	for (uint32_t root = v->nr ? v->node[0].child : 0; root;
	     root = v->node[root].next)
		tree(&o, v, root);
	json_number(&o, "nBytesAllocBeforeInit", v->untagged);
	json_number(&o, "nBytesMallocTagSelfUsage", v->self_usage);
	json_number(&o, "vmSizeNowBytes", v->vm_size);
	json_number(&o, "vmRSSNowBytes", v->vm_rss);
	kf_tags_out_print(&o, "\"nTotalNetTrackedBytes\": %lu}\n",
			  kf_tags_live(v->allocated, v->freed));
	return kf_tags_out_end(&o);
}
