/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view summary: a recording on one screen, with the peak and the size of
 * the pool that engine tlsf would need.
 */
#include "config.h"

#include "cli/report/report.h"

#include <stdlib.h>
#include <time.h>

/* Room for fragmentation in a pool, in percent of the peak. */
#define MARGIN_PERCENT 25

enum {
	PROGRAM,
	PID,
	EXE,
	ENGINE,
	BEGAN,
	DURATION,
	THREADS,
	MALLOCS,
	CALLOCS,
	ALIGNEDS,
	REALLOCS,
	FREES,
	FAILED,
	ALLOCATED,
	PEAK_LIVE,
	PEAK_BLOCKS,
	PEAK_TIME,
	PEAK_HELD,
	HELD_TIME,
	LIVE,
	BLOCKS,
	BEFORE,
	BEFORE_BLOCKS,
	PEAK_POOL,
	POOL,
	ANOMALIES,
	DROPPED,
	DAMAGED,
	NR_FACTS
};

static const struct kf_column summary_columns[] = {
	[PROGRAM] = {NULL, "program", KF_CELL_TEXT},
	[PID] = {NULL, "pid", KF_CELL_COUNT},
	[EXE] = {NULL, "exe", KF_CELL_TEXT},
	[ENGINE] = {NULL, "engine", KF_CELL_TEXT},
	[BEGAN] = {NULL, "began", KF_CELL_TEXT},
	[DURATION] = {NULL, "duration_seconds", KF_CELL_SECONDS},
	[THREADS] = {NULL, "threads", KF_CELL_COUNT},
	[MALLOCS] = {NULL, "mallocs", KF_CELL_COUNT},
	[CALLOCS] = {NULL, "callocs", KF_CELL_COUNT},
	[ALIGNEDS] = {NULL, "aligneds", KF_CELL_COUNT},
	[REALLOCS] = {NULL, "reallocs", KF_CELL_COUNT},
	[FREES] = {NULL, "frees", KF_CELL_COUNT},
	[FAILED] = {NULL, "failed", KF_CELL_COUNT},
	[ALLOCATED] = {NULL, "allocated_bytes", KF_CELL_BYTES},
	[PEAK_LIVE] = {NULL, "peak_live_bytes", KF_CELL_BYTES},
	[PEAK_BLOCKS] = {NULL, "peak_live_blocks", KF_CELL_COUNT},
	[PEAK_TIME] = {NULL, "peak_live_seconds", KF_CELL_SECONDS},
	[PEAK_HELD] = {NULL, "peak_held_bytes", KF_CELL_BYTES},
	[HELD_TIME] = {NULL, "peak_held_seconds", KF_CELL_SECONDS},
	[LIVE] = {NULL, "live_bytes", KF_CELL_BYTES},
	[BLOCKS] = {NULL, "live_blocks", KF_CELL_COUNT},
	[BEFORE] = {NULL, "live_before_bytes", KF_CELL_BYTES},
	[BEFORE_BLOCKS] = {NULL, "live_before_blocks", KF_CELL_COUNT},
	[PEAK_POOL] = {NULL, "peak_pool_bytes", KF_CELL_BYTES},
	[POOL] = {NULL, "suggested_pool_bytes", KF_CELL_BYTES},
	[ANOMALIES] = {NULL, "anomalies", KF_CELL_COUNT},
	[DROPPED] = {NULL, "dropped_events", KF_CELL_COUNT},
	[DAMAGED] = {NULL, "damaged_chunks", KF_CELL_COUNT},
};

_Static_assert(KF_ARRAY_SIZE(summary_columns) == NR_FACTS,
	       "each fact is a column");

static uint64_t summary_anomalies(const struct kf_replay *p)
{
	uint64_t nr = 0;

	for (int i = 0; i < KF_NR_ANOMALIES; i++)
		nr += p->anomalies[i];
	return nr;
}

static uint64_t summary_failed(const struct kf_replay *p)
{
	uint64_t nr = 0;

	for (int i = 0; i < KF_RECORD_NR_KINDS; i++)
		nr += p->failed[i];
	return nr;
}

static uint64_t peak_pool(const struct kf_report *r)
{
	return r->replay.peak_pool + r->history.head.live_bytes;
}

/* The peak and a quarter more, rounded up to a MiB. */
static uint64_t suggested_pool(const struct kf_report *r)
{
	uint64_t bytes = peak_pool(r);

	bytes += bytes / 100 * MARGIN_PERCENT;
	return KF_ALIGN_UP(KF_MAX(bytes, 1u), KF_MIB);
}

static char *summary_began(const struct kf_report *r)
{
	time_t seconds = (time_t)(r->history.head.real_ns / 1000000000u);
	char text[40] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return kf_format("%s", text);
}

static void fill_program(const struct kf_report *r, struct kf_cell *row)
{
	const struct kf_stats_identity *id = &r->history.head.identity;
	char *when = summary_began(r);

	kf_cell_text(&row[PROGRAM], kf_report_program(r));
	row[PID].count = (uint64_t)id->pid;
	kf_cell_text(&row[EXE], id->exe);
	kf_cell_text(&row[ENGINE], id->engine);
	kf_cell_text(&row[BEGAN], when);
	free(when);
}

static void fill_calls(const struct kf_report *r, struct kf_cell *row)
{
	const struct kf_replay *p = &r->replay;

	row[THREADS].count = r->history.nr_threads;
	row[MALLOCS].count = p->calls[KF_RECORD_MALLOC];
	row[CALLOCS].count = p->calls[KF_RECORD_CALLOC];
	row[ALIGNEDS].count = p->calls[KF_RECORD_ALIGNED];
	row[REALLOCS].count = p->calls[KF_RECORD_REALLOC];
	row[FREES].count = p->calls[KF_RECORD_FREE];
	row[FAILED].count = summary_failed(p);
	row[ALLOCATED].count = p->allocated;
}

static void fill_levels(const struct kf_report *r, struct kf_cell *row)
{
	const struct kf_history *h = &r->history;
	const struct kf_replay *p = &r->replay;
	uint64_t from = r->pick.from;

	row[DURATION].real =
		(double)(p->end_time - KF_MIN(from, p->end_time)) / 1e9;
	row[PEAK_LIVE].count = p->peak.bytes;
	row[PEAK_BLOCKS].count = p->peak.blocks;
	row[PEAK_TIME].real = (double)p->peak_time / 1e9;
	row[PEAK_HELD].count = p->peak_held;
	row[HELD_TIME].real = (double)p->peak_held_time / 1e9;
	row[LIVE].count = p->now.bytes;
	row[BLOCKS].count = p->now.blocks;
	row[BEFORE].count = h->head.live_bytes;
	row[BEFORE_BLOCKS].count = h->head.live_blocks;
	row[PEAK_POOL].count = peak_pool(r);
	row[POOL].count = suggested_pool(r);
	row[ANOMALIES].count = summary_anomalies(p);
	row[DROPPED].count = h->dropped;
	row[DAMAGED].count =
		h->damage.bad_chunks + h->damage.cut_chunks + h->damage.missing;
}

static const char *summary_bytes(char *buf, size_t size,
				 const struct kf_cell *c, bool exact)
{
	if (exact)
		snprintf(buf, size, "%llu", (unsigned long long)c->count);
	else
		kf_human_bytes(buf, size, c->count);
	return buf;
}

static const char *summary_seconds(char *buf, size_t size,
				   const struct kf_cell *c, bool exact)
{
	if (exact)
		snprintf(buf, size, "%.9fs", c->real);
	else
		kf_human_seconds(buf, size, c->real);
	return buf;
}

#define BYTES(fact) summary_bytes((char[32]){0}, 32, &row[fact], exact)
#define SECONDS(fact) summary_seconds((char[32]){0}, 32, &row[fact], exact)
#define COUNT(fact) ((unsigned long long)row[fact].count)

static void print_program(const struct kf_cell *row, bool exact)
{
	printf("program      %s, process %llu, engine %s\n", row[PROGRAM].text,
	       COUNT(PID), row[ENGINE].text);
	printf("time         %s from %s, threads %llu\n", SECONDS(DURATION),
	       row[BEGAN].text, COUNT(THREADS));
	printf("calls        malloc %llu, calloc %llu, aligned %llu, realloc "
	       "%llu, free %llu, failed %llu\n",
	       COUNT(MALLOCS), COUNT(CALLOCS), COUNT(ALIGNEDS), COUNT(REALLOCS),
	       COUNT(FREES), COUNT(FAILED));
	printf("asked for    %s\n", BYTES(ALLOCATED));
}

static void print_levels(const struct kf_cell *row, bool exact)
{
	printf("peak live    %s in %llu blocks, at %s\n", BYTES(PEAK_LIVE),
	       COUNT(PEAK_BLOCKS), SECONDS(PEAK_TIME));
	printf("peak held    %s from the kernel, at %s\n", BYTES(PEAK_HELD),
	       SECONDS(HELD_TIME));
	printf("live at end  %s in %llu blocks\n", BYTES(LIVE), COUNT(BLOCKS));
	if (row[BEFORE_BLOCKS].count)
		printf("live before  %s in %llu blocks, which are not in these "
		       "figures\n",
		       BYTES(BEFORE), COUNT(BEFORE_BLOCKS));
	printf("anomalies    %llu\n", COUNT(ANOMALIES));
	printf("TLSF pool    KONFISCATOR_TLSF_INITIAL=%lluM: the peak with TLSF's headers and rounding, %s, and %d%%\n",
	       COUNT(POOL) >> 20, BYTES(PEAK_POOL), MARGIN_PERCENT);
}

static int summary_end(struct kf_report *r)
{
	struct kf_cell *row;
	struct kf_table t;

	kf_table_init(&t, summary_columns, KF_ARRAY_SIZE(summary_columns));
	row = kf_table_row(&t);
	fill_program(r, row);
	fill_calls(r, row);
	fill_levels(r, row);
	if (r->cli->format == KF_FORMAT_TABLE) {
		print_program(row, r->cli->exact);
		print_levels(row, r->cli->exact);
	} else {
		kf_table_print(&t, r->cli);
	}
	kf_table_release(&t);
	return KF_EXIT_OK;
}

const struct kf_view kf_view_summary = {
	.name = "summary",
	.end = summary_end,
};
