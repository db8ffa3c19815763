/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of processes and files are untrusted: they are escaped for terminals,
 * logs and labels.
 */
#include "base/text.h"
#include "reader/reader.h"

#include <string.h>

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
		size_t len = kf_utf8_decode((const char *)s, &code);
		bool plain = len > 0 && kf_utf8_is_printable(code);
		size_t need;

		if (len == 0)
			len = 1;
		need = plain ? len : 4 * len;
		/* never cut a UTF-8 sequence or an escape */
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
