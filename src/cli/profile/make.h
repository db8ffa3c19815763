/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes a profile of a process: reads its stats file and its mappings, and
 * appends the changes since the last time as records of
 * reader/profile-layout.h.
 */
#ifndef KF_CLI_PROFILE_MAKE_H
#define KF_CLI_PROFILE_MAKE_H

#include "reader/map.h"
#include "reader/profile.h"
#include "reader/reader.h"
#include "reader/symbols.h"

/* A return address of a stack of this generation. */
struct kf_unnamed {
	uint64_t address;
	uint32_t generation;
};

/* Names that several makers have found, by file and place; zero at first. */
struct kf_names {
	struct kf_map map;
};

struct kf_maker {
	struct kf_names *names; /* or NULL; outlives the maker */
	bool realtime;		/* of calls in real-time mode, not of samples */

	/*
	 * New records; the user writes them and sets @size to 0.
	 */
	char *bytes;
	size_t size;

	/* Private. */
	size_t room;
	struct kf_profile_snapshot last; /* size 0: there was none */
	struct kf_map counts;		 /* the last counts, by entry plus 1 */
	struct kf_map ages;		 /* likewise */
	uint64_t now_ns;		 /* CLOCK_MONOTONIC at the last look */
	uint64_t time_ns;		 /* of that */
	struct kf_map tags;
	struct kf_map threads;
	struct kf_map modules;	    /* by file and address */
	struct kf_map named;	    /* return addresses that were looked up */
	struct kf_codes codes;	    /* all modules, until @symbols takes them */
	struct kf_symbols *symbols; /* of the last modules, or NULL */
	size_t nr_unnamed;
	size_t room_unnamed;
	struct kf_unnamed *unnamed; /* of new stacks */
};

/**
 * kf_maker_open() - begin a part of a profile, without a header
 * @m:		the maker; all zero, or used before
 */
void kf_maker_open(struct kf_maker *m);

/**
 * kf_maker_begin() - begin a profile with its header
 * @m:		the maker; all zero, or used for another profile
 * @id:		the process
 * @real_ns:	CLOCK_REALTIME of the begin
 * @interval_ns:	between two snapshots; 0: there is only one
 */
void kf_maker_begin(struct kf_maker *m, const struct kf_stats_identity *id,
		    uint64_t real_ns, uint64_t interval_ns);

/**
 * kf_maker_look() - append a snapshot, and the records that it refers to
 * @m:		the maker
 * @f:		the process' stats file; the tables are read anew
 * @time_ns:	since the begin
 *
 * Return: the result of reading the tables; nothing is appended unless
 *	   KF_READ_OK.
 */
enum kf_read_result kf_maker_look(struct kf_maker *m, const struct kf_file *f,
				  uint64_t time_ns);

/**
 * kf_maker_take() - the same of tables that were read already
 * @m:		the maker
 * @f:		the process
 * @s:		the tables
 * @time_ns:	since the begin
 */
void kf_maker_take(struct kf_maker *m, const struct kf_file *f,
		   const struct kf_snapshot *s, uint64_t time_ns);

/**
 * kf_maker_names() - append the names of new return addresses
 * @m:		the maker
 * @f:		the process' stats file, after kf_maker_look()
 * @real_ns:	CLOCK_REALTIME now
 *
 * Reads the files of the process' code, which may take seconds.
 */
void kf_maker_names(struct kf_maker *m, const struct kf_file *f,
		    uint64_t real_ns);

/**
 * kf_maker_samples() - whether there are stacks so far
 * @m:		the maker
 *
 * Return: true if so.
 */
bool kf_maker_samples(const struct kf_maker *m);

/**
 * kf_maker_gone() - append a snapshot as the last one, of a process whose stats
 *		     file is gone
 * @m:		the maker
 * @time_ns:	since the begin
 *
 * Nothing is appended if the last one says already that it has ended.
 */
void kf_maker_gone(struct kf_maker *m, uint64_t time_ns);

/**
 * kf_maker_end() - append the end of the profile
 * @m:		the maker
 */
void kf_maker_end(struct kf_maker *m);

/**
 * kf_maker_write() - write what was appended, and forget it
 * @m:		the maker
 * @fd:		the file; -1: there is none; out: -1 after a message where it
 *		cannot be written
 * @path:	its name, for the message
 */
void kf_maker_write(struct kf_maker *m, int *fd, const char *path);

/**
 * kf_maker_release() - free what a maker holds
 * @m:		the maker; harmless twice
 */
void kf_maker_release(struct kf_maker *m);

/**
 * kf_maker_put() - append a record
 * @m:		the maker
 * @head:	the record's fixed part; its size is filled in
 * @size:	bytes of it
 * @more:	what follows, or NULL
 * @more_size:	bytes of that; filled up to a multiple of 8
 */
void kf_maker_put(struct kf_maker *m, void *head, size_t size, const void *more,
		  size_t more_size);

/**
 * kf_names_release() - free names
 * @names:	the names
 */
void kf_names_release(struct kf_names *names);

/**
 * kf_maker_calls() - append the names of interpreted calls
 * @m:		the maker
 * @s:		the snapshot that they are in
 * @address:	words of a stack; return addresses are left out
 * @nr:		how many
 */
void kf_maker_calls(struct kf_maker *m, const struct kf_snapshot *s,
		    const uint64_t *address, uint32_t nr);

/**
 * kf_maker_unnamed() - note return addresses for kf_maker_names()
 * @m:		the maker
 * @address:	the addresses of a stack
 * @nr:		how many
 * @generation:	of the stack
 */
void kf_maker_unnamed(struct kf_maker *m, const uint64_t *address, uint32_t nr,
		      uint32_t generation);

/**
 * kf_maker_modules() - append newly mapped code of a process
 * @m:		the maker
 * @pid:	the process, 0: it has ended
 * @s:		its stats file, read with KF_TABLE_STACKS
 */
void kf_maker_modules(struct kf_maker *m, int pid, const struct kf_snapshot *s);

#endif
