/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How processes ended: by what their stats files say, and by what the kernel's
 * log and the counts of their cgroups say. What none of these knows is not
 * guessed.
 */
#ifndef KF_READER_ENDED_H
#define KF_READER_ENDED_H

#include "reader/reader.h"

/* A process or thread that the kernel's log says was ended. */
struct kf_ended_line {
	uint64_t time_us; /* since the boot */
	int32_t tid;	  /* in the outermost pid namespace */
	char comm[16];	  /* its name, raw */
	const char *how;
	uint64_t resident; /* bytes, of an OOM kill; 0: not said */
};

struct kf_ended_log {
	bool readable;	   /* the log could be read */
	uint64_t first_us; /* its oldest record, since the boot */
	char boot_id[40];
	uint64_t pid_ns; /* inode of our own; 0: unknown */
	unsigned int nr;
	struct kf_ended_line *lines; /* by time */
};

/* The ways of an end in classes, for counts. */
enum kf_ended_cause {
	KF_ENDED_EXIT,
	KF_ENDED_FAILURE, /* exit with another status than 0 */
	KF_ENDED_SIGNAL,  /* or _exit() */
	KF_ENDED_CRASH,	  /* a fault that the kernel's log has */
	KF_ENDED_OOM,
	KF_ENDED_LIKELY_OOM,
	KF_ENDED_UNKNOWN,
	KF_NR_ENDED_CAUSES
};

/**
 * kf_ended_open() - read the kernel's log, /dev/kmsg
 * @log:	out: empty where the log cannot be read
 */
void kf_ended_open(struct kf_ended_log *log);

/**
 * kf_ended_close() - free what kf_ended_open() made
 * @log:	the log
 */
void kf_ended_close(struct kf_ended_log *log);

/**
 * kf_ended_how() - how the process of a file ended
 * @log:	the kernel's log
 * @f:		the file, which has a snapshot
 * @room:	for the text
 * @size:	bytes of @room
 *
 * Return: the text: "exit STATUS", "exec", "OOM", "likely OOM", the name of a
 *	   signal, "signal or _exit", or "unknown"; NULL: it lives, or cannot be
 *	   seen from here.
 */
const char *kf_ended_how(const struct kf_ended_log *log,
			 const struct kf_file *f, char *room, size_t size);

/**
 * kf_ended_resident() - the resident memory of a process that the kernel killed
 * @log:	the kernel's log
 * @f:		the file, which has a snapshot
 *
 * Return: bytes when it was killed for want of memory; 0: the log does not say.
 */
uint64_t kf_ended_resident(const struct kf_ended_log *log,
			   const struct kf_file *f);

/**
 * kf_ended_cause() - the class of an end
 * @how:	what kf_ended_how() returned, other than "exec"; NULL: unknown
 *
 * Return: the class.
 */
enum kf_ended_cause kf_ended_cause(const char *how);

#endif
