/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ledgers DIRECTORY COMM: what the ledgers there have of programs of that name:
 * "ENDS EXECS CALLS", where CALLS are those of malloc.
 */
#include "config.h"

#include "reader/ledger.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t ends, execs, calls;

static int add_up(void *comm, const char *name, struct kf_ledger *l)
{
	if (l->result != KF_READ_OK) {
		fprintf(stderr, "%s: %s\n", name,
			kf_read_result_name(l->result));
		return l->result == KF_READ_FOREIGN ? 0 : 1;
	}
	for (unsigned int i = 0; i < l->nr_rows; i++) {
		const struct kf_snapshot *s = kf_ledger_row(l, i);

		if (!s || strcmp(s->id.comm, comm))
			continue;
		ends += l->rows[i].exits;
		execs += l->rows[i].execs;
		calls += s->totals.mallocs;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;

	if (fd < 0 || kf_ledgers_visit(fd, add_up, argv[2]))
		return 1;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", ends, execs, calls);
	return 0;
}
