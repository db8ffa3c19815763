/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The library's own file in memory.
 */
#ifndef KF_SYS_SELF_H
#define KF_SYS_SELF_H

/**
 * kf_self_rest() - let the library's constants go until they are wanted again
 *
 * For when the start is over, which reads most of them; what comes after it
 * reads few. The kernel maps 64 KiB around each page of a file that is read,
 * and a process is reckoned with all of these. Code stays: a tracer may have
 * put breakpoints in it, which would go with its pages.
 *
 * Context: any; keeps errno.
 */
void kf_self_rest(void);

#endif
