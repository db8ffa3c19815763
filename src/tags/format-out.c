/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A buffered writer to a sink. The buffer is flushed when the next piece might
 * not fit; a piece has at most PIECE bytes.
 */
#include "tags/format-internal.h"

#include <string.h>

#define PIECE 128

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

void kf_tags_out_print(struct kf_tags_out *o, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	kf_text_addv(format_out_room(o), format, args);
	va_end(args);
}

void kf_tags_out_fill(struct kf_tags_out *o, char c, size_t nr)
{
	while (nr--)
		kf_text_char(format_out_room(o), c);
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Whether a name has the text of an escaped byte. */
static bool is_like_byte(const char *s)
{
	return s[0] == '\\' && s[1] == 'x' && is_hex(s[2]) && is_hex(s[3]);
}

/*
 * A backslash of the name is doubled in JSON and DOT; on a line it is not, as
 * in kf_escape(). In JSON two different names never become the same key: to
 * replace each \xNN by its byte gives the name.
 */
static void quote(struct kf_tags_out *o, const char *s, size_t len,
		  uint32_t code, enum kf_tags_quote how)
{
	struct kf_text *t = format_out_room(o);
	const char *escape = how == KF_QUOTE_LINE ? "\\x" : "\\\\x";

	if (how == KF_QUOTE_JSON && len && is_like_byte(s)) {
		kf_text_str(t, "\\\\x5c");
	} else if (how == KF_QUOTE_JSON && len && code < 0x20) {
		kf_text_add(t, "\\u%04x", code);
	} else if (!len ||
		   (how != KF_QUOTE_JSON && !kf_utf8_is_printable(code))) {
		for (size_t i = 0; !i || i < len; i++)
			kf_text_add(t, "%s%02x", escape, (unsigned char)s[i]);
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
	kf_tags_out_print(o, "%u.%02u", share / 100, share % 100);
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
	if (u && bytes < 10)
		kf_text_add(t, ".%02lu", part);
	else if (u)
		kf_text_add(t, ".%lu", part / 10);
	kf_text_str(t, units[u]);
	kf_text_pad(t, start, width, true);
}

/*
 * Write the date of a day, counted from 1970. Years begin in March here, so
 * that a leap day is the last day of its year. 400 years have 146097 days; the
 * lengths of months repeat every five months, 153 days.
 */
static void out_date(struct kf_tags_out *o, uint64_t days)
{
	uint64_t era, day, year, month;

	days += 719468; /* from 1 March of year 0 to 1970 */
	era = days / 146097;
	day = days % 146097;
	year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5;
	kf_tags_out_print(o, "%lu-%02lu-%02lu",
			  era * 400 + year + (month >= 10),
			  month < 10 ? month + 3 : month - 9, day + 1);
}

void kf_tags_out_time(struct kf_tags_out *o, uint64_t ns)
{
	uint64_t s = ns / 1000000000;

	out_date(o, s / 86400);
	kf_tags_out_print(o, " @ %02lu:%02lu:%02lu UTC", s / 3600 % 24,
			  s / 60 % 60, s % 60);
}

struct kf_tags_name kf_tags_name(const struct kf_tags_view *v, uint32_t entry)
{
	struct kf_tags_name name;

	memcpy(name.s, v->tag[entry].name, KF_STATS_TAG_NAME);
	name.s[KF_STATS_TAG_NAME] = '\0';
	return name;
}
