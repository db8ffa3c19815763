/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files, opened for a moment from inside malloc.
 *
 * No call allocates, blocks on a FIFO, is a cancellation point or changes
 * errno; failures are negative errnos. A descriptor is moved up to a high
 * number while it is open, so that a program which counts on its own numbers,
 * or closes them in a loop, seldom meets it.
 */
#ifndef KF_SYS_FILE_H
#define KF_SYS_FILE_H

#include "base/compiler.h"

#include <sys/types.h>

/* What is asked of a file; constant after kf_file_stat(). */
struct kf_file_stat {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;	/* bytes */
	uint64_t space; /* bytes that the file system has given it */
	uint32_t nr_links;
	uint32_t uid;
	uint32_t mode; /* as st_mode, type included */
};

/**
 * kf_file_open() - open a file at a high number
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
 * kf_file_stat() - ask what a descriptor stands for
 * @fd:		the descriptor
 * @st:		out: the answer
 *
 * Context: any.
 * Return: 0, or a negative errno.
 */
int kf_file_stat(int fd, struct kf_file_stat *st) __must_check;

/**
 * kf_file_look() - ask what a name stands for, links not followed
 * @dirfd:	directory @name is relative to
 * @name:	the name
 * @st:		out: the answer
 *
 * Context: any.
 * Return: 0, or a negative errno.
 */
int kf_file_look(int dirfd, const char *name,
		 struct kf_file_stat *st) __must_check;

/**
 * kf_file_lock() - keep other processes from a file
 * @fd:		the file, open for writing
 *
 * A record lock on all of it. It goes when the process closes any descriptor of
 * the file; a forked child has not got it.
 *
 * Context: any; never waits.
 * Return: 0, or a negative errno: -EAGAIN or -EACCES where another has it.
 */
int kf_file_lock(int fd) __must_check;

/**
 * kf_file_space() - what a file system has
 * @fd:		a file or directory of it
 * @total:	out: its bytes
 * @available:	out: bytes that the user can have yet
 *
 * Context: any.
 * Return: 0, or a negative errno; -ENOSYS where it does not say.
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
 * Return: its number, or 0 when it cannot be had.
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

/**
 * kf_file_append() - write where the file's own position is
 * @fd:		the file, or a pipe or device
 * @buf:	the bytes
 * @len:	how many
 *
 * Context: any; may wait where a pipe is full.
 * Return: 0, or a negative errno.
 */
int kf_file_append(int fd, const void *buf, size_t len) __must_check;

/**
 * kf_file_open_dir() - open the directory that a file is in, or is to be in
 * @path:	the file's; changed meanwhile, and as it was afterwards
 * @name:	out: the file's name in it, within @path
 *
 * What is done to the file through the directory, and by its name alone, is
 * done in one place, whatever becomes of the path meanwhile.
 *
 * Context: any.
 * Return: the descriptor, or a negative errno.
 */
int kf_file_open_dir(char *path, const char **name) __must_check;

/**
 * kf_file_rename() - give a file another name, in place of what has it
 * kf_file_rename_new() - give a file another name, if nothing has it: else the
 *			  answer is -EEXIST
 * @dirfd:	directory that both names are relative to, or AT_FDCWD
 * @from:	its name
 * @to:		the other
 *
 * Context: any.
 * Return: 0, or a negative errno.
 */
int kf_file_rename(int dirfd, const char *from, const char *to) __must_check;
int kf_file_rename_new(int dirfd, const char *from,
		       const char *to) __must_check;

/**
 * kf_file_mode() - what a path is, links not followed
 * @path:	the path
 *
 * Context: any.
 * Return: its st_mode; 0: nothing.
 */
uint32_t kf_file_mode(const char *path);

/**
 * kf_file_extend() - make a file longer, with the space for it taken
 * @fd:		the file
 * @from:	its size in bytes
 * @to:		the size wanted
 *
 * A file beyond RLIMIT_FSIZE is refused before the kernel would send a
 * signal. Where the file system cannot set space aside, zeroes are written.
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
 * kf_file_fill() - have the pages of a part of a file in memory
 * @fd:		the file
 * @from:	where the part begins, of which space is taken and all is 0
 * @to:		where it ends
 *
 * Zeroes are written there, in large steps: file systems that can then keep
 * them in large folios, and a mapping of the part has one page fault for all
 * pages of one, not one for each that finds the place on the disk anew. What
 * is less than 4 KiB is left, and so is all where that fails: it is done for
 * speed alone.
 *
 * Context: any.
 */
void kf_file_fill(int fd, uint64_t from, uint64_t to);

/**
 * kf_file_read() - read a small file whole
 * @path:	the file
 * @buf:	out: its bytes, always terminated
 * @size:	room, more than 0; what does not fit is left out
 *
 * Context: any.
 * Return: bytes read, or a negative errno; @buf is empty then.
 */
ssize_t kf_file_read(const char *path, char *buf, size_t size);

/**
 * kf_file_read_at() - read part of a file
 * @fd:		the file
 * @buf:	out: its bytes
 * @size:	how many
 * @offset:	of the first
 *
 * Context: any.
 * Return: whether all of them were there.
 */
bool kf_file_read_at(int fd, void *buf, size_t size,
		     uint64_t offset) __must_check;

/* A walk through a directory; all but @fd is 0 at its begin. */
struct kf_file_names {
	int fd;
	bool begun;
	size_t at; /* byte in @buf of the next record */
	size_t len;
	char buf[1024] __kf_aligned(8);
};

/**
 * kf_file_next_name() - the next name of a directory
 * @names:	the walk; it starts at the first name
 *
 * Context: any; no other walk through the same descriptor.
 * Return: a name, valid until the next call, none that begins with a dot; or
 *	   NULL at the end and where the directory cannot be read.
 */
const char *kf_file_next_name(struct kf_file_names *names);

/**
 * kf_file_link() - where a symbolic link leads
 * @path:	the link
 * @buf:	out: its contents, terminated; empty where it cannot be read
 * @size:	room, more than 0; what does not fit is left out
 *
 * Context: any.
 */
void kf_file_link(const char *path, char *buf, size_t size);

/**
 * kf_file_cwd() - the working directory
 * @buf:	out: its path, terminated
 * @size:	room
 *
 * Context: any.
 * Return: bytes of the path, or a negative errno.
 */
ssize_t kf_file_cwd(char *buf, size_t size);

#endif
