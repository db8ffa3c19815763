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
#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>

int kf_record_pattern(char out[PATH_MAX], const char *file)
{
	char cwd[PATH_MAX] = "";
	struct kf_text text;
	ssize_t n = 0;

	kf_text_init(&text, out, PATH_MAX);
	if (file[0] != '/')
		n = kf_file_cwd(cwd, sizeof(cwd));
	if (n < 0)
		return (int)n;
	for (const char *p = cwd; *p; p++) {
		kf_text_char(&text, *p);
		if (*p == '%')
			kf_text_char(&text, '%');
	}
	if (file[0] != '/')
		kf_text_char(&text, '/');
	kf_text_str(&text, file);
	return kf_text_full(&text) ? -ENAMETOOLONG : 0;
}

bool kf_record_expand(struct kf_text *text, const char *pattern)
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
	if (!kf_record_expand(&text, conf->file)) {
		if (conf->forked || try)
			append(&text, (uint64_t)kf_process_pid());
		try -= try && !conf->forked;
	}
	if (try)
		append(&text, try);
	return kf_text_full(&text) ? -ENAMETOOLONG : 0;
}
