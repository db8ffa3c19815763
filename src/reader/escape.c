/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of processes and files are anyone's to choose: here they become
 * harmless for a terminal, a log and a label. Pure; no state.
 */
#include "reader/reader.h"

#include <string.h>

/* Length of the UTF-8 sequence at @s, 0 where there is none. */
static size_t utf8_decode(const unsigned char *s, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len;

	if (s[0] < 0x80) {
		*code = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;
	*code = s[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return len;
}

/* C0, DEL and C1 controls, line separators, and what turns text around. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) ||
	       (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

static size_t put_hex(char *dst, const unsigned char *s, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*dst++ = '\\';
		*dst++ = 'x';
		*dst++ = digits[s[i] >> 4];
		*dst++ = digits[s[i] & 15];
	}
	return 4 * len;
}

char *kf_escape(char *dst, size_t size, const char *src)
{
	const unsigned char *s = (const unsigned char *)src;
	size_t at = 0;

	while (*s) {
		uint32_t code = 0;
		size_t len = utf8_decode(s, &code);
		bool plain = len > 0 && !is_control(code);
		size_t need;

		if (len == 0)
			len = 1;
		need = plain ? len : 4 * len;
		/* never half a sequence, never half an escape */
		if (need >= size - at)
			break;
		if (plain)
			memcpy(dst + at, s, len);
		else
			put_hex(dst + at, s, len);
		at += need;
		s += len;
	}
	dst[at] = '\0';
	return dst;
}
