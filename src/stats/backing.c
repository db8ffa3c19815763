/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stats file: where it is made, how it is mapped and grown.
 *
 * All of the file is written before it is mapped, which takes its space, so
 * that no store finds the disk full. To write is quicker than to allocate: a
 * file that is removed soon may never have blocks on the disk. The file is made
 * with O_EXCL, relative to the descriptor of a directory that was checked, so
 * that no planted link is followed. No descriptor stays open.
 */
#include "config.h"

#include "stats/internal.h"

#include "base/text.h"
#include "sys/file.h"
#include "sys/vm.h"
#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SYSTEM_DIR "/run/konfiscator"
#define LAST_DIR "/tmp/konfiscator-stats-"

/* Names are random: one taken name is chance, several are an attack. */
#define NAME_TRIES 8

/* The command, safe in a file name: no slash, no control, no hidden file. */
static void safe_comm(char *comm)
{
	memcpy(comm, kf_stats_self()->comm, KF_COMM_SIZE);
	for (char *p = comm; *p; p++) {
		bool hides = *p == '.' && p == comm;

		if (*p == '/' || (unsigned char)*p < ' ' || *p == 0x7f || hides)
			*p = '_';
	}
	if (!comm[0])
		comm[0] = '_';
}

void kf_backing_name(char *name, const char *comm, int32_t pid, uint64_t random)
{
	struct kf_text text;

	kf_text_init(&text, name, KF_BACKING_NAME);
	kf_text_strn(&text, comm, strnlen(comm, KF_COMM_SIZE));
	kf_text_add(&text, ".%d.%lu", pid, random);
}

/* The path is absolute, as a program may change its directory. */
static int backing_set_path(const char *dir, const char *name)
{
	char *path = kf_stats.path;
	struct kf_text text;
	ssize_t n;

	kf_text_init(&text, path, sizeof(kf_stats.path));
	if (dir[0] != '/') {
		n = kf_file_cwd(path, sizeof(kf_stats.path));
		if (n < 0)
			return (int)n;
		text.len = (size_t)n;
		kf_text_char(&text, '/');
	}
	kf_text_add(&text, "%s/%s", dir, name);
	return kf_text_full(&text) ? -ENAMETOOLONG : 0;
}

/* The descriptions are in no image. */
static int write_image(int fd, size_t size)
{
	const char *image = kf_stats.base;
	size_t bytes;
	const void *descs = kf_image_descs(&bytes);
	const size_t rest = KF_AT_DESCS + bytes;
	const struct kf_file_part part[] = {
		{image, KF_AT_DESCS},
		{descs, bytes},
		{image + rest, size - rest},
	};

	return kf_file_write_parts(fd, part, KF_ARRAY_SIZE(part));
}

static int fill_and_map(int fd)
{
	size_t size = kf_image_size(kf_stats.nr_slots);
	int r = write_image(fd, size);

	kf_stats.file_size = size;
	if (!r)
		r = kf_area_write(fd);
	if (!r)
		r = kf_vm_put_file(kf_stats.base, size, fd, 0);
	if (!r)
		kf_area_map(fd);
	return r;
}

static int backing_open_new(int dirfd, char *name, struct kf_watch *watch)
{
	char comm[KF_COMM_SIZE] = {0};
	uint64_t random;
	int fd = -EEXIST;

	safe_comm(comm);
	for (int i = 0; i < NAME_TRIES && fd == -EEXIST; i++) {
		random = kf_process_random();
		kf_backing_name(name, comm, kf_stats_self()->pid, random);
		fd = kf_file_open(dirfd, name,
				  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0640);
		if (fd >= 0)
			kf_watch_note(watch, comm, random);
	}
	return fd;
}

/* The ledger is locked until the file's name exists, not until it is written.
 */
static int watch_and_open(int dirfd, char *name)
{
	struct kf_watch watch;
	int fd = kf_watch_begin(&watch, dirfd);

	if (!fd)
		fd = backing_open_new(dirfd, name, &watch);
	kf_watch_leave(&watch);
	return fd;
}

/*
 * In a set-group-id directory the group may read the file, whatever the umask
 * of the program: the directory's owner chose that group.
 */
static int make_in(int dirfd, const char *dir, bool for_group)
{
	char name[KF_BACKING_NAME];
	struct kf_file_stat st;
	int fd, r = backing_set_path(dir, "");

	if (r)
		return r;
	fd = watch_and_open(dirfd, name);
	if (fd < 0)
		return fd;
	if (for_group)
		kf_file_chmod(fd, 0640);
	r = backing_set_path(dir, name);
	if (!r)
		r = kf_file_stat(fd, &st);
	if (!r)
		r = fill_and_map(fd);
	if (r) {
		kf_file_unlink(dirfd, name);
	} else {
		kf_stats.dev = st.dev;
		kf_stats.ino = st.ino;
		kf_stats.owner = st.uid;
	}
	kf_file_close(fd);
	return r;
}

static bool is_private(const struct kf_file_stat *st)
{
	return st->uid == kf_stats_self()->uid &&
	       !(st->mode & (S_IWGRP | S_IWOTH));
}

/*
 * Make the file in @dir. O_PATH, as a directory in which users may make files
 * need not be readable. @own: @dir is private to the user: it is made when
 * missing, and refused if it is a link or another user may write to it.
 */
static int try_dir(const char *dir, bool own)
{
	const int flags = O_PATH | O_DIRECTORY | (own ? O_NOFOLLOW : 0);
	int fd = kf_file_open(AT_FDCWD, dir, flags, 0);
	struct kf_file_stat st;
	int r;

	if (own && fd == -ENOENT) {
		kf_file_mkdir(dir);
		fd = kf_file_open(AT_FDCWD, dir, flags, 0);
	}
	if (fd < 0)
		return fd;
	r = kf_file_stat(fd, &st);
	if (!r && own && !is_private(&st))
		r = -EPERM;
	if (!r)
		r = make_in(fd, dir, st.mode & S_ISGID);
	kf_file_close(fd);
	return r;
}

static int try_runtime_dir(const char *runtime_dir)
{
	char dir[PATH_MAX];
	struct kf_text text;

	kf_text_init(&text, dir, sizeof(dir));
	kf_text_add(&text, "%s/konfiscator", runtime_dir);
	return kf_text_full(&text) ? -ENAMETOOLONG : try_dir(dir, true);
}

static int try_last_dir(void)
{
	char dir[sizeof(LAST_DIR) + 10];
	struct kf_text text;
	int r;

	kf_text_init(&text, dir, sizeof(dir));
	kf_text_add(&text, LAST_DIR "%u", kf_stats_self()->uid);
	r = try_dir(dir, true);
	/* for kf_stats_tried() */
	if (r)
		backing_set_path(dir, "");
	return r;
}

static bool is_set(const char *s)
{
	return s && *s;
}

bool kf_backing_is_trusted(void)
{
	return kf_load(&kf_stats.on_file) &&
	       (!kf_stats.owner || kf_process_is_users(kf_stats.owner));
}

int kf_backing_make(const struct kf_stats_conf *conf)
{
	if (conf->trusted && is_set(conf->dir) && !try_dir(conf->dir, false))
		return 0;
	if (!try_dir(SYSTEM_DIR, false))
		return 0;
	if (conf->trusted && conf->runtime_dir && *conf->runtime_dir == '/' &&
	    !try_runtime_dir(conf->runtime_dir))
		return 0;
	return try_last_dir();
}

static bool backing_is_ours(int fd)
{
	struct kf_file_stat st;

	return !kf_file_stat(fd, &st) && st.dev == kf_stats.dev &&
	       st.ino == kf_stats.ino && st.size == kf_stats.file_size;
}

int kf_backing_grow(char *addr, uint64_t from, uint64_t to)
{
	int fd, r;

	if (kf_process_is_barred())
		return -EPERM;
	fd = kf_file_open(AT_FDCWD, kf_stats.path, O_RDWR | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	r = backing_is_ours(fd) ? kf_file_extend(fd, from, to) : -ESTALE;
	if (!r) {
		kf_stats.file_size = KF_MAX(kf_stats.file_size, to);
		r = kf_vm_put_table(addr, to - from, fd, from);
	}
	kf_file_close(fd);
	return r;
}
