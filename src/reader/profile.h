/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a profile (profile-layout.h) into memory, whole.
 *
 * Promises: every length is checked; no contents of the file can do harm. An
 * incomplete file is read up to its last complete record.
 */
#ifndef KF_READER_PROFILE_H
#define KF_READER_PROFILE_H

#include "reader/ages.h"
#include "reader/map.h"
#include "reader/profile-layout.h"
#include "reader/reader.h"

#define KF_PROFILE_TAG_PATH 256

/* All pointers point into @bytes. */
struct kf_profile {
	struct kf_profile_header head; /* strings always end in NUL */
	bool ended;		       /* the recorder stopped regularly */
	bool cut;		       /* its last record is incomplete */
	size_t nr_modules;
	const struct kf_profile_module **modules;
	size_t nr_tags;
	const struct kf_profile_tag **tags;
	size_t nr_threads;
	const struct kf_profile_thread **threads;
	size_t nr_stacks;
	const struct kf_profile_stack **stacks;
	size_t nr_snapshots;
	const struct kf_profile_snapshot **snapshots;
	size_t nr_ages; /* 0: the program's library told none */
	const struct kf_profile_ages **ages; /* in the order of the file */
	/*
	 * Other processes, in the order of their begin: @head has their
	 * identity, and they have no others themselves.
	 */
	size_t nr_others;
	struct kf_profile *others;
	int32_t pid; /* of one of @others, as its recorder saw it */

	/* Private. */
	char *bytes;
	struct kf_map named;	/* kf_profile_name by place */
	struct kf_map by_entry; /* stacks and outer frames by entry, plus 1 */
};

/**
 * kf_profile_read() - read a profile
 * @path:	its file; anything but a regular file is KF_READ_FOREIGN
 * @p:		out: the profile; release it whatever the result
 *
 * Return: the result; with KF_READ_ERROR see errno.
 */
enum kf_read_result kf_profile_read(const char *path, struct kf_profile *p);

/**
 * kf_profile_take() - read a profile from memory
 * @bytes:	the bytes of its file, from malloc(); the profile's from now on
 * @size:	how many
 * @p:		out: the profile; release it whatever the result
 *
 * Return: the result; with KF_READ_ERROR see errno.
 */
enum kf_read_result kf_profile_take(char *bytes, size_t size,
				    struct kf_profile *p);

/**
 * kf_profile_counts() - the counts of a snapshot
 * @s:		the snapshot
 *
 * Return: the first of its @nr.
 */
const struct kf_profile_count *
kf_profile_counts(const struct kf_profile_snapshot *s);

/**
 * kf_profile_frames() - the return addresses of a stack
 * @p:		the profile
 * @s:		the stack
 * @frame:	out: the addresses, innermost first
 *
 * Return: how many.
 */
uint32_t kf_profile_frames(const struct kf_profile *p,
			   const struct kf_profile_stack *s,
			   uint64_t frame[KF_STATS_STACK_MAX]);

/**
 * kf_profile_is_cut() - whether the outermost frames of a stack are missing
 * @p:		the profile
 * @s:		the stack
 *
 * Return: true if so.
 */
bool kf_profile_is_cut(const struct kf_profile *p,
		       const struct kf_profile_stack *s);

/**
 * kf_profile_generation() - which modules a stack has passed through
 * @p:		the profile
 * @s:		the stack
 *
 * Return: the generation, see struct kf_stats_stack.
 */
uint32_t kf_profile_generation(const struct kf_profile *p,
			       const struct kf_profile_stack *s);

/* A call of a name record. */
struct kf_profile_named {
	const char *function; /* raw; NULL: unknown */
	const char *file;     /* raw; NULL: unknown */
	unsigned int line;    /* 0: unknown */
};

/**
 * kf_profile_calls() - the calls that were recorded for a return address
 * @p:		the profile
 * @address:	the address
 * @number:	of the module that it is in
 * @call:	out: the calls, innermost first
 *
 * Return: how many; 0: none were recorded.
 */
uint32_t kf_profile_calls(const struct kf_profile *p, uint64_t address,
			  uint32_t number,
			  struct kf_profile_named call[KF_PROFILE_CALLS]);

/**
 * kf_profile_path() - the file of a module
 * @m:		the module
 *
 * Return: its path, raw.
 */
const char *kf_profile_path(const struct kf_profile_module *m);

/**
 * kf_profile_file() - the state of the file of a module
 * @m:		the module
 *
 * Return: the state; all zero if it is unknown.
 */
struct kf_profile_file kf_profile_file(const struct kf_profile_module *m);

/**
 * kf_profile_stack_of() - the place of a stack among the stacks
 * @p:		the profile
 * @entry:	its entry in the program's table
 *
 * Return: its index, or -1 where there is none.
 */
ptrdiff_t kf_profile_stack_of(const struct kf_profile *p, uint32_t entry);

/**
 * kf_profile_tag_path() - the names of a tag and those above it
 * @p:		the profile
 * @entry:	the tag's entry, 0 for none
 * @path:	out: the names with '/' between, from the first below the root
 *		on; "" for none
 */
void kf_profile_tag_path(const struct kf_profile *p, uint32_t entry,
			 char path[KF_PROFILE_TAG_PATH]);

/**
 * kf_profile_thread_name() - the name of a thread
 * @p:		the profile
 * @tid:	the thread
 * @name:	out: its name, "" where it is not known
 */
void kf_profile_thread_name(const struct kf_profile *p, int32_t tid,
			    char name[17]);

/**
 * kf_profile_at() - what every stack had counted at a time
 * @p:		the profile
 * @time_ns:	the time; what was counted last until then
 * @counts:	out: as many as there are stacks, 0 for those not seen yet
 */
void kf_profile_at(const struct kf_profile *p, uint64_t time_ns,
		   struct kf_profile_count *counts);

/**
 * kf_profile_ages_at() - the ages of every stack at a time
 * @p:		the profile
 * @time_ns:	as kf_profile_at()
 * @ages:	out: as many as there are stacks
 */
void kf_profile_ages_at(const struct kf_profile *p, uint64_t time_ns,
			struct kf_ages *ages);

/**
 * kf_profile_release() - free what a profile holds
 * @p:		the profile; harmless twice
 */
void kf_profile_release(struct kf_profile *p);

#endif
