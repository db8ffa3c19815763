/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the formats share: a buffered writer to a sink, and
 * functions that write names and figures.
 */
#ifndef KF_TAGS_FORMAT_INTERNAL_H
#define KF_TAGS_FORMAT_INTERNAL_H

#include "base/text.h"
#include "tags/format.h"

/* Used by one thread, on its stack. After @failed nothing is written. */
struct kf_tags_out {
	const struct kf_tags_sink *to;
	bool failed;
	struct kf_text text;
	char buf[512];
};

/* How the bytes of a name are escaped. */
enum kf_tags_quote {
	KF_QUOTE_JSON, /* in a JSON string */
	KF_QUOTE_DOT,  /* in a DOT label */
	KF_QUOTE_LINE, /* on a line for people */
};

/* A copy of a name, terminated. */
struct kf_tags_name {
	char s[KF_STATS_TAG_NAME + 1];
};

/**
 * kf_tags_out_begin() - begin a text
 * @o:		out: the text
 * @to:		the sink
 *
 * Context: any thread, signal handlers too.
 */
void kf_tags_out_begin(struct kf_tags_out *o, const struct kf_tags_sink *to);

/**
 * kf_tags_out_end() - write the rest of the buffer
 * @o:		the text
 *
 * Context: any thread, signal handlers too.
 * Return: whether the sink took it all.
 */
bool kf_tags_out_end(struct kf_tags_out *o);

/**
 * kf_tags_out_print() - write formatted text
 * @o:		the text
 * @format:	a format of kf_text_add(); the text has at most 128 bytes
 * @...:	its arguments
 *
 * Context: any thread, signal handlers too.
 */
void kf_tags_out_print(struct kf_tags_out *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * kf_tags_out_fill() - write a character several times
 * @o:		the text
 * @c:		the character
 * @nr:		how often
 *
 * Context: any thread, signal handlers too.
 */
void kf_tags_out_fill(struct kf_tags_out *o, char c, size_t nr);

/**
 * kf_tags_out_quoted() - write a name of any bytes
 * @o:		the text
 * @s:		the name
 * @how:	the escapes; bytes that are not UTF-8 become \xNN
 *
 * Context: any thread, signal handlers too.
 */
void kf_tags_out_quoted(struct kf_tags_out *o, const char *s,
			enum kf_tags_quote how);

/**
 * kf_tags_out_share() - write a share as a percentage, such as 99.98
 * @o:		the text
 * @share:	in hundredths of a percent
 *
 * Context: any thread, signal handlers too.
 */
void kf_tags_out_share(struct kf_tags_out *o, unsigned int share);

/**
 * kf_tags_out_bytes() - write a number of bytes for people, such as 9.54Mi
 * @o:		the text
 * @bytes:	the number
 * @width:	least width; spaces are written before the number
 *
 * Context: any thread, signal handlers too.
 */
void kf_tags_out_bytes(struct kf_tags_out *o, uint64_t bytes, size_t width);

/**
 * kf_tags_out_time() - write a time as malloc-tag does
 * @o:		the text
 * @ns:		CLOCK_REALTIME
 *
 * Context: any thread, signal handlers too.
 */
void kf_tags_out_time(struct kf_tags_out *o, uint64_t ns);

/**
 * kf_tags_name() - a terminated copy of an entry's name
 * @v:		the view
 * @entry:	the entry
 *
 * Context: any thread, signal handlers too, the name may change meanwhile.
 * Return: the copy.
 */
struct kf_tags_name kf_tags_name(const struct kf_tags_view *v, uint32_t entry);

/**
 * kf_tags_skip() - as kf_tags_next(), without the entries below the last one
 * @v:		the view, prepared
 * @root:	where the walk began
 * @at:		the last entry
 *
 * Context: any thread, signal handlers too.
 * Return: the next entry that is not below @at; 0 at the end.
 */
uint32_t kf_tags_skip(const struct kf_tags_view *v, uint32_t root, uint32_t at);

#endif
