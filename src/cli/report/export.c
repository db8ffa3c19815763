/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The exports of events, one on each line, written in the order of reading: csv
 * and json have all fields; log and trace are the formats of heaphook's parser
 * and analyzer.
 *
 * heaphook's formats have one line for a realloc. If another thread got the old
 * block before the realloc ended, this line would be wrong at any place: a free
 * before the other thread's line and an alloc are written instead.
 */
#include "config.h"

#include "cli/report/report.h"

static bool is_realloc(const struct kf_step *s)
{
	return s->event->kind == KF_RECORD_REALLOC;
}

/* A call that leaves a block, in heaphook's sense. */
static bool export_gives(const struct kf_step *s)
{
	return s->event->kind != KF_RECORD_FREE && !s->event->failed &&
	       s->event->address;
}

static bool takes_only(const struct kf_step *s)
{
	return s->event->kind == KF_RECORD_FREE ||
	       (is_realloc(s) && !s->event->size && !export_gives(s));
}

static void log_step(struct kf_report *r, const struct kf_step *s)
{
	const struct kf_history_event *e = s->event;
	const char *name = kf_report_function(e->kind);

	if (!s->call || !s->picked)
		return;
	if (s->steals)
		fprintf(r->out, "free 0x%llx 0 0\n",
			(unsigned long long)e->address);
	if (takes_only(s) && s->old_address && !s->stolen)
		fprintf(r->out, "free 0x%llx 0 0\n",
			(unsigned long long)s->old_address);
	if (!export_gives(s))
		return;
	if (is_realloc(s) && s->old_address && !s->stolen) {
		fprintf(r->out, "realloc 0x%llx %llu 0x%llx\n",
			(unsigned long long)s->old_address,
			(unsigned long long)e->size,
			(unsigned long long)e->address);
		return;
	}
	if (is_realloc(s))
		name = "malloc";
	else if (e->kind == KF_RECORD_ALIGNED)
		name = "memalign";
	fprintf(r->out, "%s 0x%llx %llu 0\n", name,
		(unsigned long long)e->address, (unsigned long long)e->size);
}

static void trace_step(struct kf_report *r, const struct kf_step *s)
{
	const struct kf_history_event *e = s->event;

	if (!s->call || !s->picked)
		return;
	if (s->steals)
		fprintf(r->out, "dealloc, 0x%016llx, 0\n",
			(unsigned long long)e->address);
	if (takes_only(s) && s->old_address && !s->stolen)
		fprintf(r->out, "dealloc, 0x%016llx, %llu\n",
			(unsigned long long)s->old_address,
			(unsigned long long)e->took);
	if (!export_gives(s))
		return;
	if (e->kind == KF_RECORD_CALLOC)
		fprintf(r->out, "alloc_zeroed, %llu, 0x%016llx, %llu\n",
			(unsigned long long)e->size,
			(unsigned long long)e->address,
			(unsigned long long)e->took);
	else if (is_realloc(s) && s->old_address && !s->stolen)
		fprintf(r->out, "realloc, 0x%016llx, %llu, 0x%016llx, %llu\n",
			(unsigned long long)s->old_address,
			(unsigned long long)e->size,
			(unsigned long long)e->address,
			(unsigned long long)e->took);
	else
		fprintf(r->out, "alloc, %llu, %llu, 0x%016llx, %llu\n",
			(unsigned long long)e->size, 1ULL << e->align_log2 % 64,
			(unsigned long long)e->address,
			(unsigned long long)e->took);
}

/* The fields of an event in csv and json. */
struct fields {
	unsigned long long time;
	long tid;
	const char *function;
	unsigned long long size;
	unsigned long long align;
	unsigned long long old;
	unsigned long long address;
	unsigned long long took;
	bool failed;
};

static bool fields_of(const struct kf_report *r, const struct kf_step *s,
		      struct fields *f)
{
	const struct kf_history_event *e = s->event;
	bool held = e->kind == KF_RECORD_HELD;

	if (!s->picked && !held)
		return false;
	*f = (struct fields){
		.time = e->time,
		.tid = e->thread < r->history.nr_threads
			       ? r->history.threads[e->thread].tid
			       : 0,
		.function = kf_report_function(e->kind),
		.size = e->kind == KF_RECORD_FREE ? s->old.size : e->size,
		.align = e->kind == KF_RECORD_ALIGNED
				 ? 1ULL << e->align_log2 % 64
				 : 0,
		.old = s->old_address,
		.address = e->kind == KF_RECORD_FREE ? 0 : e->address,
		.took = e->took,
		.failed = e->failed && e->size,
	};
	return true;
}

static void csv_begin(struct kf_report *r)
{
	if (!r->cli->no_header)
		fputs("time_ns,tid,function,size_bytes,alignment,old_address,"
		      "address,duration_ns,failed\n",
		      r->out);
}

static void csv_step(struct kf_report *r, const struct kf_step *s)
{
	struct fields f;

	if (fields_of(r, s, &f))
		fprintf(r->out, "%llu,%ld,%s,%llu,%llu,0x%llx,0x%llx,%llu,%d\n",
			f.time, f.tid, f.function, f.size, f.align, f.old,
			f.address, f.took, f.failed);
}

static bool export_any;

static void json_begin(struct kf_report *r)
{
	export_any = false;
	fputs("[", r->out);
}

static void json_step(struct kf_report *r, const struct kf_step *s)
{
	struct fields f;

	if (!fields_of(r, s, &f))
		return;
	fprintf(r->out,
		"%s\n{\"time_ns\": %llu, \"tid\": %ld, \"function\": \"%s\", "
		"\"size_bytes\": %llu, \"alignment\": %llu, "
		"\"old_address\": \"0x%llx\", \"address\": \"0x%llx\", "
		"\"duration_ns\": %llu, \"failed\": %s}",
		export_any ? "," : "", f.time, f.tid, f.function, f.size,
		f.align, f.old, f.address, f.took, f.failed ? "true" : "false");
	export_any = true;
}

static int json_end(struct kf_report *r)
{
	fputs("\n]\n", r->out);
	return KF_EXIT_OK;
}

static int export_nothing(struct kf_report *r)
{
	return KF_EXIT_OK;
}

const struct kf_view kf_view_log = {
	.name = "log",
	.exports = true,
	.step = log_step,
	.end = export_nothing,
};

const struct kf_view kf_view_trace = {
	.name = "trace",
	.exports = true,
	.step = trace_step,
	.end = export_nothing,
};

const struct kf_view kf_view_csv = {
	.name = "csv",
	.exports = true,
	.begin = csv_begin,
	.step = csv_step,
	.end = export_nothing,
};

const struct kf_view kf_view_json = {
	.name = "json",
	.exports = true,
	.begin = json_begin,
	.step = json_step,
	.end = json_end,
};
