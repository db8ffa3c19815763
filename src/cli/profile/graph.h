/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The data of a page's flame graph: all calls with the values of several
 * metrics, and with counts at several moments, as JSON for src/web/flame.js.
 */
#ifndef KF_CLI_PROFILE_GRAPH_H
#define KF_CLI_PROFILE_GRAPH_H

#include "cli/profile/profile.h"

#define KF_GRAPH_COLUMNS KF_NR_METRICS

/* A metric, or one of two profiles. */
struct kf_graph_column {
	const char *key;
	const char *title;
	bool blocks; /* not bytes */
};

/* A call, with sums over all calls below it but for @over. */
struct kf_graph_call {
	char *name;
	char *library;	   /* NULL: none */
	char *file;	   /* NULL: unknown */
	unsigned int line; /* 0: unknown, or several */
	bool recursive;
	uint64_t samples;
	struct kf_estimate value[KF_GRAPH_COLUMNS];
	struct kf_profile_count *over; /* at each moment, of this call alone */
	size_t nr;
	struct kf_graph_call *calls;
};

struct kf_graph {
	size_t nr_columns;
	struct kf_graph_column column[KF_GRAPH_COLUMNS];
	const char *base; /* key of the column to compare with; NULL: none */
	size_t nr_moments;
	const uint64_t *moment_ns;
	size_t shown; /* moment of the values */
	struct kf_graph_call root;
};

/**
 * kf_graph_add() - add a stack
 * @g:		the graph, its columns filled in
 * @prof:	the profile
 * @site:	the stack
 * @value:	a value for each column
 */
void kf_graph_add(struct kf_graph *g, const struct kf_prof *prof,
		  const struct kf_site *site, const struct kf_estimate *value);

/**
 * kf_graph_find() - find the innermost call of a stack
 * @g:		the graph
 * @prof:	the profile
 * @site:	a stack that was added
 *
 * Return: the call; kf_graph_add() invalidates it.
 */
struct kf_graph_call *kf_graph_find(struct kf_graph *g,
				    const struct kf_prof *prof,
				    const struct kf_site *site);

/**
 * kf_graph_write() - write a graph as an element of a page
 * @g:		the graph; calls that are too small to be seen become one
 * @out:	where to
 */
void kf_graph_write(struct kf_graph *g, FILE *out);

/**
 * kf_graph_release() - free what a graph holds
 * @g:		the graph
 */
void kf_graph_release(struct kf_graph *g);

/**
 * kf_graph_write_profile() - write all metrics of a profile, and its moments
 * @prof:	the profile
 * @out:	where to, as kf_graph_write()
 */
void kf_graph_write_profile(const struct kf_prof *prof, FILE *out);

#endif
