/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which pages of a running process are resident, by /proc/PID/pagemap: also of
 * a part of a mapping, where smaps has one figure for all that the kernel has
 * joined.
 */
#ifndef KF_READER_PAGEMAP_H
#define KF_READER_PAGEMAP_H

#include "base/compiler.h"

struct kf_pagemap {
	int fd;		/* -1: it cannot be read */
	uint64_t page;	/* bytes */
	uint64_t pages; /* that may still be looked at */
};

/**
 * kf_pagemap_open() - open the pages of a process
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @most:	the most pages to look at in all
 * @m:		out: kf_pagemap_close() it whatever the result
 *
 * Return: whether they can be read: by the process' user and by root.
 */
bool kf_pagemap_open(const char *procfs, int pid, uint64_t most,
		     struct kf_pagemap *m);

/**
 * kf_pagemap_close() - close them
 * @m:		of kf_pagemap_open()
 */
void kf_pagemap_close(struct kf_pagemap *m);

/**
 * kf_pagemap_resident() - the resident anonymous memory at some addresses
 * @m:		the pages
 * @begin:	first address
 * @end:	address behind the last
 * @bytes:	out: what is resident and no page of a file or shared memory; a
 *		page that was only read, and so is the kernel's page of zeroes,
 *		counts too
 *
 * Return: whether it is known; else it cannot be read, or it is more than @most
 *	   pages.
 */
bool kf_pagemap_resident(struct kf_pagemap *m, uint64_t begin, uint64_t end,
			 uint64_t *bytes);

#endif
