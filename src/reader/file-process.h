/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process of a stats file that was read. Nothing outside src/reader
 * includes this header.
 */
#ifndef KF_READER_FILE_PROCESS_H
#define KF_READER_FILE_PROCESS_H

#include "reader/file-cache.h"

/**
 * kf_file_set_conflict() - a file counts for no process
 * @f:		the file
 */
void kf_file_set_conflict(struct kf_file *f);

/**
 * kf_file_find_process() - find the process of a file, and whether the file is
 *			    believed about it
 * @view:	the view
 * @f:		the file, read; out: its process, or that it is in conflict
 * @memory:	also read the resident memory
 *
 * Context: the reader that has the file and the view.
 * Return: false if that takes a look at all processes, and the view is brief.
 */
bool kf_file_find_process(struct kf_life_view *view, struct kf_file *f,
			  bool memory);

#endif
