/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts that pages are made of: head and foot, numbers, bars and lines.
 *
 * Promises: what is written is well-formed XML as well as HTML; no style and
 * no script stands in a page, so the strictest policy fits it; a name, of
 * whatever bytes, comes out as text.
 */
#ifndef KF_EXPORTER_SITE_HTML_H
#define KF_EXPORTER_SITE_HTML_H

#include "exporter/buf.h"

/* The parts that held memory falls into, in the order they are drawn. */
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
 * kf_html_begin() - all of a page before its content
 * @out:	the page
 * @title:	of the window; any bytes
 * @metrics:	where the metrics are
 *
 * Context: as kf_buf_add().
 */
void kf_html_begin(struct kf_buf *out, const char *title, const char *metrics);

/**
 * kf_html_end() - all of a page after its content
 * @out:	the page
 *
 * Context: as kf_buf_add().
 */
void kf_html_end(struct kf_buf *out);

/**
 * kf_html_text() - a foreign name as text or attribute value
 * @out:	the page
 * @raw:	the name, any bytes
 *
 * Context: as kf_buf_add().
 */
void kf_html_text(struct kf_buf *out, const char *raw);

/**
 * kf_html_bytes() - a number of bytes in a unit that suits it
 * @out:	the page
 * @bytes:	the number; stands there in full as the tooltip
 *
 * Context: as kf_buf_add().
 */
void kf_html_bytes(struct kf_buf *out, double bytes);

/**
 * kf_html_count() - a number, with k, M, G and so on where it is large
 * @out:	the page
 * @n:		the number; stands there in full as the tooltip
 *
 * Context: as kf_buf_add().
 */
void kf_html_count(struct kf_buf *out, uint64_t n);

/**
 * kf_html_bytes_cell() - a table's cell with bytes
 * kf_html_count_cell() - a table's cell with a number
 * @out:	the page
 * @label:	what the column is called, for narrow screens
 * @n:		the number
 *
 * Context: as kf_buf_add().
 */
void kf_html_bytes_cell(struct kf_buf *out, const char *label, uint64_t n);
void kf_html_count_cell(struct kf_buf *out, const char *label, uint64_t n);

/**
 * kf_html_bar() - a stacked bar of memory by its parts
 * @out:	the page
 * @part:	bytes of each
 * @full:	bytes of the whole width; less than the sum: the sum
 *
 * Context: as kf_buf_add().
 */
void kf_html_bar(struct kf_buf *out, const uint64_t part[KF_NR_PARTS],
		 uint64_t full);

/**
 * kf_html_share() - a plain bar
 * @out:	the page
 * @n:		its length
 * @full:	of the whole width
 *
 * Context: as kf_buf_add().
 */
void kf_html_share(struct kf_buf *out, uint64_t n, uint64_t full);

/**
 * kf_html_legend() - which colour is which part, with bytes and percents
 * @out:	the page
 * @part:	bytes of each
 *
 * Context: as kf_buf_add().
 */
void kf_html_legend(struct kf_buf *out, const uint64_t part[KF_NR_PARTS]);

/**
 * kf_html_spark() - a small line of how something went
 * @out:	the page
 * @ms:	when, rising
 * @value:	values, oldest first; NAN: nothing is known of that moment
 * @nr:		how many; fewer than two are drawn as nothing
 *
 * Context: as kf_buf_add().
 */
void kf_html_spark(struct kf_buf *out, const uint64_t *ms, const float *value,
		   unsigned int nr);

/**
 * kf_html_card() - begin a card with a large number; close it with </div>
 * @out:	the page
 * @title:	what it is
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
