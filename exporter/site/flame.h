/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sampled stacks: of a process as a tree of calls for a flame graph, and of one
 * or many processes as a profile in pprof's format.
 */
#ifndef KF_EXPORTER_SITE_FLAME_H
#define KF_EXPORTER_SITE_FLAME_H

#include "exporter/buf.h"
#include "exporter/site/subject.h"
#include "reader/name_cache.h"

/**
 * kf_flame_write() - write the calls of a process as JSON
 * @cache:	cached names
 * @subject:	the process
 * @out:	out: a node has "name", "live" and "allocated" (bytes, including
 *		nodes below), the same of blocks, their errors, "samples",
 * optionally "library", "file", "recursive", and "children"
 *
 * Context: any thread; reads the process' stats file and its programs.
 * Return: false if the stats file could not be read.
 */
bool kf_flame_write(struct kf_name_cache *cache,
		    const struct kf_subject *subject, struct kf_buf *out);

/**
 * kf_heap_profile() - write a profile of processes in pprof's format,
 * compressed
 * @cache:	cached names
 * @subjects:	the processes; beyond the limit of samples the rest is left out,
 *		and a comment in the profile has their number
 * @out:	out: the profile
 *
 * Context: as kf_flame_write().
 * Return: the number of samples in it.
 */
size_t kf_heap_profile(struct kf_name_cache *cache,
		       const struct kf_subjects *subjects, struct kf_buf *out);

#endif
