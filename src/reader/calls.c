/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stacks as people read them: see calls.h.
 *
 * Only whole series of calls are folded: of main, a, b, a, b, a there is main,
 * a, b, a. Every call is then still the caller of the next one, each function
 * of the stack is still in it, and the innermost is the one that allocated.
 */
#include "config.h"

#include "reader/calls.h"

#include "reader/function-name.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PERIOD 64 /* longest series of calls that is found again */

#define MARK_SIZE (sizeof(KF_RECURSIVE) - 1)

/* The name of the library, whose own calls say nothing. */
#define ALLOCATOR "libkonfiscator"

static size_t calls_wrappers(const struct kf_frame **frame, size_t nr)
{
	size_t i = 0;

	while (i < nr &&
	       (!strncmp(frame[i]->library, ALLOCATOR, strlen(ALLOCATOR)) ||
		kf_function_is_wrapper(frame[i]->function)))
		i++;
	return i < nr ? i : 0;
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
 * What the interpreter calls to allocate, before a line of Python; a library
 * with its own work stays.
 */
static size_t calls_of_interpreter(const struct kf_frame **frame, size_t nr)
{
	size_t i = 0;

	while (i < nr && !(frame[i]->address & KF_STATS_CALL) &&
	       is_of_python(frame[i]->library))
		i++;
	return i < nr && frame[i]->address & KF_STATS_CALL ? i : 0;
}

static bool is_same_call(unsigned int how, const struct kf_frame *a,
			 const struct kf_frame *b)
{
	if (a == b)
		return true;
	if (a->code != b->code || strcmp(a->function, b->function) != 0 ||
	    (a->file && b->file && strcmp(a->file, b->file) != 0))
		return false;
	return !(how & KF_CALLS_BY_LINE) || a->line == b->line;
}

/* The calls at the end of @kept are @period calls that @next begins with. */
static bool calls_repeat(unsigned int how, const struct kf_frame **kept,
			 const struct kf_frame *const *next, size_t period)
{
	for (size_t k = 0; k < period; k++) {
		if (!is_same_call(how, *(kept - period + k), next[k]))
			return false;
	}
	return true;
}

static size_t period_of(unsigned int how, const struct kf_frame **kept,
			size_t nr_kept, const struct kf_frame *const *next,
			size_t nr_next)
{
	size_t most = KF_MIN(KF_MIN(nr_kept, nr_next), (size_t)MAX_PERIOD);

	for (size_t period = 1; period <= most; period++) {
		if (calls_repeat(how, kept + nr_kept, next, period))
			return period;
	}
	return 0;
}

/*
 * Folds the calls of @all, the outermost first, in place; returns how many are
 * left. Of equal calls the last ones are kept, which have the line that
 * allocated.
 */
static size_t fold_calls(unsigned int how, const struct kf_frame **all,
			 bool *recursive, size_t nr)
{
	size_t kept = 0, next = 0;

	while (next < nr) {
		size_t period =
			period_of(how, all, kept, all + next, nr - next);
		size_t begin = kept - period, more = 0;

		if (!period) {
			recursive[kept] = false;
			all[kept++] = all[next++];
			continue;
		}
		while (next < nr && is_same_call(how, all[next],
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

size_t kf_calls_simplify(const struct kf_frame **frame, bool *recursive,
			 size_t nr, unsigned int how)
{
	size_t left_out = 0;

	if (!nr)
		return 0;
	memset(recursive, 0, nr * sizeof(*recursive));
	if (!(how & KF_CALLS_RAW)) {
		left_out = calls_wrappers(frame, nr);
		left_out +=
			calls_of_interpreter(frame + left_out, nr - left_out);
	}
	nr -= left_out;
	memmove(frame, frame + left_out, nr * sizeof(*frame));
	if (how & KF_CALLS_ALL)
		return nr;
	calls_turn(frame, recursive, nr);
	nr = fold_calls(how, frame, recursive, nr);
	calls_turn(frame, recursive, nr);
	return nr;
}

static const char *calls_skip_mark(const char *text)
{
	return strncmp(text, KF_RECURSIVE, MARK_SIZE) ? text : text + MARK_SIZE;
}

int kf_calls_compare(const char *a, const char *b)
{
	for (;; a++, b++) {
		a = calls_skip_mark(a);
		b = calls_skip_mark(b);
		if (*a != *b)
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		if (!*a)
			return 0;
	}
}

bool kf_calls_mark(char **text, const char *from)
{
	const char *a = *text, *b = from;
	char *all = malloc(strlen(a) + strlen(b) + 1), *out = all;

	if (!all)
		return false;
	do {
		const char *name_a = calls_skip_mark(a);
		const char *name_b = calls_skip_mark(b);

		if (name_a > a || name_b > b) {
			memcpy(out, KF_RECURSIVE, MARK_SIZE);
			out += MARK_SIZE;
		}
		a = name_a + 1;
		b = name_b + 1;
		*out++ = *name_a;
	} while (out[-1]);
	free(*text);
	*text = all;
	return true;
}

static int calls_by_text(const void *a, const void *b)
{
	const struct kf_calls_row *x = a, *y = b;

	return kf_calls_compare(x->shown, y->shown);
}

static int calls_by_value(const void *a, const void *b)
{
	const struct kf_calls_row *x = a, *y = b;

	if (x->value.value != y->value.value)
		return x->value.value < y->value.value ? 1 : -1;
	return calls_by_text(a, b);
}

bool kf_calls_join(struct kf_calls_row *rows, size_t *nr)
{
	bool done = true;
	size_t left = 0;

	qsort(rows, *nr, sizeof(*rows), calls_by_text);
	for (size_t i = 0; i < *nr; i++) {
		struct kf_calls_row *to = left ? &rows[left - 1] : NULL;

		if (!to || calls_by_text(to, &rows[i])) {
			rows[left++] = rows[i];
			continue;
		}
		done &= kf_calls_mark(&to->shown, rows[i].shown);
		to->value = kf_estimate_sum(to->value, rows[i].value);
		to->samples += rows[i].samples;
		free(rows[i].shown);
	}
	qsort(rows, left, sizeof(*rows), calls_by_value);
	*nr = left;
	return done;
}
