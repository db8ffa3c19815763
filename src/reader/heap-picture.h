/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The map of a process' heap as a part of a page. Only the process can note
 * one, when it is ordered to: the picture is the last one that it noted.
 */
#ifndef KF_READER_HEAP_PICTURE_H
#define KF_READER_HEAP_PICTURE_H

#include "reader/reader.h"

#include <stdio.h>

/**
 * kf_heap_picture_is_known() - whether kf_heap_picture() has something to show
 * @s:		the snapshot, with KF_TABLE_MAP
 * @pid:	the process, if it runs; 0: it has ended
 *
 * Return: true if it has noted a map, or runs and could note one.
 */
bool kf_heap_picture_is_known(const struct kf_snapshot *s, int pid);

/**
 * kf_heap_picture() - write the map of a heap
 * @s:		the snapshot, with KF_TABLE_MAP
 * @pid:	the process, if it runs; 0: it has ended
 * @out:	the page; what is written is well-formed XML as well as HTML
 *
 * A process that runs is shown with the command by which it notes a map.
 */
void kf_heap_picture(const struct kf_snapshot *s, int pid, FILE *out);

#endif
