/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a recording's file is called.
 *
 * %p in the name becomes the process' id and %% a percent sign. Without %p a
 * forked child, and who finds the name taken, appends its id: a program and
 * all it starts can have one setting. Where that is taken too, since a process
 * that calls exec keeps its id, a number follows.
 */
#include "record/internal.h"

#include "base/text.h"
#include "sys/process.h"

#include <errno.h>

/* Returns whether the pattern has the process' id in it. */
static bool expand(struct kf_text *text, const char *pattern)
{
	bool has_pid = false;

	for (const char *p = pattern; *p; p++) {
		if (p[0] == '%' && p[1] == 'p') {
			kf_text_i64(text, kf_process_pid());
			has_pid = true;
			p++;
		} else {
			kf_text_char(text, *p);
			p += p[0] == '%' && p[1] == '%';
		}
	}
	return has_pid;
}

static void append(struct kf_text *text, uint64_t n)
{
	kf_text_char(text, '.');
	kf_text_u64(text, n);
}

int kf_record_name(char path[PATH_MAX], const struct kf_record_conf *conf,
		   unsigned int try)
{
	struct kf_text text;

	kf_text_init(&text, path, PATH_MAX);
	if (!expand(&text, conf->file)) {
		if (conf->forked || try)
			append(&text, (uint64_t)kf_process_pid());
		try -= try && !conf->forked;
	}
	if (try)
		append(&text, try);
	return kf_text_full(&text) ? -ENAMETOOLONG : 0;
}
