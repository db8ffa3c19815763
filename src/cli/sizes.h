/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Figures of a size class in a snapshot. Class 0 is the large blocks.
 */
#ifndef KF_CLI_SIZES_H
#define KF_CLI_SIZES_H

#include "reader/reader.h"

/**
 * kf_size_empty() - free blocks in the slabs of a class
 * @c:		the class
 *
 * Return: their bytes; 0 if the file does not count slabs.
 */
uint64_t kf_size_empty(const struct kf_class_count *c);

/**
 * kf_size_live() - live bytes of a class
 * @s:		the snapshot
 * @class:	the class, any number
 *
 * Return: usable bytes.
 */
uint64_t kf_size_live(const struct kf_snapshot *s, unsigned int class);

#endif
