/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Resident pages of a process: see pagemap.h.
 *
 * The kernel has a word for each page. Its uppermost bits can be seen by all
 * who may open the file; the number of the page's frame, which is not needed,
 * only by root.
 */
#include "config.h"

#include "reader/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define PRESENT ((uint64_t)1 << 63)
#define OF_FILE ((uint64_t)1 << 61) /* or shared memory */

#define WORDS 8192 /* in one read */

bool kf_pagemap_open(const char *procfs, int pid, uint64_t most,
		     struct kf_pagemap *m)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/pagemap", procfs, pid);
	m->fd = pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	m->page = (uint64_t)sysconf(_SC_PAGESIZE);
	m->pages = most;
	return m->fd >= 0;
}

void kf_pagemap_close(struct kf_pagemap *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

static uint64_t pagemap_count(const uint64_t *word, size_t nr)
{
	uint64_t found = 0;

	for (size_t i = 0; i < nr; i++)
		found += (word[i] & (PRESENT | OF_FILE)) == PRESENT;
	return found;
}

/* The file ends where the addresses of the process do. */
bool kf_pagemap_resident(struct kf_pagemap *m, uint64_t begin, uint64_t end,
			 uint64_t *bytes)
{
	static uint64_t word[WORDS];
	uint64_t at = begin / m->page, nr = end / m->page - at;

	*bytes = 0;
	if (m->fd < 0 || nr > m->pages)
		return false;
	m->pages -= nr;
	while (nr) {
		size_t part = (size_t)KF_MIN(nr, (uint64_t)WORDS);
		ssize_t got = pread(m->fd, word, part * sizeof(*word),
				    (off_t)(at * sizeof(*word)));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		part = (size_t)got / sizeof(*word);
		if (!part)
			break;
		*bytes += pagemap_count(word, part) * m->page;
		at += part;
		nr -= part;
	}
	return true;
}
