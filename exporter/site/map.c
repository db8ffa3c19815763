/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The map of a process' heap.
 */
#include "config.h"

#include "exporter/site/site.h"
#include "reader/heap-picture.h"

#include <stdlib.h>

static void map_put(struct kf_buf *out, const struct kf_snapshot *s, int pid)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (to)
		kf_heap_picture(s, pid, to);
	if (to && !fclose(to))
		kf_buf_add(out, text, size);
	else
		out->failed = true;
	free(text);
}

void kf_site_map(const struct kf_subject *subject, const struct kf_snapshot *s,
		 struct kf_buf *out)
{
	int pid = subject->ended ? 0 : subject->pid;

	if (!kf_heap_picture_is_known(s, pid))
		return;
	kf_buf_str(out, "<section id=\"map\">\n<h2>Map of the heap</h2>\n");
	map_put(out, s, pid);
	kf_buf_str(out, "</section>\n");
}
