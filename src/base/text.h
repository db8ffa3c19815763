/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text without stdio: a builder for strings in bounded buffers, and parsers of
 * numbers and characters.
 *
 * Works inside malloc and in signal handlers: no allocation, no locale, no
 * errno. The buffer is a terminated string after every call. Text that does not
 * fit is cut off, and kf_text_full() is true from then on.
 */
#ifndef KF_BASE_TEXT_H
#define KF_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Invariant: size == 0, or len < size and buf[len] == '\0'. One thread uses it.
 */
struct kf_text {
	char *buf;   /* the caller's; constant after kf_text_init() */
	size_t size; /* bytes at buf; constant after kf_text_init() */
	size_t len;  /* bytes of text so far, without the terminator */
	bool full;   /* text was cut off */
};

/**
 * kf_text_init() - begin an empty text
 * @text:	the text
 * @buf:	where it is built; stays the caller's
 * @size:	bytes at @buf, with the terminator; 0: all text is cut off
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_init(struct kf_text *text, char *buf, size_t size);

/**
 * kf_text_strn() - append bytes
 * @text:	the text
 * @s:		the bytes, none of them NUL; not inside @text's buffer
 * @n:		number of bytes
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_strn(struct kf_text *text, const char *s, size_t n);

/**
 * kf_text_str() - append a string
 * @text:	the text
 * @s:		the string; not inside @text's buffer
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_str(struct kf_text *text, const char *s);

/**
 * kf_text_ascii() - append foreign bytes; all but printable ASCII become '?'
 * @text:	the text
 * @s:		the bytes, or as many as there are before a NUL
 * @n:		how many at most
 *
 * Context: any.
 */
void kf_text_ascii(struct kf_text *text, const char *s, size_t n);

/**
 * kf_text_char() - append one byte
 * @text:	the text
 * @c:		the byte, not NUL
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_char(struct kf_text *text, char c);

/**
 * kf_text_u64() - append a number in decimal
 * @text:	the text
 * @value:	the number
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_u64(struct kf_text *text, uint64_t value);

/**
 * kf_text_i64() - append a signed number in decimal
 * @text:	the text
 * @value:	the number
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_i64(struct kf_text *text, int64_t value);

/**
 * kf_text_hex() - append a number in hexadecimal, as 0x1f
 * @text:	the text
 * @value:	the number
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_hex(struct kf_text *text, uint64_t value);

/**
 * kf_text_add() - append formatted text
 * kf_text_addv() - the same with a list of arguments
 * @text:	the text
 * @format:	a format of printf(3) with the conversions s, c, d, u, x and %
 *		only; l before d, u and x; a least number of digits before u and
 *		x, as 02
 * @...:	the arguments; strings are not inside @text's buffer
 * @args:	the same as a list
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_add(struct kf_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void kf_text_addv(struct kf_text *text, const char *format, va_list args);

/**
 * kf_text_pad() - fill a column with spaces
 * @text:	the text
 * @start:	text->len as it was where the column began
 * @width:	width of the column in bytes; a wider text stays as it is
 * @right:	true: the spaces go before the column's text, so that numbers
 *		are aligned at their ends; false: behind it
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_pad(struct kf_text *text, size_t start, size_t width, bool right);

/**
 * kf_text_full() - whether text was cut off
 * @text:	the text
 *
 * Context: anywhere, signal handlers too.
 * Return: true if the buffer does not hold all that was appended.
 */
static inline bool kf_text_full(const struct kf_text *text)
{
	return text->full;
}

/**
 * kf_parse_digits() - read a number of a file in /proc
 * @s:		in: its first digit; out: the first character that is no digit
 * @base:	10 or 16
 *
 * Context: anywhere, signal handlers too.
 * Return: the number, modulo 2^64; 0 where there is no digit.
 */
uint64_t kf_parse_digits(const char **s, unsigned int base);

/**
 * kf_parse_u64() - read a decimal number
 * @s:		the string: digits, all of it
 * @out:	out: the number; untouched on failure
 *
 * Context: anywhere, signal handlers too.
 * Return: true; false when @s is empty, has anything but digits (a sign or a
 *	   space too), or does not fit in 64 bits.
 */
bool kf_parse_u64(const char *s, uint64_t *out);

/**
 * kf_parse_size() - read a number of bytes
 * @s:		the string: digits, then optionally K, M, G or T for a power of
 *		1024, then optionally B, or i or iB behind a letter: 4096, 64K,
 *		64KiB, 512B; upper or lower case
 * @out:	out: bytes; untouched on failure
 *
 * Context: anywhere, signal handlers too.
 * Return: true; false when @s is anything else, or does not fit in 64 bits.
 */
bool kf_parse_size(const char *s, uint64_t *out);

/* In a result of kf_parse_limit(): the rest is percent, not bytes. */
#define KF_LIMIT_SHARE (1ull << 63)

/**
 * kf_parse_limit() - read a number of bytes, or a share
 * @s:		the string: as of kf_parse_size(), or 1% to 100%
 * @out:	out: bytes, less than 2^63, or KF_LIMIT_SHARE and the percent;
 *		untouched on failure
 *
 * Context: anywhere, signal handlers too.
 * Return: true; false when @s is anything else.
 */
bool kf_parse_limit(const char *s, uint64_t *out);

/**
 * kf_parse_choice() - read one of several words
 * @choices:	the words, with | between them: "abort|count"
 * @s:		the string
 * @out:	out: the number of the word, from 0; untouched on failure
 *
 * Context: anywhere, signal handlers too.
 * Return: true; false when @s is none of them.
 */
bool kf_parse_choice(const char *choices, const char *s, uint64_t *out);

/**
 * kf_utf8_decode() - the character that a string begins with
 * @s:		the string, ends in NUL
 * @code:	out: its code point; untouched on failure
 *
 * Context: anywhere, signal handlers too.
 * Return: its bytes, 1 to 4; 0 where @s does not begin with valid UTF-8 of
 *	   RFC 3629, which has no overlong forms and no surrogates.
 */
size_t kf_utf8_decode(const char *s, uint32_t *code);

/**
 * kf_utf8_is_printable() - whether a character is harmless on a terminal
 * @code:	its code point
 *
 * Terminals obey controls. Characters that end lines, change the direction of
 * text or are invisible make one name look like another.
 *
 * Context: anywhere, signal handlers too.
 * Return: false for all of these.
 */
bool kf_utf8_is_printable(uint32_t code);

#endif
