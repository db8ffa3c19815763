/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From instructions of Python to lines, by the tables of code objects: see
 * python.h. The formats are those of CPython's InternalDocs: lnotab to 3.9,
 * PEP 626 in 3.10, locations from 3.11 on.
 */
#include "sample/python.h"

struct table {
	const uint8_t *at;
	const uint8_t *end;
};

static uint32_t line_or_none(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs of bytes of code and lines to add; 3.8 and 3.9. */
static uint32_t line_by_pairs(struct table t, int64_t line, uint32_t at)
{
	uint64_t sum = 0;

	for (; t.end - t.at >= 2; t.at += 2) {
		sum += t.at[0];
		if (sum > at)
			break;
		line += (int8_t)t.at[1];
	}
	return line_or_none(line);
}

/* Pairs of bytes of code, and lines to add for these; 3.10. */
static uint32_t line_by_ranges(struct table t, int64_t line, uint32_t at)
{
	uint64_t sum = 0;

	for (; t.end - t.at >= 2; t.at += 2) {
		bool none = (int8_t)t.at[1] == INT8_MIN;

		sum += t.at[0];
		line += none ? 0 : (int8_t)t.at[1];
		if (sum > at)
			return none ? 0 : line_or_none(line);
	}
	return 0;
}

/* Six bits a byte, the lowest first. */
static uint64_t table_number(struct table *t)
{
	uint64_t n = 0;

	for (unsigned int shift = 0; t->at < t->end && shift < 36; shift += 6) {
		uint8_t byte = *t->at++;

		n |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return n;
}

/* The lines that an entry of a kind adds. */
static int64_t lines_added(struct table *t, unsigned int kind)
{
	uint64_t n;

	switch (kind) {
	case 10:
	case 11:
	case 12:
		return kind - 10;
	case 13:
	case 14:
		n = table_number(t);
		return n & 1 ? -(int64_t)(n >> 1) : (int64_t)(n >> 1);
	default:
		return 0;
	}
}

/* Entries of some code units each, whose first byte alone has the top bit. */
static uint32_t line_by_locations(struct table t, int64_t line, uint32_t at)
{
	uint64_t sum = 0;

	while (t.at < t.end) {
		uint8_t head = *t.at++;
		unsigned int kind = head >> 3 & 15;

		sum += 2 * ((head & 7) + 1);
		line += lines_added(&t, kind);
		if (sum > at)
			return kind == 15 ? 0 : line_or_none(line);
		while (t.at < t.end && !(*t.at & 0x80))
			t.at++;
	}
	return 0;
}

uint32_t kf_python_line(uint16_t version, const uint8_t *table, size_t size,
			int32_t first, uint32_t at)
{
	struct table t = {table, table + size};

	if (version < 0x030a)
		return line_by_pairs(t, first, at);
	return version == 0x030a ? line_by_ranges(t, first, at)
				 : line_by_locations(t, first, at);
}
