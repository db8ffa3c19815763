/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Elements of pages: head and foot, numbers, bars and lines.
 *
 * The output is well-formed XML as well as HTML. A page has no inline style or
 * script, as the strictest policy requires. A name, of any bytes, is written as
 * text.
 */
#ifndef KF_EXPORTER_SITE_HTML_H
#define KF_EXPORTER_SITE_HTML_H

#include "exporter/buf.h"

/* The parts of held memory, in drawing order. */
enum kf_part {
	KF_PART_LIVE,
	KF_PART_ROUNDING,
	KF_PART_CACHED,
	KF_PART_FREE,
	KF_PART_METADATA,
	KF_NR_PARTS
};

extern const char *const kf_part_names[KF_NR_PARTS];

/**
 * kf_html_begin() - write the beginning of a page
 * @out:	the page
 * @title:	its title, any bytes
 * @metrics:	path of the metrics
 *
 * Context: as kf_buf_add().
 */
void kf_html_begin(struct kf_buf *out, const char *title, const char *metrics);

/**
 * kf_html_end() - write the end of a page
 * @out:	the page
 *
 * Context: as kf_buf_add().
 */
void kf_html_end(struct kf_buf *out);

/**
 * kf_html_text() - write a name as text or attribute value
 * @out:	the page
 * @raw:	the name, any bytes
 *
 * Context: as kf_buf_add().
 */
void kf_html_text(struct kf_buf *out, const char *raw);

/**
 * kf_html_bytes() - write a number of bytes with a unit
 * @out:	the page
 * @bytes:	the number; also the tooltip
 *
 * Context: as kf_buf_add().
 */
void kf_html_bytes(struct kf_buf *out, double bytes);

/**
 * kf_html_count() - write a number, with k, M, G and so on if it is large
 * @out:	the page
 * @n:		the number; also the tooltip
 *
 * Context: as kf_buf_add().
 */
void kf_html_count(struct kf_buf *out, uint64_t n);

/**
 * kf_html_rate() - write how often something happens
 * @out:	the page
 * @rate:	per second; NAN: unknown, which writes nothing
 * @before:	what stands before it
 * @after:	what stands behind it
 *
 * Context: as kf_buf_add().
 */
void kf_html_rate(struct kf_buf *out, double rate, const char *before,
		  const char *after);

/**
 * kf_html_bytes_cell() - write a table cell with bytes
 * kf_html_count_cell() - write a table cell with a number
 * @out:	the page
 * @label:	name of the column, for narrow screens
 * @n:		the number
 *
 * Context: as kf_buf_add().
 */
void kf_html_bytes_cell(struct kf_buf *out, const char *label, uint64_t n);
void kf_html_count_cell(struct kf_buf *out, const char *label, uint64_t n);

/**
 * kf_html_total_cell() - write a table cell with a number that only grows
 * @out:	the page
 * @label:	name of the column, for narrow screens
 * @n:		the number
 * @bytes:	it counts bytes
 *
 * The page's script writes beside it how fast it grows, if the row has a
 * data-key that is the same from one look to the next.
 *
 * Context: as kf_buf_add().
 */
void kf_html_total_cell(struct kf_buf *out, const char *label, uint64_t n,
			bool bytes);

/**
 * kf_html_bar() - write a stacked bar of memory by its parts
 * @out:	the page
 * @part:	bytes of each
 * @full:	bytes of the whole width; less than the sum: the sum
 *
 * Context: as kf_buf_add().
 */
void kf_html_bar(struct kf_buf *out, const uint64_t part[KF_NR_PARTS],
		 uint64_t full);

/**
 * kf_html_share() - write a plain bar
 * @out:	the page
 * @n:		its length
 * @full:	of the whole width
 *
 * Context: as kf_buf_add().
 */
void kf_html_share(struct kf_buf *out, uint64_t n, uint64_t full);

/**
 * kf_html_legend() - write a legend of the parts, with bytes and percents
 * @out:	the page
 * @part:	bytes of each
 *
 * Context: as kf_buf_add().
 */
void kf_html_legend(struct kf_buf *out, const uint64_t part[KF_NR_PARTS]);

/**
 * kf_html_spark() - write a sparkline of bytes, its last value and its largest
 * @out:	the page
 * @ms:	times, ascending
 * @value:	values at these times; NAN: unknown
 * @nr:		their number; fewer than two draw nothing
 * @gap_ms:	where times are further apart, nothing joins them
 *
 * Context: as kf_buf_add().
 */
void kf_html_spark(struct kf_buf *out, const uint64_t *ms, const float *value,
		   unsigned int nr, uint64_t gap_ms);

/**
 * kf_html_card() - begin a card with a large number; close it with </div>
 * @out:	the page
 * @title:	its title
 *
 * Context: as kf_buf_add().
 */
void kf_html_card(struct kf_buf *out, const char *title);

/* The sum of all parts. */
static inline uint64_t kf_parts_sum(const uint64_t part[KF_NR_PARTS])
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < KF_NR_PARTS; i++)
		sum += part[i];
	return sum;
}

#endif
