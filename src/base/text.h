/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text without stdio: building it in a bounded buffer, reading numbers and
 * characters from it.
 *
 * Works inside malloc and in signal handlers: no allocation, no locale, no
 * errno. The buffer holds a terminated string after every call; what does not
 * fit is cut off, and kf_text_full() tells. Where the text goes is left to the
 * callers.
 */
#ifndef KF_BASE_TEXT_H
#define KF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Invariant: size == 0, or len < size and buf[len] == '\0'. One owner.
 */
struct kf_text {
	char *buf;   /* the caller's; constant after kf_text_init() */
	size_t size; /* bytes at buf; constant after kf_text_init() */
	size_t len;  /* bytes of text so far, without the terminator */
	bool full;   /* something was cut off */
};

/**
 * kf_text_init() - begin an empty text
 * @text:	the text
 * @buf:	where it is built; stays the caller's
 * @size:	bytes at @buf, for the terminator too; 0: all is cut off
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_init(struct kf_text *text, char *buf, size_t size);

/**
 * kf_text_strn() - append bytes
 * @text:	the text
 * @s:		the bytes, NUL not among them; not inside @text's buffer
 * @n:		how many
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
 * kf_text_pad() - fill a column with spaces
 * @text:	the text
 * @start:	text->len as it was where the column began
 * @width:	width of the column in bytes; what is wider already stays
 * @right:	true: the spaces go before what the column holds, so that
 *		numbers end below each other; false: behind it
 *
 * What of the spaces or of the column is pushed over the end is cut off.
 *
 * Context: anywhere, signal handlers too.
 */
void kf_text_pad(struct kf_text *text, size_t start, size_t width, bool right);

/**
 * kf_text_full() - whether something was cut off
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
 * @s:		the string: digits; then perhaps K, M, G or T for the powers
 *		of 1024; then perhaps B, or i or iB after a letter: 4096, 64K,
 *		64KiB, 512B; capitals or not
 * @out:	out: bytes; untouched on failure
 *
 * Context: anywhere, signal handlers too.
 * Return: true; false when @s is anything else, or does not fit in 64 bits.
 */
bool kf_parse_size(const char *s, uint64_t *out);

/**
 * kf_parse_choice() - read one of several words
 * @choices:	the words, with | between them: "abort|count"
 * @s:		the string
 * @out:	out: which, from 0; untouched on failure
 *
 * Context: anywhere, signal handlers too.
 * Return: true; false when @s is none of them.
 */
bool kf_parse_choice(const char *choices, const char *s, uint64_t *out);

/**
 * kf_utf8_decode() - the character that a string begins with
 * @s:		the string, ends in NUL
 * @code:	out: its code point; untouched where there is none
 *
 * Context: anywhere, signal handlers too.
 * Return: bytes that it takes, 1 to 4; 0 where @s does not begin with UTF-8 by
 *	   RFC 3629: overlong forms and surrogates are none.
 */
size_t kf_utf8_decode(const char *s, uint32_t *code);

/**
 * kf_utf8_is_printable() - whether a character does no harm where it is shown
 * @code:	its code point
 *
 * Controls of both sets do, a terminal obeys them; and so does what ends lines,
 * turns text around or is not seen, as that makes one name look like another.
 *
 * Context: anywhere, signal handlers too.
 * Return: whether.
 */
bool kf_utf8_is_printable(uint32_t code);

#endif
