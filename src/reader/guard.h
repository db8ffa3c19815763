/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Restricts libraries that read debug information to regular files.
 *
 * An ELF file names other files with its debug information: by debug link,
 * alternate debug link and split units. libdw opens these files, and the
 * program of another user may name a FIFO or a device.
 */
#ifndef KF_READER_GUARD_H
#define KF_READER_GUARD_H

/**
 * kf_guard_begin() - from now on open() for reading fails unless the file is
 *			regular
 *
 * Applies to all calls of this thread, libraries included.
 *
 * Context: guards the calling thread only; calls nest.
 */
void kf_guard_begin(void);

/**
 * kf_guard_end() - end the restriction of kf_guard_begin()
 *
 * Context: as kf_guard_begin().
 */
void kf_guard_end(void);

#endif
