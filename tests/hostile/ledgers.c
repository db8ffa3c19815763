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
static int dirfd = -1;

static void add_rows(struct kf_ledger *l, const char *comm)
{
	for (unsigned int i = 0; i < l->nr_rows; i++) {
		const struct kf_snapshot *s = kf_ledger_row(l, i);

		if (!s || strcmp(s->id.comm, comm))
			continue;
		ends += l->rows[i].exits;
		execs += l->rows[i].execs;
		calls += s->totals.mallocs;
	}
}

static int add_up(void *comm, const char *name)
{
	struct kf_ledger l;
	enum kf_read_result result = kf_ledger_read(dirfd, name, &l);

	if (result == KF_READ_OK)
		add_rows(&l, comm);
	else
		fprintf(stderr, "%s: %s\n", name, kf_read_result_name(result));
	kf_ledger_release(&l);
	return result != KF_READ_OK && result != KF_READ_FOREIGN;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		dirfd = open(argv[1], O_RDONLY | O_DIRECTORY);
	if (dirfd < 0 || kf_ledgers_visit(dirfd, add_up, argv[2]))
		return 1;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", ends, execs, calls);
	return 0;
}
