/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tags of one moment: read from a stats file or from JSON, merged, and
 * printed. A set is a tag table as the library has it, so that the library's
 * own writers print it.
 */
#ifndef KF_CLI_TAGS_SET_H
#define KF_CLI_TAGS_SET_H

#include "cli/cli.h"
#include "tags/format.h"

#include <regex.h>
#include <stdio.h>

/* Entries below each other, by index; 0 ends a list. */
struct kf_tag_link {
	uint32_t child;
	uint32_t next;
};

/* All zero is an empty set; entry 0 is no tag. */
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
 * kf_tag_set_add() - add an entry, even where there is one of the name
 * @set:	the set
 * @parent:	the entry above it, 0 for a root
 * @name:	its name; what is too long is cut off at a character
 *
 * Return: the entry.
 */
uint32_t kf_tag_set_add(struct kf_tag_set *set, uint32_t parent,
			const char *name);

/**
 * kf_tag_set_get() - the entry of a name, made where there is none
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
 * @to:		the set with the one; its other facts are left alone
 * @from:	the trees
 * @as:		the name of the one's root; NULL: of each tree its own, so that
 *		those of one name become one
 * @match:	only roots whose names match; NULL: all
 *
 * A peak of the one is the sum of the peaks: it may never have been so much.
 *
 * Return: how many trees were merged.
 */
unsigned int kf_tag_set_merge(struct kf_tag_set *to,
			      const struct kf_tag_set *from, const char *as,
			      const regex_t *match);

/**
 * kf_tag_set_aggregate() - make one tree of those of some threads
 * @set:	the set, whose other trees stay as they are
 * @pattern:	an extended regular expression, to be found in their names; it
 *		becomes the name of the one
 *
 * Return: how many trees became one; -1 after a message.
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
 * @s:		out: what it has; release it whatever the result
 *
 * Return: 0, or the exit status after a message.
 */
int kf_tag_file_read(const char *path, struct kf_snapshot *s);

/**
 * kf_tag_set_parse() - read JSON, ours or malloc-tag's
 * @set:	out: the set
 * @in:		where from
 * @path:	how to call it in messages
 *
 * Return: 0, or the exit status after a message.
 */
int kf_tag_set_parse(struct kf_tag_set *set, FILE *in, const char *path);

#endif
