/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files, opened for a moment from inside malloc.
 *
 * No call allocates, blocks on a FIFO, is a cancellation point or changes
 * errno; failures are negative errnos. In a program with threads a descriptor
 * is moved to a high number while it is open, out of the way of threads that
 * expect certain numbers or close all low ones in a loop; one below 3 always
 * is.
 */
#ifndef KF_SYS_FILE_H
#define KF_SYS_FILE_H

#include "base/compiler.h"

#include <sys/types.h>

/* The attributes of a file. */
struct kf_file_stat {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;	   /* bytes */
	uint64_t space;	   /* bytes allocated on the file system */
	uint64_t modified; /* CLOCK_REALTIME, ns */
	uint32_t nr_links;
	uint32_t uid;
	uint32_t mode; /* as st_mode, type included */
};

/**
 * kf_file_open() - open a file, out of the way of other threads
 * @dirfd:	directory @path is relative to, or AT_FDCWD
 * @path:	the file
 * @flags:	of open(2); O_CLOEXEC, O_NOCTTY and O_NONBLOCK are added
 * @mode:	of a file that is made; the umask applies
 *
 * Context: any.
 * Return: the descriptor, or a negative errno.
 */
int kf_file_open(int dirfd, const char *path, int flags,
		 mode_t mode) __must_check;

/**
 * kf_file_close() - close a descriptor
 * @fd:		the descriptor
 *
 * Context: any.
 */
void kf_file_close(int fd);

/**
 * kf_file_stat() - the attributes of an open file
 * @fd:		the descriptor
 * @st:		out: the attributes
 *
 * Context: any.
 * Return: 0, or a negative errno.
 */
int kf_file_stat(int fd, struct kf_file_stat *st) __must_check;

/**
 * kf_file_look() - the attributes of a file by its name, links not followed
 * @dirfd:	directory @name is relative to
 * @name:	the name
 * @st:		out: the attributes
 *
 * Context: any.
 * Return: 0, or a negative errno.
 */
int kf_file_look(int dirfd, const char *name,
		 struct kf_file_stat *st) __must_check;

/**
 * kf_file_lock() - take a record lock on a whole file
 * @fd:		the file, open for writing
 *
 * The lock ends when the process closes any descriptor of the file; a forked
 * child does not inherit it.
 *
 * Context: any; never waits.
 * Return: 0, or a negative errno: -EAGAIN or -EACCES where another process has
 *	   the lock.
 */
int kf_file_lock(int fd) __must_check;

/**
 * kf_file_space() - the size of a file system
 * @fd:		a file or directory on it
 * @total:	out: its bytes
 * @available:	out: bytes that the user can still allocate
 *
 * Context: any.
 * Return: 0, or a negative errno; -ENOSYS where the file system reports none.
 */
int kf_file_space(int fd, uint64_t *total, uint64_t *available) __must_check;

/**
 * kf_file_is_allowed() - whether RLIMIT_FSIZE allows a file to be so long
 * @size:	bytes
 *
 * Context: any.
 * Return: false where the kernel would send a signal.
 */
bool kf_file_is_allowed(uint64_t size);

/**
 * kf_file_inode() - the inode a path leads to, links followed
 * @path:	the path
 *
 * Context: any.
 * Return: its number; 0: unknown.
 */
uint64_t kf_file_inode(const char *path);

/**
 * kf_file_mkdir() - make a directory, mode 0700 less the umask
 * @path:	the directory; its parent exists
 *
 * Context: any.
 * Return: 0, or a negative errno; -EEXIST too.
 */
int kf_file_mkdir(const char *path);

/**
 * kf_file_unlink() - remove a file's name
 * @dirfd:	directory @name is relative to
 * @name:	the name
 *
 * Context: any.
 */
void kf_file_unlink(int dirfd, const char *name);

/**
 * kf_file_unlink_same() - remove a file's name if it still leads to that file
 * @dirfd:	directory @name is relative to
 * @name:	the name
 * @dev:	device of the file
 * @ino:	inode of the file
 *
 * Context: any.
 */
void kf_file_unlink_same(int dirfd, const char *name, uint64_t dev,
			 uint64_t ino);

/**
 * kf_file_chmod() - set a file's permissions, whatever the umask
 * @fd:		the file
 * @mode:	the permissions
 *
 * Context: any.
 */
void kf_file_chmod(int fd, mode_t mode);

/**
 * kf_file_write() - write all of a buffer
 * @fd:		the file
 * @buf:	the bytes
 * @len:	how many
 * @offset:	where in the file
 *
 * Context: any.
 * Return: 0, or a negative errno; some bytes may be written then.
 */
int kf_file_write(int fd, const void *buf, size_t len,
		  uint64_t offset) __must_check;

/* A part of a file's contents. */
struct kf_file_part {
	const void *buf;
	size_t len; /* bytes */
};

/**
 * kf_file_write_parts() - write the contents of a new file in one call
 * @fd:		the file
 * @part:	the parts, in their order
 * @nr:		number of parts
 *
 * A size above RLIMIT_FSIZE is refused, as the kernel would send a signal. The
 * file system has the space afterwards: a mapping's stores find no full disk.
 *
 * Context: any.
 * Return: 0, or a negative errno: -EFBIG, -ENOSPC, -EDQUOT, ...; some bytes may
 *	   be written then.
 */
int kf_file_write_parts(int fd, const struct kf_file_part *part,
			size_t nr) __must_check;

/**
 * kf_file_append() - write at the file's own position
 * @fd:		the file, or a pipe or device
 * @buf:	the bytes
 * @len:	how many
 *
 * Context: any; may wait where a pipe is full.
 * Return: 0, or a negative errno.
 */
int kf_file_append(int fd, const void *buf, size_t len) __must_check;

/**
 * kf_file_open_dir() - open the directory of a file
 * @path:	path of the file, which need not exist; unchanged afterwards
 * @name:	out: the file's name in the directory, within @path
 *
 * Calls relative to the descriptor stay in that directory, even if another
 * process changes a directory of the path meanwhile.
 *
 * Context: any.
 * Return: the descriptor, or a negative errno.
 */
int kf_file_open_dir(char *path, const char **name) __must_check;

/**
 * kf_file_rename() - rename a file; a file of the new name is replaced
 * kf_file_rename_new() - rename a file unless the new name exists
 * @dirfd:	directory that both names are relative to, or AT_FDCWD
 * @from:	the name
 * @to:		the new name
 *
 * Context: any.
 * Return: 0, or a negative errno; -EEXIST of kf_file_rename_new().
 */
int kf_file_rename(int dirfd, const char *from, const char *to) __must_check;
int kf_file_rename_new(int dirfd, const char *from,
		       const char *to) __must_check;

/**
 * kf_file_mode() - the type and permissions at a path, links not followed
 * @path:	the path
 *
 * Context: any.
 * Return: st_mode; 0 where there is no such file.
 */
uint32_t kf_file_mode(const char *path);

/**
 * kf_file_extend() - make a file longer and allocate the space
 * @fd:		the file
 * @from:	its size in bytes
 * @to:		the size wanted
 *
 * A size above RLIMIT_FSIZE is refused, as the kernel would send a signal.
 * Where the file system cannot allocate space ahead, zeroes are written.
 *
 * Context: any.
 * Return: 0, or a negative errno: -EFBIG, -ENOSPC, -EDQUOT, ...
 */
int kf_file_extend(int fd, uint64_t from, uint64_t to) __must_check;

/**
 * kf_file_truncate() - make a file shorter
 * @fd:		the file
 * @size:	bytes that stay
 *
 * Context: any.
 */
void kf_file_truncate(int fd, uint64_t size);

/**
 * kf_file_fill() - bring a part of a file into the page cache
 * @fd:		the file
 * @from:	begin of the part, whose space is allocated and reads as zeroes
 * @to:		end of the part
 *
 * Writes zeroes in large steps. File systems may then use large folios, and a
 * mapping has one page fault for each folio, not for each page. This is for
 * speed only: a rest below 4 KiB is left out, and failures are ignored.
 *
 * Context: any.
 */
void kf_file_fill(int fd, uint64_t from, uint64_t to);

/**
 * kf_file_read() - read a small file of the kernel whole
 * @path:	the file
 * @buf:	out: its bytes, always terminated
 * @size:	bytes at @buf, more than 0; the rest of the file is left out
 *
 * One call reads it, as the kernel gives files in /proc and /sys that have one
 * record, and the environment, as far as there is room.
 *
 * Context: any.
 * Return: bytes read, or a negative errno; @buf is empty then.
 */
ssize_t kf_file_read(const char *path, char *buf, size_t size);

/**
 * kf_file_read_at() - read part of a file
 * @fd:		the file
 * @buf:	out: the bytes
 * @size:	number of bytes
 * @offset:	of the first byte
 *
 * Context: any.
 * Return: whether all bytes were read.
 */
bool kf_file_read_at(int fd, void *buf, size_t size,
		     uint64_t offset) __must_check;

/* A walk through a directory; at its begin all fields but @fd are 0. */
struct kf_file_names {
	int fd;
	bool begun;
	size_t at; /* byte in @buf of the next record */
	size_t len;
	char buf[1024] __kf_aligned(8);
};

/**
 * kf_file_next_name() - the next name of a directory
 * @names:	the walk
 *
 * Names that begin with a dot are left out.
 *
 * Context: any; no other walk through the same descriptor.
 * Return: a name, valid until the next call; NULL at the end, and where the
 *	   directory cannot be read.
 */
const char *kf_file_next_name(struct kf_file_names *names);

/**
 * kf_file_link() - where a symbolic link leads
 * @path:	the link
 * @buf:	out: its contents, terminated; empty where it cannot be read
 * @size:	bytes at @buf, more than 0; the rest is left out
 *
 * Context: any.
 */
void kf_file_link(const char *path, char *buf, size_t size);

/**
 * kf_file_cwd() - the working directory
 * @buf:	out: its path, terminated
 * @size:	bytes at @buf
 *
 * Context: any.
 * Return: bytes of the path, or a negative errno.
 */
ssize_t kf_file_cwd(char *buf, size_t size);

#endif
