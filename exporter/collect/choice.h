/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The collectors chosen by a request: ?collect[]=NAME for some, or
 * ?exclude[]=NAME for all others, as in node_exporter.
 */
#ifndef KF_EXPORTER_COLLECT_CHOICE_H
#define KF_EXPORTER_COLLECT_CHOICE_H

#include "base/compiler.h"
#include "exporter/buf.h"

/* Initialize with zeroes; bit i is for kf_collectors[i]. */
struct kf_choice {
	const bool *enabled; /* one for each collector; set by the caller */
	uint32_t collected;
	uint32_t excluded;
	bool wrong;
};

/**
 * kf_choice_add() - process one argument of the query
 * @c:		the choice
 * @key:	its name; other names are ignored
 * @value:	its value, or NULL
 *
 * Context: one thread at a time for one choice.
 */
void kf_choice_add(struct kf_choice *c, const char *key, const char *value);

/**
 * kf_choice_left_out() - get the collectors that were not chosen
 * @c:		the choice
 * @left_out:	out: bit i for kf_collectors[i]
 *
 * Context: as kf_choice_add().
 * Return: false if both arguments were given, or a name is not that of an
 *	   enabled collector.
 */
bool kf_choice_left_out(const struct kf_choice *c, uint32_t *left_out);

/**
 * kf_choice_explain() - describe the valid choices
 * @c:		the choice
 * @out:	one line is added
 *
 * Context: as kf_choice_add().
 */
void kf_choice_explain(const struct kf_choice *c, struct kf_buf *out);

#endif
