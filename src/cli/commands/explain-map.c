/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What explain --map adds: how full each stretch of the heap is, a character
 * for each.
 */
#include "config.h"

#include "cli/commands/explain.h"

#include "cli/cli.h"
#include "reader/heap-map.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <time.h>

#define CELLS_IN_LINE 64

static void map_print_when(const struct kf_snapshot *s)
{
	time_t noted = (time_t)(kf_heap_map_noted(s) / 1000000000);
	char text[40];
	struct tm tm;

	if (gmtime_r(&noted, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		printf(", at %s", text);
}

static void map_print_region(const struct kf_snapshot *s,
			     const struct kf_cell_span *r)
{
	static const char levels[] = ".0123456789#";
	char memory[32];

	printf("%#" PRIx64 ": %.1f%% of %s in use", r->begin,
	       kf_cell_percent(&r->sums),
	       kf_human_bytes(memory, sizeof(memory),
			      kf_cell_memory(&r->sums)));
	for (uint32_t i = 0; i < r->nr; i++) {
		if (i % CELLS_IN_LINE == 0)
			printf("\n  ");
		putchar(levels[kf_cell_level(&s->cells[r->first + i]) + 1]);
	}
	putchar('\n');
}

void kf_explain_print_map(const struct kf_watch *w)
{
	const struct kf_snapshot *s = &w->last->snap;
	char text[3][32];
	struct kf_cell_sums all;
	uint32_t nr_regions;

	putchar('\n');
	if (!s->nr_cells) {
		printf("not known: a map of the heap: %s\n",
		       w->last->life == KF_LIFE_ALIVE
			       ? "the process has not answered"
			       : "the process was not asked while it ran");
		return;
	}
	all = kf_heap_map_all(s, &nr_regions);
	printf("map: %.1f%% of %s is in use, in %" PRIu32 " region%s",
	       kf_cell_percent(&all),
	       kf_human_bytes(text[0], sizeof(text[0]), kf_cell_memory(&all)),
	       nr_regions, nr_regions == 1 ? "" : "s");
	map_print_when(s);
	printf("\n%s of free blocks in slabs and caches, %s of dirty free pages\n",
	       kf_human_bytes(text[0], sizeof(text[0]), all.free),
	       kf_human_bytes(text[1], sizeof(text[1]), all.dirty));
	printf("each character is %s: . without memory, 0 not in use, 1 to 9 tenths in use, # all in use\n",
	       kf_human_bytes(text[2], sizeof(text[2]), kf_heap_map_length(s)));
	for (uint32_t i = 0; i < s->nr_cells;) {
		struct kf_cell_span r = kf_heap_map_region(s, i);

		map_print_region(s, &r);
		i += r.nr;
	}
}

static json_t *map_json_region(const struct kf_snapshot *s,
			       const struct kf_cell_span *r)
{
	json_t *cells = json_array();

	for (uint32_t i = r->first; i < r->first + r->nr; i++) {
		const struct kf_stats_cell *c = &s->cells[i];

		json_array_append_new(cells, json_pack("[I, I, I, I]",
						       (json_int_t)c->used,
						       (json_int_t)c->free,
						       (json_int_t)c->dirty,
						       (json_int_t)c->absent));
	}
	return json_pack("{s:I, s:I, s:o}", "begin", (json_int_t)r->begin,
			 "bytes", (json_int_t)(r->end - r->begin), "cells",
			 cells);
}

void kf_explain_json_map(const struct kf_watch *w, json_t *o)
{
	const struct kf_snapshot *s = &w->last->snap;
	json_t *regions, *map = json_null();

	if (s->nr_cells) {
		regions = json_array();
		for (uint32_t i = 0; i < s->nr_cells;) {
			struct kf_cell_span r = kf_heap_map_region(s, i);

			json_array_append_new(regions, map_json_region(s, &r));
			i += r.nr;
		}
		map = json_pack("{s:I, s:I, s:[s,s,s,s], s:o}", "noted_at",
				(json_int_t)(kf_heap_map_noted(s) / 1000000000),
				"cell_bytes", (json_int_t)kf_heap_map_length(s),
				"columns", "used_bytes", "free_bytes",
				"dirty_bytes", "absent_bytes", "regions",
				regions);
	}
	json_object_set_new(o, "map", map);
}
