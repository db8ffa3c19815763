/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The export massif: levels over the time as valgrind's massif writes them, for
 * ms_print and massif-visualizer. What is held from the kernel beyond the live
 * bytes is the "extra heap"; the peak has a tree, by function.
 */
#include "config.h"

#include "cli/report.h"

#define NR_SNAPSHOTS 99 /* and the peak; massif has as many */

static struct kf_series series;
static unsigned int snapshot;

static void begin(struct kf_report *r)
{
	kf_series_init(&series, r->pick.from, r->history.head.held);
}

static void step(struct kf_report *r, const struct kf_step *s)
{
	kf_series_step(&series, s, &r->replay.now);
}

static void write_level(FILE *f, uint64_t time, uint64_t live, uint64_t held,
			const char *tree)
{
	fprintf(f,
		"#-----------\nsnapshot=%u\n#-----------\n"
		"time=%.6f\nmem_heap_B=%llu\nmem_heap_extra_B=%llu\n"
		"mem_stacks_B=0\nheap_tree=%s\n",
		snapshot++, (double)time / 1e6, (unsigned long long)live,
		(unsigned long long)(held > live ? held - live : 0), tree);
}

static void write_peak(FILE *f, const struct kf_replay *p)
{
	unsigned int nr = 0;

	write_level(f, p->peak_time, p->peak.bytes, p->peak.held, "peak");
	for (unsigned int k = 0; k < KF_RECORD_NR_KINDS; k++)
		nr += p->peak.by_kind[k] > 0;
	fprintf(f,
		"n%u: %llu (heap allocation functions) malloc/new/new[], "
		"--alloc-fns, etc.\n",
		nr, (unsigned long long)p->peak.bytes);
	for (unsigned int k = 0; k < KF_RECORD_NR_KINDS; k++) {
		if (p->peak.by_kind[k])
			fprintf(f, " n0: %llu 0x%x: %s (in the recording)\n",
				(unsigned long long)p->peak.by_kind[k], k,
				kf_report_function(k));
	}
}

static int end(struct kf_report *r)
{
	const struct kf_replay *p = &r->replay;
	bool peak_written = !p->peak.bytes;
	char program[256], path[1024];

	kf_escape(program, sizeof(program), kf_report_program(r));
	kf_escape(path, sizeof(path), r->path);
	fprintf(r->out,
		"desc: konfiscator recording %s\ncmd: %s\n"
		"time_unit: ms\n",
		path, program);
	kf_series_finish(&series, NR_SNAPSHOTS);
	for (size_t i = 0; i < series.nr; i++) {
		const struct kf_series_bucket *b = &series.bucket[i];
		uint64_t time = series.from + (i + 1) * series.width;

		time = KF_MIN(time, p->end_time);
		if (!peak_written && p->peak_time <= time) {
			write_peak(r->out, p);
			peak_written = true;
		}
		write_level(r->out, time, b->live, b->held, "empty");
	}
	return KF_EXIT_OK;
}

const struct kf_view kf_view_massif = {
	.name = "massif",
	.help = "levels over the time, for ms_print",
	.exports = true,
	.begin = begin,
	.step = step,
	.end = end,
};
