/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list of ledgers with the last seen values of their rows: see ledgers.h.
 */
#include "config.h"

#include "exporter/groups/ledgers.h"

#include <stdlib.h>
#include <string.h>

struct kf_seen_ledger *kf_ledgers_find(struct kf_groups *g, const char *path)
{
	struct kf_seen_ledger *seen = g->ledgers;

	while (seen && strcmp(seen->path, path) != 0)
		seen = seen->next;
	return seen;
}

struct kf_seen_ledger *kf_ledgers_get(struct kf_groups *g, const char *path)
{
	struct kf_seen_ledger *seen = kf_ledgers_find(g, path);

	if (seen)
		return seen;
	seen = calloc(1, sizeof(*seen));
	if (!seen)
		return NULL;
	seen->path = strdup(path);
	if (!seen->path) {
		free(seen);
		return NULL;
	}
	seen->rewrite = true;
	seen->next = g->ledgers;
	return g->ledgers = seen;
}

void kf_seen_ledger_reset(struct kf_seen_ledger *seen)
{
	for (unsigned int i = 0; i < KF_SEEN_ROWS; i++)
		free(seen->row[i].base);
	memset(seen->row, 0, sizeof(seen->row));
	seen->nr_folds = 0;
	seen->rewrite = true;
	seen->changed = true;
}

void kf_seen_ledger_free(struct kf_seen_ledger *seen)
{
	kf_seen_ledger_reset(seen);
	free(seen->path);
	free(seen);
}

void kf_ledgers_clear(struct kf_groups *g)
{
	struct kf_seen_ledger *seen;

	while ((seen = g->ledgers)) {
		g->ledgers = seen->next;
		kf_seen_ledger_free(seen);
	}
}
