/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator whatif: replays a recording under other allocators, engines and
 * settings, and tells what each would have needed.
 */
#include "config.h"

#include "base/text.h"
#include "cli/commands/run.h"
#include "cli/commands/whatif-tune.h"
#include "cli/library.h"
#include "cli/whatif/whatif.h"

#include <stdlib.h>
#include <string.h>

#define TUNE_S 60.0 /* default of --budget */
#define MAX_RUNS 1000

/* A recording up to this long is replayed at its own pace. */
#define PACED_NS 10000000000ULL

/* --tune replays about so many times. */
#define TUNE_RUNS 32

enum pace { PACE_CHOOSE, PACE_RECORDED, PACE_FAST };

/* Candidates as the command line has them. */
enum asked_kind { ASKED_ENGINE, ASKED_ALLOCATOR, ASKED_SET };

struct asked {
	enum asked_kind kind;
	const char *arg;
};

static struct {
	struct asked *candidates;
	size_t nr;
	enum pace pace;
	bool tune;
	bool pool;
	bool has_runs, has_limit; /* given */
	double budget;
} asked = {.budget = -1}; /* not given */

static struct kf_whatif whatif = {
	.script.fd = -1,
	.nr_runs = 3,
	.advise = true,
};

static void whatif_ask(enum asked_kind kind, const char *arg)
{
	struct asked *more = kf_alloc(asked.nr + 1, sizeof(*more));

	if (asked.nr)
		memcpy(more, asked.candidates, asked.nr * sizeof(*more));
	more[asked.nr++] = (struct asked){kind, arg};
	free(asked.candidates);
	asked.candidates = more;
}

/* Sets a variable for one of "NAME=VALUE"; the name has _ or -. */
static int whatif_set_one(struct kf_candidate *c, char *setting,
			  const char *option)
{
	char *value = strchr(setting, '=');
	const char *allowed;
	char *variable;

	if (!value) {
		kf_error("whatif: %s: '%s' is not OPTION=VALUE", option,
			 setting);
		return KF_EXIT_USAGE;
	}
	*value++ = '\0';
	for (char *p = setting; *p; p++)
		*p = *p == '-' ? '_' : *p;
	variable = kf_run_variable(setting, value, &allowed);
	if (variable) {
		kf_candidate_setenv(c, variable);
		return 0;
	}
	if (allowed)
		kf_error("whatif: %s: %s: '%s' is not %s", option, setting,
			 value, allowed);
	else
		kf_error("whatif: %s: there is no option '%s': "
			 "konfiscator run --help lists them",
			 option, setting);
	return KF_EXIT_USAGE;
}

static int whatif_set_all(struct kf_candidate *c, const char *settings,
			  const char *option)
{
	char *copy = kf_format("%s", settings), *next = copy, *one;
	int status = 0;

	while (!status && (one = strsep(&next, ",")))
		status = whatif_set_one(c, one, option);
	free(copy);
	return status;
}

/* The counters are in memory that is counted, and no file is left. */
int kf_whatif_set(struct kf_whatif *w, const char *settings, const char *option)
{
	char *found = kf_library_find("libkonfiscator.so");
	char *safe = found ? kf_library_safe(found) : NULL;
	char *name = kf_format("konfiscator%s%s", settings ? " " : "",
			       settings ? settings : "");
	struct kf_candidate *c;
	int status = KF_EXIT_FAILED;

	if (safe) {
		c = kf_candidate_add(w, name, safe);
		c->settings = kf_format("%s", settings ? settings : "");
		kf_candidate_setenv(c, kf_format("KONFISCATOR_STATS=0"));
		status = settings ? whatif_set_all(c, settings, option) : 0;
	}
	free(found);
	free(name);
	return status;
}

static int add_allocator(const char *name, bool must)
{
	const char *slash = strrchr(name, '/');
	char *path = kf_allocator_find(name);
	const char *known;

	if (path) {
		kf_candidate_add(&whatif, slash ? slash + 1 : name, path);
		return 0;
	}
	if (!must)
		return 0;
	if (slash) {
		kf_error("whatif: --allocator: '%s' is not a shared object "
			 "that serves malloc",
			 name);
		return KF_EXIT_FAILED;
	}
	for (size_t i = 0; (known = kf_allocator_name(i)); i++) {
		if (strcmp(known, name) != 0)
			continue;
		kf_error("whatif: --allocator: %s is not installed: give the "
			 "path of its shared object",
			 name);
		return KF_EXIT_FAILED;
	}
	kf_error("whatif: --allocator: '%s' is not jemalloc, mimalloc, "
		 "tcmalloc, rpmalloc, snmalloc, hardened_malloc or a path",
		 name);
	return KF_EXIT_USAGE;
}

static int add_asked(const struct asked *a)
{
	char *settings;
	int status;

	switch (a->kind) {
	case ASKED_ALLOCATOR:
		return add_allocator(a->arg, true);
	case ASKED_SET:
		return kf_whatif_set(&whatif, a->arg, "--set");
	default:
		settings = kf_format("engine=%s", a->arg);
		status = kf_whatif_set(&whatif, settings, "--engine");
		free(settings);
		return status;
	}
}

static int add_candidates(void)
{
	const char *name;
	int status;

	kf_candidate_add(&whatif, "glibc", NULL);
	status = kf_whatif_set(&whatif, NULL, "");
	for (size_t i = 0; !status && i < asked.nr; i++)
		status = add_asked(&asked.candidates[i]);
	for (size_t i = 0; !asked.nr && (name = kf_allocator_name(i)); i++)
		add_allocator(name, false);
	return status;
}

/* The longest recording that is replayed at its own pace, ns. */
static uint64_t longest_paced(void)
{
	if (asked.pool)
		return 0;
	if (asked.tune)
		return (uint64_t)(asked.budget * 1e9) / TUNE_RUNS;
	return PACED_NS;
}

static void choose_pace(void)
{
	const struct kf_script *s = &whatif.script;
	uint64_t most = longest_paced();

	whatif.player.paced = asked.pace == PACE_RECORDED ||
			      (asked.pace == PACE_CHOOSE && s->end_ns <= most);
	if (asked.pace == PACE_CHOOSE && !whatif.player.paced && !asked.pool)
		kf_note(whatif.report.cli,
			"whatif: the recording takes %.1f s and is replayed "
			"without its pauses: allocators that purge by time "
			"purge less: --pace=recorded keeps the pauses",
			(double)s->end_ns / 1e9);
}

static int whatif_play(void)
{
	int status;

	choose_pace();
	if (asked.pool && whatif.nr_parts) {
		kf_error("whatif: --pool-size: give one RECORDING: each "
			 "process has a pool of its own");
		return KF_EXIT_USAGE;
	}
	if (asked.pool)
		return kf_whatif_pool(&whatif);
	if (asked.tune)
		return kf_whatif_tune(&whatif, asked.budget);
	status = add_candidates();
	if (status)
		return status;
	if (kf_candidates_play(&whatif))
		return KF_EXIT_FAILED;
	status = kf_whatif_print(&whatif);
	if (!status && whatif.report.output)
		status = kf_whatif_draw(&whatif);
	return status;
}

static const char *whatif_without_use(void)
{
	if (asked.budget >= 0 && !asked.tune)
		return "--budget needs --tune";
	if (asked.has_runs && asked.pool)
		return "--pool-size and --runs exclude each other";
	if (asked.has_limit && asked.pool)
		return "--pool-size and --limit exclude each other";
	return NULL;
}

static int whatif_run(struct kf_cli *cli, int argc, char **argv)
{
	const char *wrong = whatif_without_use();
	int status;

	if (wrong) {
		kf_error("whatif: %s", wrong);
		return KF_EXIT_USAGE;
	}
	if (asked.budget < 0)
		asked.budget = TUNE_S;
	if (whatif.report.output && (asked.tune || asked.pool)) {
		kf_error("whatif: -o and --%s exclude each other",
			 asked.tune ? "tune" : "pool-size");
		return KF_EXIT_USAGE;
	}
	if ((asked.tune || asked.pool) &&
	    asked.nr + asked.tune + asked.pool > 1) {
		kf_error("whatif: --tune, --pool-size, and --engine, "
			 "--allocator or --set exclude each other");
		return KF_EXIT_USAGE;
	}
	status = kf_whatif_open(&whatif, cli, argc, argv);
	if (!status)
		status = whatif_play();
	kf_whatif_close(&whatif);
	free(asked.candidates);
	return status;
}

enum {
	OPT_ENGINE = KF_OPT_OWN,
	OPT_ALLOCATOR,
	OPT_SET,
	OPT_TOUCH,
	OPT_RUNS,
	OPT_PACE,
	OPT_LIMIT,
	OPT_POOL,
	OPT_TUNE,
	OPT_BUDGET
};

static const struct kf_option whatif_options[] = {
	{OPT_ENGINE, "engine", "NAME|PATH",
	 "replay under the library with this engine; may be repeated, as --allocator and --set"},
	{OPT_ALLOCATOR, "allocator", "NAME|PATH",
	 "replay under this allocator: jemalloc, mimalloc, tcmalloc, rpmalloc, snmalloc, hardened_malloc, or a shared object"},
	{OPT_SET, "set", "OPTION=VALUE,...",
	 "replay under the library with these options of konfiscator run"},
	{OPT_TOUCH, "touch", "all|first|none",
	 "write to each page of a block, to its first byte, or not at all",
	 "all"},
	{OPT_RUNS, "runs", "N", "replay N times under each candidate", "3"},
	{OPT_PACE, "pace", "recorded|fast",
	 "keep the pauses of the recording, or not (default recorded up to 10 s)"},
	{OPT_LIMIT, "limit", "BYTES",
	 "print when the heap first has more resident memory than this"},
	{OPT_POOL, "pool-size", NULL,
	 "find the smallest pool of engine tlsf that serves all calls"},
	{OPT_TUNE, "tune", NULL,
	 "try settings of the library, and print the best for memory and time"},
	{OPT_BUDGET, "budget", "SEC", "try settings for this time", "60"},
	{'o', "output", "FILE", "draw memory over time, in .svg, .png or .pdf"},
	{0},
};

static int whatif_refuse(const char *option, const char *arg,
			 const char *allowed)
{
	kf_error("whatif: --%s: '%s' is not %s", option, arg, allowed);
	return KF_EXIT_USAGE;
}

static int take_pace(const char *arg)
{
	if (!strcmp(arg, "recorded"))
		asked.pace = PACE_RECORDED;
	else if (!strcmp(arg, "fast"))
		asked.pace = PACE_FAST;
	else
		return whatif_refuse("pace", arg, "recorded or fast");
	return 0;
}

static int take_runs(const char *arg)
{
	uint64_t n;

	if (!kf_parse_u64(arg, &n) || n < 1 || n > MAX_RUNS)
		return whatif_refuse("runs", arg, "a number from 1 to 1000");
	whatif.nr_runs = (unsigned int)n;
	return 0;
}

static int take_output(const char *arg)
{
	if (!kf_plot_is_picture(arg)) {
		kf_error("whatif: -o: '%s' does not end in .svg, .png or .pdf",
			 arg);
		return KF_EXIT_USAGE;
	}
	whatif.report.output = arg;
	return 0;
}

static int take_limit(const char *arg)
{
	if (!kf_parse_size(arg, &whatif.limit) || !whatif.limit)
		return whatif_refuse("limit", arg,
				     "a number of bytes from 1, with K, M, G "
				     "or T");
	return 0;
}

static int whatif_option(struct kf_cli *cli, int key, const char *arg)
{
	(void)cli;
	switch (key) {
	case OPT_ENGINE:
	case OPT_ALLOCATOR:
	case OPT_SET:
		whatif_ask((enum asked_kind)(key - OPT_ENGINE), arg);
		return 0;
	case OPT_TOUCH:
		return kf_whatif_touch("whatif", arg, &whatif.player.touch);
	case OPT_RUNS:
		asked.has_runs = true;
		return take_runs(arg);
	case OPT_PACE:
		return take_pace(arg);
	case OPT_LIMIT:
		asked.has_limit = true;
		return take_limit(arg);
	case OPT_BUDGET:
		return kf_take_seconds("whatif: --budget", arg, &asked.budget);
	case 'o':
		return take_output(arg);
	default:
		asked.tune |= key == OPT_TUNE;
		asked.pool |= key == OPT_POOL;
		return 0;
	}
}

const struct kf_command kf_command_whatif = {
	.name = "whatif",
	.args = "RECORDING|DIR...",
	.help = "Replay a recording under other allocators and settings",
	.about =
		"All calls of a recording (konfiscator run --record=FILE) are replayed in their\n"
		"order and threads, under glibc, the library, and each allocator that is installed,\n"
		"or those of --engine, --allocator and --set. PEAK, MEAN and END are the resident\n"
		"memory of the heap and its allocator; CPU is the time of the calls and of writing\n"
		"to the blocks.",
	.examples =
		"  konfiscator run --record=rec -- ./server    record\n"
		"  konfiscator whatif rec                      compare allocators\n"
		"  konfiscator whatif --engine=tlsf --set=purge_ms=0 rec\n"
		"  konfiscator whatif --tune rec               find better settings\n"
		"  konfiscator whatif rec rec.*                with the children of the program\n"
		"  konfiscator whatif -o rec.svg rec           draw memory over time",
	.options = whatif_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.option = whatif_option,
	.run = whatif_run,
};
