/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view anomalies: events that an intact heap cannot have. Lost events may
 * be the reason for them.
 */
#include "config.h"

#include "cli/report/report.h"

#include <stdlib.h>

#define MOST 100000 /* anomalies that are kept */

static struct found {
	uint64_t time;
	uint64_t address;
	uint64_t size;
	uint32_t thread;
	uint8_t kind;
	uint8_t anomaly;
} * anomalies_found;
static size_t anomalies_nr, anomalies_room;

static const char *const anomaly_names[KF_NR_ANOMALIES] = {
	[KF_ANOMALY_FREE_UNKNOWN] = "free before alloc",
	[KF_ANOMALY_DOUBLE_FREE] = "double free",
	[KF_ANOMALY_DOUBLE_ALLOC] = "alloc of a live block",
	[KF_ANOMALY_OVERLAP] = "overlap with a live block",
};

enum { TIME, ANOMALY, ADDRESS, SIZE, FUNCTION, THREAD, TID };

static const struct kf_column anomalies_columns[] = {
	[TIME] = {"TIME", "time_seconds", KF_CELL_SECONDS},
	[ANOMALY] = {"ANOMALY", "anomaly", KF_CELL_TEXT},
	[ADDRESS] = {"ADDRESS", "address", KF_CELL_TEXT},
	[SIZE] = {"SIZE", "size_bytes", KF_CELL_BYTES},
	[FUNCTION] = {"FUNCTION", "function", KF_CELL_TEXT},
	[THREAD] = {"THREAD", "thread", KF_CELL_TEXT},
	[TID] = {"TID", "tid", KF_CELL_COUNT},
};

static void anomalies_step(struct kf_report *r, const struct kf_step *s)
{
	bool given = s->anomaly >= KF_ANOMALY_DOUBLE_ALLOC;

	if (!s->anomaly || anomalies_nr == MOST)
		return;
	if (anomalies_nr == anomalies_room) {
		anomalies_room = anomalies_room ? 2 * anomalies_room : 64;
		anomalies_found =
			realloc(anomalies_found,
				anomalies_room * sizeof(*anomalies_found));
		if (!anomalies_found) {
			kf_error("out of memory");
			exit(KF_EXIT_FAILED);
		}
	}
	anomalies_found[anomalies_nr++] = (struct found){
		.time = s->event->time,
		.address = given ? s->event->address : s->old_address,
		.size = s->event->size,
		.thread = s->event->thread,
		.kind = s->event->kind,
		.anomaly = s->anomaly,
	};
}

static void anomalies_add_row(const struct kf_report *r, struct kf_table *t,
			      const struct found *f)
{
	struct kf_cell *row = kf_table_row(t);
	char *address = kf_format("0x%llx", (unsigned long long)f->address);

	row[TIME].real = (double)f->time / 1e9;
	kf_cell_text(&row[ANOMALY], anomaly_names[f->anomaly]);
	kf_cell_text(&row[ADDRESS], address);
	row[SIZE].count = f->size;
	row[SIZE].none = f->kind == KF_RECORD_FREE;
	kf_cell_text(&row[FUNCTION], kf_report_function(f->kind));
	kf_report_thread(r, f->thread, &row[THREAD], &row[TID]);
	free(address);
}

static int anomalies_end(struct kf_report *r)
{
	struct kf_table t;

	kf_table_init(&t, anomalies_columns, KF_ARRAY_SIZE(anomalies_columns));
	for (size_t i = 0; i < anomalies_nr; i++)
		anomalies_add_row(r, &t, &anomalies_found[i]);
	if (!anomalies_nr && r->cli->format == KF_FORMAT_TABLE) {
		printf("no anomalies\n");
		kf_table_release(&t);
		return KF_EXIT_OK;
	}
	return kf_report_table(r, &t, -1, 20);
}

static void anomalies_release(void)
{
	free(anomalies_found);
}

const struct kf_view kf_view_anomalies = {
	.name = "anomalies",
	.step = anomalies_step,
	.end = anomalies_end,
	.release = anomalies_release,
};
