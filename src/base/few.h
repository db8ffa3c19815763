/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Few bytes, looked at or copied one by one.
 *
 * The C library's functions for that are faster where there are many, but lie
 * in code of their own kind of processor, of which the kernel maps 64 KiB or
 * twice that for whoever calls one. So what every program's start does with a
 * few bytes is done here; the compiler is kept from making calls of it again.
 */
#ifndef KF_BASE_FEW_H
#define KF_BASE_FEW_H

#include "base/compiler.h"

/* Bytes of a string. */
static inline size_t kf_few_length(const char *s)
{
	const char *end = s;

	for (; *end; end++)
		kf_unknown(end);
	return (size_t)(end - s);
}

static inline void kf_few_copy(void *to, const void *from, size_t nr)
{
	const char *in = from;
	char *out = to;

	while (nr--) {
		*out++ = *in++;
		kf_unknown(out);
	}
}

/* Whether both begin with the same @nr bytes. */
static inline bool kf_few_alike(const void *a, const void *b, size_t nr)
{
	const char *p = a, *q = b;

	for (; nr && *p == *q; nr--, p++, q++)
		kf_unknown(p);
	return !nr;
}

/* Whether two strings are the same. */
static inline bool kf_few_same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		kf_unknown(a);
	return *a == *b;
}

/* The first such byte of a string, or NULL. */
static inline const char *kf_few_find(const char *s, char c)
{
	for (; *s != c; s++) {
		if (!*s)
			return NULL;
		kf_unknown(s);
	}
	return s;
}

/* The last such byte, or NULL. */
static inline const char *kf_few_find_last(const char *s, char c)
{
	const char *found = NULL;

	for (; *s; s++) {
		if (*s == c)
			found = s;
		kf_unknown(s);
	}
	return found;
}

#endif
