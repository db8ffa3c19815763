/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The page of SystemTap's script prometheus, in the classic text format, as
 * values of a tracer.
 *
 * A page is accepted as a whole or not at all: sums would fall in a truncated
 * page. If a sum falls in a complete page, the script was restarted, and
 * earlier counts are kept. Counts of all programs are summed, as by other
 * tracers.
 */
#include "config.h"

#include "exporter/trace/trace.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "konfiscator_"
#define HISTOGRAM PREFIX "request_bytes"
#define EVENT "request" /* of the histogram */

struct reading {
	struct kf_trace_values *v; /* of this page alone */
	uint64_t below; /* counts up to the last bucket of the histogram */
	bool all;	/* bucket +Inf was seen */
	bool whole;	/* a last line that is truncated */
	uint64_t *lines;
};

/* Split a line into "name{labels}" of @len bytes and its value. */
struct sample {
	const char *series;
	size_t len;
	uint64_t value;
};

static bool trace_parse_number(const char *text, size_t len, uint64_t *out)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || n > KF_TRACE_MOST / 10)
			return false;
		n = 10 * n + (uint64_t)(text[i] - '0');
	}
	*out = n;
	return len > 0;
}

static bool trace_parse_sample(const char *line, size_t len, struct sample *s)
{
	const char *blank = memrchr(line, ' ', len);

	s->series = line;
	s->len = blank ? (size_t)(blank - line) : 0;
	return s->len &&
	       trace_parse_number(blank + 1, len - s->len - 1, &s->value);
}

/*
 * Return the rest of a series after @head, or NULL if it does not begin with
 * it.
 */
static const char *trace_series_after(const struct sample *s, const char *head)
{
	size_t len = strlen(head);

	return s->len >= len && memcmp(s->series, head, len) == 0
		       ? s->series + len
		       : NULL;
}

static struct kf_trace_counts *trace_counts_of(struct reading *r,
					       enum kf_trace_metric_id metric,
					       const char *event)
{
	struct kf_trace_value *value = kf_trace_value(r->v, metric, event);

	return value ? &value->now : NULL;
}

/* Buckets have ascending bounds and cumulative counts. */
static bool trace_take_bucket(struct reading *r, const struct sample *s,
			      const char *le)
{
	struct kf_trace_counts *c = trace_counts_of(r, KF_TRACE_SIZES, EVENT);
	size_t len = s->len - (size_t)(le - s->series);
	uint64_t bound = UINT64_MAX;

	if (!c || r->all || s->value < r->below || len < 2 ||
	    memcmp(le + len - 2, "\"}", 2) != 0)
		return false;
	len -= 2;
	r->all = len == strlen("+Inf") && memcmp(le, "+Inf", len) == 0;
	if (!r->all && !trace_parse_number(le, len, &bound))
		return false;
	r->whole = false;
	c->count[kf_trace_bucket(KF_TRACE_SIZES, bound)] += s->value - r->below;
	r->below = s->value;
	return true;
}

/* A known name that ends in _total, with any labels. */
static bool trace_take_counter(struct reading *r, const struct sample *s,
			       const char *name, size_t len)
{
	struct kf_trace_counts *c;
	char event[KF_TRACE_EVENT];

	if (len >= sizeof(event))
		return false;
	memcpy(event, name, len);
	event[len] = '\0';
	if (!kf_trace_plain(event))
		return false;
	c = trace_counts_of(r, KF_TRACE_EVENTS, event);
	if (!c)
		return true;
	c->count[0] += s->value;
	return c->count[0] <= KF_TRACE_MOST;
}

static enum kf_trace_line trace_take_sample(struct reading *r,
					    const struct sample *s)
{
	static const char total[] = "_total";
	const char *rest = trace_series_after(s, HISTOGRAM "_bucket{le=\"");
	const char *brace = memchr(s->series, '{', s->len);
	size_t len = brace ? (size_t)(brace - s->series) : s->len;
	struct kf_trace_counts *c;

	if (rest)
		return trace_take_bucket(r, s, rest) ? KF_TRACE_TAKEN
						     : KF_TRACE_BAD;
	rest = trace_series_after(s, HISTOGRAM);
	if (rest && s->len == strlen(HISTOGRAM "_count")) {
		r->whole = r->all && s->value == r->below;
		return r->whole ? KF_TRACE_TAKEN : KF_TRACE_BAD;
	}
	if (rest && s->len == strlen(HISTOGRAM "_sum")) {
		c = trace_counts_of(r, KF_TRACE_SIZES, EVENT);
		if (c)
			c->sum = s->value;
		return c ? KF_TRACE_TAKEN : KF_TRACE_BAD;
	}
	rest = trace_series_after(s, PREFIX);
	if (!rest || len <= strlen(PREFIX) + strlen(total) ||
	    memcmp(s->series + len - strlen(total), total, strlen(total)) != 0)
		return KF_TRACE_IGNORED;
	len -= strlen(PREFIX) + strlen(total);
	return trace_take_counter(r, s, rest, len) ? KF_TRACE_TAKEN
						   : KF_TRACE_BAD;
}

static enum kf_trace_line trace_take_line(struct reading *r, const char *line,
					  size_t len)
{
	static const char last[] = "# TYPE " HISTOGRAM " histogram";
	struct sample s;

	if (len == strlen(last) && memcmp(line, last, len) == 0)
		r->whole = true;
	if (len == 0 || line[0] == '#')
		return KF_TRACE_IGNORED;
	return trace_parse_sample(line, len, &s) ? trace_take_sample(r, &s)
						 : KF_TRACE_BAD;
}

static bool trace_take_lines(struct reading *r, const char *text, size_t len)
{
	const char *end = text + len, *eol;
	enum kf_trace_line line;

	while (text < end) {
		eol = memchr(text, '\n', (size_t)(end - text));
		line = eol ? trace_take_line(r, text, (size_t)(eol - text))
			   : KF_TRACE_BAD;
		r->lines[line]++;
		if (line == KF_TRACE_BAD)
			return false;
		text = eol + 1;
	}
	/* a missing line counts as a bad line */
	r->lines[KF_TRACE_BAD] += !r->whole;
	return r->whole;
}

/* Whether @page is from another run than @v. */
static bool trace_is_another(struct kf_trace_values *v,
			     struct kf_trace_values *page)
{
	unsigned int i;

	for (i = 0; i < v->nr; i++) {
		struct kf_trace_value *was = &v->value[i], *is;

		is = kf_trace_value(page, was->metric, was->event);
		if (!is || kf_trace_has_fallen(&was->now, &is->now))
			return true;
	}
	return false;
}

enum kf_trace_page kf_trace_take_page(struct kf_trace_values *v,
				      const char *text, size_t len,
				      uint64_t lines[KF_NR_TRACE_LINES])
{
	struct kf_trace_values *page = calloc(1, sizeof(*page));
	struct reading r = {.v = page, .lines = lines};
	enum kf_trace_page result = KF_TRACE_PAGE_BAD;
	struct kf_trace_value *value;
	unsigned int i;

	if (page && trace_take_lines(&r, text, len)) {
		result = trace_is_another(v, page) ? KF_TRACE_PAGE_ANOTHER
						   : KF_TRACE_PAGE_SAME;
		if (result == KF_TRACE_PAGE_ANOTHER)
			kf_trace_fold(v);
		for (i = 0; i < page->nr; i++) {
			value = kf_trace_value(v, page->value[i].metric,
					       page->value[i].event);
			if (value)
				value->now = page->value[i].now;
		}
		v->dropped += page->dropped;
	}
	free(page);
	return result;
}
