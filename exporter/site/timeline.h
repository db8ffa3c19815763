/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The recent history of memory of groups and processes.
 *
 * A clock of its own scans the stats files and notes a moment: the parts of all
 * groups and processes. So a page has a history when it is opened for the first
 * time. The clock uses at most a hundredth of a processor, and the memory is
 * bounded: with many processes the history is shorter, for all of them alike. A
 * restart loses it.
 */
#ifndef KF_EXPORTER_SITE_TIMELINE_H
#define KF_EXPORTER_SITE_TIMELINE_H

#include "exporter/groups/groups.h"
#include "exporter/site/html.h"

#define KF_NR_MOMENTS 360
#define KF_MOMENTS_BYTES (24 * KF_MIB)
#define KF_TIMELINE_ALL 0 /* id of the sum of all groups */

struct kf_moment;

/*
 * @lock guards the fields below it; it may be taken while the lock of the
 * groups is held.
 */
struct kf_timelines {
	struct kf_groups *groups; /* constant */
	unsigned int every_s;	  /* likewise */
	pthread_t clock;
	bool runs; /* @clock does */
	pthread_mutex_t lock;
	pthread_cond_t ends; /* with @ended */
	bool ended;
	uint64_t first; /* number of the oldest moment */
	unsigned int nr;
	size_t bytes; /* of all moments */
	struct kf_moment
		*moment[KF_NR_MOMENTS]; /* the nth is at n modulo this */
};

/* Calls per second between the last two moments; NAN: unknown. */
struct kf_rates {
	double mallocs;
	double frees;
};

/* A copy, oldest first; NAN: unknown. */
struct kf_past {
	unsigned int nr;
	uint64_t ms[KF_NR_MOMENTS];
	float part[KF_NR_PARTS][KF_NR_MOMENTS]; /* bytes */
	float held[KF_NR_MOMENTS];		/* the sum of the parts */
};

/**
 * kf_timelines_init() - make timelines without a moment
 * @t:		out: the timelines
 * @g:		the groups; they outlive the timelines
 * @every_s:	seconds between two moments; more if a scan takes long
 */
void kf_timelines_init(struct kf_timelines *t, struct kf_groups *g,
		       unsigned int every_s);

/**
 * kf_timelines_start() - begin to note the history
 * @t:		the timelines
 *
 * Context: once; starts a thread, which inherits the signal mask.
 * Return: 0, or an errno.
 */
int kf_timelines_start(struct kf_timelines *t);

/**
 * kf_timelines_note() - note the last scan
 * @t:		the timelines
 * @g:		the groups, locked, after a scan
 * @ms:		when that was, CLOCK_REALTIME
 *
 * Times ascend even if the clock was set back. Out of memory nothing is noted.
 */
void kf_timelines_note(struct kf_timelines *t, const struct kf_groups *g,
		       uint64_t ms);

/**
 * kf_timelines_get() - get one timeline
 * @t:		the timelines
 * @id:		KF_TIMELINE_ALL, kf_group_id() or kf_member_id()
 * @past:	out: a copy; @past->nr is 0 if nothing is known
 */
void kf_timelines_get(struct kf_timelines *t, uint64_t id,
		      struct kf_past *past);

/**
 * kf_timelines_rates() - get how often malloc and free were called lately
 * @t:		the timelines
 * @id:		as kf_timelines_get()
 *
 * Return: the rates.
 */
struct kf_rates kf_timelines_rates(struct kf_timelines *t, uint64_t id);

/**
 * kf_past_top() - get the peak of held memory
 * @past:	the timeline
 *
 * Return: bytes; 0 if nothing is known.
 */
float kf_past_top(const struct kf_past *past);

/**
 * kf_past_gap_ms() - get the time between two scans that is a gap
 * @past:	the timeline
 *
 * Return: ms; scans that are further apart are not joined by a line.
 */
uint64_t kf_past_gap_ms(const struct kf_past *past);

/**
 * kf_timelines_stop() - stop the clock and free all timelines
 * @t:		the timelines
 *
 * Context: once, when no other thread uses them.
 */
void kf_timelines_stop(struct kf_timelines *t);

/**
 * kf_group_id() - get the id of a group in addresses of pages
 * kf_member_id() - get the id of a process in addresses of pages
 * @group:	the group
 * @m:		the process' stats file
 *
 * Context: the groups are locked.
 * Return: a number, constant while the group or process exists; not 0.
 */
uint64_t kf_group_id(const struct kf_group *group);
uint64_t kf_member_id(const struct kf_member *m);

/**
 * kf_member_shown() - whether to show a process
 * @m:		its stats file
 *
 * Context: the groups are locked, after a scan.
 * Return: false if it has ended, or its file is gone.
 */
static inline bool kf_member_shown(const struct kf_member *m)
{
	return m->group && !m->ended && !m->gone;
}

/**
 * kf_member_left() - whether a process has ended and left its stats file
 * @m:		its stats file
 *
 * Context: the groups are locked, after a scan.
 * Return: true if so.
 */
static inline bool kf_member_left(const struct kf_member *m)
{
	return m->ended && m->life == KF_LIFE_DEAD && m->ino && !m->deleted &&
	       !m->gone;
}

/**
 * kf_parts_of() - get the parts of held memory
 * @figure:	the figures of a group or a process
 * @part:	out: bytes of each
 */
static inline void kf_parts_of(const uint64_t *figure,
			       uint64_t part[KF_NR_PARTS])
{
	for (unsigned int i = 0; i < KF_NR_PARTS; i++)
		part[i] = figure[KF_FIG_HEAP_LIVE + i];
}

#endif
