/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tables of tags and sampled call stacks on the page of a process.
 */
#ifndef KF_EXPORTER_SITE_SITES_H
#define KF_EXPORTER_SITE_SITES_H

#include "exporter/site/html.h"
#include "reader/name_cache.h"
#include "reader/reader.h"

struct kf_subject;

/**
 * kf_sites_tag_path() - write the names of a tag and its parents
 * @s:		a snapshot with tags
 * @at:		the tag's entry; 0: none
 * @path:	out: the names separated by '/', raw; "" for none
 * @size:	bytes of @path, more than 0; longer paths are truncated
 */
void kf_sites_tag_path(const struct kf_snapshot *s, uint32_t at, char *path,
		       size_t size);

/**
 * kf_sites_tags() - write the table of tags, those with most live bytes first
 * @s:		a snapshot with tags
 * @out:	the page
 */
void kf_sites_tags(const struct kf_snapshot *s, struct kf_buf *out);

/* What is counted of live blocks. */
enum kf_sites_by {
	KF_SITES_BY_BYTES,
	KF_SITES_BY_BLOCKS,
};

/**
 * kf_sites_by() - what a request wants to be counted
 * @by:		its argument, or NULL
 *
 * Return: bytes unless it is "blocks".
 */
enum kf_sites_by kf_sites_by(const char *by);

/**
 * kf_sites_stacks() - write the call stacks with most live memory
 * @subject:	the process
 * @s:		its snapshot, with stacks
 * @cache:	cached names
 * @by:		what counts
 * @out:	the page
 */
void kf_sites_stacks(const struct kf_subject *subject,
		     const struct kf_snapshot *s, struct kf_name_cache *cache,
		     enum kf_sites_by by, struct kf_buf *out);

/**
 * kf_sites_guards() - write what was done wrong to guarded blocks, if anything
 * @s:		a snapshot, with KF_TABLE_STACKS and KF_TABLE_REPORTS
 * @cache:	cached names
 * @pid:	the process; 0: it has ended
 * @out:	the page
 */
void kf_sites_guards(const struct kf_snapshot *s, struct kf_name_cache *cache,
		     int pid, struct kf_buf *out);

#endif
