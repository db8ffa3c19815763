/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mallinfo, malloc_stats, malloc_info, malloc_trim: the C library's windows
 * on the heap, looking at ours.
 */
#include "base/compiler.h"
#include "base/text.h"
#include "core/core.h"
#include "engines/host.h"
#include "stats/box.h"
#include "sys/out.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>

static void info_look(struct kf_host_info *info)
{
	if (kf_start_is_due())
		kf_start();
	kf_host_info(info);
}

__kf_public struct mallinfo2 mallinfo2(void)
{
	struct kf_host_info i;

	info_look(&i);
	return (struct mallinfo2){
		.arena = i.arena,
		.ordblks = i.free.free_blocks,
		.hblks = i.mapped_blocks,
		.hblkhd = i.mapped_bytes,
		.fsmblks = i.cached,
		.uordblks = i.used,
		.fordblks = i.arena - i.used,
		.keepcost = i.free.top,
	};
}

static int saturate(size_t n)
{
	return n > INT_MAX ? INT_MAX : (int)n;
}

__kf_public struct mallinfo mallinfo(void)
{
	struct mallinfo2 m = mallinfo2();

	return (struct mallinfo){
		.arena = saturate(m.arena),
		.ordblks = saturate(m.ordblks),
		.hblks = saturate(m.hblks),
		.hblkhd = saturate(m.hblkhd),
		.fsmblks = saturate(m.fsmblks),
		.uordblks = saturate(m.uordblks),
		.fordblks = saturate(m.fordblks),
		.keepcost = saturate(m.keepcost),
	};
}

static void info_line(struct kf_text *text, const char *name, size_t n)
{
	size_t start;

	kf_text_str(text, name);
	start = text->len;
	kf_text_u64(text, n);
	kf_text_pad(text, start, 10, true);
	kf_text_char(text, '\n');
}

__kf_public void malloc_stats(void)
{
	char buf[512];
	struct kf_text text;
	struct kf_host_info i;

	info_look(&i);
	kf_text_init(&text, buf, sizeof(buf));
	kf_text_str(&text, "Arena 0:\n");
	info_line(&text, "system bytes     = ", i.arena);
	info_line(&text, "in use bytes     = ", i.used);
	kf_text_str(&text, "Total (incl. mmap):\n");
	info_line(&text, "system bytes     = ", i.arena + i.mapped_bytes);
	info_line(&text, "in use bytes     = ", i.used + i.mapped_bytes);
	info_line(&text, "max mmap regions = ", i.peak_mapped_blocks);
	info_line(&text, "max mmap bytes   = ", i.peak_mapped_bytes);
	kf_out(&text);
}

__kf_public int malloc_info(int options, FILE *fp)
{
	struct kf_host_info i;

	if (options != 0) {
		errno = EINVAL;
		return -1;
	}
	info_look(&i);
	fprintf(fp,
		"<malloc version=\"1\">\n"
		"<heap nr=\"0\">\n"
		"<sizes>\n"
		"</sizes>\n"
		"<total type=\"fast\" count=\"0\" size=\"%zu\"/>\n"
		"<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n"
		"<system type=\"current\" size=\"%zu\"/>\n"
		"<system type=\"max\" size=\"%zu\"/>\n"
		"<aspace type=\"total\" size=\"%zu\"/>\n"
		"<aspace type=\"mprotect\" size=\"%zu\"/>\n"
		"</heap>\n"
		"<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n"
		"<system type=\"current\" size=\"%zu\"/>\n"
		"<system type=\"max\" size=\"%zu\"/>\n"
		"</malloc>\n",
		i.cached, i.free.free_blocks, i.free.free, i.arena, i.peak,
		i.arena, i.arena, i.mapped_blocks, i.mapped_bytes,
		i.arena + i.mapped_bytes, i.peak);
	return 0;
}

__kf_public int malloc_trim(size_t pad)
{
	if (kf_start_is_due())
		return 0;
	kf_box_put(KF_BOX_trim, 0, pad);
	return kf_host_trim(pad);
}
