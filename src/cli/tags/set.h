/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A snapshot of tags: read from a stats file or from JSON, merged and printed.
 * A set has the layout of the library's tag table, so that the library's own
 * writers print it.
 */
#ifndef KF_CLI_TAGS_SET_H
#define KF_CLI_TAGS_SET_H

#include "cli/cli.h"
#include "tags/format.h"

#include <regex.h>
#include <stdio.h>

/* Links between entries, by index; 0 ends a list. */
struct kf_tag_link {
	uint32_t child;
	uint32_t next;
};

/* All zero is an empty set; entry 0 is not a tag. */
struct kf_tag_set {
	struct kf_stats_identity id;
	uint64_t started_ns; /* these as in struct kf_tags_view */
	uint64_t now_ns;
	uint64_t vm_size;
	uint64_t vm_rss;
	uint64_t untagged;
	uint64_t self_usage;
	uint32_t max_nodes;
	uint32_t max_levels;
	uint32_t nr;
	uint32_t room;
	struct kf_stats_tag *tag;
	struct kf_tag_link *link;
};

/**
 * kf_tag_set_add() - add an entry, even if the name exists
 * @set:	the set
 * @parent:	the entry above it, 0 for a root
 * @name:	its name; cut at a character if too long
 *
 * Return: the entry.
 */
uint32_t kf_tag_set_add(struct kf_tag_set *set, uint32_t parent,
			const char *name);

/**
 * kf_tag_set_get() - find the entry of a name, or add it
 * @set:	the set
 * @parent:	the entry above it, 0 for a root
 * @name:	its name
 *
 * Return: the entry.
 */
uint32_t kf_tag_set_get(struct kf_tag_set *set, uint32_t parent,
			const char *name);

/**
 * kf_tag_set_merge() - merge trees into one
 * @to:		the set that gets the tree; its other members are kept
 * @from:	the trees
 * @as:		the name of the merged root; NULL: each tree keeps its name, and
 *		trees with the same name are merged
 * @match:	only roots whose names match; NULL: all
 *
 * The peak of the merged tree is the sum of the peaks, which may have been at
 * different times.
 *
 * Return: how many trees were merged.
 */
unsigned int kf_tag_set_merge(struct kf_tag_set *to,
			      const struct kf_tag_set *from, const char *as,
			      const regex_t *match);

/**
 * kf_tag_set_aggregate() - merge the trees of some threads
 * @set:	the set; its other trees are kept
 * @pattern:	an extended regular expression that their names match; it
 *		becomes the name of the merged tree
 *
 * Return: the number of merged trees; -1 after a message.
 */
int kf_tag_set_aggregate(struct kf_tag_set *set, const char *pattern);

/**
 * kf_tag_set_view() - a view of a set, prepared
 * @set:	the set; outlives the view
 * @view:	out; free() its node
 */
void kf_tag_set_view(const struct kf_tag_set *set, struct kf_tags_view *view);

/**
 * kf_tag_set_release() - free what a set holds
 * @set:	the set; empty afterwards
 */
void kf_tag_set_release(struct kf_tag_set *set);

/**
 * kf_tag_set_of_file() - the tags of a stats file
 * @set:	out: the set
 * @f:		the file, read with KF_TABLE_TAGS
 */
void kf_tag_set_of_file(struct kf_tag_set *set, const struct kf_file *f);

/**
 * kf_tag_set_load() - read a stats file or a snapshot in JSON
 * @set:	out: the set
 * @path:	the file; "-": JSON from stdin
 *
 * Return: 0, or the exit status after a message.
 */
int kf_tag_set_load(struct kf_tag_set *set, const char *path);

/**
 * kf_tag_file_read() - read a stats file with its tags
 * @path:	the file
 * @s:		out: its snapshot; release it whatever the result
 *
 * Return: 0, or the exit status after a message.
 */
int kf_tag_file_read(const char *path, struct kf_snapshot *s);

/**
 * kf_tag_set_parse() - read JSON, ours or malloc-tag's
 * @set:	out: the set
 * @in:		where from
 * @path:	the name of @in for messages
 *
 * Return: 0, or the exit status after a message.
 */
int kf_tag_set_parse(struct kf_tag_set *set, FILE *in, const char *path);

#endif
