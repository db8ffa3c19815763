/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a process has the memory that it has: the parts of its memory, and the
 * verdict by the rules of reader/verdict.h.
 */
#ifndef KF_CLI_COMMANDS_EXPLAIN_H
#define KF_CLI_COMMANDS_EXPLAIN_H

#include "cli/cli.h"
#include "cli/table.h"
#include "reader/verdict.h"

#define KF_WATCH_LOOKS 128 /* at most */

/* Snapshots of a process; with one snapshot @first and @last are the same. */
struct kf_watch {
	const struct kf_file *first;
	const struct kf_file *last;
	double seconds; /* from @first to @last; 0: one snapshot */
	unsigned int nr_used;
	uint64_t used[KF_WATCH_LOOKS]; /* bytes in use at each snapshot */
};

/**
 * kf_explain() - the verdict on a process
 * @w:		the snapshots
 * @e:		out: the verdict; kf_explained_release() it
 */
void kf_explain(const struct kf_watch *w, struct kf_explained *e);

/**
 * kf_explain_parts() - a row for each part of the memory
 * @t:		out: the table; kf_table_release() it
 * @f:		the facts
 */
void kf_explain_parts(struct kf_table *t, const struct kf_facts *f);

/**
 * kf_explain_runtime() - the runtime of the process that has its own heap
 * @f:		the facts
 *
 * Return: "java", "node", "python" or "".
 */
const char *kf_explain_runtime(const struct kf_facts *f);

/**
 * kf_explain_say_runtime() - a line on what shows the heap of a runtime
 * @w:		the snapshots
 * @f:		the facts; with little memory of others nothing is printed
 */
void kf_explain_say_runtime(const struct kf_watch *w, const struct kf_facts *f);

/**
 * kf_explain_sizes() - a row for each size class in use
 * @t:		out: the table, the rows that the verdict is about first;
 * release it
 * @w:		the snapshots
 * @verdict:	the verdict
 */
void kf_explain_sizes(struct kf_table *t, const struct kf_watch *w,
		      enum kf_verdict verdict);

/**
 * kf_explain_stacks() - a row for each sampled stack that has live blocks
 * @t:		out: the table, the rows that the verdict is about first;
 * release it
 * @cli:	for messages
 * @w:		the snapshots; the first with KF_TABLE_STACKS
 * @verdict:	the verdict
 * @few:	out: whether the error of the largest row is as large as its
 *		value
 *
 * Return: 0, or the exit status after a message.
 */
int kf_explain_stacks(struct kf_table *t, const struct kf_cli *cli,
		      const struct kf_watch *w, enum kf_verdict verdict,
		      bool *few);

/**
 * kf_explain_add_line() - add a line of text
 * @lines:	an array of lines
 * @line:	from kf_format(); freed
 */
void kf_explain_add_line(json_t *lines, char *line);

/**
 * kf_explain_unknown() - what is not known, and how to get it
 * @w:		the snapshots
 * @e:		the verdict
 *
 * Return: an array of lines; json_decref() it.
 */
json_t *kf_explain_unknown(const struct kf_watch *w,
			   const struct kf_explained *e);

/**
 * kf_explain_print_unknown() - print what is not known
 * @lines:	an array of lines, which is released
 */
void kf_explain_print_unknown(json_t *lines);

/**
 * kf_explain_print_verdict() - print the verdict, why, and what is not known
 * kf_explain_print_parts() - print the parts of the memory
 * @cli:	the options
 * @w:		the snapshots
 * @e:		the verdict
 */
void kf_explain_print_verdict(const struct kf_watch *w,
			      const struct kf_explained *e);
void kf_explain_print_parts(const struct kf_cli *cli,
			    const struct kf_explained *e);

/**
 * kf_explain_print_rows() - print the first sizes and stacks
 * @cli:	the options
 * @w:		the snapshots
 * @verdict:	the verdict
 *
 * Return: 0, or the exit status after a message.
 */
int kf_explain_print_rows(const struct kf_cli *cli, const struct kf_watch *w,
			  enum kf_verdict verdict);

/**
 * kf_explain_json() - all of a verdict as an object
 * @cli:	for messages
 * @w:		the snapshots
 * @e:		the verdict
 * @o:		out: the object; json_decref() it
 *
 * Return: 0, or the exit status after a message.
 */
int kf_explain_json(const struct kf_cli *cli, const struct kf_watch *w,
		    const struct kf_explained *e, json_t **o);

/**
 * kf_explain_order() - let a process note something in its stats file
 * @cli:	for messages
 * @f:		its stats file
 * @order:	the order
 * @what:	what it is to do, for messages
 *
 * Return: 0, also if it has ended or does not answer; or the exit status after
 *	   a message.
 */
int kf_explain_order(const struct kf_cli *cli, const struct kf_file *f,
		     const char *order, const char *what);

/**
 * kf_explain_print_pinned() - print what the blocks of tags and stacks pin
 * kf_explain_json_pinned() - add it to an object
 * @cli:	the options
 * @w:		the snapshots; the last with all tables
 * @o:		the object
 *
 * Return: 0, or the exit status after a message.
 */
int kf_explain_print_pinned(const struct kf_cli *cli, const struct kf_watch *w);
int kf_explain_json_pinned(const struct kf_cli *cli, const struct kf_watch *w,
			   json_t *o);

/**
 * kf_explain_print_map() - print how full each stretch of the heap was
 * kf_explain_json_map() - add it to an object
 * @w:		the snapshots; the last with KF_TABLE_MAP
 * @o:		the object
 */
void kf_explain_print_map(const struct kf_watch *w);
void kf_explain_json_map(const struct kf_watch *w, json_t *o);

/**
 * kf_explain_print_mappings() - print which stacks mapped memory past malloc
 * kf_explain_json_mappings() - the same rows
 * @cli:	the options
 * @w:		the snapshots; the last with KF_TABLE_MAPPINGS
 * @f:		the facts
 *
 * Return: kf_explain_json_mappings(): an array; json_decref() it.
 */
void kf_explain_print_mappings(const struct kf_cli *cli,
			       const struct kf_watch *w,
			       const struct kf_facts *f);
json_t *kf_explain_json_mappings(const struct kf_cli *cli,
				 const struct kf_watch *w);

/**
 * kf_explain_print_table() - print the first rows of a table
 * @cli:	the options
 * @t:		the table
 * @what:	what the rows are
 */
void kf_explain_print_table(const struct kf_cli *cli, struct kf_table *t,
			    const char *what);

#endif
