/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text without stdio: see text.h.
 *
 * kf_text_strn() and kf_text_pad() check the bound; the other functions append
 * through kf_text_strn().
 */
#include "base/text.h"

#include <string.h>

#include "base/compiler.h"

/* Digits of the largest 64-bit number in decimal, the longest form here. */
#define DIGITS_MAX 20

void kf_text_init(struct kf_text *text, char *buf, size_t size)
{
	text->buf = buf;
	text->size = size;
	text->len = 0;
	text->full = false;
	if (size)
		buf[0] = '\0';
}

/* Bytes that can still be appended. */
static size_t text_room(const struct kf_text *text)
{
	return text->size ? text->size - 1 - text->len : 0;
}

void kf_text_strn(struct kf_text *text, const char *s, size_t n)
{
	if (n > text_room(text)) {
		text->full = true;
		n = text_room(text);
	}
	if (!n)
		return;
	memcpy(text->buf + text->len, s, n);
	text->len += n;
	text->buf[text->len] = '\0';
}

void kf_text_str(struct kf_text *text, const char *s)
{
	kf_text_strn(text, s, strlen(s));
}

void kf_text_ascii(struct kf_text *text, const char *s, size_t n)
{
	for (; n && *s; n--, s++)
		kf_text_char(text, *s >= ' ' && *s <= '~' ? *s : '?');
}

void kf_text_char(struct kf_text *text, char c)
{
	kf_text_strn(text, &c, 1);
}

static void append_number(struct kf_text *text, uint64_t value,
			  unsigned int base, size_t least)
{
	char digits[DIGITS_MAX];
	size_t nr = 0;

	do {
		digits[DIGITS_MAX - ++nr] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value || (nr < least && nr < DIGITS_MAX));
	kf_text_strn(text, digits + DIGITS_MAX - nr, nr);
}

void kf_text_u64(struct kf_text *text, uint64_t value)
{
	append_number(text, value, 10, 1);
}

void kf_text_i64(struct kf_text *text, int64_t value)
{
	if (value < 0)
		kf_text_char(text, '-');
	/* Negated as unsigned, as INT64_MIN has no positive counterpart. */
	kf_text_u64(text, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void kf_text_hex(struct kf_text *text, uint64_t value)
{
	kf_text_str(text, "0x");
	append_number(text, value, 16, 1);
}

/* Appends one conversion; returns the format behind it. */
static const char *text_convert(struct kf_text *text, const char *f,
				va_list *args)
{
	size_t least = 0;
	bool wide;

	for (; *f >= '0' && *f <= '9'; f++)
		least = least * 10 + (size_t)(*f - '0');
	wide = *f == 'l';
	f += wide;
	if (*f == 's')
		kf_text_str(text, va_arg(*args, const char *));
	else if (*f == 'c')
		kf_text_char(text, (char)va_arg(*args, int));
	else if (*f == 'd')
		kf_text_i64(text,
			    wide ? va_arg(*args, long) : va_arg(*args, int));
	else if (*f == 'u' || *f == 'x')
		append_number(text,
			      wide ? va_arg(*args, unsigned long)
				   : va_arg(*args, unsigned int),
			      *f == 'u' ? 10 : 16, least);
	else
		kf_text_char(text, *f);
	return f + 1;
}

void kf_text_addv(struct kf_text *text, const char *format, va_list args)
{
	va_list rest;

	va_copy(rest, args);
	while (*format) {
		size_t n = strcspn(format, "%");

		kf_text_strn(text, format, n);
		format += n;
		if (*format)
			format = text_convert(text, format + 1, &rest);
	}
	va_end(rest);
}

void kf_text_add(struct kf_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	kf_text_addv(text, format, args);
	va_end(args);
}

void kf_text_pad(struct kf_text *text, size_t start, size_t width, bool right)
{
	size_t held = text->len - start;
	size_t spaces, kept;

	if (held >= width)
		return;
	spaces = width - held;
	if (spaces > text_room(text))
		text->full = true;
	if (!text->size)
		return;
	if (!right) {
		spaces = KF_MIN(spaces, text_room(text));
		memset(text->buf + text->len, ' ', spaces);
		text->len += spaces;
	} else {
		spaces = KF_MIN(spaces, text->size - 1 - start);
		kept = KF_MIN(held, text->size - 1 - start - spaces);
		memmove(text->buf + start + spaces, text->buf + start, kept);
		memset(text->buf + start, ' ', spaces);
		text->len = start + spaces + kept;
	}
	text->buf[text->len] = '\0';
}

uint64_t kf_parse_digits(const char **s, unsigned int base)
{
	uint64_t n = 0;

	for (;; ++*s) {
		unsigned int digit = (unsigned char)**s;

		if (digit >= '0' && digit <= '9')
			digit -= '0';
		else if (digit >= 'a' && digit <= 'f')
			digit -= 'a' - 10;
		else
			return n;
		if (digit >= base)
			return n;
		n = n * base + digit;
	}
}

/* Returns the end of the digits at @s; NULL: there are none, or too many. */
static const char *parse_digits(const char *s, uint64_t *out)
{
	const char *at = s;
	uint64_t value = 0;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *at - '0', &value))
			return NULL;
	}
	*out = value;
	return at == s ? NULL : at;
}

bool kf_parse_u64(const char *s, uint64_t *out)
{
	uint64_t value;
	const char *end = parse_digits(s, &value);

	if (!end || *end)
		return false;
	*out = value;
	return true;
}

/* The power of two of a unit's letter; 0 for other characters. */
static unsigned int unit_shift(char c)
{
	switch (c) {
	case 'K':
	case 'k':
		return 10;
	case 'M':
	case 'm':
		return 20;
	case 'G':
	case 'g':
		return 30;
	case 'T':
	case 't':
		return 40;
	default:
		return 0;
	}
}

bool kf_parse_size(const char *s, uint64_t *out)
{
	uint64_t value;
	const char *end = parse_digits(s, &value);
	unsigned int shift;

	if (!end)
		return false;
	shift = unit_shift(*end);
	if (shift) {
		end++;
		if (*end == 'i' || *end == 'I')
			end++;
	}
	if (*end == 'b' || *end == 'B')
		end++;
	if (*end || value > UINT64_MAX >> shift)
		return false;
	*out = value << shift;
	return true;
}

bool kf_parse_limit(const char *s, uint64_t *out)
{
	const char *end = s;
	uint64_t n = kf_parse_digits(&end, 10);

	if (end > s && end - s <= 3 && !strcmp(end, "%") && n >= 1 &&
	    n <= 100) {
		*out = KF_LIMIT_SHARE | n;
		return true;
	}
	if (!kf_parse_size(s, &n) || n >= KF_LIMIT_SHARE)
		return false;
	*out = n;
	return true;
}

bool kf_parse_choice(const char *choices, const char *s, uint64_t *out)
{
	size_t len = strlen(s);

	for (uint64_t i = 0;; i++) {
		size_t word = strcspn(choices, "|");

		if (word == len && !memcmp(choices, s, len)) {
			*out = i;
			return true;
		}
		if (!choices[word])
			return false;
		choices += word + 1;
	}
}

size_t kf_utf8_decode(const char *text, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c = s[0];
	size_t len = 1;

	if (c >= 0xc2 && c <= 0xdf)
		len = 2;
	else if ((c & 0xf0) == 0xe0)
		len = 3;
	else if (c >= 0xf0 && c <= 0xf4)
		len = 4;
	else if (c >= 0x80)
		return 0;
	if (len > 1)
		c &= 0xffu >> (len + 1);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return len;
}

bool kf_utf8_is_printable(uint32_t code)
{
	static const struct {
		uint32_t first;
		uint32_t last;
	} harmful[] = {
		{0, 0x1f},	    /* C0 */
		{0x7f, 0x9f},	    /* DEL, C1 */
		{0x61c, 0x61c},	    /* direction mark */
		{0x200e, 0x200f},   /* direction marks */
		{0x2028, 0x202e},   /* ends of lines, direction overrides */
		{0x2060, 0x206f},   /* invisible; direction isolates */
		{0xfeff, 0xfeff},   /* byte order mark */
		{0xfff9, 0xfffb},   /* annotations */
		{0xe0000, 0xe007f}, /* invisible tags */
	};

	for (size_t i = 0; i < sizeof(harmful) / sizeof(harmful[0]); i++) {
		if (code >= harmful[i].first && code <= harmful[i].last)
			return false;
	}
	return true;
}
