/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Exemplars of allocation sizes: of each bucket the youngest live block that is
 * a sample, with the id of its stack.
 */
#ifndef KF_EXPORTER_GROUPS_EXEMPLARS_H
#define KF_EXPORTER_GROUPS_EXEMPLARS_H

#include "exporter/groups/groups.h"

/**
 * kf_exemplars_note() - replace a member's exemplars by those of its file
 * @m:		the member; of this boot
 * @s:		its file, read with KF_TABLE_STACKS and KF_TABLE_AGES
 *
 * The time of a sample that was noted before does not change.
 *
 * Return: false when out of memory.
 */
bool kf_exemplars_note(struct kf_member *m, const struct kf_snapshot *s);

/**
 * kf_exemplars_add() - let the younger ones of a member be those of its group
 * @m:		the member, with a group
 */
void kf_exemplars_add(const struct kf_member *m);

#endif
