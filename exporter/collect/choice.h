/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which collectors a request asks for: ?collect[]=NAME of some alone, or
 * ?exclude[]=NAME of all others, as node_exporter has them.
 */
#ifndef KF_EXPORTER_COLLECT_CHOICE_H
#define KF_EXPORTER_COLLECT_CHOICE_H

#include "base/compiler.h"
#include "exporter/buf.h"

/* Begins as zeroes; bit i stands for kf_collectors[i]. */
struct kf_choice {
	const bool *enabled; /* one for each of them; set by the caller */
	uint32_t collected;
	uint32_t excluded;
	bool wrong;
};

/**
 * kf_choice_add() - take one argument of the query
 * @c:		the choice
 * @key:	as it was sent; others than the two are of no concern here
 * @value:	as it was sent, or NULL
 *
 * Context: one thread at a time for one choice.
 */
void kf_choice_add(struct kf_choice *c, const char *key, const char *value);

/**
 * kf_choice_left_out() - what was not chosen
 * @c:		the choice
 * @left_out:	out: bit i for kf_collectors[i]
 *
 * Context: as kf_choice_add().
 * Return: false where the choice is wrong: both ways at once, or a name of no
 *	   collector that is on.
 */
bool kf_choice_left_out(const struct kf_choice *c, uint32_t *left_out);

/**
 * kf_choice_explain() - say what may be asked for
 * @c:		the choice
 * @out:	one line is added
 *
 * Context: as kf_choice_add().
 */
void kf_choice_explain(const struct kf_choice *c, struct kf_buf *out);

#endif
