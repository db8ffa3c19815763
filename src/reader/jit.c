/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See jit.h. The files' names are those of perf: they are in no directory of
 * the user's choice, so TMPDIR plays no part.
 */
#include "config.h"

#include "reader/jit.h"

#include "reader/claim.h"
#include "reader/internal.h"
#include "reader/jitdump.h"
#include "reader/perf-map.h"
#include "reader/regular.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILES 9 /* the map and jitdump files */
#define MAX_BYTES (256 * KF_MIB)
#define MAX_NAME 4096 /* longest name, in bytes */
#define NS_PER_S 1000000000ull
#define MIN_PAUSE_NS \
	(NS_PER_S / 10) /* from one look at the files to the next */
#define PAUSE_FACTOR 9	/* this many times as long as the look */
#define DUMP_BEGIN "jit-"
#define DUMP_END ".dump"

enum why {
	NOT_REGULAR,
	NOT_READABLE,
	NOT_OWNED,
	NOT_OF_NOW,
	TOO_LONG,
	TOO_MANY,
	NOT_A_DUMP,
	NR_WHYS
};

static const char *const why_texts[NR_WHYS] = {
	[NOT_REGULAR] = "is not a regular file",
	[NOT_READABLE] = "may not be read",
	[NOT_OWNED] = "belongs neither to root nor to a user of the process",
	[NOT_OF_NOW] = "has not changed since the process started",
	[TOO_LONG] = "is larger than 256 MiB",
	[TOO_MANY] = "has more than 1048576 names",
	[NOT_A_DUMP] =
		"has no header of a jitdump file of this kind of machine",
};

struct jit_file {
	bool is_dump;
	int fd;
	struct stat st;
	struct kf_jit_ranges ranges;
};

struct jit_files {
	size_t nr;
	struct jit_file file[MAX_FILES]; /* a map is the last one */
};

struct kf_jit {
	const char *procfs;
	int pid;
	const struct kf_codes *codes;
	kf_jit_refused *refused;
	bool told[NR_WHYS];
	uint64_t next_ns; /* time of the next look, CLOCK_MONOTONIC */
	struct jit_files files;
	char function[MAX_NAME];
	char source[MAX_NAME];
};

static void jit_refuse(struct kf_jit *jit, const char *path, enum why why)
{
	if (!jit->refused || jit->told[why])
		return;
	jit->told[why] = true;
	jit->refused(path, why_texts[why]);
}

static uint64_t jit_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_nsec;
}

/* CLOCK_REALTIME at the start of the process; 0: unknown. */
static uint64_t started_ns(struct kf_life_view *view, int pid)
{
	uint64_t ticks = kf_life_start(view, pid);
	struct timespec real, boot;

	if (!ticks)
		return 0;
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return jit_ns(&real) - jit_ns(&boot) +
	       ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Another process may have had the pid. Both times are coarse. */
static bool is_of_now(struct kf_life_view *view, int pid, const struct stat *st)
{
	return jit_ns(&st->st_ctim) + NS_PER_S > started_ns(view, pid);
}

/* One look at the files of a process. */
struct look {
	struct kf_jit *jit;
	struct kf_life_view view;
	struct jit_files found;
};

/* Takes a file, or closes @fd, which may be -1 with errno. */
static bool look_take(struct look *l, int fd, const char *path, bool is_dump)
{
	struct jit_file file = {.fd = fd, .is_dump = is_dump};
	enum why why;

	if (fd < 0 && errno == ENOTSUP)
		jit_refuse(l->jit, path, NOT_REGULAR);
	else if (fd < 0 && errno == EACCES)
		jit_refuse(l->jit, path, NOT_READABLE);
	if (fd < 0)
		return false;
	if (fstat(fd, &file.st))
		why = NOT_READABLE;
	else if (kf_claim_of(&l->view, l->jit->pid, file.st.st_uid) ==
		 KF_CLAIM_NONE)
		why = NOT_OWNED;
	else if (!is_of_now(&l->view, l->jit->pid, &file.st))
		why = NOT_OF_NOW;
	else if (is_dump && file.st.st_size > (off_t)MAX_BYTES)
		why = TOO_LONG;
	else {
		l->found.file[l->found.nr++] = file;
		return true;
	}
	jit_refuse(l->jit, path, why);
	close(fd);
	return false;
}

static bool is_dump(const struct kf_code *code)
{
	const char *name = kf_code_name(code);
	size_t len = strlen(name), tail = strlen(DUMP_END);

	return !code->offset && !code->build_id_size &&
	       !strncmp(name, DUMP_BEGIN, strlen(DUMP_BEGIN)) && len > tail &&
	       !strcmp(name + len - tail, DUMP_END);
}

static void look_for_dumps(struct look *l)
{
	const struct kf_jit *jit = l->jit;
	char root[PATH_MAX];

	snprintf(root, sizeof(root), "%s/%d/root", jit->procfs, jit->pid);
	for (size_t i = 0; i < jit->codes->nr && l->found.nr < MAX_FILES - 1;
	     i++) {
		const struct kf_code *code = &jit->codes->code[i];

		if (is_dump(code))
			look_take(l, kf_regular_open_no_link(root, code->path),
				  code->path, true);
	}
}

static void look_for_map(struct look *l)
{
	int pid = l->jit->pid;
	int inner = kf_life_inner_pid(l->view.procfd, pid);
	char root[PATH_MAX], map[64], path[PATH_MAX + sizeof(map)];
	int fd;

	snprintf(root, sizeof(root), "%s/%d/root", l->jit->procfs, pid);
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", inner ? inner : pid);
	snprintf(path, sizeof(path), "%s%s", root, map);
	fd = kf_regular_open_no_link(root, map);
	/* other users' roots are seldom readable */
	if (fd < 0 && errno == EACCES)
		errno = ENOENT;
	if (look_take(l, fd, path, false))
		return;
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", pid);
	look_take(l, kf_regular_open_no_link("/", map), map, false);
}

static void files_release(struct jit_files *files)
{
	for (size_t i = 0; i < files->nr; i++) {
		close(files->file[i].fd);
		kf_jit_ranges_release(&files->file[i].ranges);
	}
	files->nr = 0;
}

static bool files_are_same(const struct jit_files *a, const struct jit_files *b)
{
	for (size_t i = 0; i < a->nr && i < b->nr; i++) {
		const struct stat *x = &a->file[i].st, *y = &b->file[i].st;

		if (x->st_dev != y->st_dev || x->st_ino != y->st_ino ||
		    x->st_size != y->st_size ||
		    memcmp(&x->st_mtim, &y->st_mtim, sizeof(x->st_mtim)) != 0)
			return false;
	}
	return a->nr == b->nr;
}

/* A file that cannot be read has no names. */
static void jit_file_read(struct kf_jit *jit, struct jit_file *f)
{
	uint64_t end = (uint64_t)f->st.st_size, begin = 0;
	char path[64];
	int error = 0;

	snprintf(path, sizeof(path), "%s of process %d",
		 f->is_dump ? "a jitdump file" : "the begin of the map",
		 jit->pid);
	if (!f->is_dump && end > MAX_BYTES) {
		begin = end - MAX_BYTES;
		jit_refuse(jit, path, TOO_LONG);
	}
	if (f->is_dump)
		error = kf_jitdump_read(f->fd, end, &f->ranges);
	else if (!kf_perf_map_read(f->fd, begin, end, &f->ranges))
		error = ENOMEM;
	if (error == ENOEXEC)
		jit_refuse(jit, path, NOT_A_DUMP);
	if (f->ranges.nr > KF_JIT_RANGES)
		jit_refuse(jit, path, TOO_MANY);
	if (error || !kf_jit_ranges_settle(&f->ranges))
		kf_jit_ranges_release(&f->ranges);
}

static void jit_look(struct kf_jit *jit)
{
	uint64_t begin = kf_clock_ns(), end;
	struct look l = {.jit = jit};

	if (begin < jit->next_ns)
		return;
	kf_life_open(&l.view, jit->procfs);
	look_for_dumps(&l);
	look_for_map(&l);
	kf_life_close(&l.view);
	if (files_are_same(&l.found, &jit->files)) {
		files_release(&l.found);
	} else {
		files_release(&jit->files);
		jit->files = l.found;
		for (size_t i = 0; i < jit->files.nr; i++)
			jit_file_read(jit, &jit->files.file[i]);
	}
	end = kf_clock_ns();
	jit->next_ns = end + KF_MAX(MIN_PAUSE_NS, PAUSE_FACTOR * (end - begin));
}

struct kf_jit *kf_jit_open(const char *procfs, int pid,
			   const struct kf_codes *codes,
			   kf_jit_refused *refused)
{
	struct kf_jit *jit = calloc(1, sizeof(*jit));

	if (!jit)
		return NULL;
	jit->procfs = procfs;
	jit->pid = pid;
	jit->codes = codes;
	jit->refused = refused;
	return jit;
}

static bool find_in_dump(struct kf_jit *jit, const struct jit_file *f,
			 const struct kf_jit_range *range, uint64_t address,
			 bool lines, struct kf_jit_place *out)
{
	struct kf_jit_line line = {.file = jit->source,
				   .size = sizeof(jit->source)};

	if (!kf_jitdump_name(f->fd, range, jit->function,
			     sizeof(jit->function)))
		return false;
	if (lines)
		kf_jitdump_line(f->fd, range, address, &line);
	if (lines && line.line && jit->source[0]) {
		out->file = jit->source;
		out->line = line.line;
	}
	return true;
}

bool kf_jit_find(struct kf_jit *jit, uint64_t address, bool lines,
		 struct kf_jit_place *out)
{
	jit_look(jit);
	for (size_t i = 0; i < jit->files.nr; i++) {
		const struct jit_file *f = &jit->files.file[i];
		const struct kf_jit_range *range =
			kf_jit_ranges_find(&f->ranges, address);

		*out = (struct kf_jit_place){.function = jit->function};
		if (!range)
			continue;
		if (f->is_dump
			    ? find_in_dump(jit, f, range, address, lines, out)
			    : kf_perf_map_name(f->fd, range, jit->function,
					       sizeof(jit->function)))
			return true;
	}
	return false;
}

void kf_jit_close(struct kf_jit *jit)
{
	if (!jit)
		return;
	files_release(&jit->files);
	free(jit);
}
