/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JSON of a tag table: malloc-tag's fields under malloc-tag's names, and ours
 * beside them. A tag is one line of figures.
 */
#include "tags/format-internal.h"

#include <string.h>

static void key(struct kf_tags_out *o, const char *name)
{
	kf_tags_out_str(o, "\"");
	kf_tags_out_str(o, name);
	kf_tags_out_str(o, "\": ");
}

static void format_json_number(struct kf_tags_out *o, const char *name,
			       uint64_t n)
{
	key(o, name);
	kf_tags_out_u64(o, n);
	kf_tags_out_str(o, ", ");
}

static void string(struct kf_tags_out *o, const char *name, const char *text)
{
	key(o, name);
	kf_tags_out_str(o, "\"");
	kf_tags_out_quoted(o, text, KF_QUOTE_JSON);
	kf_tags_out_str(o, "\", ");
}

static void time_of(struct kf_tags_out *o, const char *name, uint64_t ns)
{
	key(o, name);
	kf_tags_out_str(o, "\"");
	kf_tags_out_time(o, ns);
	kf_tags_out_str(o, "\",\n");
}

static void calls(struct kf_tags_out *o, const struct kf_stats_tag *t)
{
	uint64_t blocks = kf_stats_tag_blocks(t);

	format_json_number(o, "nCallsTo_malloc", t->mallocs);
	format_json_number(o, "nCallsTo_realloc", t->reallocs);
	format_json_number(o, "nCallsTo_calloc", t->callocs);
	format_json_number(o, "nCallsTo_aligned", t->aligned);
	format_json_number(o, "nCallsTo_free", t->frees + t->remote_frees);
	format_json_number(o, "nCallsTo_freeByOthers", t->remote_frees);
	format_json_number(o, "nBlocksResized", t->resized);
	format_json_number(o, "nBlocksInherited", t->inherited);
	/* others go on meanwhile: frees may be seen before their mallocs */
	format_json_number(o, "nBlocksLive", (int64_t)blocks > 0 ? blocks : 0);
}

/* Longer names are shown up to here, so that two may look the same. */
static bool is_cut(const char *name)
{
	return strlen(name) >= KF_STATS_TAG_NAME - 1;
}

/*
 * Whether one before it in its list would have the same key: a tag of the same
 * shown name, or the tree of a thread whose number was given out again.
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

/* All of an entry but the brace that closes it, and those below it. */
static void open_entry(struct kf_tags_out *o, const struct kf_tags_view *v,
		       uint32_t entry)
{
	const struct kf_tags_node *n = &v->node[entry];
	const struct kf_stats_tag *t = &v->tag[entry];
	struct kf_tags_name name = kf_tags_name(v, entry);
	uint64_t live = kf_tags_live(n->sum_allocated, n->sum_freed);

	kf_tags_out_str(o, "\"scope_");
	kf_tags_out_quoted(o, name.s, KF_QUOTE_JSON);
	if (v->node[entry].parent && is_second(v, entry)) {
		kf_tags_out_str(o, "~");
		kf_tags_out_u64(o, entry);
	}
	kf_tags_out_str(o, "\": {");
	format_json_number(o, "nBytesTotal", live);
	format_json_number(o, "nBytesTotalAllocated", n->sum_allocated);
	format_json_number(o, "nBytesTotalFreed", n->sum_freed);
	format_json_number(o, "nBytesSelfAllocated", n->allocated);
	format_json_number(o, "nBytesSelfFreed", n->freed);
	format_json_number(o, "nBytesSelfFreedByOthers", t->remote_freed);
	format_json_number(o, "nBytesSelfLive",
			   kf_tags_live(n->allocated, n->freed));
	format_json_number(o, "nBytesSelfPeak", t->peak);
	format_json_number(o, "nTimesEntered", t->entered);
	format_json_number(o, "nTimesEnteredAndExited", t->left);
	key(o, "nWeightPercentage");
	kf_tags_out_str(o, "\"");
	kf_tags_out_share(
		o, kf_tags_share(live, kf_tags_live(v->allocated, v->freed)));
	kf_tags_out_str(o, "\", ");
	calls(o, t);
	format_json_number(o, "nPushFailuresHere", t->failed);
	kf_tags_out_str(o, "\"nestedScopes\": {");
}

static void scopes(struct kf_tags_out *o, const struct kf_tags_view *v,
		   uint32_t root)
{
	uint32_t at = root, next;

	open_entry(o, v, root);
	while ((next = kf_tags_next(v, root, at))) {
		bool below = v->node[next].parent == at;

		while (v->node[next].parent != at) {
			kf_tags_out_str(o, "}}");
			at = v->node[at].parent;
		}
		kf_tags_out_str(o, below ? "\n" : ",\n");
		open_entry(o, v, next);
		at = next;
	}
	for (; at != root; at = v->node[at].parent)
		kf_tags_out_str(o, "}}");
	kf_tags_out_str(o, "}}");
}

/* A tree of threads that have gone has no thread's number to be told by. */
static void tree_key(struct kf_tags_out *o, const struct kf_tags_view *v,
		     uint32_t root)
{
	const struct kf_stats_tag *t = &v->tag[root];

	kf_tags_out_str(o, "\"tree_for_TID");
	kf_tags_out_u64(o, t->tid > 0 ? (uint64_t)t->tid : 0);
	if (t->tid <= 0 || is_second(v, root)) {
		kf_tags_out_str(o, "_");
		kf_tags_out_u64(o, root);
	}
	kf_tags_out_str(o, "\": {");
}

static void tree(struct kf_tags_out *o, const struct kf_tags_view *v,
		 uint32_t root)
{
	const struct kf_stats_tag *t = &v->tag[root];
	struct kf_tags_name name = kf_tags_name(v, root);
	uint64_t failed = 0;
	uint32_t nr = 0, levels = 0;

	for (uint32_t at = root; at; at = kf_tags_next(v, root, at)) {
		nr++;
		levels = KF_MAX(levels, v->node[at].depth + 1);
		failed += v->tag[at].failed;
	}
	tree_key(o, v, root);
	format_json_number(o, "TID", t->tid > 0 ? (uint64_t)t->tid : 0);
	string(o, "ThreadName", name.s);
	key(o, "bThreadHasEnded");
	kf_tags_out_str(o, t->state == KF_TAG_FOLDED ? "true, " : "false, ");
	format_json_number(o, "nTreeLevels", levels);
	format_json_number(o, "nTreeNodesInUse", nr);
	format_json_number(o, "nMaxTreeNodes", v->max_nodes);
	format_json_number(o, "nMaxTreeLevels", v->max_levels);
	format_json_number(o, "nPushNodeFailures", failed);
	/* whoever frees a block is told its tag */
	format_json_number(o, "nFreeTrackingFailed", 0);
	format_json_number(o, "nVmSizeAtCreation", t->vm_size);
	kf_tags_out_str(o, "\n");
	scopes(o, v, root);
	kf_tags_out_str(o, "},\n");
}

bool kf_tags_write_json(const struct kf_tags_view *v,
			const struct kf_tags_sink *to)
{
	struct kf_tags_out o;

	kf_tags_out_begin(&o, to);
	kf_tags_out_str(&o, "{");
	format_json_number(&o, "nSchemaVersion", KF_TAGS_SCHEMA);
	format_json_number(&o, "PID",
			   v->id->pid > 0 ? (uint64_t)v->id->pid : 0);
	string(&o, "Program", v->id->name[0] ? v->id->name : v->id->comm);
	string(&o, "Executable", v->id->exe);
	kf_tags_out_str(&o, "\n");
	time_of(&o, "tmStartProfiling", v->started_ns);
	time_of(&o, "tmCurrentSnapshot", v->now_ns);
	for (uint32_t root = v->nr ? v->node[0].child : 0; root;
	     root = v->node[root].next)
		tree(&o, v, root);
	format_json_number(&o, "nBytesAllocBeforeInit", v->untagged);
	format_json_number(&o, "nBytesMallocTagSelfUsage", v->self_usage);
	format_json_number(&o, "vmSizeNowBytes", v->vm_size);
	format_json_number(&o, "vmRSSNowBytes", v->vm_rss);
	key(&o, "nTotalNetTrackedBytes");
	kf_tags_out_u64(&o, kf_tags_live(v->allocated, v->freed));
	kf_tags_out_str(&o, "}\n");
	return kf_tags_out_end(&o);
}
