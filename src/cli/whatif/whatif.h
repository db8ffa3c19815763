/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the parts of `konfiscator whatif` and `konfiscator replay`
 * share.
 *
 *	script.c	makes a script of a recording
 *	script-samples.c when memory is read
 *	player.c	runs the replayer once
 *	allocators.c	the allocators of the machine
 *	runs.c		several runs of each candidate
 *	results.c	tables and advice
 *	open.c		the arguments and the recording
 *	parts.c		several recordings as one
 *	curves.c	the picture
 *
 * The recording is read once. What is played is the script, which has the same
 * operations for all candidates.
 */
#ifndef KF_CLI_WHATIF_H
#define KF_CLI_WHATIF_H

#include "cli/cli.h"
#include "cli/report/report.h"
#include "replayer/script.h"

/* The most samples of a script; there are at least half as many. */
#define KF_SCRIPT_SAMPLES 1024

/* A script, and what is known of the recording. */
struct kf_script {
	int fd; /* of a file without a name */
	struct kf_script_header head;
	struct kf_script_sample samples[KF_SCRIPT_SAMPLES];
	uint64_t end_ns; /* the last event */
	uint64_t peak_live;
	uint64_t peak_blocks;
	uint64_t peak_pool; /* bytes of a TLSF pool, by the sizes alone */
	uint64_t calls;
	uint64_t from_before; /* frees of blocks from before the recording */
	uint64_t anomalies;
	uint32_t threads; /* of the recording */
};

/* The samples of a script while it is made. */
struct kf_sampler {
	uint64_t step; /* operations of a bucket */
	size_t nr;
	struct kf_sampler_bucket {
		struct kf_script_sample most; /* at its most live bytes */
		struct kf_script_sample last;
	} bucket[KF_SCRIPT_SAMPLES / 2];
};

/**
 * kf_sampler_init() - begin
 * @s:		the sampler
 */
void kf_sampler_init(struct kf_sampler *s);

/**
 * kf_sampler_add() - add an operation
 * @s:		the sampler
 * @op:		its number, from 1
 * @time_ns:	recorded
 * @live:	requested bytes after it
 */
void kf_sampler_add(struct kf_sampler *s, uint64_t op, uint64_t time_ns,
		    uint64_t live);

/**
 * kf_sampler_finish() - the moments at which memory is read
 * @s:		the sampler
 * @samples:	out: KF_SCRIPT_SAMPLES
 *
 * Return: how many.
 */
uint32_t kf_sampler_finish(const struct kf_sampler *s,
			   struct kf_script_sample *samples);

/**
 * kf_script_make() - make a script of a recording
 * @r:		the report; its recording is open
 * @script:	out; closed by kf_script_close() whatever the result
 *
 * Return: 0, or the exit status after a message.
 */
int kf_script_make(struct kf_report *r, struct kf_script *script);

/**
 * kf_script_close() - delete a script
 * @script:	the script; harmless twice
 */
void kf_script_close(struct kf_script *script);

/* How the replayer is started. */
struct kf_player {
	const struct kf_script *script;
	enum kf_script_touch touch;
	bool dry;   /* all but the calls */
	bool paced; /* not before the recorded time */
	bool quiet; /* nothing on stderr */
};

/* What a replay took. */
struct kf_played {
	struct kf_script_begin begin;
	struct kf_script_end end;
	uint64_t resident[KF_SCRIPT_SAMPLES]; /* bytes, at each sample */
};

/**
 * kf_player_run() - play a script once
 * @player:	how
 * @env:	variables, each as NAME=VALUE, or NAME to remove it; ends with
 *		NULL
 * @name:	for messages
 * @played:	out
 *
 * Return: 0, or -1 after a message, where @player is quiet without.
 */
int kf_player_run(const struct kf_player *player, char *const *env,
		  const char *name, struct kf_played *played);

/**
 * kf_allocator_find() - an allocator of the machine
 * @name:	its name in allocators.def, or the path of a shared object
 *
 * Return: a path or file name for LD_PRELOAD, to free(); NULL if there is none.
 */
char *kf_allocator_find(const char *name);

/**
 * kf_allocator_name() - the names of allocators.def
 * @i:		from 0
 *
 * Return: the name; NULL: there are no more.
 */
const char *kf_allocator_name(size_t i);

/* The median of several runs, and how far they are apart. */
struct kf_figure {
	double median;
	double least;
	double most;
};

struct kf_candidate {
	char *name;
	char *settings; /* "purge_ms=0,...", or NULL */
	char *preload;	/* for LD_PRELOAD, or NULL: glibc */
	char **env;	/* ends with NULL */
	size_t nr_env;
	char *from;	 /* the object that malloc was in; NULL: not run */
	bool broken;	 /* a run did not come to its end */
	bool hidden;	 /* not printed */
	unsigned int nr; /* runs */
	double *runs;	 /* nr * KF_NR_MEASURES */
	double *curve;	 /* bytes at each sample, of the last run */
	uint64_t failed; /* calls without a block */
	double over_ns;	 /* first sample above --limit; -1: none */
};

/* What is measured in a run. */
enum kf_measure {
	KF_PEAK,
	KF_MEAN,
	KF_LAST,
	KF_CPU_NS,
	KF_WALL_NS,
	KF_FAULTS,
	KF_NR_MEASURES
};

struct kf_part;

/* The files of the recordings; initially all zero. */
struct kf_part_list {
	size_t nr;
	char **path;
};

struct kf_whatif {
	struct kf_report report;
	struct kf_script script; /* of several recordings the sum */
	size_t nr_parts;	 /* 0: there is one recording */
	struct kf_part *parts;
	struct kf_part_list list;
	struct kf_player player;
	size_t nr;
	struct kf_candidate *candidates;
	unsigned int nr_runs;
	uint64_t limit; /* bytes; 0: none */
	bool advise;	/* compare with the first candidate */
};

/**
 * kf_candidate_add() - add a candidate
 * @w:		to which
 * @name:	its name, copied
 * @preload:	for LD_PRELOAD, or NULL; taken over
 *
 * Return: the candidate, until the next one is added.
 */
struct kf_candidate *kf_candidate_add(struct kf_whatif *w, const char *name,
				      char *preload);

/**
 * kf_candidate_setenv() - give a candidate a variable
 * @c:		the candidate
 * @variable:	NAME=VALUE, to free(); taken over
 */
void kf_candidate_setenv(struct kf_candidate *c, char *variable);

/**
 * kf_candidates_release() - free all candidates
 * @w:		whose
 */
void kf_candidates_release(struct kf_whatif *w);

/**
 * kf_candidate_run() - play the script once under a candidate
 * @w:		the script
 * @c:		the candidate
 * @idle:	a dry play, which is subtracted
 *
 * Return: 0, or -1 after a message; the candidate is broken then.
 */
int kf_candidate_run(const struct kf_whatif *w, struct kf_candidate *c,
		     const struct kf_played *idle);

/**
 * kf_idle_run() - play the script dry, without an allocator
 * @w:		the script
 * @idle:	out: what the replayer needs itself
 *
 * Return: 0, or -1 after a message.
 */
int kf_idle_run(const struct kf_whatif *w, struct kf_played *idle);

/**
 * kf_candidates_play() - play the script under each candidate, in rounds
 * @w:		the script and the candidates
 *
 * Return: 0, or -1 after a message: nothing could be played.
 */
int kf_candidates_play(struct kf_whatif *w);

/**
 * kf_candidate_figure() - a figure of a candidate's runs
 * @c:		the candidate, not broken
 * @m:		which
 *
 * Return: the figure.
 */
struct kf_figure kf_candidate_figure(const struct kf_candidate *c,
				     enum kf_measure m);

/**
 * kf_part_list_make() - list the recordings that the arguments name
 * @list:	out; released whatever the result
 * @command:	for messages
 * @argc:	number of @argv
 * @argv:	files and directories
 *
 * Return: 0, or the exit status after a message.
 */
int kf_part_list_make(struct kf_part_list *list, const char *command, int argc,
		      char **argv);

/**
 * kf_part_list_release() - free a list
 * @list:	the list
 */
void kf_part_list_release(struct kf_part_list *list);

/**
 * kf_parts_begin() - begin with several recordings
 * @w:		to which they belong; see kf_parts_release()
 * @nr:		how many
 */
void kf_parts_begin(struct kf_whatif *w, size_t nr);

/**
 * kf_parts_set() - take the script of a recording
 * @w:		its report has the recording
 * @i:		number of the part
 * @script:	the script, taken over
 */
void kf_parts_set(struct kf_whatif *w, size_t i,
		  const struct kf_script *script);

/**
 * kf_parts_merge() - make the script of all: its samples and figures
 * @w:		all its parts are set
 */
void kf_parts_merge(struct kf_whatif *w);

/**
 * kf_parts_largest() - the most live bytes that a replay needs at once
 * @w:		the scripts
 *
 * Return: bytes: parts are played one after another.
 */
uint64_t kf_parts_largest(const struct kf_whatif *w);

/**
 * kf_parts_play() - play all parts, or the one script, once
 * @w:		the scripts
 * @how:	as for kf_player_run(); of several parts its script is not used
 * @env:	likewise
 * @name:	likewise
 * @played:	out: the sum, at the samples of @w
 *
 * Return: as kf_player_run().
 */
int kf_parts_play(const struct kf_whatif *w, const struct kf_player *how,
		  char *const *env, const char *name, struct kf_played *played);

/**
 * kf_parts_release() - free the parts
 * @w:		to which they belong; harmless without
 */
void kf_parts_release(struct kf_whatif *w);

/**
 * kf_whatif_open() - make the script of the recordings that the arguments name
 * @w:		out; closed by kf_whatif_close() whatever the result
 * @cli:	the command line
 * @argc:	number of @argv
 * @argv:	the arguments
 *
 * Return: 0, or the exit status after a message.
 */
int kf_whatif_open(struct kf_whatif *w, struct kf_cli *cli, int argc,
		   char **argv);

/**
 * kf_whatif_close() - free what belongs to it
 * @w:		it
 */
void kf_whatif_close(struct kf_whatif *w);

/**
 * kf_whatif_touch() - parse the argument of --touch
 * @command:	for the message
 * @arg:	the argument
 * @touch:	out
 *
 * Return: 0, or the exit status after a message.
 */
int kf_whatif_touch(const char *command, const char *arg,
		    enum kf_script_touch *touch);

/**
 * kf_whatif_print() - print the table, and the advice
 * @w:		what was played
 *
 * Return: the exit status.
 */
int kf_whatif_print(const struct kf_whatif *w);

/**
 * kf_whatif_draw() - draw memory over time, into the file of -o
 * @w:		what was played
 *
 * Return: the exit status.
 */
int kf_whatif_draw(struct kf_whatif *w);

#endif
