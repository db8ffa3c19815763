/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator replay: replays a recording under the allocator that the
 * environment gives programs, as a benchmark.
 */
#include "config.h"

#include "base/text.h"
#include "cli/whatif/whatif.h"

#include <stdlib.h>
#include <string.h>

static struct kf_whatif replay_state = {
	.script.fd = -1,
	.nr_runs = 1,
};

/* The environment stays as it is. */
static int replay_once(void)
{
	char *preload = getenv("LD_PRELOAD");
	struct kf_candidate *c;
	const char *slash;

	c = kf_candidate_add(&replay_state, "malloc",
			     preload ? kf_format("%s", preload) : NULL);
	if (kf_candidates_play(&replay_state) || c->broken)
		return KF_EXIT_FAILED;
	slash = strrchr(c->from, '/');
	free(c->name);
	c->name = kf_format("%s", slash ? slash + 1 : c->from);
	return kf_whatif_print(&replay_state);
}

static int replay_run(struct kf_cli *cli, int argc, char **argv)
{
	int status = kf_whatif_open(&replay_state, cli, argc, argv);

	if (!status)
		status = replay_once();
	kf_whatif_close(&replay_state);
	return status;
}

enum { OPT_TOUCH = KF_OPT_OWN, OPT_PACE };

static const struct kf_option replay_options[] = {
	{OPT_TOUCH, "touch", "all|first|none",
	 "write to each page of a block, to its first byte, or not at all",
	 "all"},
	{OPT_PACE, "pace", "recorded|fast",
	 "keep the pauses of the recording, or not", "fast"},
	{0},
};

static int replay_option(struct kf_cli *cli, int key, const char *arg)
{
	uint64_t n;

	(void)cli;
	if (key == OPT_TOUCH)
		return kf_whatif_touch("replay", arg,
				       &replay_state.player.touch);
	if (!kf_parse_choice("recorded|fast", arg, &n)) {
		kf_error("replay: --pace: '%s' is not recorded or fast", arg);
		return KF_EXIT_USAGE;
	}
	replay_state.player.paced = !n;
	return 0;
}

const struct kf_command kf_command_replay = {
	.name = "replay",
	.args = "RECORDING|DIR...",
	.help = "Replay a recording once, as a benchmark",
	.about =
		"The allocator is that of the environment, such as LD_PRELOAD and KONFISCATOR_...\n"
		"variables. konfiscator whatif compares several.",
	.examples =
		"  konfiscator replay rec                      under glibc\n"
		"  konfiscator run -- konfiscator replay rec   under the library\n"
		"  LD_PRELOAD=libjemalloc.so.2 konfiscator replay rec",
	.options = replay_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.option = replay_option,
	.run = replay_run,
};
