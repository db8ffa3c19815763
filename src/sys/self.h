/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pages of files that only the start needs.
 *
 * The kernel maps 64 KiB around each page of a file that is read or run, and a
 * process is reckoned with all of these. What is given back here comes again
 * when somebody wants it.
 */
#ifndef KF_SYS_SELF_H
#define KF_SYS_SELF_H

/*
 * Whether kf_self_part() does without the C library, whose functions cannot be
 * called from a resolver: ld.so may not have filled in their addresses yet.
 */
#ifdef __x86_64__
#define KF_SELF_PARTS_EARLY 1
#else
#define KF_SELF_PARTS_EARLY 0
#endif

/**
 * kf_self_part() - have the kernel map parts of the library one by one
 * kf_self_rest() - give back what the library's start has read and run
 * kf_self_rest_libc() - give back the C library's constants
 *
 * The first is for the very beginning: what the kernel maps around a page is of
 * the same part then, of code and of names alike. The second gives constants
 * back, and the code that src/layout.list has in pages of its own, where no
 * debugger has written to these. Code with probes stays, and all of the C
 * library's: a tracer may be about to put breakpoints in it, which would go
 * with its pages.
 *
 * Context: while the dynamic linker is at work, which then changes no list of
 *	    objects; keeps errno.
 */
void kf_self_part(void);
void kf_self_rest(void);
void kf_self_rest_libc(void);

#endif
