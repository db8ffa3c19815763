/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages on stderr, written without stdio.
 */
#ifndef KF_SYS_OUT_H
#define KF_SYS_OUT_H

#include "base/compiler.h"

struct kf_text;

/**
 * kf_out() - write a text to stderr
 * @text:	the text, with a newline at its end
 *
 * Context: any, in signal handlers too; no cancellation point. Keeps errno.
 */
void kf_out(const struct kf_text *text);

/**
 * kf_out_die() - write a text to stderr and abort
 * @text:	the text, with a newline at its end
 *
 * Context: any.
 * Return: never.
 */
void kf_out_die(const struct kf_text *text) __attribute__((noreturn));

#endif
