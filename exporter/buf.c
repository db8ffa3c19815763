/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A growing string and its escapes.
 */
#include "config.h"

#include "base/text.h"
#include "exporter/buf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool buf_reserve(struct kf_buf *b, size_t more)
{
	size_t room = b->room ? b->room : 256;
	char *data;

	if (b->failed)
		return false;
	if (more >= SIZE_MAX / 2 - b->len) {
		b->failed = true;
		return false;
	}
	while (room < b->len + more + 1)
		room *= 2;
	if (room == b->room)
		return true;
	data = realloc(b->data, room);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->room = room;
	return true;
}

void kf_buf_add(struct kf_buf *b, const char *data, size_t len)
{
	if ((b->failed || b->room - b->len <= len) && !buf_reserve(b, len))
		return;
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void kf_buf_str(struct kf_buf *b, const char *s)
{
	kf_buf_add(b, s, strlen(s));
}

void kf_buf_u64(struct kf_buf *b, uint64_t v)
{
	struct kf_text text;
	char digits[24];

	kf_text_init(&text, digits, sizeof(digits));
	kf_text_u64(&text, v);
	kf_buf_add(b, digits, text.len);
}

void kf_buf_fmt(struct kf_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !buf_reserve(b, (size_t)n)) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

void kf_buf_double(struct kf_buf *b, double v)
{
	char text[40];

	if (isnan(v)) {
		kf_buf_str(b, "NaN");
		return;
	}
	if (isinf(v)) {
		kf_buf_str(b, v < 0 ? "-Inf" : "+Inf");
		return;
	}
	/* most names are valid UTF-8 */
	if (v > 0 && v < 1e15 && v == (double)(uint64_t)v) {
		kf_buf_u64(b, (uint64_t)v);
		kf_buf_str(b, ".0");
		return;
	}
	snprintf(text, sizeof(text), "%.15g", v);
	if (strtod(text, NULL) != v)
		snprintf(text, sizeof(text), "%.17g", v);
	kf_buf_str(b, text);
	if (!strpbrk(text, ".e"))
		kf_buf_str(b, ".0");
}

void kf_buf_escape(struct kf_buf *b, const char *s, bool quote)
{
	for (; *s; s++) {
		if (*s == '\n')
			kf_buf_add(b, "\\n", 2);
		else if (*s == '\\')
			kf_buf_add(b, "\\\\", 2);
		else if (*s == '"' && quote)
			kf_buf_add(b, "\\\"", 2);
		else
			kf_buf_add(b, s, 1);
	}
}

void kf_buf_html(struct kf_buf *b, const char *s)
{
	for (; *s; s++) {
		if (strchr("<>&\"'", *s))
			kf_buf_fmt(b, "&#%d;", *s);
		else
			kf_buf_add(b, s, 1);
	}
}

void kf_buf_free(struct kf_buf *b)
{
	free(b->data);
	*b = (struct kf_buf){0};
}

char *kf_utf8_clean(char *dst, size_t size, const char *src)
{
	static const char bad[] = "\xef\xbf\xbd";
	const unsigned char *s = (const unsigned char *)src;
	size_t len = 0;

	while (*s) {
		const char *from = (const char *)s;
		uint32_t code = 0;
		size_t n = kf_utf8_decode(from, &code);

		s += n ? n : 1;
		if (!n || (code != '\n' && !kf_utf8_is_printable(code))) {
			from = bad;
			n = sizeof(bad) - 1;
		}
		if (len + n >= size)
			break;
		memcpy(dst + len, from, n);
		len += n;
	}
	dst[len] = '\0';
	return dst;
}
