/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options that select events for a report.
 */
#include "config.h"

#include "cli/report/report.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static int take_time(const char *option, const char *arg, uint64_t *ns)
{
	double seconds;
	char *end;

	errno = 0;
	seconds = strtod(arg, &end);
	if (errno || end == arg || *end || !(seconds >= 0) || seconds > 1e9) {
		kf_error("report: --%s: '%s' is not a number of seconds from 0 "
			 "to 1000000000",
			 option, arg);
		return KF_EXIT_USAGE;
	}
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return 0;
}

/* Parses a number and an optional K, M, G or T; returns the rest, or NULL. */
static const char *parse_size(const char *s, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;

	if (!isdigit((unsigned char)*s))
		return NULL;
	errno = 0;
	*bytes = strtoull(s, &end, 10);
	if (errno)
		return NULL;
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		unsigned int shift = 10 * (unsigned int)(unit - units + 1);

		if (*bytes > UINT64_MAX >> shift)
			return NULL;
		*bytes <<= shift;
		end++;
	}
	return end;
}

/* SIZE, MIN-MAX, MIN- or -MAX. */
static int take_size(struct kf_report_pick *p, const char *arg)
{
	const char *s = arg;

	p->min_size = 0;
	p->max_size = UINT64_MAX;
	if (*s != '-')
		s = parse_size(s, &p->min_size);
	if (s && s != arg && !*s) {
		p->max_size = p->min_size;
		return 0;
	}
	if (s && *s == '-') {
		s++;
		if (*s)
			s = parse_size(s, &p->max_size);
		else if (s == arg + 1)
			s = NULL;
	}
	if (s && !*s && p->min_size <= p->max_size)
		return 0;
	kf_error("report: --size: '%s' is not a size such as 4096 or "
		 "64K, nor a range MIN-MAX",
		 arg);
	return KF_EXIT_USAGE;
}

static const unsigned int pick_kinds[] = {KF_RECORD_MALLOC, KF_RECORD_CALLOC,
					  KF_RECORD_ALIGNED, KF_RECORD_REALLOC,
					  KF_RECORD_FREE};

static int take_function(struct kf_report_pick *p, const char *arg)
{
	const char *s = arg;

	for (;;) {
		size_t len = strcspn(s, ",");
		size_t i = 0;

		while (i < KF_ARRAY_SIZE(pick_kinds) &&
		       (strlen(kf_report_function(pick_kinds[i])) != len ||
			strncmp(kf_report_function(pick_kinds[i]), s, len) !=
				0))
			i++;
		if (i == KF_ARRAY_SIZE(pick_kinds))
			break;
		p->kinds |= 1u << pick_kinds[i];
		if (!s[len])
			return 0;
		s += len + 1;
	}
	kf_error("report: --function: '%s' is not one of malloc, calloc, "
		 "aligned, realloc, free",
		 arg);
	return KF_EXIT_USAGE;
}

static int take_threads(struct kf_report_pick *p, const char *arg)
{
	if (!arg[0]) {
		kf_error("report: --thread: '' is not a thread's id or name");
		return KF_EXIT_USAGE;
	}
	p->threads = arg;
	return 0;
}

int kf_report_option(struct kf_report_pick *p, int key, const char *arg)
{
	switch (key) {
	case KF_PICK_FROM:
		return take_time("from", arg, &p->from);
	case KF_PICK_TO:
		return take_time("to", arg, &p->to);
	case KF_PICK_THREAD:
		return take_threads(p, arg);
	case KF_PICK_FUNCTION:
		return take_function(p, arg);
	default:
		return take_size(p, arg);
	}
}

static bool thread_matches(const struct kf_history_thread *t, const char *part,
			   size_t len)
{
	char text[256];
	char *end;
	long tid;

	if (len >= sizeof(text))
		return false;
	memcpy(text, part, len);
	text[len] = '\0';
	tid = strtol(text, &end, 10);
	if (len && !*end)
		return tid == t->tid;
	return fnmatch(text, t->name, 0) == 0;
}

bool kf_report_thread_is_picked(uint32_t thread, void *report)
{
	const struct kf_report *r = report;
	const struct kf_history *h = &r->history;
	/* the answer is cached for each thread, as every event asks for it */
	static uint8_t known[KF_HISTORY_MAX_THREADS];
	const char *s = r->pick.threads;

	if (thread >= h->nr_threads)
		return false;
	if (known[thread])
		return known[thread] == 2;
	known[thread] = 1;
	for (;;) {
		size_t len = strcspn(s, ",");

		if (thread_matches(&h->threads[thread], s, len))
			known[thread] = 2;
		if (!s[len])
			break;
		s += len + 1;
	}
	return known[thread] == 2;
}
