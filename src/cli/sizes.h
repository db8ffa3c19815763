/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a snapshot says of a size class. Class 0 stands for the large blocks.
 */
#ifndef KF_CLI_SIZES_H
#define KF_CLI_SIZES_H

#include "reader/reader.h"

/**
 * kf_size_empty() - free blocks in the slabs of a class
 * @c:		the class
 *
 * Return: their bytes; 0 where the file does not know slabs.
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
