/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The name of a recording's file.
 *
 * %p in the pattern becomes the process' id and %% a percent sign. Without %p a
 * forked child, and a process that finds the name taken, append their ids, so
 * that a program and its children can have one setting. Where that name exists
 * too, a number follows.
 *
 * A process that calls exec keeps its id, as after env, nice or a script. The
 * last program is the one to look at, so it takes the name, and the recording
 * of the program before gets another name.
 */
#include "record/internal.h"

#include "base/text.h"
#include "stats/stats.h"
#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

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

int kf_record_name(char path[PATH_MAX], const struct kf_record_conf *conf,
		   unsigned int try)
{
	struct kf_text text;

	kf_text_init(&text, path, PATH_MAX);
	if (!kf_record_expand(&text, conf->file)) {
		if (conf->forked || try)
			kf_text_add(&text, ".%d", kf_process_pid());
		try -= try && !conf->forked;
	}
	if (try)
		kf_text_add(&text, ".%u", try);
	return kf_text_full(&text) ? -ENAMETOOLONG : 0;
}

static bool is_same_process(const struct kf_stats_identity *a,
			    const struct kf_stats_identity *b)
{
	return a->pid == b->pid && a->pid_ns && a->pid_ns == b->pid_ns &&
	       a->start_ticks && a->start_ticks == b->start_ticks &&
	       !memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id));
}

/* Whether this process made a file before its last exec. */
static bool is_of_this_process(const char *path,
			       const struct kf_record_conf *conf)
{
	struct kf_stats_identity us = {0};
	struct kf_record_header h;
	int fd = kf_file_open(AT_FDCWD, path,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	bool whole = fd >= 0 && kf_file_read_at(fd, &h, sizeof(h), 0);

	if (fd >= 0)
		kf_file_close(fd);
	if (!whole || h.magic != KF_RECORD_MAGIC || !h.ready)
		return false;
	kf_identity_fill(&us, conf->stats, false);
	return is_same_process(&h.identity, &us);
}

bool kf_record_make_way(const char *path, const struct kf_record_conf *conf,
			unsigned int try)
{
	char aside[PATH_MAX];
	int r = -EEXIST;

	/* Later recordings may find files of this program. */
	if (!conf->from_start || !is_of_this_process(path, conf))
		return false;
	while (r == -EEXIST && ++try < KF_RECORD_NAME_TRIES) {
		r = kf_record_name(aside, conf, try);
		if (!r)
			r = kf_file_rename_new(AT_FDCWD, path, aside);
	}
	return !r;
}
