/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The map of the heap: how full each stretch of the regions is.
 *
 * The regions are cut into cells of one length. The used blocks of a slab, and
 * the dirty pages of a free run, are taken to lie evenly in it: the heap knows
 * their number alone. Mappings of single blocks are in no region, and so is the
 * heap's metadata.
 */
#ifndef KF_HEAP_CELLS_H
#define KF_HEAP_CELLS_H

#include "stats/layout.h"

#define KF_CELL_LEAST ((uint64_t)16384) /* bytes */

/**
 * kf_cells_length() - choose the length of cells
 * @max:	most cells
 * @nr:		out: cells of that length; 0 while another thread forks
 *
 * Context: any thread. Takes the pages lock.
 * Return: bytes, a power of two, at least KF_CELL_LEAST.
 */
uint64_t kf_cells_length(uint32_t max, uint32_t *nr);

/**
 * kf_cells_note() - fill a table with all cells of the heap
 * @cell:	the table; what it has goes, unless 0 is returned
 * @max:	its entries
 * @length:	bytes of a cell, of kf_cells_length()
 * @now:	CLOCK_MONOTONIC, ns
 *
 * Exact while no other thread allocates or frees.
 *
 * Context: any thread. Takes the pages lock.
 * Return: the number of cells; more than @max: the table has none; 0 while
 *	   another thread forks.
 */
uint32_t kf_cells_note(struct kf_stats_cell *cell, uint32_t max,
		       uint64_t length, uint64_t now);

#endif
