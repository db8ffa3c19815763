/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The metrics of a process, numbered.
 *
 * A stats file describes its counters by name; a group sums many files,
 * possibly of several versions. Each metric gets a number, by which arrays are
 * indexed. Descriptions are checked before they become metrics, and no file can
 * redefine the exporter's own metrics.
 */
#ifndef KF_EXPORTER_GROUPS_FIGURES_H
#define KF_EXPORTER_GROUPS_FIGURES_H

#include "base/compiler.h"
#include "reader/ended.h"
#include "reader/reader.h"

/*
 * Enough for stats.def, derived figures, and as many from files of other
 * versions.
 */
#define KF_MAX_FIGURES 192

/* Upper bounds of the size histogram: powers of two from 16 bytes on. */
#define KF_NR_SIZES 12

/* Derived figures; all others follow. */
enum kf_figure_id {
	KF_FIG_MALLOCS,
	KF_FIG_FREES,
	KF_FIG_ALLOCATED,
	KF_FIG_FREED,
	KF_FIG_CALL_MALLOC,
	KF_FIG_CALL_CALLOC,
	KF_FIG_CALL_ALIGNED,
	KF_FIG_CALL_FREE,
	KF_FIG_EXITS,
	KF_FIG_EXECS,
	KF_FIG_ENDED, /* one of each enum kf_ended_cause */
	KF_FIG_ENDED_LAST = KF_FIG_ENDED + KF_NR_ENDED_CAUSES - 1,
	KF_FIG_LIVE_BLOCKS,
	KF_FIG_HEAP_LIVE,
	KF_FIG_HEAP_ROUNDING,
	KF_FIG_HEAP_CACHED,
	KF_FIG_HEAP_FREE,
	KF_FIG_HEAP_METADATA,
	KF_FIG_BINS,
	KF_FIG_SIZES,
	KF_FIG_LIVE_SIZES = KF_FIG_SIZES + KF_NR_SIZES + 1,
	KF_NR_DERIVED = KF_FIG_LIVE_SIZES + KF_NR_SIZES + 1
};

enum kf_figure_kind {
	KF_FIGURE_COUNTER,
	KF_FIGURE_GAUGE_SUM, /* a group's gauge is the sum over processes */
	KF_FIGURE_GAUGE_MAX, /* a group's gauge is the maximum over processes */
	KF_FIGURE_BUCKET,    /* a counter, shown as part of the histogram */
	KF_FIGURE_LIVE,	     /* a sum, shown by collector sizes */
};

/* A figure; constant once added. */
struct kf_figure {
	char key[112];	 /* metric{labels}: its name in the state file */
	char metric[64]; /* with "konfiscator_" */
	char labels[48];
	char help[137];
	const char *unit;
	enum kf_figure_kind kind;
	uint64_t
		since_ns; /* CLOCK_REALTIME before any file had it; 0: always */
};

/* The figure of each counter, or -1, of files with the same descriptions. */
struct kf_figure_map {
	uint64_t described; /* of struct kf_snapshot; 0: not shared with other
			       files */
	int id[KF_MAX_FIGURES];
};

#define KF_FIGURE_MAPS 8 /* cached; more than a scan reads at once */

struct kf_figures {
	unsigned int nr;
	/* kinds of the figures, compact since each process reads all */
	uint8_t kind[KF_MAX_FIGURES];
	struct kf_figure figure[KF_MAX_FIGURES];
	int hint[KF_MAX_FIGURES]; /* figure of the nth counter in the last file
				   */
	struct kf_figure_map map[KF_FIGURE_MAPS];
	unsigned int next_map;
	uint64_t since_ns; /* of figures that are added now */
};

extern const double kf_sizes[KF_NR_SIZES];

/**
 * kf_figures_init() - number the counters known to this version
 * @t:		out: the table
 *
 * Context: once for a table.
 */
void kf_figures_init(struct kf_figures *t);

/**
 * kf_kind_grows() - whether figures of a kind are counters
 * @kind:	enum kf_figure_kind
 *
 * Return: true if they add up over process ends.
 */
static inline bool kf_kind_grows(unsigned int kind)
{
	return kind == KF_FIGURE_COUNTER || kind == KF_FIGURE_BUCKET;
}

/**
 * kf_figure_grows() - whether a figure is a counter
 * @f:		the figure
 *
 * Return: as kf_kind_grows().
 */
static inline bool kf_figure_grows(const struct kf_figure *f)
{
	return kf_kind_grows(f->kind);
}

/**
 * kf_figures_find() - find a figure by its key
 * @t:		the table
 * @key:	metric{labels}
 *
 * Context: as kf_figures_fill().
 * Return: its number, or -1.
 */
int kf_figures_find(const struct kf_figures *t, const char *key);

/**
 * kf_figures_size() - the bucket of a size
 * @bytes:	usable bytes; 0: of a large block
 *
 * Return: the number of buckets below it; KF_NR_SIZES: it is above all bounds.
 */
unsigned int kf_figures_size(uint64_t bytes);

/* A value that no counter of a process reaches. */
#define KF_FIGURE_MOST ((uint64_t)1 << 60)

/**
 * kf_figures_plausible() - whether counts of a process are plausible
 * @t:		the table
 * @value:	the counts of a file
 * @before:	the previous counts, or NULL: all 0
 * @ns:		nanoseconds since
 *
 * Each processor makes at most 2^30 calls and allocates 2^50 bytes a second,
 * and no counter reaches KF_FIGURE_MOST. Gauges are not checked, since they are
 * not kept.
 *
 * Return: false if the counts are forged.
 */
bool kf_figures_plausible(const struct kf_figures *t, const uint64_t *value,
			  const uint64_t *before, uint64_t ns);

/**
 * kf_figures_fill() - get the figures of one process
 * @t:		the table; new counters are added
 * @s:		a valid snapshot
 * @value:	out: a value for each figure, at most INT64_MAX; 0 if the file
 *		does not have it
 *
 * Context: one thread at a time for one table.
 */
void kf_figures_fill(struct kf_figures *t, const struct kf_snapshot *s,
		     uint64_t value[KF_MAX_FIGURES]);

#endif
