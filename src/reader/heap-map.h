/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The map of a process' heap: how full each stretch of its regions was when the
 * process noted it (konfiscator ctl map=now).
 */
#ifndef KF_READER_HEAP_MAP_H
#define KF_READER_HEAP_MAP_H

#include "reader/reader.h"

/* Levels of a cell: tenths of its memory that are in use, and three more. */
enum kf_cell_level {
	KF_CELL_ABSENT = -1, /* it has no memory */
	KF_CELL_EMPTY = 0,   /* nothing in it is in use */
	KF_CELL_FULL = 10,   /* all of it is in use; 1 to 9: a part */
};

/* Sums of cells, bytes. */
struct kf_cell_sums {
	uint64_t used;
	uint64_t free;
	uint64_t dirty;
	uint64_t absent;
};

/* A region, or a part of one. */
struct kf_cell_span {
	uint32_t first; /* cell */
	uint32_t nr;	/* cells */
	uint64_t begin; /* address */
	uint64_t end;
	struct kf_cell_sums sums;
};

/**
 * kf_heap_map_settle() - check the cells of a file, and sort them
 * @cell:	the cells; out: those of the newest map, by address
 * @nr:		how many
 *
 * Return: the number of cells of the map; 0 where it is not whole or damaged.
 */
uint32_t kf_heap_map_settle(struct kf_stats_cell *cell, uint32_t nr);

/**
 * kf_heap_map_noted() - when the map of a snapshot was noted
 * @s:		the snapshot, with KF_TABLE_MAP
 *
 * Return: CLOCK_REALTIME, ns; 0: there is no map.
 */
uint64_t kf_heap_map_noted(const struct kf_snapshot *s);

/**
 * kf_heap_map_length() - the length of cells
 * @s:		the snapshot
 *
 * Return: bytes of the longest one; all but the last of a region have as many.
 */
uint64_t kf_heap_map_length(const struct kf_snapshot *s);

/**
 * kf_heap_map_part() - a stretch of a region
 * @s:		the snapshot
 * @first:	its first cell
 * @end:	the cell behind its last one
 *
 * Return: the stretch.
 */
struct kf_cell_span kf_heap_map_part(const struct kf_snapshot *s,
				     uint32_t first, uint32_t end);

/**
 * kf_heap_map_region() - the region that begins with a cell
 * @s:		the snapshot
 * @first:	the cell
 *
 * Return: the region; the next one begins with its first + nr.
 */
struct kf_cell_span kf_heap_map_region(const struct kf_snapshot *s,
				       uint32_t first);

/**
 * kf_heap_map_alike() - count the cells in a row that have the same level
 * @s:		the snapshot
 * @first:	the first of them
 * @end:	the cell where to stop
 *
 * Return: their number, at least 1.
 */
uint32_t kf_heap_map_alike(const struct kf_snapshot *s, uint32_t first,
			   uint32_t end);

/**
 * kf_heap_map_all() - the sums of all regions
 * @s:		the snapshot
 * @nr_regions:	out: their number
 *
 * Return: the sums.
 */
struct kf_cell_sums kf_heap_map_all(const struct kf_snapshot *s,
				    uint32_t *nr_regions);

/**
 * kf_cell_memory() - bytes that have memory
 * @sums:	of a cell, a region or all
 *
 * Return: all but the absent ones.
 */
uint64_t kf_cell_memory(const struct kf_cell_sums *sums);

/**
 * kf_cell_percent() - how much of the memory is in use
 * @sums:	of a cell, a region or all
 *
 * Return: percent; 0 where there is no memory.
 */
double kf_cell_percent(const struct kf_cell_sums *sums);

/**
 * kf_cell_level() - how full a cell is
 * @cell:	the cell
 *
 * Return: enum kf_cell_level.
 */
int kf_cell_level(const struct kf_stats_cell *cell);

#endif
