/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What `konfiscator whatif` and `konfiscator replay` begin with.
 */
#include "config.h"

#include "base/text.h"
#include "cli/whatif/whatif.h"

#include <stdio.h>
#include <string.h>

static void tell_script(const struct kf_whatif *w)
{
	const struct kf_report *r = &w->report;
	const struct kf_script *s = &w->script;
	const char *name = r->cli->command->name;

	if (s->from_before && (w->nr_parts || !r->history.kept_from))
		kf_note(r->cli,
			"%s: %llu frees of blocks from before the recording "
			"are left out, and so is the memory of these blocks",
			name, (unsigned long long)s->from_before);
	if (s->anomalies)
		kf_note(r->cli,
			"%s: %llu anomalies: konfiscator report "
			"--view=anomalies lists them",
			name, (unsigned long long)s->anomalies);
}

/* Bytes that can be allocated without swapping; UINT64_MAX: not known. */
static uint64_t memory_available(void)
{
	unsigned long long kib;
	uint64_t bytes = UINT64_MAX;
	char line[256];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			bytes = kib * 1024;
	}
	if (f)
		fclose(f);
	return bytes;
}

/* A recording of a larger machine must not drive this one out of memory. */
static int check_memory(const struct kf_whatif *w)
{
	uint64_t available = memory_available();
	char live[32], here[32];

	if (w->player.touch != KF_TOUCH_ALL ||
	    kf_parts_largest(w) / 9 * 10 < available)
		return 0;
	kf_error("%s: %s: the program had %s live at its peak, and this "
		 "machine has %s available: --touch=first needs less",
		 w->report.cli->command->name, w->report.path,
		 kf_human_bytes(live, sizeof(live), kf_parts_largest(w)),
		 kf_human_bytes(here, sizeof(here), available));
	return KF_EXIT_FAILED;
}

static int open_recording(struct kf_whatif *w, const char *path,
			  struct kf_script *script)
{
	struct kf_report *r = &w->report;
	int status;

	r->path = path;
	status = kf_report_open(r, "not a recording: konfiscator run "
				   "--record=FILE makes one");
	if (!status)
		status = kf_script_make(r, script);
	if (!status)
		kf_report_tell_losses(r);
	return status;
}

static void close_recording(struct kf_whatif *w)
{
	kf_replay_release(&w->report.replay);
	kf_history_close(&w->report.history);
}

/* The first one stays open: the picture names it. */
static int open_parts(struct kf_whatif *w)
{
	struct kf_script *script = kf_alloc(1, sizeof(*script));
	int status = 0;

	kf_parts_begin(w, w->list.nr);
	for (size_t i = w->list.nr; !status && i--;) {
		memset(script, 0, sizeof(*script));
		status = open_recording(w, w->list.path[i], script);
		kf_parts_set(w, i, script);
		if (i)
			close_recording(w);
	}
	free(script);
	if (!status)
		kf_parts_merge(w);
	return status;
}

int kf_whatif_open(struct kf_whatif *w, struct kf_cli *cli, int argc,
		   char **argv)
{
	int status;

	if (!argc) {
		kf_error("%s: RECORDING is missing: konfiscator run "
			 "--record=FILE makes one",
			 cli->command->name);
		return KF_EXIT_USAGE;
	}
	w->report.cli = cli;
	status = kf_part_list_make(&w->list, cli->command->name, argc, argv);
	if (!status)
		status = w->list.nr > 1 ? open_parts(w)
					: open_recording(w, w->list.path[0],
							 &w->script);
	w->player.script = &w->script;
	if (!status)
		tell_script(w);
	if (!status && !w->script.calls) {
		kf_error("%s: %s: no call is recorded in it",
			 cli->command->name, argv[0]);
		status = KF_EXIT_FAILED;
	}
	return status ? status : check_memory(w);
}

void kf_whatif_close(struct kf_whatif *w)
{
	kf_candidates_release(w);
	kf_script_close(&w->script);
	kf_parts_release(w);
	close_recording(w);
	kf_part_list_release(&w->list);
}

int kf_whatif_touch(const char *command, const char *arg,
		    enum kf_script_touch *touch)
{
	uint64_t n;

	if (kf_parse_choice("all|first|none", arg, &n)) {
		*touch = (enum kf_script_touch)n;
		return 0;
	}
	kf_error("%s: --touch: '%s' is not one of all, first, none", command,
		 arg);
	return KF_EXIT_USAGE;
}
