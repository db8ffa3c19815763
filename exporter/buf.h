/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A growing string, and escapes for names of other programs.
 *
 * A failed allocation sets a flag, which the caller checks once, at the end.
 * The caller chooses the escape that a place needs.
 */
#ifndef KF_EXPORTER_BUF_H
#define KF_EXPORTER_BUF_H

#include "base/compiler.h"

/* @data ends in NUL if @room is not 0; the owner of the struct owns it. */
struct kf_buf {
	char *data;
	size_t len;
	size_t room;
	bool failed;
};

/**
 * kf_buf_add() - append bytes
 * @b:		the string
 * @data:	what to append
 * @len:	how much of it, in bytes
 *
 * Context: one thread at a time for one string. Failure sets @b->failed.
 */
void kf_buf_add(struct kf_buf *b, const char *data, size_t len);

/**
 * kf_buf_str() - append a string
 * @b:		the string
 * @s:		the string to append
 *
 * Context: as kf_buf_add().
 */
void kf_buf_str(struct kf_buf *b, const char *s);

/**
 * kf_buf_u64() - append a number
 * @b:		the string
 * @v:		the number
 *
 * Context: as kf_buf_add().
 */
void kf_buf_u64(struct kf_buf *b, uint64_t v);

/**
 * kf_buf_fmt() - append what printf would print
 * @b:		the string
 * @fmt:	as printf's
 * @...:	as printf's
 *
 * Context: as kf_buf_add().
 */
void kf_buf_fmt(struct kf_buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * kf_buf_double() - append a number so that it reads back the same
 * @b:		the string
 * @v:		the number
 *
 * In the form that both metrics formats know: at least one digit after the
 * point, NaN, +Inf, -Inf.
 *
 * Context: as kf_buf_add(); the C locale.
 */
void kf_buf_double(struct kf_buf *b, double v);

/**
 * kf_buf_escape() - append with a backslash before some characters
 * @b:		the string
 * @s:		the string to append
 * @quote:	whether to escape the double quote too
 *
 * Backslash and newline are always escaped, as both metrics formats require.
 *
 * Context: as kf_buf_add().
 */
void kf_buf_escape(struct kf_buf *b, const char *s, bool quote);

/**
 * kf_buf_html() - append a string as HTML text or attribute value
 * @b:		the string
 * @s:		the string to append
 *
 * Context: as kf_buf_add().
 */
void kf_buf_html(struct kf_buf *b, const char *s);

/**
 * kf_buf_free() - let go of the memory
 * @b:		the string; empty and usable afterwards
 *
 * Context: as kf_buf_add().
 */
void kf_buf_free(struct kf_buf *b);

/**
 * kf_utf8_clean() - make a name valid UTF-8 without control characters
 * @dst:	out: the name; what is invalid becomes U+FFFD, newline stays
 * @size:	room in @dst, in bytes, more than 0; too much is cut between
 *		characters
 * @src:	the name, any bytes up to NUL
 *
 * Return: @dst.
 */
char *kf_utf8_clean(char *dst, size_t size, const char *src);

#endif
