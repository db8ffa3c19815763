/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds libraries that read debug information to regular files.
 *
 * A program names, in its own ELF file, other files that have more of it: by
 * debug link, by alternate debug link, by split units. libdw opens what it
 * finds there, and a process of another user may name a FIFO or a device.
 */
#ifndef KF_READER_GUARD_H
#define KF_READER_GUARD_H

/**
 * kf_guard_begin() - from now on open() opens regular files only for reading
 *
 * Of all that this thread calls, libraries included, but no other kind of
 * opening.
 *
 * Context: guards the calling thread only; calls nest.
 */
void kf_guard_begin(void);

/**
 * kf_guard_end() - end what kf_guard_begin() began
 *
 * Context: as kf_guard_begin().
 */
void kf_guard_end(void);

#endif
