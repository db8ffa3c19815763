/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Content negotiation (RFC 9110, 12.5.1 and 12.5.3): the format, and whether to
 * compress. The headers are not trusted, and not copied.
 */
#include "config.h"

#include "exporter/http/gzip.h"
#include "exporter/collect/writer.h"

#include <string.h>
#include <strings.h>

/*
 * The preference of an Accept header for a format so far; a closer match wins.
 */
struct wish {
	int closeness; /* 0: none, 1: any type, 2: any subtype, 3: full */
	unsigned int quality; /* in thousandths */
};

static const char *accept_skip_space(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	return s;
}

static const char *accept_trim(const char *s, const char *end)
{
	while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return end;
}

static bool accept_is(const char *s, const char *end, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(end - s) == len && strncasecmp(s, word, len) == 0;
}

/* Parse a quality, in thousandths; a malformed one counts as 0. */
static unsigned int accept_parse_quality(const char *s, const char *end)
{
	unsigned int q = 0, unit = 1000;

	if (s == end || (*s != '0' && *s != '1'))
		return 0;
	q = (unsigned int)(*s++ - '0') * 1000;
	if (s < end && *s++ != '.')
		return 0;
	for (; s < end && unit > 1; s++) {
		if (*s < '0' || *s > '9')
			return 0;
		unit /= 10;
		q += (unsigned int)(*s - '0') * unit;
	}
	return KF_MIN(q, 1000u);
}

static int accept_closeness(const char *s, const char *end, const char *type,
			    const char *star)
{
	if (accept_is(s, end, type))
		return 3;
	if (accept_is(s, end, star))
		return 2;
	return accept_is(s, end, "*/*") ? 1 : 0;
}

static void accept_note(struct wish *w, int close, unsigned int quality)
{
	if (!close || close < w->closeness)
		return;
	if (close > w->closeness || quality > w->quality)
		w->quality = quality;
	w->closeness = close;
}

static const char *accept_part_end(const char *s, const char *end, char stop)
{
	while (s < end && *s != stop)
		s++;
	return s;
}

static void accept_parse_range(const char *s, const char *end,
			       struct wish *classic, struct wish *openmetrics)
{
	const char *type_end = accept_part_end(s, end, ';');
	const char *p = type_end, *stop, *eq, *value;
	const char *type = accept_skip_space(s, type_end);
	const char *version = "", *version_end = version;
	unsigned int quality = 1000;

	type_end = accept_trim(type, type_end);
	for (; p < end; p = stop) {
		stop = accept_part_end(p + 1, end, ';');
		p = accept_skip_space(p + 1, stop);
		eq = accept_part_end(p, stop, '=');
		if (eq == stop)
			continue;
		value = accept_skip_space(eq + 1, stop);
		if (accept_is(p, accept_trim(p, eq), "q"))
			quality = accept_parse_quality(
				value, accept_trim(value, stop));
		if (accept_is(p, accept_trim(p, eq), "version")) {
			version = value;
			version_end = accept_trim(value, stop);
		}
	}
	if (version == version_end || accept_is(version, version_end, "0.0.4"))
		accept_note(classic,
			    accept_closeness(type, type_end, "text/plain",
					     "text/*"),
			    quality);
	if (version == version_end || accept_is(version, version_end, "1.0.0"))
		accept_note(openmetrics,
			    accept_closeness(type, type_end,
					     "application/openmetrics-text",
					     "application/*"),
			    quality);
}

const struct kf_format *kf_format_choose(const char *accept)
{
	struct wish classic = {0}, openmetrics = {0};
	const char *end, *stop;

	if (!accept)
		return &kf_format_classic;
	end = accept + strlen(accept);
	for (; accept < end; accept = stop + (stop < end)) {
		stop = accept_part_end(accept, end, ',');
		accept_parse_range(accept, stop, &classic, &openmetrics);
	}
	if (openmetrics.quality > classic.quality ||
	    (openmetrics.quality && openmetrics.quality == classic.quality &&
	     openmetrics.closeness == 3 && classic.closeness < 3))
		return &kf_format_openmetrics;
	return &kf_format_classic;
}

/* Find the quality in the parameters of a list element. */
static unsigned int accept_quality_of(const char *s, const char *end)
{
	unsigned int quality = 1000;
	const char *stop, *eq;

	for (; s < end; s = stop) {
		stop = accept_part_end(s + 1, end, ';');
		s = accept_skip_space(s + 1, stop);
		eq = accept_part_end(s, stop, '=');
		if (eq < stop && accept_is(s, accept_trim(s, eq), "q"))
			quality = accept_parse_quality(
				accept_skip_space(eq + 1, stop),
				accept_trim(s, stop));
	}
	return quality;
}

bool kf_gzip_wanted(const char *accept_encoding)
{
	struct wish wish = {0};
	const char *s = accept_encoding ? accept_encoding : "";
	const char *end = s + strlen(s), *stop, *name, *name_end;

	for (; s < end; s = stop + (stop < end)) {
		stop = accept_part_end(s, end, ',');
		name = accept_skip_space(s, stop);
		name_end = accept_part_end(name, stop, ';');
		accept_note(&wish,
			    accept_is(name, accept_trim(name, name_end), "gzip")
				    ? 2
				    : accept_is(name,
						accept_trim(name, name_end),
						"*"),
			    accept_quality_of(name_end, stop));
	}
	return wish.quality > 0;
}
