/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process of a page or a profile, which may have ended: a copy of its
 * facts, so that its file can be read without the lock of the groups.
 */
#ifndef KF_EXPORTER_SITE_SUBJECT_H
#define KF_EXPORTER_SITE_SUBJECT_H

#include "exporter/groups/groups.h"

struct kf_site_request;

struct kf_subject {
	char *path; /* of its stats file */
	uint64_t id;
	int pid; /* as procfs shows it, or 0 */
	bool ended;
	time_t ended_at;	   /* if @ended; when it was noticed */
	enum kf_ended_cause cause; /* likewise */
	uint64_t held;
	char name[KF_NAME_SIZE];
	char container[KF_CONTAINER_SHORT];
};

/* A list of subjects; each owns its @path. */
struct kf_subjects {
	size_t nr;
	struct kf_subject *subject;
};

/**
 * kf_subject_find() - find a living process, or by its id one that has ended
 * and left its stats file
 * @g:		the groups, not locked
 * @q:		the process: by the id in the path or the argument id, or by
 *		pid
 * @subject:	out: release it if it was found
 *
 * Return: true if there is such a process.
 */
bool kf_subject_find(struct kf_groups *g, const struct kf_site_request *q,
		     struct kf_subject *subject);

/**
 * kf_subject_read() - read its stats file
 * @subject:	the process
 * @tables:	as for kf_snapshot_read_with()
 * @s:		out: the snapshot; release it in any case
 *
 * Return: true if it could be read.
 */
bool kf_subject_read(const struct kf_subject *subject, unsigned int tables,
		     struct kf_snapshot *s);

/**
 * kf_subject_release() - free what a subject holds
 * @subject:	the subject; harmless twice
 */
void kf_subject_release(struct kf_subject *subject);

/**
 * kf_subjects_list() - list all living processes
 * @g:		the groups, not locked
 * @out:	out: the processes, by held memory, largest first
 *
 * Return: false when out of memory; release @out in any case.
 */
bool kf_subjects_list(struct kf_groups *g, struct kf_subjects *out);

/**
 * kf_subjects_release() - free a list
 * @s:		the list; harmless twice
 */
void kf_subjects_release(struct kf_subjects *s);

#endif
