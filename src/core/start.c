/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Start-up. The first caller is ld.so, before any constructor and before libc
 * is ready: nothing here may need either.
 */
#include "core/core.h"

#include "base/text.h"
#include "core/choose.h"
#include "core/conf.h"
#include "core/control.h"
#include "engines/host.h"
#include "core/limit.h"
#include "core/misuse.h"
#include "core/recorder.h"
#include "core/sampling.h"
#include "core/snapshot.h"
#include "core/tagging.h"
#include "core/tune.h"
#include "heap/audit.h"
#include "heap/class.h"
#include "heap/large.h"
#include "heap/heap.h"
#include "engines/tlsf.h"
#include "pages/pages.h"
#include "stats/box.h"
#include "stats/stats.h"
#include "sys/env.h"
#include "sys/named.h"
#include "sys/next.h"
#include "sys/out.h"
#include "sys/process.h"
#include "sys/thread.h"

#include "probes/konfiscator-probes.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define LOOKED_AT_LAST 1024 /* free blocks, when the program ends */

enum { NOT_STARTED, STARTING, STARTED };

/* Loaded into a process that ran already: inert until a call comes. */
static bool is_late;
bool kf_resting;	 /* atomic */
static bool is_attached; /* constant after start */
static uint32_t stage;
static uintptr_t starter; /* the thread that starts; it may come again */
static uint64_t class_bytes[KF_NR_CLASSES];

static void start_apply(void)
{
	kf_pages_conf.purge_ms = (uint32_t)kf_conf.purge_ms;
	kf_pages_conf.huge = kf_conf.huge;
	kf_pages_conf.region_bytes =
		KF_MIN(KF_MAX(kf_conf.region, KF_MIB), KF_GIB);
	kf_tlsf_conf.initial = kf_conf.tlsf_initial;
	kf_tlsf_conf.additional = kf_conf.tlsf_additional;
	kf_tlsf_conf.prefault = kf_conf.tlsf_prefault;
	kf_large_conf.arena_max = (unsigned int)kf_conf.arena_max;
	if (kf_conf.mmap_threshold)
		kf_large_conf.mmap_threshold = kf_conf.mmap_threshold;
	if (kf_conf.trim_threshold)
		kf_pages_conf.trim_threshold = kf_conf.trim_threshold;
	if (kf_conf.mmap_threshold || kf_conf.trim_threshold)
		kf_large_conf.dynamic = false;
	for (unsigned int c = 1; c < KF_NR_CLASSES; c++)
		class_bytes[c] = kf_class_bytes(c);
}

/* strerror() allocates. */
static const char *in_words(int error)
{
	switch (error) {
	case EPERM:
		return "it belongs to another user, or is writable by others";
	case EACCES:
		return "it is not writable";
	case ENOTDIR:
	case ELOOP:
		return "it is a symbolic link or not a directory";
	case ENOENT:
		return "it does not exist and cannot be created";
	case EROFS:
		return "its file system is read-only";
	case ENOSPC:
	case EDQUOT:
		return "the file system is full, or the user has too many files";
	case EFBIG:
		return "the limit of file sizes is too low (ulimit -f)";
	default:
		return "no file can be created there";
	}
}

static void report_no_file(struct kf_text *text)
{
	int error = kf_stats_error();

	kf_text_str(text, "no stats file: ");
	if (!kf_conf.stats) {
		kf_text_str(text, "not wanted");
		return;
	}
	kf_text_str(text, "errno ");
	kf_text_i64(text, error);
	if (!*kf_stats_tried())
		return;
	kf_text_str(text, ": ");
	kf_text_str(text, kf_stats_tried());
	kf_text_str(text, ": ");
	kf_text_str(text, in_words(error));
}

static void start_report(void)
{
	char buf[PATH_MAX + 128];
	struct kf_text text;
	const char *path = kf_stats_path();

	kf_text_init(&text, buf, sizeof(buf));
	kf_text_str(&text, "konfiscator: ");
	if (path) {
		kf_text_str(&text, "stats file ");
		kf_text_str(&text, path);
	} else {
		report_no_file(&text);
	}
	kf_text_char(&text, '\n');
	kf_out(&text);
}

void kf_start_stats_conf(struct kf_stats_conf *conf)
{
	*conf = (struct kf_stats_conf){
		.enabled = kf_conf.stats,
		.trusted = kf_env_is_trusted(),
		.guard = kf_conf.guard,
		.attached = is_attached,
		.dir = kf_conf.dir,
		.runtime_dir = kf_conf.runtime_dir,
		.name = kf_conf.name,
		.engine = kf_engine->base.name,
		.family = (uint32_t)kf_conf.family,
		.class_bytes = class_bytes,
	};
}

void kf_start_publish(bool forked)
{
	struct kf_stats_conf conf;

	kf_start_stats_conf(&conf);
	kf_stats_publish(&conf, forked);
	if (kf_stats_path())
		kf_probe_stats_open((uintptr_t)kf_stats_path());
	if (kf_conf.verbose)
		start_report();
	kf_recorder_publish(forked);
}

/* All but the engine and the file. */
static void start_parts(void)
{
	start_apply();
	kf_stats_init();
	kf_box_init((uint32_t)kf_conf.events);
	kf_thread_exit_init(kf_recorder_thread_exit);
	kf_host_init();
	kf_audit_report_to(kf_misuse_report);
}

static void start_process(void)
{
	kf_process_know();
	kf_process_note_first();
	kf_process_membarrier_init();
	kf_control_start();
	kf_tagging_init();
	kf_start_publish(false);
	kf_snapshot_init();
}

/* What is too early before the process is relocated. */
static void start_late(void)
{
	kf_named_begin();
	kf_engine_choose_late();
	kf_limit_settle();
	kf_sampling_start();
	kf_fork_register();
}

static void start(void)
{
	kf_conf_read();
	start_parts();
	kf_limit_start();
	kf_engine_choose();
	kf_tune_read();
	start_process();
	if (is_late)
		start_late();
}

/* The program ran before: no option changes what its malloc does. */
static const char *start_attached(void)
{
	const char *why;

	is_attached = true;
	kf_conf_read();
	kf_conf.engine = kf_engine_system.base.name;
	kf_conf.secure = kf_conf.verbose = false;
	start_parts();
	why = kf_host_install(&kf_engine_system);
	if (why)
		return why;
	kf_host_know();
	kf_named_begin();
	kf_sampling_start();
	kf_fork_register();
	start_process();
	return NULL;
}

static bool start_claim(void)
{
	uint32_t none = NOT_STARTED;

	return __atomic_compare_exchange_n(&stage, &none, STARTING, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
}

static void start_done(void)
{
	/* pairs with the acquire loads of this file */
	__atomic_store_n(&stage, STARTED, __ATOMIC_RELEASE);
}

const char *kf_start_attached(void)
{
	static const char *why = "the process already uses the library";

	if (start_claim()) {
		starter = kf_thread_self();
		why = start_attached();
		kf_resting = why;
		start_done();
	}
	return why;
}

void kf_start(void)
{
	if (start_claim()) {
		starter = kf_thread_self();
		start();
		start_done();
		return;
	}
	while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != STARTED &&
	       starter != kf_thread_self())
		kf_thread_yield();
}

bool kf_start_is_due(void)
{
	return unlikely(__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != STARTED);
}

void kf_start_loaded(void)
{
	is_late = kf_next_before("gnu_get_libc_version");
	if (is_late)
		return;
	kf_start();
	start_late();
}

/* A bounded number of blocks, which covers short programs fully. */
static void look_at_free(void)
{
	struct kf_heap *heap = kf_heap_self();

	if (kf_engine_is_hosted() || !heap || heap->busy)
		return;
	kf_heap_enter(heap);
	kf_audit_heap(heap, LOOKED_AT_LAST);
	kf_heap_leave(heap);
}

static void finish_stats(int status, void *arg)
{
	(void)arg;
	kf_stats_exit(status);
	kf_stats_finish(kf_conf.keep, kf_sampling_was_asked());
}

/*
 * The calls of other libraries' destructors are to be counted. The C library
 * runs a function that is registered now, and for no library, after the last of
 * them.
 */
void kf_start_finish(void)
{
	if (kf_start_is_due() || kf_resting)
		return;
	kf_host_finish();
	look_at_free();
	if (on_exit(finish_stats, NULL))
		kf_stats_finish(kf_conf.keep, kf_sampling_was_asked());
}
