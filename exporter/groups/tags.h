/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory of the tags of a process by name, summed over all threads and
 * positions in their trees. It is stored when the file is read, since the table
 * of tags is not kept.
 */
#ifndef KF_EXPORTER_GROUPS_TAGS_H
#define KF_EXPORTER_GROUPS_TAGS_H

#include "exporter/groups/groups.h"

struct kf_member_tag {
	char name[KF_NAME_SIZE]; /* cleaned */
	uint64_t live;		 /* bytes */
	uint64_t blocks;
};

/**
 * kf_member_tags_note() - replace a member's tags by those of its file
 * @m:		the member
 * @s:		its file, read with KF_TABLE_TAGS
 *
 * Context: any thread, the groups locked.
 * Return: false when out of memory; then it has no tags.
 */
bool kf_member_tags_note(struct kf_member *m, const struct kf_snapshot *s);

/**
 * kf_member_tags_release() - forget the tags of a member
 * @m:		the member; harmless twice
 *
 * Context: any thread, the groups locked.
 */
void kf_member_tags_release(struct kf_member *m);

#endif
