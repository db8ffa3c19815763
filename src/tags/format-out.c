/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text on its way to a sink. The buffer is handed on when the next piece might
 * not fit; no piece that is written at once is longer than PIECE.
 */
#include "tags/format-internal.h"

#include <string.h>

#define PIECE 32 /* a number, an escape */

void kf_tags_out_begin(struct kf_tags_out *o, const struct kf_tags_sink *to)
{
	o->to = to;
	o->failed = false;
	kf_text_init(&o->text, o->buf, sizeof(o->buf));
}

static void format_out_flush(struct kf_tags_out *o)
{
	if (o->text.len && !o->failed)
		o->failed = !o->to->write(o->to->arg, o->buf, o->text.len);
	kf_text_init(&o->text, o->buf, sizeof(o->buf));
}

bool kf_tags_out_end(struct kf_tags_out *o)
{
	format_out_flush(o);
	return !o->failed;
}

static struct kf_text *format_out_room(struct kf_tags_out *o)
{
	if (o->text.size - o->text.len <= PIECE)
		format_out_flush(o);
	return &o->text;
}

void kf_tags_out_str(struct kf_tags_out *o, const char *s)
{
	size_t left = strlen(s);

	while (left) {
		size_t n = KF_MIN(left, (size_t)PIECE);

		kf_text_strn(format_out_room(o), s, n);
		s += n;
		left -= n;
	}
}

void kf_tags_out_fill(struct kf_tags_out *o, char c, size_t nr)
{
	while (nr--)
		kf_text_char(format_out_room(o), c);
}

void kf_tags_out_u64(struct kf_tags_out *o, uint64_t n)
{
	kf_text_u64(format_out_room(o), n);
}

static void hex(struct kf_text *t, const char *before, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";

	kf_text_str(t, before);
	kf_text_char(t, digits[c >> 4]);
	kf_text_char(t, digits[c & 15]);
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Whether a name says what a byte of it would be written as. */
static bool is_like_byte(const char *s)
{
	return s[0] == '\\' && s[1] == 'x' && is_hex(s[2]) && is_hex(s[3]);
}

/*
 * A backslash of the name is doubled where a backslash escapes; on a line it
 * is not, as for kf_escape(). In JSON two names are never one key: whoever
 * undoes each \xNN has the name.
 */
static void quote(struct kf_tags_out *o, const char *s, size_t len,
		  uint32_t code, enum kf_tags_quote how)
{
	struct kf_text *t = format_out_room(o);

	if (!len) {
		hex(t, how == KF_QUOTE_LINE ? "\\x" : "\\\\x",
		    (unsigned char)*s);
	} else if (how == KF_QUOTE_JSON && is_like_byte(s)) {
		kf_text_str(t, "\\\\x5c");
	} else if (how == KF_QUOTE_JSON && code < 0x20) {
		hex(t, "\\u00", (unsigned char)code);
	} else if (how != KF_QUOTE_JSON && !kf_utf8_is_printable(code)) {
		for (size_t i = 0; i < len; i++)
			hex(t, how == KF_QUOTE_LINE ? "\\x" : "\\\\x",
			    (unsigned char)s[i]);
	} else {
		if (how != KF_QUOTE_LINE && (code == '"' || code == '\\'))
			kf_text_char(t, '\\');
		kf_text_strn(t, s, len);
	}
}

void kf_tags_out_quoted(struct kf_tags_out *o, const char *s,
			enum kf_tags_quote how)
{
	while (*s) {
		uint32_t code = 0;
		size_t len = kf_utf8_decode(s, &code);

		quote(o, s, len, code, how);
		s += len ? len : 1;
	}
}

void kf_tags_out_share(struct kf_tags_out *o, unsigned int share)
{
	struct kf_text *t = format_out_room(o);

	kf_text_u64(t, share / 100);
	kf_text_char(t, '.');
	kf_text_u64(t, share / 10 % 10);
	kf_text_u64(t, share % 10);
}

/* Rounded as `konfiscator stat` does: 9.54Mi, but 10.0Mi. */
void kf_tags_out_bytes(struct kf_tags_out *o, uint64_t bytes, size_t width)
{
	static const char *const units[] = {"",	  "Ki", "Mi", "Gi",
					    "Ti", "Pi", "Ei"};
	struct kf_text *t = format_out_room(o);
	size_t start = t->len, u = 0;
	uint64_t part = 0; /* in hundredths */

	while (bytes >= 1024 || bytes * 100 + part >= 102395) {
		part = (bytes % 1024 * 100 + part / 1024 + 512) / 1024;
		bytes = bytes / 1024 + part / 100;
		part %= 100;
		u++;
	}
	if (u && bytes * 100 + part >= 1000)
		part = (part + 5) / 10 * 10;
	bytes += part / 100;
	part %= 100;
	kf_text_u64(t, bytes);
	if (u) {
		kf_text_char(t, '.');
		kf_text_u64(t, part / 10);
		if (bytes < 10)
			kf_text_u64(t, part % 10);
	}
	kf_text_str(t, units[u]);
	kf_text_pad(t, start, width, true);
}

static void two_digits(struct kf_text *t, const char *before, uint64_t n)
{
	kf_text_str(t, before);
	if (n < 10)
		kf_text_char(t, '0');
	kf_text_u64(t, n);
}

/*
 * The date of a day by its number. Years begin in March here, so that a leap
 * day is the last of its year; 400 of them have 146097 days, and months of 31
 * and 30 days repeat every 153 days, five months.
 */
static void date(struct kf_text *t, uint64_t days)
{
	uint64_t era, day, year, month;

	days += 719468; /* from 1 March of year 0 to 1970 */
	era = days / 146097;
	day = days % 146097;
	year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5;
	kf_text_u64(t, era * 400 + year + (month >= 10));
	two_digits(t, "-", month < 10 ? month + 3 : month - 9);
	two_digits(t, "-", day + 1);
}

void kf_tags_out_time(struct kf_tags_out *o, uint64_t ns)
{
	uint64_t s = ns / 1000000000;

	date(format_out_room(o), s / 86400);
	two_digits(format_out_room(o), " @ ", s / 3600 % 24);
	two_digits(format_out_room(o), ":", s / 60 % 60);
	two_digits(format_out_room(o), ":", s % 60);
	kf_tags_out_str(o, " UTC");
}

struct kf_tags_name kf_tags_name(const struct kf_tags_view *v, uint32_t entry)
{
	struct kf_tags_name name;

	memcpy(name.s, v->tag[entry].name, KF_STATS_TAG_NAME);
	name.s[KF_STATS_TAG_NAME] = '\0';
	return name;
}
