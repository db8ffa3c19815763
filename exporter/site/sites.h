/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who has the memory of a process, on its page: tags, and the call stacks of
 * its samples.
 */
#ifndef KF_EXPORTER_SITE_SITES_H
#define KF_EXPORTER_SITE_SITES_H

#include "exporter/site/html.h"
#include "reader/name_cache.h"
#include "reader/reader.h"

/**
 * kf_sites_tag_path() - the names of a tag and those above it
 * @s:		a snapshot with tags
 * @at:		the tag's entry, 0 for none
 * @path:	out: the names with '/' between, raw; "" for none
 * @size:	bytes of @path, more than 0; what does not fit is left out
 *
 * Context: any thread.
 */
void kf_sites_tag_path(const struct kf_snapshot *s, uint32_t at, char *path,
		       size_t size);

/**
 * kf_sites_tags() - write the table of tags, those with most live bytes first
 * @s:		a snapshot with tags
 * @out:	the page
 *
 * Context: any thread.
 */
void kf_sites_tags(const struct kf_snapshot *s, struct kf_buf *out);

/**
 * kf_sites_stacks() - write the call stacks with most live bytes
 * @s:		a snapshot with stacks
 * @cache:	names that are known
 * @pid:	the process there, whose files tell what an address is in; or 0
 * @out:	the page
 *
 * Context: any thread.
 */
void kf_sites_stacks(const struct kf_snapshot *s, struct kf_name_cache *cache,
		     int pid, struct kf_buf *out);

#endif
