/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tags of a process have, by name: over all threads and all places in
 * their trees. Noted when its file is read, as the table is not kept.
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
 * kf_member_tags_note() - note the tags of a file in place of those before
 * @m:		the member
 * @s:		its file, read with KF_TABLE_TAGS
 *
 * Context: any thread, the groups locked.
 * Return: false when out of memory; it has none then.
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
