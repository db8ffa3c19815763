/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations for reports of profiles: sites with their names, metrics, and
 * the call tree.
 *
 * An estimate is a sum over samples. Its error is half of the 95 % interval,
 * 1.96 times the root of its variance; the variance of a sum is the sum of the
 * variances.
 */
#ifndef KF_CLI_PROFILE_H
#define KF_CLI_PROFILE_H

#include "cli/cli.h"
#include "reader/calls.h"
#include "reader/estimate.h"
#include "reader/profile.h"
#include "reader/symbols.h"

#include <stdio.h>

enum kf_metric {
	KF_METRIC_LIVE,	  /* bytes not freed yet */
	KF_METRIC_PEAK,	  /* live bytes when the program had the most */
	KF_METRIC_PEAKS,  /* each stack's own peak: sums are upper bounds */
	KF_METRIC_ALLOC,  /* bytes, freed or not */
	KF_METRIC_COUNT,  /* blocks, freed or not */
	KF_METRIC_BLOCKS, /* blocks not freed yet */
	KF_NR_METRICS
};

enum kf_grouping {
	KF_GROUP_FUNCTION,
	KF_GROUP_LINE,
	KF_GROUP_LIB,
	KF_GROUP_TAG,
	KF_GROUP_THREAD,
	KF_GROUP_PROCESS,
	KF_NR_GROUPINGS
};

/* The options that select from a profile. */
struct kf_profile_pick {
	enum kf_metric metric;
	bool usual; /* no --metric was given: kf_prof_open() chooses */
	enum kf_grouping group;
	const char *filter;  /* a regular expression, or NULL */
	const char *process; /* a pid or a glob of names, or NULL */
	double at;	     /* seconds since the begin; below 0: the end */
	bool realtime;	     /* calls in real-time mode, not samples */
};

/* A process of a profile. */
struct kf_prof_process {
	const struct kf_profile *profile;
	struct kf_symbols *symbols;
	char *name;
	char *label; /* name and pid */
	bool chosen; /* its stacks count */
	bool ended;  /* by the shown time */
	bool execed; /* it called exec: its next program is a process here */
	const struct kf_profile_snapshot *snapshot; /* likewise; or NULL */
	struct kf_ages *ages; /* of all its stacks, if it is chosen */
};

/*
 * A stack with its names, without what kf_calls_simplify() leaves out.
 */
struct kf_site {
	const struct kf_prof_process *process;
	const struct kf_profile_stack *stack;
	struct kf_profile_count now;   /* at the time of --at */
	struct kf_profile_count first; /* in the first snapshot */
	struct kf_profile_count peak;  /* at the peak of the program */
	struct kf_estimate value;      /* of the metric */
	const struct kf_ages *ages;    /* at the time of --at */
	size_t nr_frames;
	const struct kf_frame **frames; /* the inmost first */
	bool *recursive; /* of each frame: it stands for several calls */
	char *tag;	 /* path, "" none */
	char *thread;	 /* name and id; "" unknown */
};

struct kf_prof {
	const struct kf_cli *cli;
	const char *path;
	struct kf_profile_pick pick;
	bool wants_heap;	 /* read @heap from a stats file */
	struct kf_snapshot heap; /* of the first process: map, moments */
	struct kf_profile profile;
	struct kf_codes codes; /* until kf_symbols_open() takes them */
	int pid; /* the process, if it runs; 0: it has ended, or a recording */
	uint64_t time_ns; /* time of the shown snapshot */
	bool at_end;	  /* the program had ended by then */
	size_t nr_processes;
	struct kf_prof_process *processes; /* the first one first */
	size_t nr_chosen;		   /* processes whose stacks count */
	/* the last program of the first process */
	const struct kf_prof_process *program;
	/* sums over the chosen processes at each time; without their counts */
	size_t nr_levels;
	struct kf_profile_snapshot *levels;
	const struct kf_profile_snapshot *snapshot; /* of these; NULL: none */
	/* of these until then, the one with the most live; NULL: unknown */
	const struct kf_profile_snapshot *peak;
	bool matched; /* the filter matches a stack, with a value or without */
	size_t nr_sites; /* sites with a value that match the filter */
	struct kf_site *sites;
	struct kf_estimate total;
};

/* A node of the call tree: a function, or another kind of group. */
struct kf_node {
	char *label;
	struct kf_estimate value; /* of the node and all below it */
	struct kf_estimate self;
	double samples;
	bool recursive; /* the frames of some stack stand for several calls */
	const struct kf_frame *frame; /* one of its frames, or NULL */
	size_t nr;
	struct kf_node *nodes; /* the largest first */
};

/**
 * kf_prof_open() - read a profile or a stats file and name its sites
 * @prof:	@cli, @path, @pick and @wants_heap are filled in; out: the rest
 *
 * Return: 0, or the exit status after a message; close it in any case.
 */
int kf_prof_open(struct kf_prof *prof);

/**
 * kf_prof_processes() - find the processes of a profile, and their sums
 * @prof:	the profile, read
 *
 * Return: 0, or the exit status after a message: none was chosen.
 */
int kf_prof_processes(struct kf_prof *prof);

/**
 * kf_prof_is_gone() - whether what a process had is not live any more
 * @prof:	the profile
 * @p:		the process
 * @last:	its last snapshot until that time
 * @time_ns:	the time
 *
 * The memory of a process ends with it, but at the end of the program itself
 * there is what each process left, unless it called exec.
 *
 * Return: true if so.
 */
bool kf_prof_is_gone(const struct kf_prof *prof,
		     const struct kf_prof_process *p,
		     const struct kf_profile_snapshot *last, uint64_t time_ns);

/**
 * kf_prof_is_shared() - whether blocks of a stack are counted in another
 * process
 * @prof:	the profile
 * @p:		a process
 * @stack:	one of its stacks
 *
 * Return: true if it has them from its parent.
 */
bool kf_prof_is_shared(const struct kf_prof *prof,
		       const struct kf_prof_process *p,
		       const struct kf_profile_stack *stack);

/**
 * kf_prof_counts() - what the stacks of a process had counted at a time
 * @prof:	the profile
 * @p:		one of its processes
 * @time_ns:	the time
 * @counts:	out: as many as it has stacks, with those of kf_prof_is_shared()
 *		zero, and nothing live after kf_prof_is_gone()
 */
void kf_prof_counts(const struct kf_prof *prof, const struct kf_prof_process *p,
		    uint64_t time_ns, struct kf_profile_count *counts);

/**
 * kf_prof_ages() - the ages of the stacks of a process at the shown time
 * @prof:	the profile
 * @p:		one of its processes
 *
 * Return: as many as it has stacks, with nothing live after kf_prof_is_gone();
 *	   free() them.
 */
struct kf_ages *kf_prof_ages(const struct kf_prof *prof,
			     const struct kf_prof_process *p);

/**
 * kf_prof_identity() - the process that names a profile
 * @prof:	the profile
 *
 * Return: the identity of the only process that was chosen, else of the first
 *	   one, as of the last program that it called by exec.
 */
const struct kf_stats_identity *kf_prof_identity(const struct kf_prof *prof);

/**
 * kf_prof_refused() - say once of each file why it gives no names
 * @path:	the file, raw
 * @why:	the reason
 */
void kf_prof_refused(const char *path, const char *why);

/**
 * kf_prof_by() - a profile with the values of another metric
 * @prof:	the profile, open
 * @metric:	the metric, known
 * @by:		out: the profile; free() its sites, the rest is that of @prof
 */
void kf_prof_by(const struct kf_prof *prof, enum kf_metric metric,
		struct kf_prof *by);

/**
 * kf_prof_close() - free a profile
 * @prof:	the profile
 */
void kf_prof_close(struct kf_prof *prof);

/**
 * kf_prof_is_one() - whether a file is a profile or a stats file
 * @path:	the file
 *
 * Return: whether its magic says so.
 */
bool kf_prof_is_one(const char *path);

/**
 * kf_metric_of() - the value of a metric for a stack's counts
 * @c:		the counts; for KF_METRIC_PEAK those at that time
 * @metric:	the metric
 *
 * Return: the estimate.
 */
struct kf_estimate kf_metric_of(const struct kf_profile_count *c,
				enum kf_metric metric);

/**
 * kf_site_value() - the value of a metric for a site
 * @site:	the site
 * @metric:	the metric, one that kf_metric_known() tells is known
 *
 * Return: the estimate.
 */
struct kf_estimate kf_site_value(const struct kf_site *site,
				 enum kf_metric metric);

/**
 * kf_metric_is_blocks() - whether a metric counts blocks
 * @metric:	the metric
 *
 * Return: false if it counts bytes.
 */
bool kf_metric_is_blocks(enum kf_metric metric);

/**
 * kf_metric_known() - whether a profile tells a metric
 * @prof:	the profile, open
 * @metric:	the metric
 *
 * Return: false for KF_METRIC_PEAK where the time of the peak is not known.
 */
bool kf_metric_known(const struct kf_prof *prof, enum kf_metric metric);

/**
 * kf_metric_add() - add an estimate to a sum
 * @sum:	the sum
 * @e:		the estimate
 */
void kf_metric_add(struct kf_estimate *sum, const struct kf_estimate *e);

/**
 * kf_metric_name() - a metric as --metric names it
 * @metric:	the metric
 *
 * Return: a constant string.
 */
const char *kf_metric_name(enum kf_metric metric);

/**
 * kf_metric_title() - a metric as titles of pictures name it
 * @metric:	the metric
 *
 * Return: a constant string, which says of sums whether they are bounds.
 */
const char *kf_metric_title(enum kf_metric metric);

/**
 * kf_prof_shown_ns() - the time of the shown values
 * @prof:	the profile, open
 *
 * Return: ns since the begin: that of the peak, or of the shown snapshot.
 */
uint64_t kf_prof_shown_ns(const struct kf_prof *prof);

/**
 * kf_metric_text() - an amount of a metric for people
 * @buf:	out
 * @size:	room in @buf
 * @metric:	the metric
 * @value:	the amount
 *
 * Return: @buf.
 */
char *kf_metric_text(char *buf, size_t size, enum kf_metric metric,
		     double value);

/**
 * kf_profile_pick_option() - parse an option that selects from a profile
 * @pick:	where to put it
 * @command:	the command, for messages
 * @key:	of enum kf_profile_key
 * @arg:	its argument
 *
 * Return: 0, or the exit status after a message.
 */
int kf_profile_pick_option(struct kf_profile_pick *pick, const char *command,
			   int key, const char *arg);

/* Distinct from the keys of enum kf_report_key. */
enum kf_profile_key {
	KF_PROFILE_METRIC = KF_OPT_OWN + 100,
	KF_PROFILE_GROUP,
	KF_PROFILE_FILTER,
	KF_PROFILE_AT,
	KF_PROFILE_PROCESS_KEY,
	KF_PROFILE_KEYS
};

/**
 * kf_site_call() - a call as lists show it
 * @frame:	the frame
 *
 * Return: the name, not escaped; free() it.
 */
char *kf_site_call(const struct kf_frame *frame);

/**
 * kf_site_label() - the label of a frame
 * @prof:	the profile; its grouping decides
 * @frame:	the frame
 *
 * Return: the name, not escaped; free() it.
 */
char *kf_site_label(const struct kf_prof *prof, const struct kf_frame *frame);

/**
 * kf_site_labels() - the names from the outmost call to the inmost
 * @prof:	the profile
 * @site:	the site
 * @nr:		out: how many, at least 1
 *
 * Grouped by tag or thread, the tag or thread comes before the functions.
 * Grouped by library, adjacent frames of one library are one label.
 *
 * Return: the names; kf_site_labels_free() them.
 */
char **kf_site_labels(const struct kf_prof *prof, const struct kf_site *site,
		      size_t *nr);

/**
 * kf_site_labels_free() - free what kf_site_labels() gave
 * @labels:	the names
 * @nr:		how many
 */
void kf_site_labels_free(char **labels, size_t nr);

/* Writes what is shown of a site. */
typedef void kf_site_write(const struct kf_prof *prof,
			   const struct kf_site *site, FILE *out);

/**
 * kf_site_rows() - write all sites, and make those that read alike one row
 * @prof:	the profile
 * @write:	writes one
 * @nr:		out: how many rows
 *
 * Return: the rows, the largest first; free() them and @shown of each.
 */
struct kf_calls_row *kf_site_rows(const struct kf_prof *prof,
				  kf_site_write *write, size_t *nr);

/**
 * kf_site_group() - the group that a site belongs to
 * @prof:	the profile; its grouping decides
 * @site:	the site
 *
 * Return: the name; free() it.
 */
char *kf_site_group(const struct kf_prof *prof, const struct kf_site *site);

/**
 * kf_site_callers() - some calls of a site in a line
 * @site:	the site
 * @from:	index of the first call, the inmost being 0
 * @nr:		largest number of calls
 *
 * Return: the functions as "a < b (recursive) < c"; free() it.
 */
char *kf_site_callers(const struct kf_site *site, size_t from, size_t nr);

/**
 * kf_tree_make() - make the call tree of all sites
 * @prof:	the profile
 *
 * Return: the root, whose value is the total; kf_tree_free() it.
 */
struct kf_node *kf_tree_make(const struct kf_prof *prof);

/**
 * kf_tree_free() - free a tree
 * @root:	its root
 */
void kf_tree_free(struct kf_node *root);

#endif
