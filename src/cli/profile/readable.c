/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stacks as people read them. Wrappers of malloc are left out where they are
 * the innermost calls (reader/wrappers.def). Recursion is folded: where a call
 * or a series of calls follows itself, one of them is left.
 *
 * Only whole series are left out: of main, a, b, a, b, a there is main, a, b,
 * a. Every call is then still the caller of the next one, each function of the
 * stack is still in it, and the innermost is the one that allocated.
 */
#include "config.h"

#include "cli/profile/profile.h"

#include "reader/function-name.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PERIOD 64 /* longest series of calls that is found again */

static void drop_wrappers(struct kf_site *site)
{
	size_t nr = 0;

	while (nr < site->nr_frames &&
	       kf_function_is_wrapper(site->frames[nr]->function))
		nr++;
	if (!nr || nr == site->nr_frames)
		return;
	site->nr_frames -= nr;
	memmove(site->frames, site->frames + nr,
		site->nr_frames * sizeof(*site->frames));
}

/*
 * Whether code is of CPython, of a module for it, or of the C library that both
 * call.
 */
static bool is_of_python(const char *library)
{
	return !strncmp(library, "python3", 7) ||
	       !strncmp(library, "libpython3", 10) ||
	       strstr(library, ".cpython-3") || strstr(library, ".abi3.so") ||
	       !strcmp(library, "libc.so.6");
}

/*
 * Leaves out what the interpreter calls to allocate, so that a stack begins
 * with a line of Python; a library with its own work stays.
 */
static void drop_interpreter(struct kf_site *site)
{
	size_t nr = 0;

	while (nr < site->nr_frames &&
	       !(site->frames[nr]->address & KF_STATS_CALL)) {
		if (!is_of_python(site->frames[nr]->library))
			return;
		nr++;
	}
	if (!nr || nr == site->nr_frames)
		return;
	site->nr_frames -= nr;
	memmove(site->frames, site->frames + nr,
		site->nr_frames * sizeof(*site->frames));
}

static bool is_same_call(const struct kf_prof *prof, const struct kf_frame *a,
			 const struct kf_frame *b)
{
	if (a == b)
		return true;
	if (a->code != b->code || strcmp(a->function, b->function) != 0)
		return false;
	return prof->pick.group != KF_GROUP_LINE || a->line == b->line;
}

/* The calls at the end of @kept are @period calls that @next begins with. */
static bool calls_repeat(const struct kf_prof *prof,
			 const struct kf_frame **kept,
			 const struct kf_frame *const *next, size_t period)
{
	for (size_t k = 0; k < period; k++) {
		if (!is_same_call(prof, *(kept - period + k), next[k]))
			return false;
	}
	return true;
}

static size_t period_of(const struct kf_prof *prof,
			const struct kf_frame **kept, size_t nr_kept,
			const struct kf_frame *const *next, size_t nr_next)
{
	size_t most = KF_MIN(KF_MIN(nr_kept, nr_next), (size_t)MAX_PERIOD);

	for (size_t period = 1; period <= most; period++) {
		if (calls_repeat(prof, kept + nr_kept, next, period))
			return period;
	}
	return 0;
}

/*
 * Folds the calls of @all, the outermost first, in place; returns how many are
 * left. Of equal calls the last ones are kept, which have the line that
 * allocated.
 */
static size_t fold_calls(const struct kf_prof *prof,
			 const struct kf_frame **all, bool *recursive,
			 size_t nr)
{
	size_t kept = 0, next = 0;

	while (next < nr) {
		size_t period =
			period_of(prof, all, kept, all + next, nr - next);
		size_t begin = kept - period, more = 0;

		if (!period) {
			recursive[kept] = false;
			all[kept++] = all[next++];
			continue;
		}
		while (next < nr && is_same_call(prof, all[next],
						 all[begin + more % period])) {
			next++;
			more++;
		}
		kept = begin + period + more % period;
		for (size_t i = begin; i < kept; i++) {
			all[i] = all[next - kept + i];
			recursive[i] = i < begin + period;
		}
	}
	return kept;
}

static void calls_turn(const struct kf_frame **all, bool *recursive, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		const struct kf_frame *frame = all[i];
		bool flag = recursive[i];

		all[i] = all[nr - 1 - i];
		all[nr - 1 - i] = frame;
		recursive[i] = recursive[nr - 1 - i];
		recursive[nr - 1 - i] = flag;
	}
}

void kf_site_simplify(const struct kf_prof *prof, struct kf_site *site)
{
	if (!prof->cli->raw) {
		drop_wrappers(site);
		drop_interpreter(site);
	}
	if (prof->cli->no_fold || !site->nr_frames)
		return;
	site->recursive = kf_alloc(site->nr_frames, sizeof(*site->recursive));
	calls_turn(site->frames, site->recursive, site->nr_frames);
	site->nr_frames = fold_calls(prof, site->frames, site->recursive,
				     site->nr_frames);
	calls_turn(site->frames, site->recursive, site->nr_frames);
}
