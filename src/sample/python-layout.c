/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where CPython has what is read, by version: see python.h. All are of 64-bit
 * builds, which are laid out alike. From 3.13 on an interpreter describes
 * itself (struct _Py_DebugOffsets); what it leaves out is as in the table.
 */
#include "sample/python.h"

#include <stddef.h>
#include <string.h>

#define NO KF_PYTHON_NO

/* In the order of struct kf_python_layout. */
static const struct {
	uint16_t first, last; /* versions */
	struct kf_python_layout at;
} layouts[] = {
	/* clang-format off */
	{0x0308, 0x0309,
	 { 24,  NO,  NO,  NO,  32,  24, 104,  NO,  NO,
	   NO,  40, 104, 112, 120,  NO,  48,  72}},
	{0x030a, 0x030a,
	 { 24,  48,  NO,   8,  32,  24,  96,  NO,  NO,
	   NO,  40, 104, 112, 120,  NO,  48,  72}},
	{0x030b, 0x030b,
	 { NO,  56,   8,  16,  32,  48,  56,  68,  NO,
	   NO,  72, 112, 128, 136, 184,  48,  72}},
	{0x030c, 0x030c,
	 { NO,  56,   0,  NO,   0,   8,  56,  NO,  70,
	   92,  68, 112, 128, 136, 192,  40,  56}},
	{0x030d, 0x030d,
	 { 72,  NO,  NO,  NO,   0,   8,  56,  NO,  70,
	   92,  68, 112, 128, 136, 200,  40,  56}},
	/* clang-format on */
};

bool kf_python_layout_of(uint16_t version, struct kf_python_layout *at)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(layouts); i++) {
		if (version < layouts[i].first || version > layouts[i].last)
			continue;
		*at = layouts[i].at;
		return true;
	}
	return false;
}

/* What a struct _Py_DebugOffsets has, and where. */
#define FIELD(name) offsetof(struct kf_python_layout, name)
#define NR_FIELDS 11
static const uint16_t fields[NR_FIELDS] = {
	FIELD(state_frame), FIELD(frame_before), FIELD(frame_code),
	FIELD(frame_at),    FIELD(frame_owner),	 FIELD(code_file),
	FIELD(code_name),   FIELD(code_lines),	 FIELD(code_line),
	FIELD(code_begin),  FIELD(text_ascii),
};

static const struct {
	uint16_t version;
	uint16_t from[NR_FIELDS];
} blocks[] = {
	{0x030d, {184, 232, 240, 248, 264, 280, 296, 304, 312, 344, 560}},
	{0x030e, {208, 256, 264, 272, 288, 320, 336, 344, 352, 384, 640}},
};

#define MOST 2048 /* the widest structure that is believed */

bool kf_python_layout_read(const void *block, size_t size, uint16_t version,
			   struct kf_python_layout *at, bool *threads)
{
	uint64_t head[3]; /* a cookie, the version, whether threads are free */
	const char *bytes = block;
	size_t i = 0;

	if (size < sizeof(head))
		return false;
	memcpy(head, block, sizeof(head));
	while (i < KF_ARRAY_SIZE(blocks) && blocks[i].version != version)
		i++;
	if (i == KF_ARRAY_SIZE(blocks) || memcmp(head, "xdebugpy", 8) ||
	    head[1] >> 16 != version || !kf_python_layout_of(0x030d, at))
		return false;
	*threads = head[2];
	for (size_t f = 0; f < NR_FIELDS; f++) {
		uint64_t value = MOST;

		if (blocks[i].from[f] + sizeof(value) <= size)
			memcpy(&value, bytes + blocks[i].from[f],
			       sizeof(value));
		if (value >= MOST)
			return false;
		*(uint16_t *)((char *)at + fields[f]) = (uint16_t)value;
	}
	at->code_version = at->code_file - 20;
	/* A string that is not ASCII has a cached encoding more. */
	at->text_others = at->text_ascii + 16;
	return true;
}
