/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files, opened for a moment from inside malloc: see file.h.
 */
#include "config.h"

#include "sys/file.h"

#include "sys/call.h"
#include "sys/thread.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

/* Programs that close descriptors of others rarely go beyond this number. */
#define HIGH_FD 500

/* Frequent signals may interrupt every call of fallocate(). */
#define MAX_INTERRUPTS 64

#define ZEROES 4096

/* A step of kf_file_fill(). */
#define FILL 262144

int kf_file_open(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd = (int)kf_sys(SYS_openat, dirfd, path,
			     flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);
	int high;

	if (fd < 0 || fd >= HIGH_FD ||
	    (fd > STDERR_FILENO && kf_thread_is_alone()))
		return fd;
	high = (int)kf_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high < 0)
		return fd;
	kf_file_close(fd);
	return high;
}

void kf_file_close(int fd)
{
	kf_sys(SYS_close, fd);
}

static void take_stat(struct kf_file_stat *st, const struct stat *s)
{
	st->dev = s->st_dev;
	st->ino = s->st_ino;
	st->size = (uint64_t)s->st_size;
	st->space = (uint64_t)s->st_blocks * 512;
	st->modified = (uint64_t)s->st_mtim.tv_sec * 1000000000 +
		       (uint64_t)s->st_mtim.tv_nsec;
	st->nr_links = (uint32_t)s->st_nlink;
	st->uid = s->st_uid;
	st->mode = s->st_mode;
}

int kf_file_stat(int fd, struct kf_file_stat *st)
{
	struct stat s;
	int r = (int)kf_sys(SYS_fstat, fd, &s);

	if (r < 0)
		return r;
	take_stat(st, &s);
	return 0;
}

int kf_file_look(int dirfd, const char *name, struct kf_file_stat *st)
{
	struct stat s;
	int r = (int)kf_sys(SYS_newfstatat, dirfd, name, &s,
			    AT_SYMLINK_NOFOLLOW);

	if (r < 0)
		return r;
	take_stat(st, &s);
	return 0;
}

int kf_file_lock(int fd)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return (int)kf_sys(SYS_fcntl, fd, F_SETLK, &all);
}

int kf_file_space(int fd, uint64_t *total, uint64_t *available)
{
	struct statfs s;
	int r = (int)kf_sys(SYS_fstatfs, fd, &s);

	if (r < 0)
		return r;
	*total = (uint64_t)s.f_blocks * (uint64_t)s.f_bsize;
	*available = (uint64_t)s.f_bavail * (uint64_t)s.f_bsize;
	return *total ? 0 : -ENOSYS;
}

uint64_t kf_file_inode(const char *path)
{
	struct stat s;

	if (kf_sys(SYS_newfstatat, AT_FDCWD, path, &s, 0) < 0)
		return 0;
	return s.st_ino;
}

int kf_file_mkdir(const char *path)
{
	return (int)kf_sys(SYS_mkdirat, AT_FDCWD, path, 0700);
}

void kf_file_unlink(int dirfd, const char *name)
{
	kf_sys(SYS_unlinkat, dirfd, name, 0);
}

void kf_file_unlink_same(int dirfd, const char *name, uint64_t dev,
			 uint64_t ino)
{
	struct kf_file_stat st;

	if (!kf_file_look(dirfd, name, &st) && st.dev == dev && st.ino == ino)
		kf_file_unlink(dirfd, name);
}

void kf_file_chmod(int fd, mode_t mode)
{
	kf_sys(SYS_fchmod, fd, mode);
}

int kf_file_write(int fd, const void *buf, size_t len, uint64_t offset)
{
	const char *p = buf;
	size_t done = 0;
	long n;

	while (done < len) {
		n = kf_sys(SYS_pwrite64, fd, p + done, len - done,
			   offset + done);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? (int)n : -EIO;
		done += (size_t)n;
	}
	return 0;
}

_Static_assert(sizeof(struct kf_file_part) == sizeof(struct iovec) &&
		       offsetof(struct kf_file_part, len) ==
			       offsetof(struct iovec, iov_len),
	       "a part is what the kernel takes");

int kf_file_write_parts(int fd, const struct kf_file_part *part, size_t nr)
{
	uint64_t size = 0;
	long n = -EINTR;

	for (size_t i = 0; i < nr; i++)
		size += part[i].len;
	if (!kf_file_is_allowed(size))
		return -EFBIG;
	while (n == -EINTR)
		n = kf_sys(SYS_pwritev, fd, part, (long)nr, 0L, 0L);
	if (n < 0)
		return (int)n;
	return (uint64_t)n == size ? 0 : -ENOSPC;
}

int kf_file_append(int fd, const void *buf, size_t len)
{
	const char *p = buf;
	long n;

	while (len) {
		n = kf_sys(SYS_write, fd, p, len);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? (int)n : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int kf_file_open_dir(char *path, const char **name)
{
	const int flags = O_PATH | O_DIRECTORY;
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	int fd;

	*name = slash ? slash + 1 : path;
	if (!len)
		return kf_file_open(AT_FDCWD, slash ? "/" : ".", flags, 0);
	path[len] = '\0';
	fd = kf_file_open(AT_FDCWD, path, flags, 0);
	path[len] = '/';
	return fd;
}

int kf_file_rename(int dirfd, const char *from, const char *to)
{
	return (int)kf_sys(SYS_renameat2, dirfd, from, dirfd, to, 0);
}

int kf_file_rename_new(int dirfd, const char *from, const char *to)
{
	return (int)kf_sys(SYS_renameat2, dirfd, from, dirfd, to,
			   RENAME_NOREPLACE);
}

uint32_t kf_file_mode(const char *path)
{
	struct stat s;

	if (kf_sys(SYS_newfstatat, AT_FDCWD, path, &s, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return s.st_mode;
}

static const char zeroes[ZEROES];

static int write_zeroes(int fd, uint64_t from, uint64_t to)
{
	int r = 0;

	while (from < to && !r) {
		size_t n = KF_MIN(to - from, (uint64_t)ZEROES);

		r = kf_file_write(fd, zeroes, n, from);
		from += n;
	}
	return r;
}

bool kf_file_is_allowed(uint64_t size)
{
	struct rlimit limit;

	if (kf_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) < 0)
		return true;
	return size <= limit.rlim_cur;
}

int kf_file_extend(int fd, uint64_t from, uint64_t to)
{
	int r = -EINTR;

	if (!kf_file_is_allowed(to))
		return -EFBIG;
	for (int i = 0; i < MAX_INTERRUPTS && r == -EINTR; i++)
		r = (int)kf_sys(SYS_fallocate, fd, 0, from, to - from);
	if (r == -EOPNOTSUPP || r == -ENOSYS)
		r = write_zeroes(fd, from, to);
	return r;
}

void kf_file_truncate(int fd, uint64_t size)
{
	kf_sys(SYS_ftruncate, fd, (long)size);
}

void kf_file_fill(int fd, uint64_t from, uint64_t to)
{
	struct iovec piece[FILL / ZEROES];
	long n = 1;

	for (size_t i = 0; i < KF_ARRAY_SIZE(piece); i++)
		piece[i] = (struct iovec){(void *)(uintptr_t)zeroes, ZEROES};
	for (; from < to && n > 0; from += (uint64_t)n) {
		uint64_t pieces = KF_MIN(to - from, (uint64_t)FILL) / ZEROES;

		n = kf_sys(SYS_pwritev, fd, piece, (long)pieces, (long)from,
			   0L);
	}
}

ssize_t kf_file_read(const char *path, char *buf, size_t size)
{
	int fd = kf_file_open(AT_FDCWD, path, O_RDONLY, 0);
	ssize_t n;

	buf[0] = '\0';
	if (fd < 0)
		return fd;
	do
		n = kf_sys(SYS_read, fd, buf, size - 1);
	while (n == -EINTR);
	kf_file_close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	return n;
}

void kf_file_link(const char *path, char *buf, size_t size)
{
	long n = kf_sys(SYS_readlinkat, AT_FDCWD, path, buf, size - 1);

	buf[n < 0 ? 0 : n] = '\0';
}

ssize_t kf_file_cwd(char *buf, size_t size)
{
	long n = kf_sys(SYS_getcwd, buf, size);

	if (n < 0)
		return n;
	/* "(unreachable)/..." is a directory outside of the process' root. */
	return buf[0] == '/' ? n - 1 : -ENOENT;
}

bool kf_file_read_at(int fd, void *buf, size_t size, uint64_t offset)
{
	return kf_sys(SYS_pread64, (long)fd, buf, size, offset) == (long)size;
}

/* An entry as getdents64() writes it. */
struct record {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static bool more_names(struct kf_file_names *names)
{
	long n;

	if (!names->begun && kf_sys(SYS_lseek, (long)names->fd, 0L, SEEK_SET))
		return false;
	names->begun = true;
	n = kf_sys(SYS_getdents64, (long)names->fd, names->buf,
		   sizeof(names->buf));
	names->at = 0;
	names->len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

const char *kf_file_next_name(struct kf_file_names *names)
{
	while (names->at < names->len || more_names(names)) {
		struct record *r = (void *)(names->buf + names->at);

		names->at += r->len;
		if (r->name[0] != '.')
			return r->name;
	}
	return NULL;
}
