/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stacks in the output of bpftrace, which prints addresses: names of the
 * functions, also of a process that has ended, and one row for all rows of a
 * map that look alike then.
 */
#ifndef KF_CLI_COMMANDS_TRACE_ROWS_H
#define KF_CLI_COMMANDS_TRACE_ROWS_H

#include "base/compiler.h"

struct kf_trace_rows;

/**
 * kf_trace_rows_new() - begin to name the addresses of a process
 * @pid:	the process; 0: several
 *
 * Rows with the value 0 are left out. If the line before a map ends in ", the N
 * largest:", the others are too.
 *
 * Return: the rows.
 */
struct kf_trace_rows *kf_trace_rows_new(int32_t pid);

/**
 * kf_trace_rows_look() - note which files the process has mapped now
 * @r:		the rows, of one process
 *
 * What was mapped before, and is not any more, keeps its names until something
 * else is mapped there.
 */
void kf_trace_rows_look(struct kf_trace_rows *r);

/**
 * kf_trace_rows_line() - take a line of the script
 * @r:		the rows
 * @line:	the line, with its newline
 * @put:	is given what is to be printed, a line at a time
 *
 * Rows of a map are held until another line comes.
 */
void kf_trace_rows_line(struct kf_trace_rows *r, const char *line,
			void (*put)(const char *line));

/**
 * kf_trace_rows_end() - print what is held, and free the rows
 * @r:		the rows, or NULL
 * @put:	as for kf_trace_rows_line()
 */
void kf_trace_rows_end(struct kf_trace_rows *r, void (*put)(const char *line));

#endif
