/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ledgers as part of the groups: counts of ended processes, including those
 * that began and ended between two scans.
 *
 * Each call counts once. A row of a ledger adds its growth since the last scan
 * to the group of its key, minus the counts of members whose files were folded
 * into it, which stay in their groups. The last seen values of each row are in
 * the state file, in the same line as the totals that include them. A missing
 * or unreadable ledger takes nothing away; a ledger that replaces another
 * starts from 0.
 */
#ifndef KF_EXPORTER_GROUPS_LEDGERS_H
#define KF_EXPORTER_GROUPS_LEDGERS_H

#include "exporter/groups/groups.h"

/* The last seen values of a row. */
struct kf_seen_row {
	uint64_t key_hash; /* 0: never seen */
	uint64_t first_ns; /* time of its first fold, its identity */
	uint64_t ends;	   /* processes folded into it */
	uint64_t *base;	   /* counters that are in totals; NULL: all 0 */
	bool changed;	   /* differs from the state file */
};

/* A ledger, identified by its path, and its last seen rows. */
struct kf_seen_ledger {
	struct kf_seen_ledger *next;
	char *path;
	uint64_t nr_folds; /* number of the last fold seen */
	time_t gone;	   /* since when it is not there, or 0 */
	bool present;	   /* seen in this scan */
	bool rewrite;	   /* its rows in the state file are invalid */
	bool changed;	   /* differs from the state file */
	struct kf_seen_row row[KF_SEEN_ROWS];
};

/**
 * kf_ledgers_scan() - add the growth of all ledgers
 * @g:		the groups, locked; the files of all directories were read
 * @until_ns:	CLOCK_MONOTONIC; one second more is taken at most
 * @now:	CLOCK_REALTIME
 *
 * Members that were folded end.
 *
 * Context: any thread; before members are settled.
 * Return: false when out of memory.
 */
bool kf_ledgers_scan(struct kf_groups *g, uint64_t until_ns, time_t now);

/**
 * kf_ledgers_cover() - whether a member's file may be folded
 * @g:		the groups, locked
 * @m:		the member
 *
 * Return: true if its user has a ledger in its directory.
 */
bool kf_ledgers_cover(const struct kf_groups *g, const struct kf_member *m);

/**
 * kf_ledgers_find() - find the last seen values of a ledger
 * @g:		the groups, locked
 * @path:	the ledger
 *
 * Return: NULL if it was never seen.
 */
struct kf_seen_ledger *kf_ledgers_find(struct kf_groups *g, const char *path);

/**
 * kf_ledgers_get() - find or make the last seen values of a ledger
 * @g:		the groups, locked
 * @path:	the ledger
 *
 * Return: NULL when out of memory.
 */
struct kf_seen_ledger *kf_ledgers_get(struct kf_groups *g, const char *path);

/**
 * kf_seen_ledger_reset() - forget the rows of a ledger
 * @seen:	the ledger
 *
 * Context: with the groups' lock.
 */
void kf_seen_ledger_reset(struct kf_seen_ledger *seen);

/**
 * kf_seen_ledger_free() - free a ledger that is in no list
 * @seen:	the ledger
 */
void kf_seen_ledger_free(struct kf_seen_ledger *seen);

/**
 * kf_ledgers_clear() - forget all ledgers
 * @g:		the groups, locked or not yet shared
 */
void kf_ledgers_clear(struct kf_groups *g);

#endif
