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
	if (star && accept_is(s, end, star))
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

/* A parameter that a media range must have, unless it is optional. */
struct accept_parameter {
	const char *name; /* NULL: no further ones */
	const char *value;
	bool optional;
};

/* What is offered; of those equally wanted, the first. */
static const struct accept_offer {
	const struct kf_format *format;
	const char *type;
	const char *subtypes; /* its range of any subtype */
	struct accept_parameter parameter[2];
} accept_offers[] = {
	{&kf_format_classic,
	 "text/plain",
	 "text/*",
	 {{"version", "0.0.4", true}}},
	{&kf_format_openmetrics,
	 "application/openmetrics-text",
	 "application/*",
	 {{"version", "1.0.0", true}}},
	/* a release candidate: for those who ask for this version */
	{&kf_format_openmetrics2,
	 "application/openmetrics-text",
	 NULL,
	 {{"version", "2.0.0", false}}},
	{&kf_format_protobuf,
	 "application/vnd.google.protobuf",
	 NULL,
	 {{"proto", "io.prometheus.client.MetricFamily", false},
	  {"encoding", "delimited", false}}},
};

/* Return the value of a parameter, with its quotes if it has any, or NULL. */
static const char *accept_find(const char *s, const char *end, const char *name,
			       const char **value_end)
{
	const char *stop, *eq, *value;

	for (; s < end; s = stop) {
		stop = accept_part_end(s + 1, end, ';');
		s = accept_skip_space(s + 1, stop);
		eq = accept_part_end(s, stop, '=');
		if (eq == stop || !accept_is(s, accept_trim(s, eq), name))
			continue;
		value = accept_skip_space(eq + 1, stop);
		*value_end = accept_trim(value, stop);
		return value;
	}
	return NULL;
}

/* Find the quality in the parameters of a list element. */
static unsigned int accept_quality_of(const char *s, const char *end)
{
	const char *value_end, *value = accept_find(s, end, "q", &value_end);

	return value ? accept_parse_quality(value, value_end) : 1000;
}

static bool accept_has(const char *s, const char *end,
		       const struct accept_parameter *p)
{
	const char *value_end, *value;

	if (!p->name)
		return true;
	value = accept_find(s, end, p->name, &value_end);
	if (!value || value == value_end)
		return p->optional;
	return accept_is(value, value_end, p->value);
}

/* @s: parameters of a media range. */
static void accept_note_offer(struct wish *w, const struct accept_offer *offer,
			      const char *type, const char *s, const char *end)
{
	size_t i;

	for (i = 0; i < KF_ARRAY_SIZE(offer->parameter); i++) {
		if (!accept_has(s, end, &offer->parameter[i]))
			return;
	}
	accept_note(w,
		    accept_closeness(type, accept_trim(type, s), offer->type,
				     offer->subtypes),
		    accept_quality_of(s, end));
}

static bool accept_is_better(const struct wish *w, const struct wish *best)
{
	if (w->quality != best->quality)
		return w->quality > best->quality;
	return w->quality && w->closeness == 3 && best->closeness < 3;
}

const struct kf_format *kf_format_choose(const char *accept)
{
	struct wish wish[KF_ARRAY_SIZE(accept_offers)] = {0};
	const char *s = accept ? accept : "";
	const char *end = s + strlen(s), *stop, *type, *type_end;
	size_t i, best = 0;

	for (; s < end; s = stop + (stop < end)) {
		stop = accept_part_end(s, end, ',');
		type_end = accept_part_end(s, stop, ';');
		type = accept_skip_space(s, type_end);
		for (i = 0; i < KF_ARRAY_SIZE(wish); i++)
			accept_note_offer(&wish[i], &accept_offers[i], type,
					  type_end, stop);
	}
	for (i = 1; i < KF_ARRAY_SIZE(wish); i++) {
		if (accept_is_better(&wish[i], &wish[best]))
			best = i;
	}
	return accept_offers[best].format;
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
