/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The export massif: levels over time in the format of valgrind's massif, for
 * ms_print and massif-visualizer. Held bytes that are not live are the "extra
 * heap"; the peak has a tree, by function.
 */
#include "config.h"

#include "cli/report/report.h"

#define NR_SNAPSHOTS 99 /* and the peak; massif has the same number */

static struct kf_series massif_series;
static struct kf_massif massif_state;

static void massif_begin(struct kf_report *r)
{
	kf_series_init(&massif_series, r->pick.from, r->history.head.held);
}

static void massif_step(struct kf_report *r, const struct kf_step *s)
{
	kf_series_step(&massif_series, s, &r->replay.now);
}

void kf_massif_head(struct kf_massif *m, const char *what, const char *path,
		    const char *program)
{
	fprintf(m->out,
		"desc: konfiscator %s %s\ncmd: %s\n"
		"time_unit: ms\n",
		what, path, program);
}

void kf_massif_level(struct kf_massif *m, uint64_t time_ns, uint64_t live,
		     uint64_t held, const char *tree)
{
	fprintf(m->out,
		"#-----------\nsnapshot=%u\n#-----------\n"
		"time=%.6f\nmem_heap_B=%llu\nmem_heap_extra_B=%llu\n"
		"mem_stacks_B=0\nheap_tree=%s\n",
		m->snapshot++, (double)time_ns / 1e6, (unsigned long long)live,
		(unsigned long long)(held > live ? held - live : 0), tree);
}

static void write_peak(const struct kf_replay *p)
{
	unsigned int nr = 0;
	FILE *f = massif_state.out;

	kf_massif_level(&massif_state, p->peak_time, p->peak.bytes,
			p->peak.held, "peak");
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

static int massif_end(struct kf_report *r)
{
	const struct kf_replay *p = &r->replay;
	bool peak_written = !p->peak.bytes;
	char program[256], path[1024];

	kf_escape(program, sizeof(program), kf_report_program(r));
	kf_escape(path, sizeof(path), r->path);
	massif_state.out = r->out;
	kf_massif_head(&massif_state, "recording", path, program);
	kf_series_finish(&massif_series, NR_SNAPSHOTS);
	for (size_t i = 0; i < massif_series.nr; i++) {
		const struct kf_series_bucket *b = &massif_series.bucket[i];
		uint64_t time =
			massif_series.from + (i + 1) * massif_series.width;

		time = KF_MIN(time, p->end_time);
		if (!peak_written && p->peak_time <= time) {
			write_peak(p);
			peak_written = true;
		}
		kf_massif_level(&massif_state, time, b->live, b->held, "empty");
	}
	return KF_EXIT_OK;
}

const struct kf_view kf_view_massif = {
	.name = "massif",
	.exports = true,
	.begin = massif_begin,
	.step = massif_step,
	.end = massif_end,
};
