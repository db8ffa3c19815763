/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stacks of a stats file that are no sample's, as text.
 */
#ifndef KF_CLI_PROFILE_STACK_TEXT_H
#define KF_CLI_PROFILE_STACK_TEXT_H

#include "cli/cli.h"

struct kf_symbols;

struct kf_stack_texts {
	const struct kf_cli *cli;
	const struct kf_snapshot *s;
	struct kf_symbols *symbols;
};

/**
 * kf_stack_texts_open() - find the code of a process
 * @t:		out: kf_stack_texts_close() it
 * @cli:	how names are shown
 * @f:		the process, read with KF_TABLE_STACKS
 */
void kf_stack_texts_open(struct kf_stack_texts *t, const struct kf_cli *cli,
			 const struct kf_file *f);

/**
 * kf_stack_text() - a stack, the innermost function first
 * @t:		the process
 * @entry:	of its table of stacks
 * @most:	the most functions
 *
 * Return: printable text to free(); NULL for entry 0: it is not known.
 */
char *kf_stack_text(const struct kf_stack_texts *t, uint32_t entry,
		    size_t most);

/**
 * kf_stack_texts_close() - free what names need
 * @t:		the process
 */
void kf_stack_texts_close(struct kf_stack_texts *t);

#endif
