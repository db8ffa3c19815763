/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where CPython has what is read, by version: see python.h. All are of 64-bit
 * builds, which are laid out alike. From 3.13 on an interpreter describes
 * itself (struct _Py_DebugOffsets); what it leaves out is as in the table.
 */
#include "sample/python.h"

#include <string.h>

#define NO KF_PYTHON_NO

static const struct {
	uint16_t first, last; /* versions */
	struct kf_python_layout at;
} layouts[] = {
	{0x0308,
	 0x0309,
	 {.state_frame = 24,
	  .state_cframe = NO,
	  .cframe_frame = NO,
	  .cframe_before = NO,
	  .frame_code = 32,
	  .frame_before = 24,
	  .frame_at = 104,
	  .frame_entry = NO,
	  .frame_owner = NO,
	  .code_args = 16,
	  .code_flags = 36,
	  .code_line = 40,
	  .code_file = 104,
	  .code_name = 112,
	  .code_lines = 120,
	  .code_begin = NO,
	  .text_ascii = 48,
	  .text_others = 72}},
	{0x030a,
	 0x030a,
	 {.state_frame = 24,
	  .state_cframe = 48,
	  .cframe_frame = NO,
	  .cframe_before = 8,
	  .frame_code = 32,
	  .frame_before = 24,
	  .frame_at = 96,
	  .frame_entry = NO,
	  .frame_owner = NO,
	  .code_args = 16,
	  .code_flags = 36,
	  .code_line = 40,
	  .code_file = 104,
	  .code_name = 112,
	  .code_lines = 120,
	  .code_begin = NO,
	  .text_ascii = 48,
	  .text_others = 72}},
	{0x030b,
	 0x030b,
	 {.state_frame = NO,
	  .state_cframe = 56,
	  .cframe_frame = 8,
	  .cframe_before = 16,
	  .frame_code = 32,
	  .frame_before = 48,
	  .frame_at = 56,
	  .frame_entry = 68,
	  .frame_owner = NO,
	  .code_args = 56,
	  .code_flags = 48,
	  .code_line = 72,
	  .code_file = 112,
	  .code_name = 128,
	  .code_lines = 136,
	  .code_begin = 184,
	  .text_ascii = 48,
	  .text_others = 72}},
	{0x030c,
	 0x030c,
	 {.state_frame = NO,
	  .state_cframe = 56,
	  .cframe_frame = 0,
	  .cframe_before = NO,
	  .frame_code = 0,
	  .frame_before = 8,
	  .frame_at = 56,
	  .frame_entry = NO,
	  .frame_owner = 70,
	  .code_args = 52,
	  .code_flags = 48,
	  .code_line = 68,
	  .code_file = 112,
	  .code_name = 128,
	  .code_lines = 136,
	  .code_begin = 192,
	  .text_ascii = 40,
	  .text_others = 56}},
	{0x030d,
	 0x030d,
	 {.state_frame = 72,
	  .state_cframe = NO,
	  .cframe_frame = NO,
	  .cframe_before = NO,
	  .frame_code = 0,
	  .frame_before = 8,
	  .frame_at = 56,
	  .frame_entry = NO,
	  .frame_owner = 70,
	  .code_args = 52,
	  .code_flags = 48,
	  .code_line = 68,
	  .code_file = 112,
	  .code_name = 128,
	  .code_lines = 136,
	  .code_begin = 200,
	  .text_ascii = 40,
	  .text_others = 56}},
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

/* Where a struct _Py_DebugOffsets has what. */
static const struct {
	uint16_t version;
	uint16_t state_frame, frame_before, frame_code, frame_at, frame_owner;
	uint16_t code_file, code_name, code_lines, code_line, code_args;
	uint16_t code_begin, text_ascii;
} blocks[] = {
	{0x030d, 184, 232, 240, 248, 264, 280, 296, 304, 312, 320, 344, 560},
	{0x030e, 208, 256, 264, 272, 288, 320, 336, 344, 352, 360, 384, 640},
};

#define MOST 2048 /* the widest structure that is believed */

static bool layout_take(const char *block, size_t size, uint16_t from,
			uint16_t *to)
{
	uint64_t value;

	if (from + sizeof(value) > size)
		return false;
	memcpy(&value, block + from, sizeof(value));
	*to = (uint16_t)value;
	return value < MOST;
}

bool kf_python_layout_read(const void *block, size_t size, uint16_t version,
			   struct kf_python_layout *at, bool *threads)
{
	uint64_t head[3]; /* a cookie, the version, whether threads are free */
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
	at->code_flags = NO;
	if (!layout_take(block, size, blocks[i].state_frame,
			 &at->state_frame) ||
	    !layout_take(block, size, blocks[i].frame_before,
			 &at->frame_before) ||
	    !layout_take(block, size, blocks[i].frame_code, &at->frame_code) ||
	    !layout_take(block, size, blocks[i].frame_at, &at->frame_at) ||
	    !layout_take(block, size, blocks[i].frame_owner,
			 &at->frame_owner) ||
	    !layout_take(block, size, blocks[i].code_file, &at->code_file) ||
	    !layout_take(block, size, blocks[i].code_name, &at->code_name) ||
	    !layout_take(block, size, blocks[i].code_lines, &at->code_lines) ||
	    !layout_take(block, size, blocks[i].code_line, &at->code_line) ||
	    !layout_take(block, size, blocks[i].code_args, &at->code_args) ||
	    !layout_take(block, size, blocks[i].code_begin, &at->code_begin) ||
	    !layout_take(block, size, blocks[i].text_ascii, &at->text_ascii))
		return false;
	/* A string that is not ASCII has a cached encoding more. */
	at->text_others = at->text_ascii + 16;
	return true;
}
