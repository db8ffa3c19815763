/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sampled stacks of a process: as a tree of calls for a flame graph, and
 * of one or many processes in the format of pprof.
 */
#ifndef KF_EXPORTER_SITE_FLAME_H
#define KF_EXPORTER_SITE_FLAME_H

#include "exporter/buf.h"
#include "exporter/site/subject.h"
#include "reader/name_cache.h"

/**
 * kf_flame_write() - write the calls of a process as JSON
 * @cache:	names that are known
 * @subject:	the process
 * @out:	out: a node has "name", "live" and "allocated" in bytes with all
 *		below it, "library" where it has one, and "children"
 *
 * Context: any thread; reads the process' stats file and its programs.
 * Return: false where the stats file could not be read.
 */
bool kf_flame_write(struct kf_name_cache *cache,
		    const struct kf_subject *subject, struct kf_buf *out);

/**
 * kf_heap_profile() - write the samples of processes as pprof does, packed
 * @cache:	names that are known
 * @subjects:	the processes; of many the first ones are taken, and a comment
 *		in the profile tells of the rest
 * @out:	out: the profile
 *
 * Context: as kf_flame_write().
 */
void kf_heap_profile(struct kf_name_cache *cache,
		     const struct kf_subjects *subjects, struct kf_buf *out);

#endif
