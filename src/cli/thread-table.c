/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads by their heaps. NET is below 0 for a thread that frees blocks which
 * other threads allocated. The heap of an ended thread stays, idle, with its
 * counts.
 */
#include "config.h"

#include "cli/thread-table.h"

enum {
	PROCESS,
	PID,
	TID,
	THREAD,
	STATE,
	ALLOCATED,
	NET,
	MALLOC_RATE,
	FREE_RATE,
	MALLOCS,
	FREES,
	FREED
};

static const struct kf_column thread_columns[] = {
	[PROCESS] = {"PROCESS", "process", KF_CELL_TEXT},
	[PID] = {"PID", "pid", KF_CELL_COUNT},
	[TID] = {"TID", "tid", KF_CELL_COUNT},
	[THREAD] = {"THREAD", "thread", KF_CELL_TEXT},
	[STATE] = {"STATE", "state", KF_CELL_TEXT},
	[ALLOCATED] = {"ALLOCATED", "allocated_bytes", KF_CELL_BYTES},
	[NET] = {"NET", "net_bytes", KF_CELL_SIGNED},
	[MALLOC_RATE] = {"MALLOC/s", "mallocs_per_second", KF_CELL_RATE},
	[FREE_RATE] = {"FREE/s", "frees_per_second", KF_CELL_RATE},
	[MALLOCS] = {NULL, "mallocs", KF_CELL_COUNT},
	[FREES] = {NULL, "frees", KF_CELL_COUNT},
	[FREED] = {NULL, "freed_bytes", KF_CELL_BYTES},
};

static double thread_rate(uint64_t now, uint64_t before, double seconds)
{
	return now > before ? (double)(now - before) / seconds : 0;
}

static void thread_table_add(struct kf_table *table, const struct kf_file *f,
			     unsigned int i, const struct kf_file *before,
			     double seconds)
{
	static const struct kf_thread_count nothing;
	const struct kf_thread_count *t = &f->snap.threads[i];
	const struct kf_thread_count *was = &nothing;
	struct kf_cell *row = kf_table_row(table);
	char name[KF_PROCESS_NAME];

	/* slots keep their order: the same index is the same heap */
	if (before && i < before->snap.nr_threads)
		was = &before->snap.threads[i];
	kf_process_name(f, name);
	kf_cell_text(&row[PROCESS], name);
	row[PID].count = (uint64_t)kf_process_id(f);
	row[TID].count = (uint64_t)t->tid;
	kf_cell_text(&row[THREAD], t->name);
	kf_cell_text(&row[STATE],
		     t->state == KF_SLOT_IN_USE ? "in use" : "idle");
	row[ALLOCATED].count = t->allocated;
	row[NET].count = t->allocated - t->freed;
	row[MALLOC_RATE].real = thread_rate(t->mallocs, was->mallocs, seconds);
	row[FREE_RATE].real = thread_rate(t->frees, was->frees, seconds);
	row[MALLOCS].count = t->mallocs;
	row[FREES].count = t->frees;
	row[FREED].count = t->freed;
}

/* The heap of threads without one is no thread: it counts if it was used. */
static bool thread_is_shown(const struct kf_thread_count *t)
{
	return t->tid || t->mallocs || t->frees;
}

void kf_thread_table(struct kf_table *t, const struct kf_cli *cli,
		     const struct kf_snapshots *now,
		     const struct kf_snapshots *then)
{
	kf_table_init(t, thread_columns, KF_ARRAY_SIZE(thread_columns));
	for (unsigned int i = 0; i < now->files.nr; i++) {
		const struct kf_file *f = &now->files.file[i];
		const struct kf_file *before = kf_snapshots_same(then, f);
		double seconds = kf_snapshots_seconds(now, f, before, then);

		if (!kf_snapshots_wants(cli, f))
			continue;
		for (unsigned int k = 0; k < f->snap.nr_threads; k++) {
			if (thread_is_shown(&f->snap.threads[k]))
				thread_table_add(t, f, k, before, seconds);
		}
	}
}
